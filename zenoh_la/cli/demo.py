"""`zla demo`: a small network, with places and without, and what that saves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from zenoh_la.cli import options
from zenoh_la.cli.demo_drive import FROM_STATIONS, TO_SUBSCRIBERS, Drive, Stop
from zenoh_la.cli.demo_figures import figures
from zenoh_la.cli.demo_keys import keys
from zenoh_la.cli.demo_network import BETWEEN_ROUTERS, DemoNetwork
from zenoh_la.cli.demo_router import STOCK
from zenoh_la.cli.demo_scene import (
    AROUND,
    CITIES,
    DOMAIN,
    PAYLOAD_BYTES,
    ROAD,
    ROUTERS,
    TOPICS,
    listeners,
    stops,
)
from zenoh_la.encoders import Precision

_STRIP = 34
_INTERRUPTED = 130
_ENCODINGS = {
    Precision.POINT: "Base64",
    Precision.MGRS: "MGRS",
    Precision.BLOOM_FILTER: "Bloom",
}

app = typer.Typer(help="A small network that shows what location saves.")
app.command("keys")(keys)


@app.callback(invoke_without_command=True)
def demo(context: typer.Context, as_json: options.JsonOption = False) -> None:
    """Runs a small network with places and without, and compares. Takes about ten seconds.

    All figures are measured. Exit code 1 if anything was lost, doubled or sent to the wrong place.
    """
    if context.invoked_subcommand is not None:
        return
    console = Console(highlight=False, quiet=as_json)
    try:
        found = _run(console)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _conclude(console, found)
    if found["faults"]:
        raise typer.Exit(1)


def _run(console: Console) -> dict[str, Any]:
    _introduce(console)
    with DemoNetwork(ROUTERS, DOMAIN) as network:
        drive = Drive(network)
        console.print(f"\nThe car drives from {ROAD[0]} to {ROAD[-1]}. It hears:")
        located = drive.located(lambda stop: console.print(_line(stop)))
        console.print("\nOnce more as plain Zenoh: who wants a topic gets all of it …")
        plain = drive.plain()
    return figures(located, plain)


def _introduce(console: Console) -> None:
    line = " ── ".join(f"{name} (stock)" if ROUTERS[name] == STOCK else name for name in ROUTERS)
    at: dict[str, list[str]] = {}
    for city, (_, router) in CITIES.items():
        at.setdefault(router, []).append(city)
    places = ", ".join(f"{' and '.join(cities)} ({router})" for router, cities in at.items())
    topics = ", ".join(f"{topic} ({_ENCODINGS[name]})" for topic, name in TOPICS.items())
    console.print(f"Routers, each a process:  {line}")
    console.print(f"{len(AROUND)} stations each in {places}")
    console.print(f"publish {topics}, {PAYLOAD_BYTES} bytes each.")
    console.print("Who listens to all three topics:")
    for one in listeners():
        console.print(f"  {one.name:<10} at {one.router:<6}  {one.about}")


def _line(stop: Stop) -> str:
    length_km = stops()[-1][0]
    strip = ["─"] * _STRIP

    def at(km: float) -> int:
        return round(km / length_km * (_STRIP - 1))

    for city in ROAD:
        (km,) = (km for km, place in stops() if place == CITIES[city][0])
        strip[at(km)] = "┼"
    strip[at(stop.km)] = "[bold]●[/]"
    heard = ", ".join(f"{city} {count}" for city, count in stop.inside.items()) or "nothing"
    more = f" (+{stop.beyond} *)" if stop.beyond else ""
    return f"{stop.km:4.0f} km {''.join(strip)} {heard}{more}"


def _conclude(console: Console, found: dict[str, Any]) -> None:
    console.print()
    console.print(_table(found))
    console.print("* from just beyond: MGRS and Bloom cells are coarser than a circle")
    for fault in found["faults"]:
        console.print(f"[red]WRONG[/]: {fault}")
    if not found["faults"]:
        console.print("Checked against geometry: nothing lost, doubled or at the wrong place.")
    console.print("Next: zla demo keys, zla router --help, and the programs in examples/")


def _table(found: dict[str, Any]) -> Table:
    plain, located, saved = found["plain"], found["located"], found["saved_percent"]
    table = Table("", box=box.SIMPLE_HEAD)
    for heading in ("plain Zenoh", "zenoh-la", "saved"):
        table.add_column(heading, justify="right", no_wrap=True)

    def row(name: str, one: Any, other: Any, percent: float | None = None) -> None:
        shown = "" if percent is None else f"{percent:.0f} %"
        table.add_row(name, *(f"{n:,}" if isinstance(n, int) else n for n in (one, other)), shown)

    row("messages published", found["published"], found["published"])
    row("delivered to subscribers", plain["delivered"], located["delivered"], saved["messages"])
    row("  from inside their areas", plain["inside"], located["inside"])
    row("vetoed: not their area", "-", located["vetoed"])
    row("stopped where they enter", "-", located["stopped"])
    _add_bytes(row, found)
    row(
        "median latency",
        f"{plain['median_latency_ms']:.2f} ms",
        f"{located['median_latency_ms']:.2f} ms",
    )
    return table


def _add_bytes(row: Callable[..., None], found: dict[str, Any]) -> None:
    one, other = found["plain"]["bytes"], found["located"]["bytes"]
    if one is None or other is None:
        row("bytes on links", "not told", "by this system")
        return
    names = {
        FROM_STATIONS: "from stations",
        BETWEEN_ROUTERS: "between routers",
        TO_SUBSCRIBERS: "to subscribers",
    }
    saved = found["saved_percent"]
    row("bytes on all links", sum(one.values()), sum(other.values()), saved["bytes"])
    for link, name in names.items():
        row(f"  {name}", one[link], other[link], saved[f"bytes, {link}"])
