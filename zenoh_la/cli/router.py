"""`zla router`: a Zenoh router that knows places."""

from __future__ import annotations

import logging
import threading
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from zenoh_la.cli.network import (
    ConfigOption,
    ConnectOption,
    ListenOption,
    configuration,
    network_errors,
    until_stopped,
)
from zenoh_la.router_plugin.router import Router, Status

_REFRESH_S = 0.5
log = logging.getLogger("zenoh_la")


def router(
    listen: ListenOption = None,
    connect: ConnectOption = None,
    config: ConfigOption = None,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two lines of the log.")
    ] = 10.0,
) -> None:
    """Runs a location-aware router: a full Zenoh router, configured as zenohd is.

    On a terminal a live line shows what it delivers, forwards and vetoes; else it is logged.
    """
    console = Console(highlight=False)
    settings = configuration("router", config, connect, listen)
    with until_stopped() as stopped:
        with network_errors("the router could not start"):
            running = Router(settings)
        with running:
            locators = running.locators()
            console.print(f"location-aware router {running.zid}", soft_wrap=True)
            for locator in locators:
                console.print(f"  connect with: --connect {locator}", soft_wrap=True)
            if not locators:
                console.print("  listens nowhere: only its own connections reach it")
            console.print("ready; Ctrl-C stops it")
            if console.is_terminal:
                _show(console, running, stopped)
            else:
                _log(running, stopped, every)
            last = _line(running.status())
        console.print(f"stopped; {last}", soft_wrap=True)


def _show(console: Console, running: Router, stopped: threading.Event) -> None:
    with Live(console=console, refresh_per_second=4) as live:
        while True:
            live.update(_line(running.status()))
            if stopped.wait(_REFRESH_S):
                return


def _log(running: Router, stopped: threading.Event, every_s: float) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    before = ""
    while not stopped.wait(every_s):
        line = _line(running.status())
        if line != before:
            log.info("%s", line)
        before = line


def _line(status: Status) -> str:
    c = status.counters
    return (
        f"{status.sessions} sessions, {len(status.nodes)} other nodes, "
        f"{status.interests} interests; {c.received} received, {c.delivered} delivered, "
        f"{c.forwarded} forwarded, {c.native} to native, {c.vetoed} vetoed, {c.stopped} stopped, "
        f"{c.gets} gets, {c.refused} refused"
    )
