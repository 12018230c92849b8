"""How fast the index of interests is: ``python -m benchmarks.index_speed``.

Each row is a process of its own, so that its memory is its own too. Beside the index, in the same
process and on the same data, every contender of `CONTENDERS` is timed; on what both are asked, both
must find the same.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from math import cos, pi, radians, sin
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table

from zenoh_la import BloomDomain, Circle, Coordinates, GeographicRange, MgrsCell, Polygon, Role
from zenoh_la.encoders import Location, decode, get
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.router_plugin.index import InterestIndex
from zenoh_la.router_plugin.match import locations_match

OUT = Path(".benchmarks/index.json")
SEED = 42
SOUTH, WEST, DEGREES, RADIUS_M = 47.0, 13.0, 2.0, 1000.0
TOPIC = "traffic/warnings"
SIZES = (1_000, 10_000, 100_000)
FINDS, ROUNDS = 10_000, 3
MOVES = 20_000
PATIENCE_S = 1.0  # for contenders that are slow

Interests = list[tuple[Location, ...]]


class Contender(Protocol):
    """What a peer of the index must do to be timed beside it."""

    def set(self, ident: int, topic: str, locations: Sequence[Location]) -> None: ...

    def find(self, topic: str, location: Location) -> list[int]: ...


class Scan:
    """Asks everyone."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[str, tuple[Location, ...]]] = {}

    def set(self, ident: int, topic: str, locations: Sequence[Location]) -> None:
        self._held[ident] = topic, tuple(locations)

    def find(self, topic: str, location: Location) -> list[int]:
        return [
            ident
            for ident, (t, locations) in self._held.items()
            if t == topic and any(locations_match(location, other) for other in locations)
        ]


CONTENDERS: dict[str, Callable[[], Contender]] = {"scan": Scan}


def place(rng: random.Random) -> Coordinates:
    return Coordinates(SOUTH + rng.random() * DEGREES, WEST + rng.random() * DEGREES)


def circle(rng: random.Random) -> Circle:
    return Circle(place(rng), RADIUS_M)


def polygon(rng: random.Random) -> Polygon:
    """Six corners, none further than 1 km from the middle."""
    middle, lat = place(rng), RADIUS_M / 111_200
    long = lat / cos(radians(middle.lat))
    turns = [2 * pi * (k + 0.8 * rng.random()) / 6 for k in range(6)]
    corners = [(middle.lat + lat * sin(t), middle.long + long * cos(t)) for t in turns]
    return Polygon.from_points(corners)


MGRS = get("mgrs")


def covers(rng: random.Random, count: int) -> Interests:
    """Covers of circles by MGRS cells.

    A cover takes 2.7 ms, so 400 are made and then moved by whole kilometres of the grid; only
    where one would leave its square of 100 km a new one is made.
    """
    known = []
    for _ in range(min(count, 400)):
        area = circle(rng)
        known.append((area.centre, [key.data for key in MGRS.encode_area(area, Role.SUBSCRIBER)]))
    made: Interests = []
    while len(made) < count:
        centre, texts = known[len(made) % len(known)]
        goal = circle(rng)
        moved = _moved(texts, MgrsCell.at(centre, 2).text, MgrsCell.at(goal.centre, 2).text)
        if moved is None:
            moved = [key.data for key in MGRS.encode_area(goal, Role.SUBSCRIBER)]
        made.append(tuple(Cell(MgrsCell.parse(text)) for text in moved))
    return made


def _moved(texts: list[str], origin: str, goal: str) -> list[str] | None:
    moved = []
    for text in texts:
        digits = (len(text) - 5) // 2
        if text[:5] != origin[:5] or digits < 2:
            return None
        step = 10 ** (digits - 2)
        numbers = [
            int(text[i : i + digits]) + (int(goal[j : j + 2]) - int(origin[j : j + 2])) * step
            for i, j in ((5, 5), (5 + digits, 7))
        ]
        if not all(0 <= number < 10**digits for number in numbers):
            return None
        moved.append(goal[:5] + "".join(f"{number:0{digits}}" for number in numbers))
    return moved


BLOOM = BloomEncoder(
    BloomDomain(GeographicRange(SOUTH, WEST, SOUTH + DEGREES, WEST + DEGREES), 10, 10, 0.25)
)


def circles(rng: random.Random, count: int) -> Interests:
    return [(Region(circle(rng), Role.SUBSCRIBER),) for _ in range(count)]


def queryables(rng: random.Random, count: int) -> Interests:
    return [(Region(circle(rng), Role.QUERYABLE),) for _ in range(count)]


def polygons(rng: random.Random, count: int) -> Interests:
    return [(Region(polygon(rng), Role.SUBSCRIBER),) for _ in range(count)]


def filters(rng: random.Random, count: int) -> Interests:
    keys = (BLOOM.encode_area(circle(rng), Role.SUBSCRIBER) for _ in range(count))
    return [tuple(BLOOM.locate(key) for key in some) for some in keys]


def point(rng: random.Random) -> Location:
    return Point(place(rng))


def metre(rng: random.Random) -> Location:
    return decode(MGRS.encode_position(place(rng)))


def element(rng: random.Random) -> Location:
    return BLOOM.locate(BLOOM.encode_position(place(rng)))


def asked(rng: random.Random) -> Location:
    return Region(circle(rng), Role.GET)


