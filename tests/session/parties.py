"""Who takes part in a random workload: sessions, their subscribers and their publishers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any

import zenoh

from tests.session.oracle import (
    DOMAIN,
    PRECISIONS,
    STAYED,
    Seen,
    Sent,
    Wanted,
    Where,
    any_place,
    seen,
)
from zenoh_la import Coordinates, GeographicRange, LocationSession, Precision, Role, Shape

BLOCK = zenoh.CongestionControl.BLOCK
_WORLD = GeographicRange(-90, -180, 90, 180)
_PULL_CAPACITY = 10_000


@dataclass
class Party:
    """A session: one that puts anywhere, one that moves with its areas, or one without a place.

    Control topics begin with an ``@`` chunk of their own, which no wildcard of the workload meets.
    """

    number: int
    session: LocationSession
    kind: str
    place: Coordinates | None = None
    entries: list[Any] = field(default_factory=list)
    publishers: dict[Any, Any] = field(default_factory=dict)
    fences: list[str] = field(default_factory=list)
    located_fences: list[str] = field(default_factory=list)
    probes: set[str] = field(default_factory=set)
    fence: Any = None

    def settle(self, random: Random) -> None:
        session = self.session
        session.declare_bloom_domain(DOMAIN)
        if self.kind != "plain":
            self.place = any_place(random)
            lifetime = {"free": 0.0, "mobile": 0.02, "late mobile": inf}[self.kind]
            session.declare_position_handler(lifetime, lambda: self.place)
        session.declare_subscriber(
            "@fence/*", _direct(lambda s: self.located_fences.append(s.payload.to_string())),
            location_shape=_WORLD,
        )  # fmt: skip
        if self.is_mobile:
            session.declare_subscriber(
                f"@probe/{self.number}", _direct(lambda s: self.probes.add(s.payload.to_string())),
                location_shape=Shape.CIRCLE, shape_data={"r": 1.0},
            )  # fmt: skip

    @property
    def is_mobile(self) -> bool:
        return self.kind in ("mobile", "late mobile")

    def watch_fences(self, generation: int) -> None:
        """Declared after all others, on a new key: who sees this one sees the others as well."""
        if self.fence is not None:
            self.fence.undeclare()
        self.fence = self.session.declare_subscriber(
            f"@fence/{generation}", _direct(lambda s: self.fences.append(s.payload.to_string()))
        )


@dataclass
class Subscription:
    """A subscriber, what it got and what it had to get."""

    party: Party
    topic: str
    where: Where | None
    include_unlocated: bool
    is_pulled: bool
    origin: zenoh.Locality | None = None
    got: list[Seen] = field(default_factory=list)
    due: Counter[Seen] = field(default_factory=Counter)
    handle: Any = None

    def declare(self, random: Random) -> None:
        session = self.party.session
        area: dict[str, Any] = {} if self.where is None else dict(self.where.arguments)
        area["allowed_origin"] = self.origin
        if self.include_unlocated:
            area["include_unlocated"] = True
        if self.is_pulled:
            self.handle = session.declare_pull_subscriber(
                self.topic, self._take, capacity=_PULL_CAPACITY, **area
            )
        else:
            handler = _direct(self._take) if random.random() < 0.8 else self._take
            self.handle = session.declare_subscriber(self.topic, handler, **area)

    @property
    def may_leave(self) -> bool:
        """Not if Zenoh itself would have to forget the topic.

        Stock Zenoh 1.10 loses messages on ``t/a/x`` for a subscriber of ``**`` if its session had
        others on ``t/a/x`` and ``t/a``, the first was undeclared, a message passed, and then the
        other was undeclared.
        """
        return self.where is not None and not self.include_unlocated

    def _take(self, sample: Any) -> None:
        self.got.append(seen(sample))

    def wanted(self) -> Wanted:
        role = Role.PULL_SUBSCRIBER if self.is_pulled else Role.SUBSCRIBER
        keys = None if self.where is None else self.where.keys(role, self.party.place)
        return Wanted(self.topic, keys, self.include_unlocated, self.party.number, self.origin)

    def count(self) -> int:
        if self.is_pulled:
            self.handle.pull()
        return len(self.got)

    def __str__(self) -> str:
        area = "everywhere" if self.where is None else self.where.arguments
        who = f"party {self.party.number} ({self.party.kind})"
        return f"{who} on {self.topic}, {area}, from {self.origin}"


def _direct(callback: Any) -> Any:
    return zenoh.handlers.Callback(callback, indirect=False)


@dataclass(frozen=True)
class Stayer:
    """A publisher that stays, in a session that need not: nodes may grant it a route."""

    party: Party
    topic: str
    precision: Precision
    publisher: Any
    place: Coordinates | None

    @classmethod
    def declared(cls, party: Party, random: Random) -> Stayer:
        topic, precision = STAYED[party.number], random.choice(PRECISIONS)
        publisher = party.session.declare_publisher(
            topic, congestion_control=BLOCK, precision=precision
        )
        return cls(party, topic, precision, publisher, any_place(random))

    def put(self, payload: str) -> Sent:
        party = self.party
        if party.kind == "free":
            party.place = self.place
        self.publisher.put(payload)
        kind = str(zenoh.SampleKind.PUT)
        message = (self.topic, kind, payload, None, party.place, self.precision)
        return Sent(*message, party.number, None)
