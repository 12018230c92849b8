"""`zla key`: location keys, made, read and compared."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from zenoh_la import encoders
from zenoh_la.cli import options
from zenoh_la.cli.options import DomainOption, JsonOption
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.encoders.bloom_domain import BloomDomain
from zenoh_la.errors import LocationKeyError, OutsideDomainError
from zenoh_la.keys import BLOOM, LocationKey, Role, join
from zenoh_la.router_plugin import explain_match
from zenoh_la.values import (
    Area,
    Circle,
    Coordinates,
    GeographicRange,
    MgrsCell,
    Polygon,
    geojson,
    wkt,
)
from zenoh_la.values.outline import merged

app = typer.Typer(help="Location keys: make them, read them, compare them.", no_args_is_help=True)


_HOW_TO_GET_A_DOMAIN = "give --bloom-domain FILE; `zla key domain` makes one"


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
    role: Annotated[
        RoleName | None, typer.Option(help="Whose area it is.", show_default="subscriber")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Print the whole key expression.")] = None,
    bloom_domain: DomainOption = None,
    as_json: JsonOption = False,
) -> None:
    """The location keys of a position (--at) or an area (--circle, --range, --wkt, --cell)."""
    place = _place(at, digits, options.area(circle, range_, wkt_text, cell))
    if role is not None and isinstance(place, Coordinates):
        raise typer.BadParameter("--role goes with an area: a position is a publisher's")
    domain = options.domain(bloom_domain)
    if encoding == BLOOM and domain is None:
        raise typer.BadParameter(f"Bloom keys need a grid: {_HOW_TO_GET_A_DOMAIN}")
    names = [encoding] if encoding is not None else list(encoders.names())
    texts, missing = {}, {}
    for name in names:
        if name == BLOOM and domain is None:
            missing[name] = _HOW_TO_GET_A_DOMAIN
            continue
        try:
            keys = _encoded(name, domain, place, Role[(role or RoleName.SUBSCRIBER).name])
        except OutsideDomainError as exc:
            if encoding is not None:
                raise
            missing[name] = str(exc)
        else:
            texts[name] = [key.written if topic is None else join(key, topic) for key in keys]
    _print_keys(texts, as_json)
    for name, why in missing.items():
        typer.echo(f"(no {name} key: {why})", err=True)


def _print_keys(texts: dict[str, list[str]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(texts, indent=2))
        return
    for name, lines in texts.items():
        for line in lines:
            typer.echo(f"{name:<12} {line}" if len(texts) > 1 else line)


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
    if digits not in {"zone", *"012345"}:
        raise typer.BadParameter(f"--digits must be 0 to 5 or zone, not {digits!r}")
    return MgrsCell.at(position, "zone" if digits == "zone" else int(digits))


def _encoded(
    name: str, domain: BloomDomain | None, place: Coordinates | Area, role: Role
) -> tuple[LocationKey, ...]:
    encoder = options.encoder(name, domain)
    if isinstance(place, Coordinates):
        return (encoder.encode_position(place),)
    return encoder.encode_area(place, role)


@app.command()
def decode(
    key: options.KeyArgument = "",
    format_: Annotated[
        Format | None, typer.Option("--format", help="How to show the place.", show_default="text")
    ] = None,
    bloom_domain: DomainOption = None,
    as_json: JsonOption = False,
) -> None:
    """What a location key holds, as text, GeoJSON or WKT to paste into a map."""
    if as_json and format_ is not None:
        raise typer.BadParameter("--json is a GeoJSON feature: it goes without --format")
    parsed, topic = options.key(key)
    place, cells = _decoded(parsed, options.domain(bloom_domain))
    if place is None and (as_json or format_ not in (None, Format.TEXT)):
        raise LocationKeyError(key, "data", "to show a Bloom key's place give --bloom-domain FILE")
    properties = {**_properties(parsed, place), "cells": cells, "topic": topic}
    properties = {name: value for name, value in properties.items() if value is not None}
    if format_ is Format.WKT and place is not None:
        typer.echo(wkt(place))
        return
    geometry = None if place is None else geojson(place)
    feature = {"type": "Feature", "properties": properties, "geometry": geometry}
    if not as_json and format_ is not Format.GEOJSON:
        width = max(map(len, properties))
        for name, value in properties.items():
            typer.echo(f"{name:<{width}}  {' '.join(value) if name == 'cells' else value}")
    if place is None:
        typer.echo("(for its place give --bloom-domain FILE)", err=True)
    else:
        typer.echo(json.dumps(feature))


def _decoded(
    key: LocationKey, domain: BloomDomain | None
) -> tuple[Coordinates | Area | None, list[str] | None]:
    """Where a key is, and which cells of the Bloom domain it names."""
    place = encoders.decode(key).place
    if isinstance(place, MgrsCell) and not place.exists:
        raise LocationKeyError(key.written, "data", "names no place: beyond its grid zone's edge")
    if key.encoding != BLOOM or domain is None:
        return place, None
    cells = BloomEncoder(domain).cells(key)
    if not cells:
        raise LocationKeyError(key.written, "data", "names no cell of this domain")
    return merged([domain.range_of(cell) for cell in cells]), [f"{c}-{r}" for c, r in cells]


def _properties(key: LocationKey, place: Coordinates | Area | None) -> dict[str, Any]:
    properties: dict[str, Any] = {"encoding": key.encoding}
    if key.role is not None:
        properties["role"] = key.role.name.lower()
    if key.is_filter is not None:
        properties["part"] = "filter" if key.is_filter else "element"
    if isinstance(place, Circle | GeographicRange | Polygon) and key.encoding != BLOOM:
        properties["shape"] = place.shape.name.lower()
    if isinstance(place, Coordinates | GeographicRange):
        properties |= place.to_dict()
    elif isinstance(place, Circle):
        properties |= {**place.centre.to_dict(), "radius_m": place.radius_m}
    elif isinstance(place, MgrsCell):
        properties |= {"mgrs": place.text, "size_m": place.size_m, **place.centre.to_dict()}
    return properties


@app.command()
def match(
    key_a: options.KeyArgument = "",
    key_b: options.KeyArgument = "",
    bloom_domain: DomainOption = None,
    as_json: JsonOption = False,
) -> None:
    """Whether two location keys match, and why. Exit code 0 for yes, 1 for no, 2 for a bad key."""
    keys = [options.key(text)[0] for text in (key_a, key_b)]
    domain = options.domain(bloom_domain)
    cells = [_decoded(key, domain)[1] for key in keys]
    verdict = explain_match(*keys)
    if as_json:
        answer = {"match": verdict.matches, "reason": verdict.reason, "cells": cells}
        typer.echo(json.dumps({k: v for k, v in answer.items() if k != "cells" or domain}))
    else:
        typer.echo(f"{'yes' if verdict.matches else 'no'}: {verdict.reason}")
        for key, named in zip(keys, cells, strict=True):
            if named is not None:
                typer.echo(f"{'filter' if key.is_filter else 'element'}: cells {' '.join(named)}")
    raise typer.Exit(0 if verdict.matches else 1)


@app.command()
def domain(
    range_: Annotated[str, typer.Option("--range", metavar="MIN_LAT,MIN_LONG,MAX_LAT,MAX_LONG")],
    rows: Annotated[int, typer.Option(help="Rows of the grid.")] = 10,
    columns: Annotated[int, typer.Option(help="Columns of the grid.")] = 10,
    probability: Annotated[float, typer.Option(help="False positive probability.")] = 0.25,
    out: Annotated[Path | None, typer.Option(help="The file; standard output if absent.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace another domain's file.")] = False,
) -> None:
    """Makes the Bloom domain file that all parties share."""
    made = BloomDomain(options.geographic_range(range_), rows, columns, probability)
    if out is None:
        typer.echo(made.to_json(), nl=False)
        return
    if out.is_file() and not force and out.read_bytes() != made.to_json().encode():
        raise typer.BadParameter(f"{out} holds something else; --force replaces it")
    made.to_file(out)
    cells = f"{rows * columns} cells, keys of {made.bits} bits"
    typer.echo(f"{out}: {cells}, fingerprint {made.fingerprint}")
