"""Who must get what, by asking everybody: the brute force that the network is compared with.

It shares with the network the encoders and `location_match` (which have suites of their own), and
nothing of the nodes: no index, no routing table, no remembered route.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random
from typing import Any, NamedTuple

import zenoh

from zenoh_la import (
    BloomDomain,
    Circle,
    Coordinates,
    GeographicRange,
    MgrsCell,
    Polygon,
    Precision,
    Role,
    Shape,
    location_match,
)
from zenoh_la.encoders import Encoder
from zenoh_la.encoders.base64_json import Base64JsonEncoder
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.encoders.mgrs import MgrsEncoder
from zenoh_la.values import Area

# Four grid zones of MGRS meet in the middle: 32T, 33T, 32U and 33U.
BOUNDS = GeographicRange(47.0, 11.0, 49.0, 13.0)
DOMAIN = BloomDomain(BOUNDS, rows=12, columns=12, false_positive_probability=0.05)
CORNERS = [
    Coordinates(lat, long) for lat in (47.0, 47.5, 48.0, 49.0) for long in (11.5, 12.0, 13.0)
]

EXACT = ["t", "t/a", "t/b", "t/a/x", "t/b/x/y", "u/a", "t/@v/a", "t/@v/b", "@v/a"]
WILD = ["t/*", "t/**", "**", "t/a/**", "t/*/x", "*/a", "t/a$*", "**/x", "t/@v/*", "t/@v/**", "@v/*"]
# Of publishers that stay: few want them, and no wildcard of the others does.
STAYED = [f"@s/{number}" for number in range(6)]
WANTED = [*EXACT, *WILD, *STAYED, "@s/*"]
"""What subscribers and queryables are declared on."""

PRECISIONS = list(Precision)
ENCODERS: dict[Precision, Encoder] = {
    Precision.POINT: Base64JsonEncoder(),
    Precision.MGRS: MgrsEncoder(),
    Precision.BLOOM_FILTER: BloomEncoder(DOMAIN),
}


@cache
def topics_meet(a: str, b: str) -> bool:
    return zenoh.KeyExpr(a).intersects(b)


def any_place(random: Random) -> Coordinates:
    """Anywhere in the domain; one in five where cells and zones meet."""
    if random.random() < 0.2:
        return random.choice(CORNERS)
    return Coordinates(random.uniform(47.0, 49.0), random.uniform(11.0, 13.0))


@dataclass(frozen=True)
class Where:
    """The arguments of a call that has an area; ``cell_digits`` or ``radius_m`` if it moves."""

    arguments: dict[str, Any]
    precision: Precision
    fixed: Area | None = None
    radius_m: float = 0.0
    cell_digits: int | None = None

    def keys(self, role: Role, position: Coordinates | None) -> tuple[str, ...]:
        """The location keys, in written form, that this area has at a position."""
        area = self.fixed
        if area is None:
            assert position is not None
            area = (
                Circle(position, self.radius_m)
                if self.cell_digits is None
                else MgrsCell.at(position, self.cell_digits)
            )
        return tuple(key.written for key in ENCODERS[self.precision].encode_area(area, role))


def any_area(random: Random) -> Where:
    """An area that stays: of every shape, in every encoding."""
    kind = random.choice(["circle", "range", "polygon", "cell"])
    precision = random.choice(PRECISIONS)
    area: Area
    data: dict[str, Any]
    if kind == "cell":
        cell = MgrsCell.at(any_place(random), random.choice([0, 1, 1, 2]))
        if random.random() < 0.5:
            data = {"mgrs": cell.text}
            return Where(_arguments(Shape.NONE, data, Precision.MGRS), Precision.MGRS, cell)
        return Where(_arguments(cell, None, precision), precision, cell)
    if kind == "circle":
        centre, radius_m = any_place(random), random.choice([500.0, 20_000.0, 60_000.0])
        area = Circle(centre, radius_m)
        data = {"r": radius_m, "c": centre.to_dict()}
        return Where(_arguments(Shape.CIRCLE, data, precision), precision, area)
    a, b, c = any_place(random), any_place(random), any_place(random)
    south, north = sorted((a.lat, b.lat))
    west, east = sorted((a.long, b.long))
    if kind == "range" or south == north or west == east:
        area = GeographicRange(south, west, north, east)
        return Where(_arguments(Shape.GEOGRAPHIC_RANGE, area.to_dict(), precision), precision, area)
    top = (49.0, c.long)  # above or below the other two, so that there is an area between them
    points = [(south, west), (47.0 if south > 47.5 else 48.5, east), top]
    area = Polygon.from_points(points)
    return Where(_arguments(Shape.POLYGON, {"points": points}, precision), precision, area)


def any_area_about_oneself(random: Random) -> Where:
    """An area that goes with the session, in every encoding."""
    if random.random() < 0.3:
        digits = random.choice([0, 1, 2])
        arguments = _arguments(Shape.NONE, {"digits": digits}, Precision.MGRS)
        return Where(arguments, Precision.MGRS, cell_digits=digits)
    precision, radius_m = random.choice(PRECISIONS), random.choice([500.0, 20_000.0, 60_000.0])
    arguments = _arguments(Shape.CIRCLE, {"r": radius_m}, precision)
    return Where(arguments, precision, radius_m=radius_m)


def _arguments(shape: Any, data: Any, precision: Precision) -> dict[str, Any]:
    return {"location_shape": shape, "shape_data": data, "precision": precision}


class Seen(NamedTuple):
    """All that a subscriber must find in a sample."""

    topic: str
    kind: str
    payload: str
    attachment: str | None
    location_key: str | None
    location: tuple[float, float] | None


def seen(sample: Any) -> Seen:
    """A sample as it came."""
    attachment = sample.attachment
    key = getattr(sample, "location_key", None)
    place = getattr(sample, "location", None)
    return Seen(
        str(sample.key_expr),
        str(sample.kind),
        sample.payload.to_string(),
        None if attachment is None else attachment.to_string(),
        None if key is None else key.written,
        None if place is None else _rounded(place),
    )


def _rounded(place: Coordinates) -> tuple[float, float]:
    return round(place.lat, 9), round(place.long, 9)


@dataclass(frozen=True)
class Sent:
    """A message as it was put; ``precision`` None for a plain one, ``sender`` a party's number."""

    topic: str
    kind: str
    payload: str
    attachment: str | None
    place: Coordinates | None
    precision: Precision | None
    sender: int
    destination: zenoh.Locality | None

    @cached_property
    def location_key(self) -> str | None:
        if self.place is None or self.precision is None:
            return None
        return ENCODERS[self.precision].encode_position(self.place).written

    def as_seen(self) -> Seen:
        key, place = self.location_key, None
        if key is not None:
            assert self.place is not None
            place = _rounded(_shown(self.place, self.precision))
        return Seen(self.topic, self.kind, self.payload, self.attachment, key, place)


