"""`zla router`: a Zenoh router that knows places."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from zenoh_la.cli.live import EveryOption, follow
from zenoh_la.cli.network import (
    ConfigOption,
    ConnectOption,
    ListenOption,
    configuration,
    network_errors,
    until_stopped,
)
from zenoh_la.router_plugin.router import Router, Status


def router(
    listen: ListenOption = None,
    connect: ConnectOption = None,
    config: ConfigOption = None,
    every: EveryOption = 10.0,
    grants: Annotated[
        bool,
        typer.Option(
            "--grants/--no-grants",
            help="Whether publishers that stay put may put straight to those who listen; not, if "
            "access rules keep clients from such keys.",
        ),
    ] = True,
) -> None:
    """Runs a location-aware router: a full Zenoh router, configured as zenohd is.

    On a terminal a live line shows what it delivers, forwards and vetoes; else it is logged.
    """
    console = Console(highlight=False)
    settings = configuration("router", config, connect, listen)
    with until_stopped() as stopped:
        with network_errors("the router could not start"):
            running = Router(settings, grants=grants)
        with running:
            locators = running.locators()
            console.print(f"location-aware router {running.zid}", soft_wrap=True)
            for locator in locators:
                console.print(f"  connect with: --connect {locator}", soft_wrap=True)
            if not locators:
                console.print("  listens nowhere: only its own connections reach it")
            console.print("ready; Ctrl-C stops it")
            follow(console, lambda: _line(running.status()), stopped, every)
            last = _line(running.status())
        console.print(f"stopped; {last}", soft_wrap=True)


def _line(status: Status) -> str:
    c = status.counters
    return (
        f"{status.sessions} sessions, {len(status.nodes)} other nodes, "
        f"{status.interests} interests; {c.received} received, {c.delivered} delivered, "
        f"{c.forwarded} forwarded, {c.native} to native, {c.vetoed} vetoed, {c.stopped} stopped, "
        f"{c.gets} gets, {c.refused} refused"
    )
