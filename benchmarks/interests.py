"""Seeded interests and publishers for the benchmark of the index: 1 km about places in 2 x 2°."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import cos, pi, radians, sin

from zenoh_la import BloomDomain, Circle, Coordinates, GeographicRange, MgrsCell, Polygon, Role
from zenoh_la.encoders import Location, decode, get
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell

SEED = 42
SOUTH, WEST, DEGREES, RADIUS_M = 47.0, 13.0, 2.0, 1000.0
MGRS = get("mgrs")
BLOOM = BloomEncoder(
    BloomDomain(GeographicRange(SOUTH, WEST, SOUTH + DEGREES, WEST + DEGREES), 10, 10, 0.25)
)

Interests = list[tuple[Location, ...]]


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


def covers(rng: random.Random, count: int) -> Interests:
    """Covers of circles by MGRS cells.

    A cover takes 2.7 ms, so 400 are made and then moved by whole kilometres of the grid, to where
    none of them leaves its square of 100 km. Equal cells are one value, as the index keeps them.
    """
    known = []
    cells: dict[str, Cell] = {}
    for _ in range(min(count, 400)):
        area = circle(rng)
        known.append((area.centre, [key.data for key in MGRS.encode_area(area, Role.SUBSCRIBER)]))
    made: Interests = []
    while len(made) < count:
        centre, texts = known[rng.randrange(len(known))]
        goal = MgrsCell.at(place(rng), 2).text
        moved = _moved(texts, MgrsCell.at(centre, 2).text, goal)
        if moved is not None:
            for text in moved:
                cells.setdefault(text, Cell(MgrsCell.parse(text)))
            made.append(tuple(cells[text] for text in moved))
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


def circles(rng: random.Random, count: int) -> Interests:
    return [(Region(circle(rng), Role.SUBSCRIBER),) for _ in range(count)]


def queryables(rng: random.Random, count: int) -> Interests:
    return [(Region(circle(rng), Role.QUERYABLE),) for _ in range(count)]


def polygons(rng: random.Random, count: int) -> Interests:
    return [(Region(polygon(rng), Role.SUBSCRIBER),) for _ in range(count)]


def filters(rng: random.Random, count: int) -> Interests:
    """Those of 20,000 circles, used again: they are some 500 different filters in any case."""
    keys = (BLOOM.encode_area(circle(rng), Role.SUBSCRIBER) for _ in range(min(count, 20_000)))
    made = [tuple(BLOOM.locate(key) for key in some) for some in keys]
    return [made[i % len(made)] for i in range(count)]


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