def _shown(place: Coordinates, precision: Precision | None) -> Coordinates:
    """Where a receiver sees it: of a cell the centre."""
    if precision is Precision.MGRS:
        return MgrsCell.at(place).centre
    if precision is Precision.BLOOM_FILTER:
        cell = DOMAIN.range_of(DOMAIN.cell_at(place))
        middle = (cell.min_long + cell.max_long) / 2
        return Coordinates((cell.min_lat + cell.max_lat) / 2, middle)
    return place


@dataclass(frozen=True)
class Wanted:
    """What a subscriber must get; ``keys`` None for the whole network."""

    topic: str
    keys: tuple[str, ...] | None
    include_unlocated: bool
    owner: int
    origin: zenoh.Locality | None

    def takes(self, message: Sent) -> bool:
        return (
            topics_meet(self.topic, message.topic)
            and self._may_reach(message)
            and self._lies_in(message.location_key)
        )

    def _may_reach(self, message: Sent) -> bool:
        other = zenoh.Locality.REMOTE, zenoh.Locality.SESSION_LOCAL
        never = other[0] if message.sender == self.owner else other[1]
        return never not in (message.destination, self.origin)

    def _lies_in(self, at: str | None) -> bool:
        if self.keys is None:
            return True
        if at is None:
            return self.include_unlocated
        return any(location_match(at, key) for key in self.keys)


def expected(wanted: Wanted, messages: list[Sent]) -> Counter[Seen]:
    """The messages that a subscriber must get, each as often as it was put."""
    return Counter(message.as_seen() for message in messages if wanted.takes(message))
