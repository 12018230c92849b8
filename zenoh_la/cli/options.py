"""Options that several commands share, and how what people type becomes values."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from zenoh_la import encoders
from zenoh_la.encoders import BloomDomain, Encoder
from zenoh_la.errors import InvalidLocationError
from zenoh_la.keys import BLOOM, WIRE_ROOT, LocationKey, from_wire, join, split
from zenoh_la.values import (
    Circle,
    Coordinates,
    GeographicRange,
    MgrsCell,
    Polygon,
    Shape,
    area_from,
)

At = Annotated[str | None, typer.Option("--at", metavar="LAT,LONG", help="A position.")]
CircleOption = Annotated[
    str | None,
    typer.Option(
        "--circle", metavar="LAT,LONG,R", help="A circle; R in metres, or as 2km or 0.5deg."
    ),
]
RangeOption = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="MIN_LAT,MIN_LONG,MAX_LAT,MAX_LONG",
        help="A geographic range; MIN_LONG > MAX_LONG crosses the antimeridian.",
    ),
]
WktOption = Annotated[
    str | None, typer.Option("--wkt", help="A POLYGON or MULTIPOLYGON, longitude first.")
]
CellOption = Annotated[
    str | None, typer.Option("--cell", metavar="MGRS", help="An MGRS cell, e.g. 10SGJ06.")
]
AreasOption = Annotated[
    list[str],
    typer.Option(
        "--area",
        metavar="AREA",
        help="circle:LAT,LONG,R or range:MIN_LAT,MIN_LONG,MAX_LAT,MAX_LONG or wkt:POLYGON(…) or "
        "cell:MGRS; repeatable.",
    ),
]
DomainOption = Annotated[
    Path | None,
    typer.Option(
        "--bloom-domain",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="The JSON file of the Bloom grid that all parties share.",
    ),
]
KeyArgument = Annotated[
    str,
    typer.Argument(
        metavar="KEY",
        show_default=False,
        help="A location key, or a key expression that begins with one; in single quotes, as "
        "shells replace $zla_…",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Output for machines.")]

_Made = TypeVar("_Made")
_RADIUS = re.compile(r"(.*?)\s*(m|km|deg)?", re.DOTALL)


def numbers(option: str, text: str, names: str) -> list[float]:
    """The comma-separated numbers of an option."""
    wanted = names.split(",")
    parts = text.split(",")
    if len(parts) != len(wanted):
        many = "one number" if len(wanted) == 1 else f"{len(wanted)} numbers with commas"
        problem = f"{option} needs {names}, {many}, not {text!r}"
        raise typer.BadParameter(problem)
    return [_number(option, name, part) for name, part in zip(wanted, parts, strict=True)]


def _number(option: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        unit = " (with m, km or deg behind it, if not in metres)" if name == "R" else ""
        raise typer.BadParameter(f"{option}: {name} must be a number{unit}, not {text!r}") from None


def address(option: str, text: str) -> tuple[str, int]:
    """Host and port of an option; the host may be empty, or an IPv6 address in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        problem = f"{option} needs HOST:PORT, e.g. 127.0.0.1:8000, not {text!r}"
        raise typer.BadParameter(problem)
    return host.removeprefix("[").removesuffix("]"), int(port)


def position(text: str) -> Coordinates:
    """The position of ``--at``."""
    return _checked("--at", Coordinates, *numbers("--at", text, "LAT,LONG"))


def key(text: str) -> tuple[LocationKey, str | None]:
    """A location key, and the topic if a whole key expression was given."""
    if text.startswith(f"{WIRE_ROOT}/"):
        text = from_wire(text)
    if "/" not in text:
        return LocationKey(text), None
    first, _, topic = text.partition("/")
    found = LocationKey(first)
    return found, split(join(found, topic))[1]


def domain(path: Path | None) -> BloomDomain | None:
    """The domain of ``--bloom-domain``."""
    return None if path is None else _checked(f"--bloom-domain {path}", BloomDomain.from_file, path)


def encoder(name: str, domain: BloomDomain | None) -> Encoder:
    """An encoder by its name; only Bloom takes the domain."""
    return encoders.get(name, domain=domain) if name == BLOOM else encoders.get(name)


def area(
    circle: str | None, range_: str | None, wkt: str | None, cell: str | None
) -> GeographicRange | Circle | Polygon | MgrsCell | None:
    """The area of the one area option that was given."""
    given = {"circle": circle, "range": range_, "wkt": wkt, "cell": cell}
    chosen = {kind: text for kind, text in given.items() if text is not None}
    if len(chosen) > 1:
        problem = " and ".join(f"--{kind}" for kind in chosen)
        raise typer.BadParameter(f"{problem} cannot go together")
    for kind, text in chosen.items():
        return _AREAS[kind](text, f"--{kind}")
    return None


def typed_area(text: str) -> GeographicRange | Circle | Polygon | MgrsCell:
    """The area of ``--area``, whose kind stands before a colon."""
    kind, colon, data = text.partition(":")
    if not colon or kind not in _AREAS:
        kinds = " or ".join(f"{known}:…" for known in _AREAS)
        raise typer.BadParameter(f"--area needs {kinds}, not {text!r}")
    return _AREAS[kind](data, f"--area {kind}")


def geographic_range(text: str, option: str = "--range") -> GeographicRange:
    """The range of ``--range``."""
    edges = numbers(option, text, "MIN_LAT,MIN_LONG,MAX_LAT,MAX_LONG")
    return _checked(option, GeographicRange, *edges)


def radius(option: str, text: str) -> dict[str, Any]:
    """A radius with its unit, as the data of a circle."""
    number, unit = _with_unit(text)
    (r,) = numbers(option, number, "R")
    return {"r": r, "unit": unit}


def _with_unit(text: str) -> tuple[str, str]:
    match = _RADIUS.fullmatch(text)
    assert match is not None  # every text fits
    return match[1], match[2] or "m"


def _circle(text: str, option: str) -> Circle:
    values, unit = _with_unit(text)
    lat, long, r = numbers(option, values, "LAT,LONG,R")
    data = {"r": r, "unit": unit, "c": {"lat": lat, "long": long}}
    made = _checked(option, area_from, Shape.CIRCLE, data)
    assert isinstance(made, Circle)
    return made


def _polygon(text: str, option: str) -> Polygon:
    return _checked(option, Polygon.from_wkt, text)


def _cell(text: str, option: str) -> MgrsCell:
    return _checked(option, MgrsCell.parse, text)


_AREAS: dict[str, Callable[[str, str], GeographicRange | Circle | Polygon | MgrsCell]] = {
    "circle": _circle,
    "range": geographic_range,
    "wkt": _polygon,
    "cell": _cell,
}


def _checked(option: str, make: Callable[..., _Made], *args: object) -> _Made:
    try:
        return make(*args)
    except InvalidLocationError as exc:
        raise typer.BadParameter(f"{option}: {exc}") from exc
