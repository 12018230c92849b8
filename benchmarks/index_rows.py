"""The lines of the table that the benchmark of the index makes of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.interests import KINDS
from benchmarks.koncorde import NEAR_EDGE_M

SIZES = (1_000, 10_000, 100_000)
COMPARED = list(KINDS)[:4]
"""At all sizes; the others among 10,000."""
WITH_PEER = ("circles", "polygons")
"""The peer knows such areas."""

Figures = dict[str, Any]

WHAT = {"find/s": "look-ups", "add/s": "adds", "move/s": "moves"}


def rows_of(figures: Figures) -> list[dict[str, Any]]:
    rows = []
    for figure, what in WHAT.items():
        for kind, found in figures["kinds"].items():
            for size, runs in found["sizes"].items():
                case = f"{int(size):,} {kind}"
                peer = _peer(figures, kind, size, figure)
                row = _row(f"{what}, index", case, _of(runs["index"], figure), "/s", peer)
                row["note"] = _note(figures, kind, runs, figure)
                rows.append(row)
                if "table" in runs and (figure == "find/s" or kind == "circles"):
                    rows.append(_decisions(figures, kind, size, figure))
    return sorted(rows, key=lambda row: str(row["what"])) + _totals(figures)


def _decisions(figures: Figures, kind: str, size: str, figure: str) -> dict[str, Any]:
    runs = figures["kinds"][kind]["sizes"][size]["table"]
    names = {"find/s": "route decisions", "add/s": "adds, routing table"}
    what = names.get(figure, "moves, routing table")
    peer = _peer(figures, kind, size, figure)
    least = None
    if (kind, int(size)) == ("circles", 10_000):
        least = 200_000 if figure == "find/s" else 50_000
    row = _row(what, f"{int(size):,} {kind}", _of(runs, figure), "/s", peer, at_least=least)
    row["note"] = "topic and place to sessions and nodes" if figure == "find/s" else ""
    return row


def _totals(figures: Figures) -> list[dict[str, Any]]:
    rows = []
    for found in figures["kinds"].values():
        if "together" in found:
            spent = _of(found["together"], "seconds")
            case = "25,000 adds, 25,000 moves, 50,000 look-ups"
            rows.append(_row("all in one thread", case, spent, "s", at_most=1.6))
            case = "1,000 subscribers move, 100 publishers stay"
            share = [100.0 * one for one in _of(found["fleet"], "voided")]
            row = _row("routes voided by a move", case, share, "%")
            row["note"] = "of those of the topic; 100 % if places did not matter"
            rows.append(row)
    for kind, found in figures["kinds"].items():
        for size, runs in found["sizes"].items():
            if int(size) == max(SIZES):
                index_mb = _of(runs["index"], "index MB")
                total_mb = [mb + found["values MB"] for mb in index_mb]
                most = 300 if kind == "circles" else None
                row = _row("memory", f"{int(size):,} {kind}", total_mb, "MB", at_most=most)
                row["note"] = f"the index alone {median(index_mb):.0f} MB"
                rows.append(row)
    return rows


def _of(runs: Sequence[Figures], name: str) -> list[float]:
    return [run[name] for run in runs]


def _peer(figures: Figures, kind: str, size: str, figure: str) -> list[float]:
    """The peer on the same areas; of encodings that it does not know, on the circles."""
    known = kind if kind in WITH_PEER else "circles"
    if kind not in COMPARED or known not in figures["kinds"]:
        return []
    return _of(figures["kinds"][known]["sizes"][size].get("koncorde", []), figure)


def _note(figures: Figures, kind: str, runs: dict[str, list[Figures]], figure: str) -> str:
    notes = []
    if figure == "find/s":
        notes.append(f"{runs['index'][0]['found']:.1f} found")
        notes.append(f"asking everyone {median(_of(runs['scan'], figure)):,.0f}/s")
    if figure == "find/s" and "koncorde" in runs:
        close = runs["koncorde"][0]["close"]
        notes.append(f"{close} answers differ, within {NEAR_EDGE_M:g} m of an edge")
    if figures["missing"] and kind in COMPARED:
        notes.append(f"koncorde did not run: {figures['missing']}")
    elif kind in COMPARED and kind not in WITH_PEER:
        notes.append("koncorde: the circles")
    return "; ".join(notes)


def _row(
    what: str,
    case: str,
    ours: list[float],
    unit: str,
    peer: Sequence[float] = (),
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> dict[str, Any]:
    middle, other = median(ours), median(peer) if peer else None
    wanted, holds = "", None
    if at_least is not None:
        wanted, holds = f"≥ {at_least:,} {unit}", middle >= at_least
    elif at_most is not None:
        wanted, holds = f"≤ {at_most:,} {unit}", middle <= at_most
    elif other is not None and what.endswith("index") and case.endswith(WITH_PEER):
        wanted, holds = "× > 1", middle > other
    return {
        "what": what,
        "case": case,
        "ours": middle,
        "unit": unit,
        "peer": other,
        "peer_name": "koncorde" if peer else "",
        "ratio": middle / other if other else None,
        "spread": _spread(ours),
        "wanted": wanted,
        "holds": holds,
        "note": "",
    }


def _spread(values: list[float]) -> float | None:
    if len(values) < 2:
        return None
    low, _, high = quantiles(values, n=4, method="inclusive")
    return (high - low) / median(values)


def report(rows: list[dict[str, Any]]) -> None:
    table = Table("what", "case", "ours", "koncorde", "ratio", "spread", "wanted", "", "note")
    before = ""
    for row in rows:
        if before not in ("", row["what"]):
            table.add_section()
        small = row["ours"] < 100
        table.add_row(
            row["what"] if row["what"] != before else "",
            row["case"],
            f"{row['ours']:,.2f} {row['unit']}" if small else f"{row['ours']:,.0f} {row['unit']}",
            f"{row['peer']:,.0f}" if row["peer"] else "",
            f"{row['ratio']:.2f}" if row["ratio"] else "",
            f"{row['spread']:.0%}" if row["spread"] is not None else "",
            row["wanted"],
            {None: "", True: "[green]holds[/]", False: "[bold red]MISSED[/]"}[row["holds"]],
            row["note"],
        )
        before = row["what"]
    Console(width=160, highlight=False).print(table)
