"""How long a decision holds: epochs of a topic at a place.

Who wants a message depends on its topic and its place. What was decided about both holds until an
interest changes whose topic intersects and whose area, the old one or the new one, may hold the
place. Places near each other share an epoch, so that a change needs to look only at the epochs near
its two areas: a subscriber that moves does not concern a publisher elsewhere.

Voiding too much costs a decision; voiding too little is never allowed. So areas are taken for the
boxes about them, and what is not understood concerns everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import zenoh

from zenoh_la.encoders import Location
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.errors import InvalidLocationError
from zenoh_la.router_plugin.index.raster import Box, Raster
from zenoh_la.router_plugin.index.regions import AREAS, boxes_of, circle_box
from zenoh_la.router_plugin.index.topics import TopicTable
from zenoh_la.router_plugin.protocol import REMEMBERED_LENGTH, Interest
from zenoh_la.values import MgrsCell, mgrs_grid

Move = tuple[Interest | None, Interest | None]
"""What an interest was and what it is, of one topic; None before it came and after it went."""

_MAX_EPOCHS = 16_384
_MAX_COMPARED = 100_000
_MAX_BITS = 8192
_PER_DEGREE = 32.0  # tiles: 3.5 km high
_TILE_DIGITS = 1  # MGRS squares of 10 km
_SLACK_M = 200.0
_SLACK_DEG = 0.003


class Topic:
    """A topic about which something was decided, and how many interests it intersects."""

    __slots__ = ("interests", "key_expr", "name")

    def __init__(self, name: str, interests: int) -> None:
        self.name = name
        self.key_expr = zenoh.KeyExpr(name)
        self.interests = interests


class Epoch:
    """Its number goes up when what was decided at its topic and place is void.

    ``grants`` says how many rely on being told; ``followed`` is False if nobody tells it.
    """

    __slots__ = ("followed", "grants", "location", "number", "topic")

    def __init__(self, topic: Topic, location: Location, *, followed: bool) -> None:
        self.topic = topic
        self.location = location
        self.followed = followed
        self.number = 0
        self.grants = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """Topics whose interests changed, and the epochs that are void, with the moves that did it.

    Without moves an epoch is void for sure; else each is to be asked whether it matters.
    """

    topics: set[str]
    voided: dict[Epoch, list[Move] | None]


class Epochs:
    """The epochs of a node. Not for several threads at once: the caller locks.

    Args:
        most: how many there are beside those that somebody relies on.
        compared: of one change, how many pairs of topics, and how many epochs, are looked at; to
            forget all is quicker then.
    """

    def __init__(self, most: int = _MAX_EPOCHS, compared: int = _MAX_COMPARED) -> None:
        self._most = most
        self._compared = compared
        self._clear()

    def _clear(self) -> None:
        self._topics: TopicTable[Topic] = TopicTable()
        self._epochs: dict[tuple[str, Hashable], Epoch] = {}
        self._room = self._most
        self._places: Raster[Epoch] = Raster()
        self._elements: list[Epoch] = []
        self._unknown: list[Epoch] = []

    def get(self, topic: str, location: Location) -> Epoch | None:
        """The epoch of a topic and a place, if there is one."""
        return self._epochs.get((topic, _tile(location)))

    def begin(self, topic: str, location: Location, interests: int) -> Epoch:
        """A new one; ``interests`` is how many the topic intersects."""
        if len(topic) > REMEMBERED_LENGTH:  # nor is what is decided about it remembered
            return Epoch(Topic(topic, interests), location, followed=False)
        if len(self._epochs) >= self._room:
            self._make_room()
        known = self._topics.get(topic)
        if known is None:
            known = Topic(topic, interests)
            self._topics.add(topic, known)
        epoch = Epoch(known, location, followed=True)
        self._put(_tile(location), epoch)
        return epoch

    def _put(self, tile: Hashable, epoch: Epoch) -> None:
        self._epochs[epoch.topic.name, tile] = epoch
        if type(epoch.location) is Bits and tile is not None:
            self._elements.append(epoch)
        elif tile is None or (box := _box_of_tile(tile)) is None:
            self._unknown.append(epoch)
        else:
            self._places.add(len(self._epochs), (box,), epoch)

    def _make_room(self) -> None:
        """Forgets, and voids, all epochs but those that somebody relies on."""
        before = self._epochs
        self._clear()
        for (name, tile), epoch in before.items():
            if not epoch.grants:
                epoch.number += 1
                epoch.followed = False
                continue
            if self._topics.get(name) is None:
                self._topics.add(name, epoch.topic)
            self._put(tile, epoch)
        self._room = len(self._epochs) + self._most

    def change(self, moves: list[Move]) -> dict[Epoch, list[Move] | None]:
        """Voids what these moves of subscribers' interests may concern."""
        counts: dict[str, int] = {}
        for old, new in moves:
            if new is None and old is not None:
                counts[old.topic] = counts.get(old.topic, 0) - 1
            elif old is None and new is not None:
                counts[new.topic] = counts.get(new.topic, 0) + 1
        if len(counts) * len(self._topics) > self._compared:
            return self._forget()
        for name, count in counts.items():
            for topic in self._topics.meeting(name):
                topic.interests += count
        voided: dict[Epoch, list[Move] | None] = {}
        looked_at = 0
        for move in moves:
            concerned, looked = self._concerned(move)
            looked_at += looked
            if looked_at > self._compared:
                return self._forget()
            for epoch in concerned:
                epoch.number += 1
                why = voided.setdefault(epoch, [])
                assert why is not None
                why.append(move)
        return voided

    def _forget(self) -> dict[Epoch, list[Move] | None]:
        gone = list(self._epochs.values())
        self._clear()
        for epoch in gone:
            epoch.number += 1
            epoch.followed = False
        return dict.fromkeys(gone)

    def _concerned(self, move: Move) -> tuple[set[Epoch], int]:
        """The epochs that a move may concern, and how many were looked at."""
        concerned: set[Epoch] = set()
        looked_at = 0
        for interest in move:
            if interest is None or not self._epochs:
                continue
            looked_at += sum(type(o) is Bits for o in interest.locations) * len(self._elements)
            if looked_at > self._compared:
                break  # the caller forgets all
            for near in self._near(interest.locations):
                looked_at += len(near) + 1
                concerned.update(e for e in near if _intersect(e.topic, interest.topic))
        return concerned, looked_at

    def _near(self, locations: Iterable[Location]) -> Iterator[Collection[Epoch]]:
        if self._unknown:
            yield self._unknown
        boxes: dict[Box, None] = {}
        for location in locations:
            if type(location) is Bits:
                yield [e for e in self._elements if location.matches(e.location)]
                continue
            some = _boxes(location)
            if some is None:
                yield self._epochs.values()
                return
            boxes.update(dict.fromkeys(some))
        for box in boxes:
            yield self._places.near(box).values()

    def about(self, topic: str) -> list[Epoch]:
        """All epochs of a topic, wherever they are."""
        return [epoch for epoch in self._epochs.values() if _intersect(epoch.topic, topic)]


