"""How fast the index of interests and the routing table are: ``python -m benchmarks.index_speed``.

For each kind of interest one process makes the data, and the contenders take turns on it: the
index, the routing table with it in it, npm's koncorde where it knows such areas, and asking
everyone. Each repetition is a process of its own (ours are forked from the one with the data, so
that nobody has asked anything yet). A figure is the median of its repetitions, its spread the
distance between their quartiles over it. What the contenders find is compared.

Kinds can be named: ``python -m benchmarks.index_speed circles Bloom``.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import koncorde
from benchmarks.index_rows import COMPARED, SIZES, WITH_PEER, Figures, report, rows_of
from benchmarks.interests import KINDS, SEED, Interests, circles, point
from zenoh_la.encoders import Location
from zenoh_la.router_plugin.index import InterestIndex
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.router_plugin.protocol import ANY, Interest, Sender
from zenoh_la.router_plugin.routes import Owner, RoutingTable

OUT = Path(".benchmarks/index.json")
TOPIC = "traffic/warnings"
REPETITIONS = int(os.environ.get("REPETITIONS", "5"))
MOVES, FINDS, FEWER_FINDS, WARM = 20_000, 100_000, 20_000, 5_000
CHECKED = 500  # places where the answers are compared
PATIENCE_S = 0.25  # for asking everyone
STAYING = 100  # publishers whose routes the table remembers meanwhile
_TIMEOUT_S = 600.0

Data = tuple[Interests, Interests, list[Location]]
"""What is added, what the first of these move to, and publishers."""


def seconds(job: Callable[[], Any]) -> float:
    start = perf_counter()
    job()
    return perf_counter() - start


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def fill(index: InterestIndex[int], interests: Interests) -> None:
    for ident, locations in enumerate(interests):
        index.set(ident, TOPIC, locations)


def ask(index: InterestIndex[int], locations: Sequence[Location]) -> int:
    found = 0
    for location in locations:
        found += len(index.find(TOPIC, location))
    return found


def time_index(data: Data) -> Figures:
    interests, moved, places = data
    index: InterestIndex[int] = InterestIndex()
    before_mb = resident_mb()
    figures: Figures = {"add/s": len(interests) / seconds(lambda: fill(index, interests))}
    figures["index MB"] = resident_mb() - before_mb
    figures["move/s"] = len(moved) / seconds(lambda: fill(index, moved))
    ask(index, places[:WARM])
    rest = places[WARM:]
    start = perf_counter()
    found = ask(index, rest)
    figures["find/s"] = len(rest) / (perf_counter() - start)
    figures["found"] = found / len(rest)
    figures["answers"] = [index.find(TOPIC, location) for location in places[:CHECKED]]
    return figures


def _owned(interests: Interests) -> list[tuple[Owner, Interest]]:
    """Half of them a session's each, half of them those of fifty other nodes."""
    return [
        (
            (i, 0) if i % 2 else (f"{i % 100:08x}", i),
            Interest("s", TOPIC, (f"{id(locations)}",), locations),
        )
        for i, locations in enumerate(interests)
    ]


def time_table(data: Data) -> Figures:
    """The routing table: who gets a message of a topic, a place and a sender."""
    interests, moved, places = data
    table, new, then = RoutingTable(), _owned(interests), _owned(moved)

    def change(all_of_them: list[tuple[Owner, Interest]]) -> None:
        for one in all_of_them:
            table.change([one], [])

    for location in places[:STAYING]:
        table.epoch(TOPIC, location)
    figures: Figures = {"add/s": len(new) / seconds(lambda: change(new))}
    figures["move/s"] = len(then) / seconds(lambda: change(then))
    somebody = Sender(None, ANY)
    for location in places[:WARM]:
        table.takers(TOPIC, location, somebody)
    rest, matched = places[WARM:], 0
    start = perf_counter()
    for location in rest:
        matched += table.takers(TOPIC, location, somebody).matched
    figures["find/s"] = len(rest) / (perf_counter() - start)
    figures["found"] = matched / len(rest)
    return figures


def time_scan(data: Data) -> Figures:
    """Asks everyone."""
    interests, moved, places = data
    held = [*moved, *interests[len(moved) :]]
    answers: list[list[int]] = []
    start = perf_counter()
    while perf_counter() - start < PATIENCE_S and len(answers) < CHECKED:
        location = places[len(answers)]
        answers.append(
            [i for i, some in enumerate(held) if any(locations_match(location, o) for o in some)]
        )
    return {"find/s": len(answers) / (perf_counter() - start), "answers": answers}


def time_together(data: Data) -> Figures:
    """25,000 adds, as many moves, 50,000 finds, in one thread."""
    first, then, locations = data
    index: InterestIndex[int] = InterestIndex()

    def job() -> None:
        fill(index, first)
        fill(index, then)
        ask(index, locations)

    return {"seconds": seconds(job)}


