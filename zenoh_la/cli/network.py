"""How commands get onto the network, and how they leave it."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
import zenoh

from zenoh_la.errors import NodeError

_IN_THE_SOURCE = re.compile(r" at \S+?\.rs:\d+\.?")

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


def said(error: zenoh.ZError) -> str:
    """What Zenoh says, without the places in its source."""
    return _IN_THE_SOURCE.sub("", str(error))


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

    def stop(_signum: int, _frame: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
