"""One table for all measurements: what each says, where it was taken, and what is written down."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

NATIVE = "native"
_WIDTH = 150


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        what: what is measured; rows of the same are one section.
        case: under which circumstances.
        ours: the median of the repetitions.
        unit: of ``ours`` and ``peer``.
        peer: the same, of the one it is compared with in the same run; None if there is none.
        peer_name: who that is.
        spread: between the quartiles of the repetitions, as a share of their median.
        wanted: the target in words; empty if there is none.
        holds: whether it is met.
        note: what else a reader should know.
    """

    what: str
    case: str
    ours: float
    unit: str
    peer: float | None = None
    peer_name: str = ""
    spread: float | None = None
    wanted: str = ""
    holds: bool | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours divided by the peer's."""
        return self.ours / self.peer if self.peer else None

    def to_plain(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {**plain, "ratio": self.ratio}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Row:
        """Of a part that speaks of its rows as mappings; fields that it does not know are empty."""
        return cls(**{name: plain[name] for name in cls.__slots__ if name in plain})


def row(
    what: str,
    case: str,
    ours: Sequence[float],
    unit: str,
    *,
    peer: Sequence[float] = (),
    peer_name: str = NATIVE,
    note: str = "",
    ratio_at_most: float | None = None,
    ratio_at_least: float | None = None,
    ratio_below: float | None = None,
    at_most: float | None = None,
    at_least: float | None = None,
) -> Row:
    """A row of the repetitions of both sides, and at most one target."""
    figure = median(ours)
    other = median(peer) if peer else None
    ratio = figure / other if other else float("nan")
    wanted, holds = "", None
    if ratio_at_most is not None:
        wanted, holds = f"× ≤ {ratio_at_most:g}", ratio <= ratio_at_most
    elif ratio_at_least is not None:
        wanted, holds = f"× ≥ {ratio_at_least:g}", ratio >= ratio_at_least
    elif ratio_below is not None:
        wanted, holds = f"× < {ratio_below:g}", ratio < ratio_below
    elif at_most is not None:
        wanted, holds = f"≤ {at_most:,g} {unit}", figure <= at_most
    elif at_least is not None:
        wanted, holds = f"≥ {at_least:,g} {unit}", figure >= at_least
    name = peer_name if peer else ""
    return Row(what, case, figure, unit, other, name, spread(ours), wanted, holds, note)


def spread(values: Sequence[float]) -> float | None:
    """The distance between the quartiles as a share of the median; None of a single one."""
    if len(values) < 2 or not median(values):
        return None
    low, _, high = quantiles(values, n=4, method="inclusive")
    return (high - low) / median(values)


def environment() -> dict[str, str]:
    """Where it was measured: no figure means anything without."""
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": f"{os.cpu_count()} x {model or platform.machine()}",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("zenoh-la", "eclipse-zenoh", "shapely", "pyproj")},
    }


def show(rows: Sequence[Row], failed: Mapping[str, str], console: Console | None = None) -> None:
    """Prints the table, and which parts could not be run."""
    console = Console(width=_WIDTH, highlight=False) if console is None else console
    about = environment()
    title = ", ".join(f"{name} {about[name]}" for name in ("python", "eclipse-zenoh"))
    table = Table(title=f"{title}, {about['cpu']}, {about['date']}", title_justify="left")
    for name in ("what", "case"):
        table.add_column(name)
    for name in ("ours", "peer", "ratio", "spread"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("wanted", ""):
        table.add_column(name, no_wrap=True)
    table.add_column("note")
    before = ""
    for one in rows:
        if before not in ("", one.what):
            table.add_section()
        table.add_row(one.what if one.what != before else "", one.case, *_cells(one), one.note)
        before = one.what
    console.print(table)
    missed = sum(one.holds is False for one in rows)
    wanted = sum(one.holds is not None for one in rows)
    console.print(f"{wanted} targets, {wanted - missed} hold, {missed} MISSED")
    for name, why in failed.items():
        console.print(f"[red]{name} could not be run:[/] {why}")


def _cells(one: Row) -> list[str]:
    peer = "" if one.peer is None else f"{one.peer_name} {_figure(one.peer)}"
    ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
    judged = {None: "", True: "[green]holds[/]", False: "[bold red]MISSED[/]"}[one.holds]
    share = "" if one.spread is None else f"{one.spread:.0%}"
    return [f"{_figure(one.ours)} {one.unit}", peer, ratio, share, one.wanted, judged]


def _figure(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def write(rows: Sequence[Row], failed: Mapping[str, str], path: Path) -> None:
    """The same for machines."""
    path.parent.mkdir(exist_ok=True)
    document = {"environment": environment(), "rows": [one.to_plain() for one in rows]}
    path.write_text(json.dumps({**document, "failed": failed}, indent=2, ensure_ascii=False))
