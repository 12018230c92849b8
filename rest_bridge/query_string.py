"""The query string: what says where, and what is the application's own and stays as it is."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from zenoh_la.rest_bridge.problems import Problem

_BOX = ["min_lat", "min_long", "max_lat", "max_long"]
LOCATION_NAMES = frozenset(["lat", "long", "shape", "r", "unit", *_BOX, "wkt", "precision"])
SWITCH = "_zla"
"""`_zla=off` leaves all of these names to the application."""

_SEPARATORS = re.compile("([;&])")


class Parameters(NamedTuple):
    """A query string, taken apart.

    Attributes:
        location: the parameters that say where, decoded.
        rest: all others, as they came, separators included.
    """

    location: dict[str, str]
    rest: str

    def has(self, name: str) -> bool:
        """Whether one of the application's parameters has this name."""
        return any(part.partition("=")[0] == name for part in _SEPARATORS.split(self.rest))


_NONE = Parameters({}, "")


def parse(raw: bytes) -> Parameters:
    """Takes a query string apart; both ``;`` (Zenoh's) and ``&`` separate.

    >>> parse(b"lat=46.5;long=14;unit_id=7;lang=de")
    Parameters(location={'lat': '46.5', 'long': '14'}, rest='unit_id=7;lang=de')

    Raises:
        Problem: it is not UTF-8, or a name of a location is there twice.
    """
    if not raw:
        return _NONE
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise Problem(400, "the query string is not UTF-8", "query") from None
    parts = _SEPARATORS.split(text)
    location: dict[str, str] = {}
    rest: list[str] = []
    is_off = False
    for i in range(0, len(parts), 2):
        part = parts[i]
        name, _, value = part.partition("=")
        if name == SWITCH:
            is_off = _checked_switch(value)
        elif name in LOCATION_NAMES:
            if name in location:
                raise Problem(400, f"{name} is given twice", name)
            location[name] = value
        else:
            rest += (parts[i - 1] if rest else "", part)
    if is_off:
        return Parameters({}, _without_switch(parts))
    decoded = {name: _decoded(name, value) for name, value in location.items()}
    return Parameters(decoded, "".join(rest) if location else text)


def _checked_switch(value: str) -> bool:
    if value != "off":
        raise Problem(400, f"{SWITCH} must be off, or not be there", SWITCH)
    return True


def _without_switch(parts: list[str]) -> str:
    kept: list[str] = []
    for i in range(0, len(parts), 2):
        if parts[i].partition("=")[0] != SWITCH:
            kept += (parts[i - 1] if kept else "", parts[i])
    return "".join(kept)


def _decoded(name: str, value: str) -> str:
    if name == "wkt":  # forms write a space so; in numbers a plus is one
        value = value.replace("+", " ")
    if "%" not in value:
        return value
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        raise Problem(400, f"{name} is not UTF-8", name) from None
