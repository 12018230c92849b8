"""`zla map`: the live map in a browser."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from zenoh_la.cli import options
from zenoh_la.cli.network import ConfigOption, ConnectOption
from zenoh_la.cli.rest import ZENOH_ENDPOINT, Network, serve
from zenoh_la.rest_bridge.app import OWN


def live_map(
    listen: Annotated[
        str, typer.Option("--listen", "-l", metavar="HOST:PORT", help="Where the map is served.")
    ] = "127.0.0.1:8000",
    connect: ConnectOption = None,
    zenoh_listen: Annotated[
        list[str] | None,
        typer.Option(
            "--zenoh-listen",
            metavar="ENDPOINT",
            help="Where the map's own router is reached; repeatable.",
            show_default=ZENOH_ENDPOINT,
        ),
    ] = None,
    config: ConfigOption = None,
    bloom_domain: options.DomainOption = None,
    show: Annotated[
        bool, typer.Option("--open", help="Open it in the browser of this machine.")
    ] = False,
) -> None:
    """Shows areas and messages on a map, live, in a browser.

    It starts a REST bridge (see `zla rest`, which has the map too): with --connect on that
    network, else with a location-aware router of its own that others can connect to.
    """

    def ready(url: str) -> None:
        if show:
            webbrowser.open(f"{url}{OWN}/map")

    network = Network(connect, zenoh_listen, None, config, options.domain(bloom_domain))
    serve(listen, network, [], on_ready=ready)
