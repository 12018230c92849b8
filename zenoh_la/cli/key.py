"""`zla key`: location keys, made, read and compared."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from zenoh_la import encoders
from zenoh_la.cli import options
from zenoh_la.cli.options import DomainOption, JsonOption
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.encoders.bloom_domain import BloomDomain
from zenoh_la.errors import LocationKeyError
from zenoh_la.keys import BLOOM, LocationKey, Role, join
from zenoh_la.router_plugin import explain_match
from zenoh_la.values import (
    Area,
    Circle,
    Coordinates,
    GeographicRange,
    MgrsCell,
    geojson,
    wkt,
)
from zenoh_la.values.outline import merged

app = typer.Typer(help="Location keys: make them, read them, compare them.", no_args_is_help=True)


class RoleName(StrEnum):
    """Whose area it is."""

    SUBSCRIBER = "subscriber"
    PULL_SUBSCRIBER = "pull_subscriber"
    QUERYABLE = "queryable"
    GET = "get"


class Format(StrEnum):
    """How a decoded place is shown."""

    TEXT = "text"
    GEOJSON = "geojson"
    WKT = "wkt"


@app.command()
def encode(
    at: options.At = None,
    circle: options.CircleOption = None,
    range_: options.RangeOption = None,
    wkt_text: options.WktOption = None,
    cell: options.CellOption = None,
    digits: Annotated[
        str | None,
        typer.Option(help="With --at: the MGRS cell of so many digits (0 to 5, or zone) there."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="One encoding only: base64_json, mgrs, bloom …")
    ] = None,
    role: Annotated[RoleName, typer.Option(help="Whose area it is.")] = RoleName.SUBSCRIBER,
    topic: Annotated[str | None, typer.Option(help="Print the whole key expression.")] = None,
    bloom_domain: DomainOption = None,
    as_json: JsonOption = False,
) -> None:
    """The location keys of a position (--at) or an area (--circle, --range, --wkt, --cell)."""
    place = _place(at, digits, options.area(circle, range_, wkt_text, cell))
    domain = options.domain(bloom_domain)
    names = [encoding] if encoding else [n for n in encoders.names() if n != BLOOM or domain]
    keys = {name: _encoded(name, domain, place, Role[role.name]) for name in names}
    texts = {
        name: [join(key, topic) if topic else key.written for key in made]
        for name, made in keys.items()
    }
    if as_json:
        typer.echo(json.dumps(texts, indent=2))
        return
    for name, lines in texts.items():
        for line in lines:
            typer.echo(f"{name:<12} {line}" if len(texts) > 1 else line)
    if BLOOM not in names and not encoding:
        typer.echo(
            "(for a Bloom key give --bloom-domain FILE; `zla key domain` makes one)", err=True
        )


def _place(at: str | None, digits: str | None, area: Area | None) -> Coordinates | Area:
    if (at is None) == (area is None):
        raise typer.BadParameter("give one of --at, --circle, --range, --wkt and --cell")
    if area is not None:
        if digits is not None:
            raise typer.BadParameter("--digits goes with --at")
        return area
    assert at is not None
    position = options.position(at)
    if digits is None:
        return position
    if digits != "zone" and digits not in "012345":
        raise typer.BadParameter(f"--digits must be 0 to 5 or zone, not {digits!r}")
    return MgrsCell.at(position, "zone" if digits == "zone" else int(digits))


def _encoded(
    name: str, domain: BloomDomain | None, place: Coordinates | Area, role: Role
) -> tuple[LocationKey, ...]:
    if name == BLOOM and domain is None:
        raise typer.BadParameter("Bloom keys need --bloom-domain FILE; `zla key domain` makes one")
    encoder = encoders.get(name, domain=domain) if name == BLOOM else encoders.get(name)
    if isinstance(place, Coordinates):
        return (encoder.encode_position(place),)
    return encoder.encode_area(place, role)


@app.command()
def decode(
    key: Annotated[str, typer.Argument(help="In single quotes: shells replace $zla_…")],
    format_: Annotated[
        Format, typer.Option("--format", help="How to show the place.")
    ] = Format.TEXT,
    bloom_domain: DomainOption = None,
    as_json: JsonOption = False,
) -> None:
    """What a location key holds, as text, GeoJSON or WKT to paste into a map."""
    parsed = LocationKey(key)
    place = _decoded(parsed, options.domain(bloom_domain))
    properties = _properties(parsed, place)
    geometry = None if place is None else geojson(place)
    feature = {"type": "Feature", "properties": properties, "geometry": geometry}
    if as_json or format_ is Format.GEOJSON:
        typer.echo(json.dumps(feature, indent=2 if as_json else None))
        return
    if format_ is Format.WKT:
        if place is None:
            raise LocationKeyError(key, "data", "a Bloom key's place needs --bloom-domain FILE")
        typer.echo(wkt(place))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in properties.items():
        table.add_row(name, str(value))
    Console().print(table)
    if place is None:
        typer.echo("(for its place give --bloom-domain FILE)", err=True)
    else:
        typer.echo(json.dumps(feature))


def _decoded(key: LocationKey, domain: BloomDomain | None) -> Coordinates | Area | None:
    location = encoders.decode(key)
    if key.encoding != BLOOM or domain is None:
        return location.place
    cells = BloomEncoder(domain).cells(key)
    if not cells:
        raise LocationKeyError(key.written, "data", "names no cell of this domain")
    return merged([domain.range_of(cell) for cell in cells])


def _properties(key: LocationKey, place: Coordinates | Area | None) -> dict[str, Any]:
    properties: dict[str, Any] = {"encoding": key.encoding}
    if key.role is not None:
        properties["role"] = key.role.name.lower()
    if key.is_filter is not None:
        properties["part"] = "filter" if key.is_filter else "element"
    if isinstance(place, Coordinates):
        properties |= place.to_dict()
    elif isinstance(place, Circle):
        properties |= {**place.centre.to_dict(), "radius_m": place.radius_m}
    elif isinstance(place, GeographicRange):
        properties |= place.to_dict()
    elif isinstance(place, MgrsCell):
        properties |= {"mgrs": place.text, "size_m": place.size_m, **place.centre.to_dict()}
    return properties


@app.command()
def match(
    key_a: Annotated[str, typer.Argument(help="In single quotes: shells replace $zla_…")],
    key_b: Annotated[str, typer.Argument(help="The other one; the order does not matter.")],
    bloom_domain: DomainOption = None,
    as_json: JsonOption = False,
) -> None:
    """Whether two location keys match, and why. Exit code 0 for yes, 1 for no, 2 for a bad key."""
    verdict = explain_match(key_a, key_b)
    domain = options.domain(bloom_domain)
    if as_json:
        typer.echo(json.dumps({"match": verdict.matches, "reason": verdict.reason}))
    else:
        typer.echo(f"{'yes' if verdict.matches else 'no'}: {verdict.reason}")
        for key in map(LocationKey, (key_a, key_b)):
            if domain and key.encoding == BLOOM:
                cells = " ".join(f"{c}-{r}" for c, r in BloomEncoder(domain).cells(key))
                typer.echo(f"{'filter' if key.is_filter else 'element'}: cells {cells or 'none'}")
    raise typer.Exit(0 if verdict.matches else 1)


@app.command()
def domain(
    range_: Annotated[str, typer.Option("--range", metavar="MIN_LAT,MIN_LONG,MAX_LAT,MAX_LONG")],
    rows: Annotated[int, typer.Option(help="Rows of the grid.")] = 10,
    columns: Annotated[int, typer.Option(help="Columns of the grid.")] = 10,
    probability: Annotated[float, typer.Option(help="False positive probability.")] = 0.25,
    out: Annotated[Path | None, typer.Option(help="The file; standard output if absent.")] = None,
) -> None:
    """Makes the Bloom domain file that all parties share."""
    bounds = options.area(None, range_, None, None)
    assert isinstance(bounds, GeographicRange)
    made = BloomDomain(bounds, rows, columns, probability)
    if out is None:
        typer.echo(made.to_json(), nl=False)
        return
    made.to_file(out)
    typer.echo(f"{out}: {rows * columns} cells, keys of {made.bits} bits, {made.fingerprint}")
