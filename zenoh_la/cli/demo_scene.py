"""The demo's scene: four cities, what is measured there, who listens, and who should hear what."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from zenoh_la import encoders
from zenoh_la.cli.demo_router import LOCATION_AWARE, STOCK
from zenoh_la.encoders import BloomDomain, Encoder, Precision
from zenoh_la.keys import BLOOM, LocationKey, Role
from zenoh_la.router_plugin import location_match
from zenoh_la.values import Area, Circle, Coordinates, GeographicRange

ROUTERS = {
    "west": LOCATION_AWARE,
    "transit": STOCK,
    "centre": LOCATION_AWARE,
    "east": LOCATION_AWARE,
}
CITIES = {
    "Salzburg": (Coordinates(47.80, 13.04), "west"),
    "Linz": (Coordinates(48.30, 14.29), "centre"),
    "St. Pölten": (Coordinates(48.20, 15.63), "centre"),
    "Vienna": (Coordinates(48.21, 16.37), "east"),
}
AROUND = ((0.02, 0.0), (-0.015, 0.02), (0.0, -0.025))
"""Where the stations of a city are, in degrees from its centre."""
TOPICS = {
    "temperature": Precision.POINT,
    "noise": Precision.MGRS,
    "traffic": Precision.BLOOM_FILTER,
}
DOMAIN = BloomDomain(
    GeographicRange(47.6, 12.8, 48.6, 16.8), rows=5, columns=20, false_positive_probability=0.01
)
CAR_RADIUS_M = 15_000
ROAD = ("Linz", "St. Pölten", "Vienna")
STOPS_BETWEEN = (7, 4)
PAYLOAD_BYTES = 200
ROUNDS = 3
"""Messages of each station and topic while the car is at one place."""

_HEAD = struct.Struct("<QI")
PROBE = (1 << 32) - 1
"""The number of a message that only shows that there is a way."""


def payload(number: int) -> bytes:
    """The message of a number, sent now."""
    return _HEAD.pack(perf_counter_ns(), number).ljust(PAYLOAD_BYTES, b".")


def stops() -> list[tuple[float, Coordinates]]:
    """Where the car stops, and how many kilometres it has driven."""
    km, at = 0.0, CITIES[ROAD[0]][0]
    found = [(km, at)]
    for name, count in zip(ROAD[1:], STOPS_BETWEEN, strict=True):
        start, end = at, CITIES[name][0]
        for i in range(1, count + 1):
            part = i / count
            at = Coordinates(
                start.lat + (end.lat - start.lat) * part,
                start.long + (end.long - start.long) * part,
            )
            km += found[-1][1].distance_m(at) / 1000
            found.append((km, at))
    return found


@dataclass(frozen=True, slots=True)
class Message:
    """One that a station published, and where the car was at that time."""

    city: str
    position: Coordinates
    topic: str
    car: Coordinates


@dataclass(slots=True)
class Listener:
    """Somebody who wants what arises in an area, and what was received."""

    name: str
    router: str
    about: str
    area: Callable[[Coordinates], Area]
    heard: list[tuple[int, int]] = field(default_factory=list)
    probes: int = 0

    def on_sample(self, sample: Any) -> None:
        """Keeps the number of a message, and how many nanoseconds it took."""
        now = perf_counter_ns()
        sent, number = _HEAD.unpack_from(sample.payload.to_bytes())
        if number == PROBE:
            self.probes += 1
        else:
            self.heard.append((number, now - sent))


def listeners() -> list[Listener]:
    """All who listen; the car comes last."""
    vienna = Circle(CITIES["Vienna"][0], 15_000)
    west = GeographicRange(47.5, 12.8, 48.5, 14.5)
    return [
        Listener("recorder A", "west", "one zone: 15 km around Vienna", lambda _: vienna),
        Listener("recorder B", "east", "two zones: Salzburg and Linz", lambda _: west),
        Listener("car", "centre", "15 km around itself", lambda at: Circle(at, CAR_RADIUS_M)),
    ]


class Oracle:
    """Who should receive a message, by geometry and brute force: nothing of a router is used."""

    def __init__(self) -> None:
        by_name: dict[str, Encoder] = {
            name: encoders.get(name, domain=DOMAIN) if name == BLOOM else encoders.get(name)
            for name in (precision.value for precision in TOPICS.values())
        }
        self._encoders = {topic: by_name[precision.value] for topic, precision in TOPICS.items()}
        self._keys: dict[tuple[str, Area], tuple[LocationKey, ...]] = {}
        self._verdicts: dict[tuple[Coordinates, str, Area], bool] = {}

    def is_inside(self, message: Message, listener: Listener) -> bool:
        """Whether it arose in the area."""
        return listener.area(message.car).contains(message.position)

    def is_due(self, message: Message, listener: Listener) -> bool:
        """Whether the keys match: cells may reach a little beyond the area, never less far."""
        area, encoder = listener.area(message.car), self._encoders[message.topic]
        at = (message.position, message.topic, area)
        if at not in self._verdicts:
            if (message.topic, area) not in self._keys:
                self._keys[message.topic, area] = encoder.encode_area(area, Role.SUBSCRIBER)
            key = encoder.encode_position(message.position)
            keys = self._keys[message.topic, area]
            self._verdicts[at] = any(location_match(key, other) for other in keys)
        return self._verdicts[at]
