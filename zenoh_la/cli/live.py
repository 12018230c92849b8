"""What a command that runs for long is doing: a live line on a terminal, else lines in the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

log = logging.getLogger("zenoh_la")

_REFRESH_S = 0.5

EveryOption = Annotated[
    float, typer.Option("--every", min=0.1, help="Seconds between two lines of the log.")
]


def follow(
    console: Console, line: Callable[[], str], stopped: threading.Event, every_s: float
) -> None:
    """Shows what ``line`` says, until it is stopped; the log only has what changed."""
    if console.is_terminal:
        with Live(console=console, refresh_per_second=4) as live:
            while True:
                live.update(Text(line()))
                if stopped.wait(_REFRESH_S):
                    return
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    before = ""
    while not stopped.wait(every_s):
        now = line()
        if now != before:
            log.info("%s", now)
        before = now
