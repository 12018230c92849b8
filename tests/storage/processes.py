"""`zla storage` in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.network import DEADLINE_S, wait_for


class StorageProcess:
    """A running `zla storage`; what it says goes to a file."""

    def __init__(self, *arguments: str, output: Path) -> None:
        self._output = output
        with output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "zenoh_la", "storage", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"},
            )

    def said(self) -> str:
        return self._output.read_text()

    def wait_until_ready(self) -> StorageProcess:
        def look() -> bool:
            assert self.process.poll() is None, f"it ended; it said {self.said()}"
            return "\nready" in self.said()

        wait_for(look, "a storage that is ready")
        return self

    def wait_until_said(self, text: str) -> None:
        wait_for(lambda: text in self.said(), f"{text!r} in what it says")

    def kill(self) -> None:
        """As by kill -9."""
        self.process.kill()
        self.process.wait(DEADLINE_S)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to stop, as an operator would; returns its exit code."""
        self.process.send_signal(number)
        try:
            return self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


@contextmanager
def running(*arguments: str, output: Path) -> Iterator[StorageProcess]:
    """A storage that is ready, and gone afterwards."""
    process = StorageProcess(*arguments, output=output)
    try:
        yield process.wait_until_ready()
    finally:
        process.kill()
