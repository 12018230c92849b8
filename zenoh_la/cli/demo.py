"""`zla demo`: a position and an area in all three encodings, and which match."""

from __future__ import annotations

from rich.console import Console
from rich.table import Column, Table

from zenoh_la import encoders
from zenoh_la.cli import options
from zenoh_la.encoders import BloomDomain
from zenoh_la.keys import BLOOM, LocationKey, Role
from zenoh_la.router_plugin import location_match
from zenoh_la.values import Circle, Coordinates, GeographicRange

_INSIDE = Coordinates(46.52275, 14.01002)
_OUTSIDE = Coordinates(45.2, 13.0)
_AREA = Circle(Coordinates(46.5, 14.0), 20_000)
_DOMAIN = BloomDomain(GeographicRange(45, 12, 48, 16), rows=10, columns=10,
                      false_positive_probability=0.25)  # fmt: skip


def demo(bloom_domain: options.DomainOption = None) -> None:
    """Shows what location keys are: two sensors, an area of interest, three encodings."""
    console, domain = Console(), options.domain(bloom_domain) or _DOMAIN
    console.print(
        f"Sensor A at {_INSIDE.lat}, {_INSIDE.long}, sensor B at {_OUTSIDE.lat}, {_OUTSIDE.long}.\n"
        f"A subscriber wants what arises within {_AREA.radius_m / 1000:g} km of "
        f"{_AREA.centre.lat}, {_AREA.centre.long}:\n"
        f"A is {_AREA.centre.distance_m(_INSIDE) / 1000:.1f} km away, "
        f"B {_AREA.centre.distance_m(_OUTSIDE) / 1000:.1f} km.\n"
    )
    table = Table("encoding", "who", Column("location key", overflow="fold"), "length", "match")
    for name in ("base64_json", "mgrs", BLOOM):
        encoder = encoders.get(name, domain=domain) if name == BLOOM else encoders.get(name)
        wanted = encoder.encode_area(_AREA, Role.SUBSCRIBER)
        for i, key in enumerate(wanted):
            table.add_row(name if i == 0 else "", "subscriber", key.written, str(len(key.written)))
        for who, position in (("sensor A", _INSIDE), ("sensor B", _OUTSIDE)):
            key = encoder.encode_position(position)
            table.add_row("", who, key.written, str(len(key.written)), _verdict(key, wanted))
        table.add_section()
    console.print(table)
    console.print("Try `zla key match KEY KEY` with two of these keys, in single quotes.")


def _verdict(key: LocationKey, wanted: tuple[LocationKey, ...]) -> str:
    return "[green]yes[/]" if any(location_match(key, w) for w in wanted) else "[red]no[/]"
