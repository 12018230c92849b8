"""The same random positions and areas for every encoding."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import cos, radians, sin

from zenoh_la import BloomDomain, Circle, Coordinates, GeographicRange, LocationKey, Polygon, Role
from zenoh_la.encoders import Encoder, get
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.encoders.mgrs import MgrsEncoder

SEED = 42
REGION = GeographicRange(45.0, 12.0, 48.0, 16.0)  # 333 km by some 300 km
POSITIONS = 400
AREAS = 120

AnyArea = Circle | GeographicRange | Polygon


@dataclass(frozen=True)
class Contender:
    """An encoder under the name that the table shows."""

    name: str
    encoder: Encoder


def _bloom(rows: int, p: float) -> Encoder:
    return BloomEncoder(BloomDomain(REGION, rows, rows, p))


CONTENDERS = [
    Contender("base64_json", get("base64_json")),
    Contender("mgrs, 4 cells", MgrsEncoder(max_cells=4)),
    Contender("mgrs, 16 cells", MgrsEncoder()),
    Contender("mgrs, 64 cells", MgrsEncoder(max_cells=64)),
    Contender("bloom 10x10 25 %", _bloom(10, 0.25)),
    Contender("bloom 10x10 1 %", _bloom(10, 0.01)),
    Contender("bloom 40x40 25 %", _bloom(40, 0.25)),
]


def _place(rng: random.Random, margin: float = 0.0) -> Coordinates:
    return Coordinates(
        rng.uniform(REGION.min_lat + margin, REGION.max_lat - margin),
        rng.uniform(REGION.min_long + margin, REGION.max_long - margin),
    )


def positions() -> list[Coordinates]:
    """Anywhere in the region."""
    rng = random.Random(SEED)
    return [_place(rng) for _ in range(POSITIONS)]


def areas() -> list[AnyArea]:
    """Circles, ranges and polygons of seven corners, 1 to 50 km in radius."""
    rng = random.Random(SEED + 1)
    made: list[AnyArea] = []
    for i in range(AREAS):
        centre, radius_m = _place(rng, 0.7), 10 ** rng.uniform(3, 4.7)
        lat, long = radius_m / 111_200, radius_m / 111_200 / cos(radians(centre.lat))
        if i % 3 == 0:
            made.append(Circle(centre, radius_m))
        elif i % 3 == 1:
            edges = (centre.lat - lat, centre.long - long, centre.lat + lat, centre.long + long)
            made.append(GeographicRange(*edges))
        else:
            turns = [6.28 * (k + rng.random() * 0.8) / 7 for k in range(7)]
            made.append(
                Polygon.from_points(
                    [(centre.lat + lat * sin(t), centre.long + long * cos(t)) for t in turns]
                )
            )
    return made


@dataclass(frozen=True)
class Keys:
    """What an encoding makes of the workload."""

    positions: list[LocationKey]
    areas: list[tuple[LocationKey, ...]]


def keys(contender: Contender) -> Keys:
    """All keys of the workload in one encoding."""
    encoder = contender.encoder
    return Keys(
        [encoder.encode_position(p) for p in positions()],
        [encoder.encode_area(a, Role.SUBSCRIBER) for a in areas()],
    )
