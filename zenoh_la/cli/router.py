"""`zla router`: a Zenoh router that knows places."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from prometheus_client import start_http_server
from rich.console import Console

from zenoh_la.cli import options
from zenoh_la.cli.live import EveryOption, follow
from zenoh_la.cli.network import (
    ConfigOption,
    ConnectOption,
    ListenOption,
    configuration,
    network_errors,
    until_stopped,
)
from zenoh_la.errors import NodeError
from zenoh_la.router_plugin.metrics import registry
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
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics", metavar="HOST:PORT", help="Where Prometheus finds what the router does."
        ),
    ] = None,
) -> None:
    """Runs a location-aware router: a full Zenoh router, configured as zenohd is.

    On a terminal a live line shows what it delivers, forwards and vetoes; else it is logged.
    """
    console = Console(highlight=False)
    settings = configuration("router", config, connect, listen)
    exported = None if metrics is None else options.address("--metrics", metrics)
    with until_stopped() as stopped:
        with network_errors("the router could not start"):
            running = Router(settings, grants=grants)
        with running, _exporter(running, exported) as port:
            locators = running.locators()
            console.print(f"location-aware router {running.zid}", soft_wrap=True)
            for locator in locators:
                console.print(f"  connect with: --connect {locator}", soft_wrap=True)
            if not locators:
                console.print("  listens nowhere: only its own connections reach it")
            if exported is not None:
                console.print(f"  metrics at http://{exported[0]}:{port}/metrics")
            console.print("ready; Ctrl-C stops it")
            follow(console, lambda: _line(running.status()), stopped, every)
            last = _line(running.status())
        console.print(f"stopped; {last}", soft_wrap=True)


@contextmanager
def _exporter(running: Router, at: tuple[str, int] | None) -> Iterator[int]:
    """The metrics of a router by HTTP; gives the port."""
    if at is None:
        yield 0
        return
    look = registry(lambda: running.status().to_plain())
    try:
        server, thread = start_http_server(at[1], at[0] or "::", look)
    except OSError as exc:
        raise NodeError(f"--metrics {at[0]}:{at[1]}: {exc.strerror or exc}") from exc
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _line(status: Status) -> str:
    c = status.counters
    return (
        f"{status.sessions} sessions, {len(status.nodes)} other nodes, "
        f"{status.interests} interests; {c.received} received, {c.delivered} delivered, "
        f"{c.forwarded} forwarded, {c.native} to native, {c.vetoed} vetoed, {c.stopped} stopped, "
        f"{c.gets} gets, {c.refused} refused"
    )
