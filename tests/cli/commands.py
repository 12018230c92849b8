"""`zla` in processes of its own, as from a shell."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any, Self

from tests.network import DEADLINE_S, wait_for

ZLA = [sys.executable, "-m", "zenoh_la"]
# As in a shell: what is not flushed stays in the buffer.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}


def run(*args: str, data: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    done = subprocess.run(
        [*ZLA, *args],
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        timeout=60,
        check=False,
        env=ENVIRONMENT,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


class Command:
    """One that goes on; its lines are collected as they come."""

    def __init__(self, *args: str, stdin: int = subprocess.DEVNULL) -> None:
        self.process: subprocess.Popen[str] = subprocess.Popen(
            [*ZLA, *args],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        self.out: list[str] = []
        self.err: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines))
            for stream, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Any, lines: list[str]) -> None:
        lines.extend(line.rstrip("\n") for line in stream)  # each as it comes

    def until(self, text: str, count: int = 1) -> Self:
        """Waits until it has said something, so many times."""

        def said() -> bool:
            found = sum(text in line for line in [*self.out, *self.err]) >= count
            assert found or self.process.poll() is None, f"it ended: {self.out} {self.err}"
            return found

        wait_for(said, f"{text!r} {count} times in {self.out} {self.err}")
        return self

    def end(self) -> int:
        """Waits for its end; returns the exit code."""
        code = self.process.wait(DEADLINE_S)
        for reader in self._readers:
            reader.join(DEADLINE_S)
        assert not any("Traceback" in line for line in self.err), self.err
        return code

    def stop(self, number: int) -> int:
        """Sends a signal, and waits for the end."""
        self.process.send_signal(number)
        return self.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE_S)
        for reader in self._readers:
            reader.join(DEADLINE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
