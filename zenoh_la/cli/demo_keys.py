"""`zla demo keys`: a position and an area in all three encodings, and which match."""

from __future__ import annotations

from rich.console import Console
from rich.table import Column, Table

from zenoh_la.cli import options
from zenoh_la.encoders import BloomDomain
from zenoh_la.keys import BLOOM, LocationKey, Role
from zenoh_la.router_plugin import location_match
from zenoh_la.values import Circle, Coordinates, GeographicRange

_SENSORS = {
    "A": Coordinates(46.52275, 14.01002),
    "B": Coordinates(46.3, 14.2),
    "C": Coordinates(45.2, 13.0),
}
_AREA = Circle(Coordinates(46.5, 14.0), 20_000)
_DOMAIN = BloomDomain(
    GeographicRange(45, 12, 48, 16), rows=10, columns=10, false_positive_probability=0.25
)


def keys(bloom_domain: options.DomainOption = None) -> None:
    """Shows what location keys are: three sensors, an area of interest, three encodings."""
    console, domain = Console(highlight=False), options.domain(bloom_domain) or _DOMAIN
    centre = _AREA.centre
    console.print(
        f"A subscriber wants what arises within {_AREA.radius_m / 1000:g} km of "
        f"{centre.lat}, {centre.long}."
    )
    for name, position in _SENSORS.items():
        away = centre.distance_m(position) / 1000
        console.print(f"Sensor {name} at {position.lat}, {position.long} is {away:.1f} km away.")
    table = Table("encoding", "who", Column("location key", overflow="fold"), "length", "match")
    for encoding in ("base64_json", "mgrs", BLOOM):
        encoder = options.encoder(encoding, domain)
        wanted = encoder.encode_area(_AREA, Role.SUBSCRIBER)
        for i, key in enumerate(wanted):
            first = encoding if i == 0 else ""
            table.add_row(first, "subscriber", key.written, str(len(key.written)))
        for name, position in _SENSORS.items():
            key = encoder.encode_position(position)
            verdict = _verdict(key, wanted, _AREA.contains(position))
            table.add_row("", f"sensor {name}", key.written, str(len(key.written)), verdict)
        table.add_section()
    console.print(table)
    console.print(
        "Cells let some of what is near through (*), but what is inside is never lost.\n"
        "Next: zla key match zla_m_33TVM2406852607 zla_m_33TVM"
    )


def _verdict(key: LocationKey, wanted: tuple[LocationKey, ...], inside: bool) -> str:
    if not any(location_match(key, interest) for interest in wanted):
        return "[red]no[/]"
    return "[green]yes[/]" if inside else "[yellow]yes *[/]"
