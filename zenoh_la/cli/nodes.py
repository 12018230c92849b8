"""`zla nodes`: who matches places in this network."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from zenoh_la.cli import options
from zenoh_la.cli.neighbours import statuses
from zenoh_la.cli.network import (
    ConfigOption,
    ConnectOption,
    ListenOption,
    ModeOption,
    network_errors,
    opened,
    until_stopped,
)

_WIDE = 240
_COUNTERS = (
    "received",
    "delivered",
    "forwarded",
    "native",
    "vetoed",
    "stopped",
    "refused",
    "gets",
)


def nodes(
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.001, help="Seconds to wait for answers.")
    ] = 3.0,
    as_json: options.JsonOption = False,
    connect: ConnectOption = None,
    listen: ListenOption = None,
    mode: ModeOption = None,
    config: ConfigOption = None,
) -> None:
    """Shows all location-aware nodes that can be reached: routers, and sessions without one.

    Exit code 1 if there are none.
    """
    with (
        until_stopped(),
        opened(connect, listen, mode, config) as session,
        network_errors("not asked"),
    ):
        found = statuses(session, timeout)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    elif found:
        _print(found)
    else:
        typer.echo("no location-aware nodes", err=True)
    if not found:
        raise typer.Exit(1)


def _print(found: list[dict[str, Any]]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)  # a pipe has no edge to fold at
    table = Table("nid", "zid", "mode", box=box.SIMPLE_HEAD)
    for name in ("sessions", "interests", "nodes", *_COUNTERS):
        table.add_column(name, justify="right")
    for status in found:
        counters = status.get("counters", {})
        table.add_row(
            *(str(status.get(name, "?")) for name in ("nid", "zid", "mode")),
            *(str(status.get(name, "?")) for name in ("sessions", "interests")),
            str(len(status.get("nodes", ()))),
            *(str(counters.get(name, "?")) for name in _COUNTERS),
        )
    console.print(table)
