"""Processes of their own, and what they use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def resident_kb(pid: int | str = "self") -> int:
    """Memory of a process that is in use."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def threads_of(pid: int | str = "self") -> int:
    return len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208 - not a folder of files


def sockets_of(pid: int | str = "self") -> int:
    found = 0
    for file in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += str(file.readlink()).startswith("socket:")
        except FileNotFoundError:  # it was closed meanwhile
            continue
    return found


class Child:
    """A Python program that says a line when it is at the next step, and goes on when told."""

    def __init__(self, program: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def says(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it ended with {self.process.wait(10)}"
        return line.strip()

    def go_on(self, text: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
