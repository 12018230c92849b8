"""A random workload over a network: sessions that publish, subscribe and move."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import partial
from math import inf
from random import Random
from typing import Any

import zenoh

from tests.network import wait_for
from tests.session.deployments import Opened
from tests.session.oracle import (
    EXACT,
    PRECISIONS,
    WANTED,
    WILD,
    Sent,
    any_area,
    any_area_about_oneself,
    any_place,
    expected,
)
from tests.session.parties import BLOCK, Party, Stayer, Subscription

_ENTRIES = 8
_LOCALITIES = [*[None] * 12, zenoh.Locality.REMOTE, zenoh.Locality.SESSION_LOCAL]


KINDS = ["free", "mobile", "free", "late mobile", "plain", "free"]


class Workload:
    """Declares, publishes, moves, and compares with the oracle; all of it follows from a seed."""

    def __init__(self, opened: Opened, seed: int) -> None:
        self._opened = opened
        self._random = Random(seed)
        self._parties = [
            Party(n, session, kind)
            for n, (session, kind) in enumerate(zip(opened.sessions, KINDS, strict=False))
        ]
        self._stayers: list[Stayer] = []
        self._messages = 0
        self._round = 0
        self._generation = 0
        self.triples = 0
        self.delivered = 0

    def declare(self) -> None:
        for party in self._parties:
            party.settle(self._random)
            for _ in range(_ENTRIES):
                party.entries.append(self._new(party))
            if party.kind != "plain":
                self._stayers.append(Stayer.declared(party, self._random))
        self._converge()

    def _new(self, party: Party) -> Any:
        """Something new that a party declares."""
        random = self._random
        topic, kind = random.choice(WANTED), random.random()
        stayed = topic.startswith("@s/")  # a route with native subscribers is not granted
        where = None
        if kind > 0.15 or stayed:
            about_oneself = party.is_mobile and kind < 0.7
            where = any_area_about_oneself(random) if about_oneself else any_area(random)
        subscription = Subscription(
            party,
            topic,
            where,
            where is not None and not stayed and random.random() < 0.25,
            random.random() < 0.15,
            # Of the whole network it means Zenoh's own idea of where a sample comes from: a located
            # one that a router has passed on is remote, even if its publisher is the same session.
            None if where is None else random.choice(_LOCALITIES),
        )
        subscription.declare(random)
        return subscription

    def _converge(self) -> None:
        """Until all nodes know all areas, and everybody's native declarations are known to all."""
        self._generation += 1
        for party in self._parties:
            party.watch_fences(self._generation)
        self._opened.converge()
        self._fence()

    def publish(self, count: int) -> None:
        """Puts messages, waits for all that the oracle says, and for nothing more."""
        sent = [self._put_one() for _ in range(count)]
        subscriptions = [s for party in self._parties for s in party.entries]
        for subscription in subscriptions:
            due = expected(subscription.wanted(), sent)
            subscription.due += due
            self.delivered += due.total()
        self.triples += len(sent) * len(subscriptions)
        self._fence()  # what was put before has come before, the undue included
        for subscription in subscriptions:
            self._compare(subscription)

    def _compare(self, subscription: Subscription) -> None:
        due = subscription.due
        with suppress(AssertionError):  # what is missing is said below
            wait_for(lambda: subscription.count() >= due.total(), "all that is due", 5.0)
        got = Counter(subscription.got)
        assert got == due, f"{subscription}: missing {due - got}, too many {got - due}"

    def _put_one(self) -> Sent:
        self._messages += 1
        if self._random.random() < 0.5:
            return self._random.choice(self._stayers).put(f"message {self._messages}")
        return self._put(self._random.choice(self._parties))

    def _put(self, party: Party) -> Sent:
        random = self._random
        topic = random.choice(EXACT if random.random() < 0.75 else WILD)
        precision = random.choice([*PRECISIONS, *PRECISIONS, None])
        if party.kind == "free" and random.random() < 0.8:
            party.place = any_place(random)
        deletes = random.random() < 0.1
        payload = "" if deletes else f"message {self._messages}"
        attachment = f"of {self._messages}" if deletes or random.random() < 0.3 else None
        options: dict[str, Any] = {
            "congestion_control": BLOCK,
            "precision": precision,
            "allowed_destination": random.choice(_LOCALITIES),
        }
        put, delete = self._means(party, topic, options)
        if deletes:
            delete(attachment=attachment)
        else:
            put(payload=payload, attachment=attachment)
        kind = zenoh.SampleKind.DELETE if deletes else zenoh.SampleKind.PUT
        place = None if precision is None else party.place
        destination = options["allowed_destination"]
        sent = (topic, str(kind), payload, attachment, place, precision)
        return Sent(*sent, party.number, destination)

    def _means(self, party: Party, topic: str, options: dict[str, Any]) -> tuple[Any, Any]:
        """How to put and to delete: by the session itself, or by a publisher that stays."""
        if self._random.random() < 0.5:
            session = party.session
            return partial(session.put, topic, **options), partial(session.delete, topic, **options)
        at = (topic, *map(str, options.values()))
        if at not in party.publishers:
            party.publishers[at] = party.session.declare_publisher(topic, **options)
        publisher = party.publishers[at]
        return publisher.put, publisher.delete

    def _fence(self) -> None:
        """A last message from everybody to everybody, located and plain; again until it arrives.

        Messages of one publisher stay in order on each of the two ways, so whatever was put
        before it has arrived when it does. Again, because it also finds out when the network
        knows the plain subscribers that were declared before those of the fence.
        """
        self._round += 1
        marks = {party.number: f"{self._round}/{party.number}" for party in self._parties}
        plain = {f"plain {mark}" for mark in marks.values()}
        with_place = [party for party in self._parties if party.kind != "plain"]
        located = {f"located {marks[party.number]}" for party in with_place}
        topic = f"@fence/{self._generation}"

        def arrived() -> bool:
            for party in self._parties:
                text = f"plain {marks[party.number]}"
                party.session.put(topic, text, congestion_control=BLOCK, precision=None)
            for party in with_place:
                text = f"located {marks[party.number]}"
                party.session.put(topic, text, congestion_control=BLOCK)
            with suppress(AssertionError):
                wait_for(lambda: all(self._has(p, plain, located) for p in self._parties), "", 1.0)
                return True
            return False

        wait_for(arrived, f"the fence of round {self._round}")

    @staticmethod
    def _has(party: Party, plain: set[str], located: set[str]) -> bool:
        return located <= set(party.located_fences) and plain | located <= set(party.fences)

    def move(self) -> None:
        """Sessions go elsewhere with their areas, and some subscribers give way to others."""
        for party in self._parties:
            if party.is_mobile:
                party.place = any_place(self._random)
                if party.kind == "late mobile":
                    party.session.set_position_lifetime(0.0)
                self._arrive(party)
                if party.kind == "late mobile":
                    party.session.set_position_lifetime(inf)
            leaving = [entry for entry in party.entries if entry.may_leave]
            for entry in self._random.sample(leaving, min(len(leaving), 2)):
                entry.handle.undeclare()
                party.entries.remove(entry)
                party.entries.append(self._new(party))
        self._converge()

    def _arrive(self, party: Party) -> None:
        """Waits until its areas are where it is: they all move together with that of its probe."""
        self._round += 1
        mark = f"{self._round}"
        helper = next(p for p in self._parties if p.kind == "free")
        helper.place = party.place

        def arrived() -> bool:
            helper.session.put(f"@probe/{party.number}", mark, congestion_control=BLOCK)
            return mark in party.probes

        wait_for(arrived, f"party {party.number} is at {party.place}")
