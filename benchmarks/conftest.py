"""The table at the end of `make bench`."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from benchmarks.accuracy import measured
from benchmarks.bench_encodings import NATIVE, OTHERS, keys_of
from benchmarks.workload import AREAS, CONTENDERS, POSITIONS, SEED

OUT = Path(".benchmarks/encodings.json")


def pytest_terminal_summary(config: pytest.Config) -> None:
    session = config._benchmarksession  # type: ignore[attr-defined]
    times: dict[str, dict[str, float]] = {}
    spread: dict[str, dict[str, float]] = {}
    for bench in session.benchmarks:
        info = bench.extra_info
        per_call = [t / info["count"] * 1e6 for t in bench.stats.data]
        times.setdefault(info["contender"], {})[info["what"]] = median(per_call)
        spread.setdefault(info["contender"], {})[info["what"]] = (
            bench.stats.iqr / bench.stats.median
        )
    if all({"match cold", "match warm"} <= times.get(c.name, {}).keys() for c in CONTENDERS):
        _report(times, spread)
    else:
        Console().print("no table: only a part of the benchmark was run")


def _report(times: dict[str, dict[str, float]], spread: dict[str, dict[str, float]]) -> None:
    console = Console(width=150)
    native = times[NATIVE]["match new pair"]
    console.print(
        f"\n{POSITIONS} positions, {AREAS} areas (circles, ranges, polygons of 1 to 50 km), seed "
        f"{SEED}. µs, median; × = ratio to stock Zenoh's KeyExpr.intersects ({native:.2f} µs) in "
        "this run."
    )
    speed = Table("encoding", "encode position", "encode area", "decode position",
                  "decode area key", "match cold", "new pair", "×", "warm", "×",
                  title="Speed")  # fmt: skip
    size = Table("encoding", "characters: position", "area (sum of its keys)", "keys per area",
                 "area overshoot", "false positives by surface", "measured", "false negatives",
                 title="Length and accuracy")  # fmt: skip
    rows: list[dict[str, Any]] = []
    for contender in CONTENDERS:
        row = _row(contender.name, times[contender.name], native)
        rows.append(row | {"spread": spread[contender.name]})
        _add_speed(speed, row)
        _add_size(size, row)
    console.print(speed)
    console.print(size)
    others = Table("other pairs, decoded but new", "µs", "×")
    for name in OTHERS:
        us = times[name]["match new pair"]
        others.add_row(name, f"{us:.2f}", f"{us / native:.1f}")
    console.print(others)
    _print_targets(console, {row["encoding"]: row for row in rows})
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(
        json.dumps(
            {"native_us": native, "encodings": rows, "others_us": {n: times[n] for n in OTHERS}},
            indent=2,
        )
    )
    console.print(f"written to {OUT}; the spread (interquartile range / median) is in there too")


def _row(name: str, times_us: dict[str, float], native_us: float) -> dict[str, Any]:
    contender = next(c for c in CONTENDERS if c.name == name)
    made = keys_of(contender)
    accuracy = measured(contender, made)
    return {
        "encoding": name,
        **{f"{what} us": us for what, us in times_us.items()},
        "new pair ratio": times_us["match new pair"] / native_us,
        "warm ratio": times_us["match warm"] / native_us,
        "position length": median(len(key.written) for key in made.positions),
        "area length": median(sum(len(k.written) for k in some) for some in made.areas),
        "keys per area": sum(map(len, made.areas)) / len(made.areas),
        "overshoot": accuracy.overshoot,
        "false positives by surface": accuracy.expected,
        "false positives": accuracy.false_positives,
        "false negatives": accuracy.false_negatives,
    }


def _add_speed(table: Table, row: dict[str, Any]) -> None:
    names = ["encode position", "encode area", "decode position", "decode area key", "match cold"]
    cells = [f"{row[f'{name} us']:.2f}" for name in names]
    cells += [f"{row['match new pair us']:.2f}", f"{row['new pair ratio']:.1f}"]
    table.add_row(
        row["encoding"], *cells, f"{row['match warm us']:.2f}", f"{row['warm ratio']:.1f}"
    )


def _add_size(table: Table, row: dict[str, Any]) -> None:
    table.add_row(
        row["encoding"],
        f"{row['position length']:.0f}",
        f"{row['area length']:.0f}",
        f"{row['keys per area']:.1f}",
        f"{row['overshoot']:.2f}",
        f"{row['false positives by surface']:.2%}",
        f"{row['false positives']:.2%}",
        str(row["false negatives"]),
    )


def _print_targets(console: Console, rows: dict[str, dict[str, Any]]) -> None:
    slowest = max(rows.values(), key=lambda row: row["match new pair us"])
    ratio = rows["base64_json"]["match cold us"] / rows["mgrs, 16 cells"]["match cold us"]
    missed = sum(row["false negatives"] for row in rows.values())
    for said, held in (
        (f"slowest new pair: {slowest['encoding']} {slowest['match new pair us']:.2f} µs (≤ 2)",
         slowest["match new pair us"] <= 2),
        (f"cold MGRS match {ratio:.1f} times as fast as cold Base64 (≥ 2)", ratio >= 2),
        (f"false negatives: {missed} (0)", missed == 0),
    ):  # fmt: skip
        console.print(f"{'[green]holds[/]' if held else '[red]MISSED[/]'}  {said}")
