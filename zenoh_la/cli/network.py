"""How commands get onto the network, and how they leave it."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer
import zenoh

import zenoh_la
from zenoh_la.encoders import BloomDomain, Precision
from zenoh_la.errors import LocationKeyError, NodeError
from zenoh_la.keys import check_topic
from zenoh_la.session import LocationSession

CONNECT_S = 3.0
"""How long an endpoint of ``--connect`` may take to answer."""

_IN_THE_SOURCE = re.compile(r" at \S+?\.rs:\d+\.?")
_JSON5_ERROR = re.compile(r'Json5Err\(Message \{ msg: "(.*)", location: .*\}\)', re.DOTALL)
_LOOK_S = 0.02

ConnectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--connect", "-e", metavar="ENDPOINT", help="E.g. tcp/localhost:7447; repeatable."
    ),
]
ListenOption = Annotated[
    list[str] | None,
    typer.Option("--listen", "-l", metavar="ENDPOINT", help="E.g. tcp/[::]:7447; repeatable."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", metavar="FILE", exists=True, dir_okay=False, help="A Zenoh configuration."
    ),
]


class Mode(StrEnum):
    """How a session takes part in the network."""

    CLIENT = "client"
    PEER = "peer"


ModeOption = Annotated[
    Mode | None,
    typer.Option(
        "--mode",
        "-m",
        help="How to take part.",
        show_default="client with --connect alone, else peer",
    ),
]


class Encoding(StrEnum):
    """The encodings of a place, by their names."""

    BASE64_JSON = "base64_json"
    MGRS = "mgrs"
    BLOOM = "bloom"


EncodingOption = Annotated[Encoding, typer.Option("--encoding", help="How the place is encoded.")]


def precision(encoding: Encoding, domain: BloomDomain | None) -> Precision:
    """The precision of ``--encoding``; Bloom needs the domain of ``--bloom-domain``."""
    if encoding is Encoding.BLOOM and domain is None:
        problem = "--encoding bloom needs a grid: --bloom-domain FILE; `zla key domain` makes one"
        raise typer.BadParameter(problem)
    return Precision(encoding.value)


def topic(text: str, argument: str = "TOPIC") -> str:
    """A topic, checked before Zenoh sees it: one that is too long would make it panic."""
    try:
        check_topic(text)
    except LocationKeyError as exc:
        raise typer.BadParameter(f"{argument} {text[:80]!r}: {exc.problem}") from exc
    return text


def configuration(
    mode: str | None, file: Path | None, connect: list[str] | None, listen: list[str] | None
) -> zenoh.Config:
    """Zenoh's configuration: the file's, with what the options say in its place."""
    try:
        config = zenoh.Config() if file is None else zenoh.Config.from_file(file)
    except zenoh.ZError as exc:
        raise typer.BadParameter(f"--config {file}: {said(exc)}") from exc
    settings = {"mode": mode, "connect/endpoints": connect, "listen/endpoints": listen}
    for name, value in settings.items():
        if value:
            try:
                config.insert_json5(name, json.dumps(value))
            except zenoh.ZError as exc:
                option = f"--{name.partition('/')[0]}"
                raise typer.BadParameter(f"{option} {_shown(value)}: {said(exc)}") from exc
    if connect or listen:  # who names endpoints means those, and not what else is about
        config.insert_json5("scouting/multicast/enabled", "false")
    return config


@contextmanager
def opened(
    connect: list[str] | None = None,
    listen: list[str] | None = None,
    mode: StrEnum | None = None,
    config: Path | None = None,
    domain: BloomDomain | None = None,
    *,
    alone: str = "peer",
) -> Iterator[LocationSession]:
    """A session as the options say, closed afterwards.

    With ``--connect`` alone it is a client and else what ``alone`` says, unless the configuration
    file says otherwise. One of the endpoints must answer: a publisher that reaches nobody would
    seem to have published.

    Raises:
        NodeError: nobody answered, or an endpoint cannot be listened on.
    """
    chosen = None if mode is None else mode.value
    if chosen is None and not _setting(configuration(None, config, None, None), "mode"):
        chosen = "client" if connect and not listen else alone
    with _session(chosen, config, connect or [], listen) as session:
        if domain is not None:
            session.declare_bloom_domain(domain)
        yield session


def _session(
    mode: str | None, file: Path | None, connect: list[str], listen: list[str] | None
) -> LocationSession:
    settings = configuration(mode, file, connect, listen)
    if mode == "router":
        settings.insert_json5("adminspace/enabled", "true")  # as zenohd does
    if connect and _setting(settings, "mode") == "client":
        return _client(file, connect, listen)
    with network_errors(f"--listen {_shown(listen)}" if listen else "no session"):
        session = zenoh_la.open(settings)
    if not connect:
        return session
    end_s = monotonic() + CONNECT_S
    while not (session.info.routers_zid() or session.info.peers_zid()):
        if monotonic() >= end_s:
            session.close()
            raise _unreachable(connect)
        threading.Event().wait(_LOOK_S)
    return session


def _client(file: Path | None, connect: list[str], listen: list[str] | None) -> LocationSession:
    """A client of the first endpoint that answers.

    Zenoh gives all the time to the first endpoint and none to the others, so each comes first in
    turn.
    """
    for i in range(len(connect)):
        settings = configuration("client", file, [*connect[i:], *connect[:i]], listen)
        settings.insert_json5("connect/timeout_ms", str(int(CONNECT_S * 1000 / len(connect))))
        try:
            return zenoh_la.open(settings)
        except zenoh.ZError as exc:
            failure = exc
    raise _unreachable(connect) from failure


def _unreachable(connect: list[str]) -> NodeError:
    return NodeError(f"--connect {_shown(connect)}: no connection within {CONNECT_S:g} s")


def _setting(config: zenoh.Config, name: str) -> object:
    found: object = json.loads(config.get_json(name))
    return found


def said(error: zenoh.ZError) -> str:
    """What Zenoh says, without the places in its source."""
    text = _IN_THE_SOURCE.sub("", str(error))
    inner = _JSON5_ERROR.search(text)
    return text if inner is None else inner[1]


def _shown(value: str | list[str]) -> str:
    return value if isinstance(value, str) else " ".join(value)


@contextmanager
def network_errors(doing: str) -> Iterator[None]:
    """Turns Zenoh's errors into one line that says what could not be done."""
    try:
        yield
    except zenoh.ZError as exc:
        raise NodeError(f"{doing}: {said(exc)}") from exc


@contextmanager
def until_stopped() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set; a second Ctrl-C ends at once."""
    stopped = threading.Event()
    was_asked = False

    def stop(_signum: int, _frame: object) -> None:
        nonlocal was_asked
        if was_asked:
            raise KeyboardInterrupt
        was_asked = True

    def listen() -> None:
        while number := reading.recv(1):
            if number[0] in before:
                stopped.set()

    # Zenoh has threads too. If one of them gets the signal, a wait() in this thread goes on, and
    # Python runs no handler before it ends; the number of the signal is written at once.
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    written_before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    try:
        yield stopped
    finally:
        signal.set_wakeup_fd(written_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        writing.close()
        listening.join()
        reading.close()
