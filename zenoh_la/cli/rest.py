"""`zla rest`: Zenoh and its places by HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from starlette.middleware import Middleware

from zenoh_la.cli import options
from zenoh_la.cli.network import ConfigOption, ConnectOption, opened, until_stopped
from zenoh_la.encoders import BloomDomain
from zenoh_la.rest_bridge.app import OWN, make_app
from zenoh_la.rest_bridge.bridge import Bridge, Limits
from zenoh_la.rest_bridge.security import ANY_ORIGIN, middleware
from zenoh_la.rest_bridge.server import Server, bound
from zenoh_la.rest_bridge.streams import StreamLimits

ZENOH_ENDPOINT = "tcp/127.0.0.1:7447"
_LIMITS = Limits()


class Mode(StrEnum):
    """How the bridge takes part in the network."""

    CLIENT = "client"
    PEER = "peer"
    ROUTER = "router"


def rest(
    listen: Annotated[
        str, typer.Option("--listen", "-l", metavar="HOST:PORT", help="Where HTTP is served.")
    ] = "127.0.0.1:8000",
    connect: ConnectOption = None,
    zenoh_listen: Annotated[
        list[str] | None,
        typer.Option(
            "--zenoh-listen",
            metavar="ENDPOINT",
            help="Where the bridge is reached by Zenoh; repeatable.",
            show_default=f"{ZENOH_ENDPOINT} if it is a router of its own",
        ),
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option(
            "--mode",
            "-m",
            help="How to take part.",
            show_default="client with --connect alone, else router",
        ),
    ] = None,
    config: ConfigOption = None,
    bloom_domain: options.DomainOption = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="ZLA_REST_TOKEN",
            help="A bearer token that callers must send. Processes see each other's options: "
            "better by the environment.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert", metavar="FILE", exists=True, dir_okay=False, help="A PEM certificate."
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option("--tls-key", metavar="FILE", exists=True, dir_okay=False, help="Its key."),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--cors-origin",
            metavar="ORIGIN",
            help="Whose pages may use the bridge, e.g. https://dash.example; * for all, none for "
            "none; repeatable.",
            show_default=ANY_ORIGIN,
        ),
    ] = None,
    max_body: Annotated[
        int, typer.Option("--max-body", min=0, metavar="BYTES", help="The longest body.")
    ] = _LIMITS.body_bytes,
    max_streams: Annotated[
        int, typer.Option("--max-streams", min=0, help="Event streams of one client address.")
    ] = _LIMITS.streams.per_client,
) -> None:
    """Serves a network by HTTP: put, get, subscribe by event streams, with places.

    Without --connect it runs alone, as a location-aware router that others can connect to.
    """
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key go together")
    around = middleware(_token(token), _origins(cors_origin))
    limits = Limits(body_bytes=max_body, streams=StreamLimits(per_client=max_streams))
    network = Network(connect, zenoh_listen, mode, config, options.domain(bloom_domain))
    serve(listen, network, around, limits, tls_cert, tls_key)


@dataclass(frozen=True, slots=True)
class Network:
    """How a bridge gets onto the network, by its options."""

    connect: list[str] | None
    listen: list[str] | None
    mode: Mode | None = None
    config: Path | None = None
    domain: BloomDomain | None = None

    def endpoints(self) -> list[str] | None:
        """Where it is reached by Zenoh."""
        is_alone = self.config is None and not self.connect and self.mode in (None, Mode.ROUTER)
        return [ZENOH_ENDPOINT] if self.listen is None and is_alone else self.listen


def serve(
    listen: str,
    network: Network,
    around: list[Middleware],
    limits: Limits = _LIMITS,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    on_ready: Callable[[str], object] | None = None,
) -> None:
    """Serves until it is stopped; tells its URL when it is ready."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    host, port = options.address("--listen", listen)
    endpoints = network.endpoints()
    with (
        until_stopped() as stopped,
        bound(host, port) as listening,
        opened(
            network.connect, endpoints, network.mode, network.config, network.domain, alone="router"
        ) as session,
        Bridge(session, limits) as bridge,
        Server(
            make_app(bridge, middleware=around),
            listening,
            on_stop=bridge.end_streams,
            tls_cert=tls_cert,
            tls_key=tls_key,
        ) as server,
    ):
        url = f"http{'s' if tls_cert else ''}://{_shown(host)}:{server.port}"
        console.print(f"REST bridge at {url}/; how to use it: {url}{OWN}/docs; map: {url}{OWN}/map")
        for endpoint in endpoints or []:
            console.print(f"  connect with: --connect {endpoint}")
        console.print("ready; Ctrl-C stops it")
        if on_ready is not None:
            on_ready(url)
        while server.is_running and not stopped.wait(0.5):
            pass
    console.print("stopped")


def _token(token: str | None) -> str | None:
    """The token; the message never shows it."""
    if token is not None and (not token.isascii() or not token.isprintable() or " " in token):
        raise typer.BadParameter("--token must be printable ASCII without spaces")
    if token == "":
        raise typer.BadParameter("--token is empty, and would let everybody in")
    return token


def _origins(given: list[str] | None) -> list[str]:
    if given is None:
        return [ANY_ORIGIN]
    if given == ["none"]:
        return []
    for origin in given:
        if origin != ANY_ORIGIN and not re.fullmatch(r"https?://[^/\s]+", origin):
            problem = f"--cors-origin needs an origin such as https://dash.example, not {origin!r}"
            raise typer.BadParameter(problem)
    return given


def _shown(host: str) -> str:
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - shown, not bound
        return "localhost"
    return f"[{host}]" if ":" in host else host
