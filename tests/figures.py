"""Figures that tests measure: shown in one table at the end, and kept as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

OUT = Path(".benchmarks/survival.json")


@dataclass(frozen=True)
class Figure:
    """What was measured, and the most that it may be, if there is a bound."""

    what: str
    value: float
    unit: str
    at_most: float | None

    @property
    def holds(self) -> bool:
        return self.at_most is None or self.value <= self.at_most


class Figures:
    """All figures of one run, in the order in which they were measured."""

    def __init__(self) -> None:
        self._all: list[Figure] = []

    def record(self, what: str, value: float, unit: str, *, at_most: float | None = None) -> None:
        """Keeps a figure for the table, and fails if it is above its bound."""
        figure = Figure(what, value, unit, at_most)
        self._all.append(figure)
        assert figure.holds, f"{what}: {value:g} {unit}, at most {at_most:g} {unit}"

    def show(self, reporter: pytest.TerminalReporter) -> None:
        if not self._all:
            return
        reporter.section("survival figures")
        width = max(len(figure.what) for figure in self._all)
        for figure in self._all:
            bound = "" if figure.at_most is None else f"  at most {figure.at_most:,.6g}"
            missed = "" if figure.holds else "  MISSED"
            whole = isinstance(figure.value, int)
            value = f"{figure.value:{',' if whole else ',.3g'}} {figure.unit}"
            reporter.write_line(f"{figure.what:<{width}}  {value:>14}{bound}{missed}")
        OUT.parent.mkdir(exist_ok=True)
        OUT.write_text(json.dumps([asdict(figure) for figure in self._all], indent=2) + "\n")
        reporter.write_line(f"written to {OUT}")


KEPT = pytest.StashKey[Figures]()
