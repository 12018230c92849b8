"""Which of my sessions, and which nodes, want a message: the routing table."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from zenoh_la.encoders import Location
from zenoh_la.router_plugin.chunks import encoding_of
from zenoh_la.router_plugin.epochs import Changes, Epoch, Epochs, Move
from zenoh_la.router_plugin.index import InterestIndex
from zenoh_la.router_plugin.protocol import Interest, Kind, Sender

Owner = tuple[int, int] | tuple[str, int]
"""Whose interest: slot and id of one of my sessions, or id and entry of another node."""


class Takers(NamedTuple):
    """Who wants it: ids per slot of this node, and other nodes; and how many interests met it."""

    mine: dict[int, tuple[int, ...]]
    nodes: tuple[str, ...]
    matched: int


_NOBODY = Takers({}, (), 0)


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
        self._subscribers = self._indexes["s"]
        self._epochs = Epochs()
        self.encodings: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._interests)

    def get(self, owner: Owner) -> Interest | None:
        return self._interests.get(owner)

    def items(self) -> list[tuple[Owner, Interest]]:
        with self._lock:
            return list(self._interests.items())

    def change(self, new: Iterable[tuple[Owner, Interest]], gone: Iterable[Owner]) -> Changes:
        """Adds, moves and removes interests at once; tells what they are about."""
        topics: set[str] = set()
        moves: list[Move] = []
        with self._lock:
            for owner in gone:
                old = self._interests.pop(owner, None)
                if old is not None:
                    topics.add(old.topic)
                    self.encodings[_encoding(old)] -= 1
                    self._indexes[old.kind].remove(owner)
                    moves += _moves(old, None)
            for owner, interest in new:
                old = self._interests.get(owner)
                if old == interest:
                    continue
                self.encodings[_encoding(interest)] += 1
                if old is not None:
                    topics.add(old.topic)
                    self.encodings[_encoding(old)] -= 1
                    if old.kind != interest.kind:
                        self._indexes[old.kind].remove(owner)
                topics.add(interest.topic)
                self._interests[owner] = interest
                self._indexes[interest.kind].set(owner, interest.topic, interest.locations)
                moves += _moves(old, interest)
            return Changes(topics, self._epochs.change(moves))

    def epoch(self, topic: str, location: Location) -> Epoch:
        """The epoch of a topic and a place; read its number before you ask for a decision."""
        with self._lock:
            found = self._epochs.get(topic, location)
            if found is None:
                found = self._epochs.begin(topic, location, self._subscribers.count(topic))
            return found

    def about(self, topic: str) -> Changes:
        """As if all that was decided about a topic were void; it is not."""
        with self._lock:
            return Changes({topic}, dict.fromkeys(self._epochs.about(topic)))

    def hold(self, epoch: Epoch) -> bool:
        """Somebody relies on being told when an epoch is void; False if nobody could tell."""
        with self._lock:
            if epoch.followed:
                epoch.grants += 1
            return epoch.followed

    def release(self, epoch: Epoch) -> None:
        """Takes back a `hold`."""
        with self._lock:
            epoch.grants -= 1

    def find(self, topic: str, location: Location) -> tuple[Epoch, int, tuple[Owner, ...]]:
        """Whose interests want a message of a topic and a place, and as of when.

        Hot: once per message of what moves.
        """
        with self._lock:
            epoch = self._epochs.get(topic, location) or self.epoch(topic, location)
            return epoch, epoch.number, tuple(self._subscribers.find(topic, location))

    def takers(self, topic: str, location: Location, sender: Sender) -> Takers:
        """Who wants a message of a topic, a place and a sender."""
        with self._lock:
            found = self._subscribers.find(topic, location)
            return self._sorted(found, sender) if found else _NOBODY

    def takers_of(self, found: Sequence[Owner], sender: Sender) -> Takers:
        """The same, of those that `find` has found."""
        with self._lock:
            return self._sorted(found, sender)

    def _sorted(self, found: Sequence[Owner], sender: Sender) -> Takers:
        mine: dict[int, list[int]] = {}
        nodes: set[str] = set()
        limited = sender.destination
        for owner in found:
            first, number = owner
            if isinstance(first, str):
                nodes.add(first)
                continue
            interest = self._interests.get(owner)
            if interest is None:
                continue
            if (limited or interest.origin) and not sender.may_reach(first, interest):
                continue
            if len(found) == 1:
                return Takers({first: (number,)}, (), 1)
            numbers = mine.get(first)
            if numbers is None:
                mine[first] = [number]
            else:
                numbers.append(number)
        ids = {slot: tuple(sorted(mine[slot])) for slot in sorted(mine)} if mine else {}
        return Takers(ids, tuple(sorted(nodes)) if nodes else (), len(found))

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


def _moves(old: Interest | None, new: Interest | None) -> list[Move]:
    """What a change is for messages; gets are decided anew each time."""
    old = old if old is not None and old.kind == "s" else None
    new = new if new is not None and new.kind == "s" else None
    if old is None or new is None or old.topic == new.topic:
        return [(old, new)] if old is not None or new is not None else []
    return [(old, None), (None, new)]
