"""Which of my sessions, and which nodes, want a message: the routing table."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import zenoh

from zenoh_la.encoders import Location
from zenoh_la.router_plugin.chunks import encoding_of
from zenoh_la.router_plugin.index import InterestIndex
from zenoh_la.router_plugin.protocol import REMEMBERED_LENGTH, Interest, Kind, Sender

Owner = tuple[int, int] | tuple[str, int]
"""Whose interest: slot and id of one of my sessions, or id and entry of another node."""

_MAX_TOPICS = 16_384
_MAX_COMPARED = 100_000
"""Pairs of topics; if there were more, to forget all decisions is quicker: 20 ms at the worst."""


class Epoch:
    """Goes up when an interest in a topic changes; what was decided before is void."""

    __slots__ = ("key_expr", "number")

    def __init__(self, topic: str) -> None:
        self.key_expr = zenoh.KeyExpr(topic)
        self.number = 0


@dataclass(frozen=True, slots=True)
class Takers:
    """Who wants it: ids per slot of this node, and other nodes; and how many were vetoed."""

    mine: dict[int, tuple[int, ...]]
    nodes: tuple[str, ...]
    vetoed: int


def _encoding(interest: Interest) -> str:
    return encoding_of(interest.locations[0] if interest.locations else None)


class RoutingTable:
    """All interests this node knows of, its own sessions' and other nodes'."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._interests: dict[Owner, Interest] = {}
        self._indexes: dict[Kind, InterestIndex[Owner]] = {
            "s": InterestIndex(),
            "q": InterestIndex(),
        }
        self._epochs: dict[str, Epoch] = {}
        self.encodings: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._interests)

    def get(self, owner: Owner) -> Interest | None:
        return self._interests.get(owner)

    def items(self) -> list[tuple[Owner, Interest]]:
        with self._lock:
            return list(self._interests.items())

    def change(self, new: Iterable[tuple[Owner, Interest]], gone: Iterable[Owner]) -> set[str]:
        """Adds, moves and removes interests at once; returns the topics they are about."""
        topics = set()
        with self._lock:
            for owner in gone:
                old = self._interests.pop(owner, None)
                if old is not None:
                    topics.add(old.topic)
                    self.encodings[_encoding(old)] -= 1
                    self._indexes[old.kind].remove(owner)
            for owner, interest in new:
                old = self._interests.get(owner)
                self.encodings[_encoding(interest)] += 1
                if old is not None:
                    topics.add(old.topic)
                    self.encodings[_encoding(old)] -= 1
                    if old.kind != interest.kind:
                        self._indexes[old.kind].remove(owner)
                topics.add(interest.topic)
                self._interests[owner] = interest
                self._indexes[interest.kind].set(owner, interest.topic, interest.locations)
            self._touch(topics)
        return topics

    def _touch(self, topics: set[str]) -> None:
        if len(topics) * len(self._epochs) > _MAX_COMPARED:
            for epoch in self._epochs.values():
                epoch.number += 1
            return
        for topic in topics:
            for epoch in self._epochs.values():
                if epoch.key_expr.intersects(topic):
                    epoch.number += 1

    def epoch(self, topic: str) -> Epoch:
        """The epoch of a topic; read its number before you ask for a decision."""
        with self._lock:
            found = self._epochs.get(topic)
            if found is None:
                if len(topic) > REMEMBERED_LENGTH:
                    return Epoch(topic)  # nor is what is decided about it remembered
                if len(self._epochs) >= _MAX_TOPICS:
                    for old in self._epochs.values():
                        old.number += 1  # nobody tells them of changes any more
                    self._epochs.clear()
                found = self._epochs[topic] = Epoch(topic)
            return found

    def find(self, topic: str, location: Location) -> tuple[Epoch, int, tuple[Owner, ...]]:
        """Whose interests want a message of a topic and a place, and as of when."""
        with self._lock:
            epoch = self._epochs.get(topic) or self.epoch(topic)
            return epoch, epoch.number, tuple(self._indexes["s"].find(topic, location))

    def takers(self, topic: str, location: Location, sender: Sender) -> Takers:
        """Who wants a message of a topic, a place and a sender."""
        return self.takers_of(topic, self.find(topic, location)[2], sender)

    def takers_of(self, topic: str, found: Iterable[Owner], sender: Sender) -> Takers:
        """The same, of those that `find` has found."""
        mine: defaultdict[int, list[int]] = defaultdict(list)
        nodes = set()
        count = 0
        with self._lock:
            vetoed = self._indexes["s"].count(topic)
            for owner in found:
                count += 1
                first, number = owner
                if isinstance(first, str):
                    nodes.add(first)
                    continue
                interest = self._interests.get(owner)
                if interest is not None and sender.may_reach(first, interest):
                    mine[first].append(number)
        ids = {slot: tuple(sorted(numbers)) for slot, numbers in sorted(mine.items())}
        return Takers(ids, tuple(sorted(nodes)), max(vetoed - count, 0))

    def answerers(
        self, topic: str, locations: Iterable[Location], sender: Sender
    ) -> dict[Owner, Interest]:
        """The queryables that a get of a topic and an area is for."""
        found: set[Owner] = set()
        for location in locations:
            with self._lock:  # anew for each: a get of many keys must not hold up the messages
                found.update(self._indexes["q"].find(topic, location))
        interests = {owner: self._interests.get(owner) for owner in sorted(found, key=str)}
        return {
            owner: interest
            for owner, interest in interests.items()
            if interest is not None
            and (isinstance(owner[0], str) or sender.may_reach(owner[0], interest))
        }