def time_fleet(data: Data) -> Figures:
    """1,000 subscribers that move, beside publishers that stay: how many routes that voids."""
    interests, moved, places = data
    table = RoutingTable()
    table.change(_owned(interests[:1000]), [])
    epochs = [table.epoch(TOPIC, location) for location in places[:STAYING]]
    owners = [owner for owner, _ in _owned(interests[:1000])]
    moves = [(owners[i % 1000], new) for i, (_, new) in enumerate(_owned(moved))]
    before = sum(epoch.number for epoch in epochs)
    for one in moves:
        table.change([one], [])
    voided = sum(epoch.number for epoch in epochs) - before
    return {"voided": voided / len(moves) / len(epochs)}


def forked(job: Callable[[Data], Figures], data: Data) -> Figures:
    """One repetition, in a process that has the data and nothing else yet."""
    context = multiprocessing.get_context("fork")
    ours, its = context.Pipe(duplex=False)

    process = context.Process(target=lambda: its.send(job(data)))
    process.start()
    its.close()
    try:
        if not ours.poll(_TIMEOUT_S):
            raise TimeoutError(job.__name__)
        figures: Figures = ours.recv()
    finally:
        process.kill()
        process.join()
    return figures


def one_size(kind: str, size: int, data: Data) -> dict[str, list[Figures]]:
    """All repetitions of all contenders."""
    interests, moved, places = data
    finds = FINDS if kind in COMPARED and size < max(SIZES) else FEWER_FINDS
    here: Data = interests[:size], moved[:size], places[:finds]
    has_table = not kind.startswith("queryable")
    document = koncorde.FOLDER / f"{kind}-{size}.json"
    contenders: dict[str, Callable[[], Figures]] = {"index": lambda: forked(time_index, here)}
    if has_table:
        contenders["table"] = lambda: forked(time_table, here)
    if kind in WITH_PEER and os.environ.get("KONCORDE"):
        koncorde.write(document, TOPIC, *here, CHECKED)
        contenders["koncorde"] = lambda: koncorde.run(document)
    contenders["scan"] = lambda: forked(time_scan, here)
    runs: dict[str, list[Figures]] = {name: [] for name in contenders}
    for i in range(REPETITIONS):
        for name, run in contenders.items():
            print(f"  {size:,} {kind}: {name}, {i + 1} of {REPETITIONS}", file=sys.stderr)
            runs[name].append(run())
    document.unlink(missing_ok=True)
    _compare(runs, [*here[1], *here[0][len(here[1]) :]], here[2])
    return runs


def _compare(runs: dict[str, list[Figures]], interests: Interests, places: list[Location]) -> None:
    """What everybody found is the same; afterwards the figures are without their answers."""
    ours = [sorted(found) for found in runs["index"][0]["answers"]]
    for name, figures in ((name, one) for name, some in runs.items() for one in some):
        answers = figures.pop("answers", None)
        if answers is None:
            continue
        if name == "koncorde":
            figures["close"] = koncorde.compare(answers, ours, interests, places)
        else:
            for place, found, mine in zip(places, answers, ours, strict=False):
                assert sorted(found) == mine, (name, place)
    for figures in runs.get("table", ()):
        assert figures["found"] == runs["index"][0]["found"]


def one_kind(kind: str) -> Figures:
    """Everything that is measured of one kind, in this process and those that it starts."""
    make, publisher = KINDS[kind]
    sizes = SIZES if kind in COMPARED else SIZES[1:2]
    rng = random.Random(SEED)
    gc.collect()
    before_mb = resident_mb()
    interests = make(rng, sizes[-1])
    values_mb = resident_mb() - before_mb
    data = interests, make(rng, min(MOVES, sizes[-1])), [publisher(rng) for _ in range(FINDS)]
    gc.collect()
    gc.freeze()  # the data is not the contenders'
    figures: Figures = {"values MB": values_mb}
    figures["sizes"] = {size: one_size(kind, size, data) for size in sizes}
    if kind == "circles":
        mixed = circles(rng, 25_000), circles(rng, 25_000), [point(rng) for _ in range(50_000)]
        gc.freeze()
        figures["together"] = [forked(time_together, mixed) for _ in range(REPETITIONS)]
        figures["fleet"] = [forked(time_fleet, data)]
    return figures


def run_all(kinds: Sequence[str]) -> Figures:
    """The figures of all kinds, and why the peer did not run if it did not."""
    figures: Figures = {"seed": SEED, "peer": f"koncorde {koncorde.VERSION}", "missing": ""}
    environment = dict(os.environ)
    try:
        koncorde.install()
        environment["KONCORDE"] = "1"
    except koncorde.MissingError as exc:
        figures["missing"] = str(exc)
    figures["kinds"] = {}
    for kind in kinds:
        command = [sys.executable, "-m", "benchmarks.index_speed", "--kind", kind]
        done = subprocess.run(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=_TIMEOUT_S,
        )
        figures["kinds"][kind] = json.loads(done.stdout)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(figures, indent=1))
    return figures


def measured(kinds: Sequence[str] = tuple(KINDS)) -> list[dict[str, Any]]:
    """The lines of the table: what, case, ours, unit, peer, peer_name, spread, wanted, holds."""
    return rows_of(run_all(kinds))


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--kind"]:
        print(json.dumps(one_kind(arguments[1])))
        return
    report(measured(arguments or tuple(KINDS)))
    print(f"written to {OUT}")


if __name__ == "__main__":
    main(sys.argv[1:])
