"""From areas to the values that lie in them: SQL for the candidates, the match for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from zenoh_la import encoders
from zenoh_la.encoders import Location
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.errors import LocationKeyError
from zenoh_la.keys import LocationKey, Role
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.storage.stored_value import StoredValue
from zenoh_la.values import GeographicRange

_LAST = "\U0010ffff"  # sorts after all that names of places hold
_IN_BOX = """SELECT id FROM bounds WHERE max_lat >= ? AND min_lat <= ?
    AND max_long >= ? AND min_long <= ?"""
_AT_PLACES = "SELECT id FROM value WHERE place >= ? AND place <= ?"

Term = tuple[str, tuple[Any, ...]]
"""A SELECT and its parameters."""


def placed(location: Location, key: LocationKey) -> tuple[str, GeographicRange | None]:
    """The one name of a place, however its key is written, and a range that holds it."""
    if type(location) is Point:
        lat, long = location.place.lat, location.place.long
        name = f"p:{lat!r},{0.0 if abs(lat) == 90.0 else 180.0 if long == -180.0 else long!r}"
        return name, GeographicRange(lat, long, lat, long)
    if type(location) is Cell:
        cell = location.place
        return f"m:{cell.path}", cell.bounds if cell.exists else None
    if type(location) is Bits:
        return _bits_name(location), None
    return f"x:{key.written}", None


def _bits_name(bits: Bits) -> str:
    # Their text fills kilobytes, which an index would hold twice.
    return f"b:{sha256(bits.value.to_bytes((bits.length + 7) // 8, 'little')).hexdigest()}"


class Search:
    """Areas, as terms that find all candidates, and as the test that decides."""

    def __init__(self, areas: Sequence[Location]) -> None:
        self._elements: dict[tuple[int, int], set[str | None]] = {}
        self._others: list[Location] = []
        for area in areas:
            if type(area) is Bits and not area.is_filter:
                self._elements.setdefault((area.length, area.value), set()).add(area.domain)
            elif type(area) is Region:  # to the match, a get has no business with publishers
                self._others.append(replace(area, role=Role.SUBSCRIBER))
            else:
                self._others.append(area)

    def holds(self, value: StoredValue) -> bool:
        """Whether the place of a value lies in one of the areas."""
        location: Location
        try:
            location = encoders.decode(value.location_key)
        except LocationKeyError:
            return False  # its encoding is no longer installed: nobody can tell where it is
        if type(location) is Bits:
            domains = self._elements.get((location.length, location.value), set())
            if domains and (value.domain is None or domains & {None, value.domain}):
                return True
            location = replace(location, domain=value.domain)
        return any(locations_match(location, area) for area in self._others)

    def terms(self) -> Iterator[Term]:
        """SELECTs of ids that together miss no value; `holds` looks at each of them."""
        yield _AT_PLACES, ("x:", f"x:{_LAST}")  # only their own encoder knows where these are
        for length, bits in self._elements:
            name = _bits_name(Bits(bits, length, is_filter=False))
            yield _AT_PLACES, (name, name)
        for area in self._others:
            if type(area) is Region:
                yield from _box_terms(area.place.bounds)
            elif type(area) is Cell:
                # Other cells are compared by name alone, even such as lie beyond their zone.
                path = area.place.path
                yield _AT_PLACES, (f"m:{path}", f"m:{path}{_LAST}")
                for end in range(1, len(path)):
                    yield _AT_PLACES, (f"m:{path[:end]}", f"m:{path[:end]}")
                if area.place.exists:
                    yield from _box_terms(area.place.bounds)
            elif type(area) is Bits:
                yield _AT_PLACES, ("b:", f"b:{_LAST}")
            else:
                yield _AT_PLACES, ("", _LAST)


def _box_terms(near: GeographicRange) -> Iterator[Term]:
    """What shares a point with a range, on a plane that ends at ±180 and at the poles."""
    south, west, north, east = near.min_lat, near.min_long, near.max_lat, near.max_long
    arcs = [(west, 180.0), (-180.0, east)] if near.crosses_antimeridian else [(west, east)]
    if not near.crosses_antimeridian and 180.0 in (-west, east):
        arcs += [(-180.0, -180.0), (180.0, 180.0)]  # one meridian with two names
    yield from ((_IN_BOX, (south, north, *arc)) for arc in arcs)
    for pole in (-90.0, 90.0):
        if pole in (south, north):
            yield _IN_BOX, (pole, pole, -180.0, 180.0)