KINDS: dict[str, tuple[Callable[[random.Random, int], Interests], Callable[..., Location]]] = {
    "circles": (circles, point),
    "polygons": (polygons, point),
    "MGRS": (covers, metre),
    "Bloom": (filters, element),
    "circles, MGRS publishers": (circles, metre),
    "MGRS, Base64 publishers": (covers, point),
    "queryable circles, gets": (queryables, asked),
}
ROWS = [(kind, size) for kind in list(KINDS)[:4] for size in SIZES]
ROWS += [(kind, 10_000) for kind in list(KINDS)[4:]]


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def seconds(job: Callable[[], Any]) -> float:
    start = perf_counter()
    job()
    return perf_counter() - start


def fill(contender: Contender, interests: Interests) -> None:
    for ident, locations in enumerate(interests):
        contender.set(ident, TOPIC, locations)


def ask(contender: Contender, locations: list[Location]) -> int:
    return sum(len(contender.find(TOPIC, location)) for location in locations)


def one_row(kind: str, size: int) -> dict[str, Any]:
    """Everything that is measured of one kind and size."""
    make, publisher = KINDS[kind]
    rng = random.Random(SEED)
    gc.collect()
    empty_mb = resident_mb()
    start = perf_counter()
    interests = make(rng, size)
    row: dict[str, Any] = {"kind": kind, "interests": size}
    row["make us"] = (perf_counter() - start) / size * 1e6
    values_mb = resident_mb()
    index: InterestIndex[int] = InterestIndex()
    row["add/s"] = size / seconds(lambda: fill(index, interests))
    row["index MB"] = resident_mb() - values_mb
    row["MB"] = resident_mb() - empty_mb
    moved = make(rng, min(size, MOVES))
    row["move/s"] = len(moved) / seconds(lambda: fill(index, moved))
    rounds = [[publisher(rng) for _ in range(FINDS)] for _ in range(ROUNDS)]
    times = [seconds(lambda some=some: ask(index, some)) for some in rounds]  # type: ignore[misc]
    row["find/s"] = FINDS / median(times)
    row["found"] = ask(index, rounds[0]) / FINDS
    row["beside"] = dict(beside(index, [*moved, *interests[len(moved) :]], rounds[0]))
    return row


def beside(
    index: InterestIndex[int], interests: Interests, locations: list[Location]
) -> Iterator[tuple[str, dict[str, float]]]:
    """How much each contender finds per second; what it finds is what the index finds."""
    for name, make in CONTENDERS.items():
        contender = make()
        fill(contender, interests)
        spent, done = 0.0, 0
        for location in locations:
            start = perf_counter()
            found = contender.find(TOPIC, location)
            spent += perf_counter() - start
            done += 1
            assert sorted(found) == sorted(index.find(TOPIC, location)), (name, location)
            if spent > PATIENCE_S:
                break
        yield name, {"find/s": done / spent, "agreed": done}


def together() -> dict[str, Any]:
    """25,000 adds, as many moves, 50,000 finds, in one thread."""
    rng = random.Random(SEED)
    first, then = circles(rng, 25_000), circles(rng, 25_000)
    locations = [point(rng) for _ in range(50_000)]
    index: InterestIndex[int] = InterestIndex()

    def job() -> None:
        fill(index, first)
        fill(index, then)
        ask(index, locations)

    return {"seconds": seconds(job)}


def in_a_process_of_its_own(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.index_speed", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    measured: dict[str, Any] = json.loads(run.stdout)
    return measured


def report(rows: list[dict[str, Any]], mixed_s: float) -> None:
    console = Console(width=140)
    names = [f"{name}: {what}" for name in CONTENDERS for what in ("find/s", "times as fast")]
    table = Table("interests", "", "make µs", "add/s", "move/s", "find/s", "found", "index MB",
                  "with values", *names, title="An index of interests")  # fmt: skip
    for row in rows:
        others = [
            text
            for name in CONTENDERS
            for text in (
                f"{row['beside'][name]['find/s']:,.1f}",
                f"{row['find/s'] / row['beside'][name]['find/s']:,.0f}",
            )
        ]
        speeds = [f"{row[what]:,.0f}" for what in ("add/s", "move/s", "find/s")]
        sizes = [f"{row['found']:.2f}", f"{row['index MB']:.0f}", f"{row['MB']:.0f}"]
        table.add_row(row["kind"], f"{row['interests']:,}", f"{row['make us']:.1f}", *speeds,
                      *sizes, *others)  # fmt: skip
    console.print(table)
    by = {(row["kind"], row["interests"]): row for row in rows}
    many, most = by["circles", 10_000], by["circles", 100_000]
    slower = min(many["add/s"], many["move/s"])
    for said, held in (
        (f"10,000 circles: {many['find/s']:,.0f} finds a second (≥ 200,000)",
         many["find/s"] >= 200_000),
        (f"10,000 circles: {slower:,.0f} sets a second (≥ 50,000)", slower >= 50_000),
        (f"25,000 adds, 25,000 moves, 50,000 finds: {mixed_s:.2f} s (≤ 1.6)", mixed_s <= 1.6),
        (f"100,000 circles: {most['MB']:.0f} MB with their values (≤ 300)", most["MB"] <= 300),
    ):  # fmt: skip
        console.print(f"{'[green]holds[/]' if held else '[red]MISSED[/]'}  {said}")


def main() -> None:
    if sys.argv[1:] == ["together"]:
        print(json.dumps(together()))
    elif sys.argv[1:]:
        print(json.dumps(one_row(sys.argv[1], int(sys.argv[2]))))
    else:
        rows = [in_a_process_of_its_own(kind, str(size)) for kind, size in ROWS]
        mixed = in_a_process_of_its_own("together")
        report(rows, mixed["seconds"])
        OUT.parent.mkdir(exist_ok=True)
        OUT.write_text(json.dumps({"seed": SEED, "rows": rows, "together": mixed}, indent=2))
        print(f"written to {OUT}")


if __name__ == "__main__":
    main()
