"""Repetitions in fresh processes, the contenders taking turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

REPETITIONS = int(os.environ.get("REPETITIONS", "5"))
"""Fewer only to try something out."""
_TIMEOUT_S = 120.0

Figures = dict[str, Any]


def tell(text: str) -> None:
    """Progress, for whoever waits; what is measured goes into the table."""
    print(f"  {text}", file=sys.stderr, flush=True)


def in_turn(
    what: str,
    contenders: Sequence[str],
    run: Callable[..., Figures],
    *arguments: object,
) -> dict[str, list[Figures]]:
    """All contenders once, then all again: what the machine does meanwhile happens to all.

    Args:
        run: makes one repetition of a contender, with the arguments that follow.
    """
    runs: dict[str, list[Figures]] = {contender: [] for contender in contenders}
    for i in range(REPETITIONS):
        for contender in contenders:
            tell(f"{what}: {contender}, {i + 1} of {REPETITIONS}")
            runs[contender].append(run(contender, *arguments))
    return runs


def of(runs: Sequence[Figures], name: str) -> list[float]:
    """One figure of all repetitions."""
    return [run[name] for run in runs]


class Child:
    """A module of this folder in a process of its own, given its part to play.

    It says ``ready`` when it has set itself up, does its part when its input says ``go`` or ends,
    and prints what it measured as its last line.
    """

    def __init__(self, module: str, *arguments: object) -> None:
        command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_until_ready(self) -> Child:
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if said != "ready\n":
            self.kill()
            raise RuntimeError(f"{self._process.args!r} said {said!r} instead of ready")
        return self

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def said(self) -> Figures:
        """One line of figures, while it goes on."""
        assert self._process.stdout is not None
        figures: Figures = json.loads(self._process.stdout.readline())
        return figures

    def finish(self) -> Figures:
        """Ends its input, and returns what it measured."""
        try:
            out, _ = self._process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        if self._process.returncode:
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.returncode}")
        figures: Figures = json.loads(out.strip().rpartition("\n")[2])
        return figures

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()