def _intersect(known: Topic, topic: str) -> bool:
    return known.name == topic or known.key_expr.intersects(topic)


def _tile(location: Location) -> Hashable:
    """What locations with the same epoch share; None for those that only their maker knows."""
    if type(location) is Point:
        place = location.place
        return int((place.lat + 90.0) * _PER_DEGREE), int((place.long + 180.0) * _PER_DEGREE)
    if type(location) is Cell:
        path = location.place.path
        return path[: (3 if path[0] <= "9" else 1) + 2 + 2 * _TILE_DIGITS]
    if type(location) is Bits and location.length <= _MAX_BITS:
        return location
    return None


def _box_of_tile(tile: Hashable) -> Box | None:
    if isinstance(tile, str):
        return _box_of_cell(tile)
    assert isinstance(tile, tuple)
    south, west = tile[0] / _PER_DEGREE - 90.0, tile[1] / _PER_DEGREE - 180.0
    size = 1.0 / _PER_DEGREE
    return _grown(south, west, south + size, west + size)


def _boxes(location: Location) -> list[Box] | None:
    """Boxes about an interest; None if nothing is known of it."""
    if type(location) is Region and type(location.place) in AREAS:
        return boxes_of(location.place)
    if type(location) is Cell:
        tile = _tile(location)
        assert isinstance(tile, str)
        box = _box_of_cell(tile)
        return None if box is None else [box]
    return None


@lru_cache(maxsize=16_384)
def _box_of_cell(path: str) -> Box | None:
    """A box about all that lies in an MGRS cell, generously; None if there is no telling."""
    cell = MgrsCell(path)
    if cell.size_m is None:  # a zone: keys of its squares may be written beyond its edge
        return None
    size_m = cell.size_m
    try:
        middle = mgrs_grid.cell_middle(cell.zone, *cell.corner_m, size_m)
    except InvalidLocationError:
        return None
    # Half the diagonal, 3 % more because the grid's metres are not the Earth's.
    return circle_box(middle.lat, middle.long, size_m * 0.7072 * 1.03 + _SLACK_M)


def _grown(south: float, west: float, north: float, east: float) -> Box:
    south, north = max(south - _SLACK_DEG, -90.0), min(north + _SLACK_DEG, 90.0)
    west, east = west - _SLACK_DEG, east + _SLACK_DEG
    return (
        south,
        west + 360.0 if west < -180.0 else west,
        north,
        east - 360.0 if east > 180.0 else east,
    )
