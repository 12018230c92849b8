"""A random workload of gets: queryables with areas, some of which move, and who must answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import zenoh

from tests.session.oracle import (
    WANTED,
    Where,
    any_area,
    any_area_about_oneself,
    topics_meet,
)
from tests.session.parties import Party
from tests.session.workload import Workload
from zenoh_la import Coordinates, Role, location_match


@dataclass
class Answerer:
    """A queryable that answers with its number."""

    may_leave = True

    party: Party
    number: int
    topic: str
    where: Where | None
    handle: Any = None
    _known: tuple[Coordinates | None, tuple[str, ...]] | None = None

    def declare(self) -> None:
        area: dict[str, Any] = {} if self.where is None else self.where.arguments
        handler = zenoh.handlers.Callback(self._answer, indirect=False)
        self.handle = self.party.session.declare_queryable(self.topic, handler, **area)

    def _answer(self, query: Any) -> None:
        with query:
            query.reply(query.key_expr, str(self.number))

    def must_answer(self, topic: str, keys: tuple[str, ...] | None) -> bool:
        """To a get of a topic and an area (None: a plain one) from anywhere."""
        if not topics_meet(self.topic, topic):
            return False
        if keys is None:
            return True
        if self.where is None:
            return False
        return any(location_match(a, b) for a in keys for b in self._own_keys(self.where))

    def _own_keys(self, where: Where) -> tuple[str, ...]:
        place = None if where.fixed is not None else self.party.place
        if self._known is None or self._known[0] != place:
            self._known = place, where.keys(Role.QUERYABLE, place)
        return self._known[1]


class Questions(Workload):
    """Declares queryables, moves them, asks, and compares with the oracle."""

    _declared = 0
    asked = 0
    answered = 0

    def _new(self, party: Party) -> Answerer:
        random = self._random
        kind = random.random()
        where = None
        if kind > 0.15:
            about_oneself = party.is_mobile and kind < 0.7
            where = any_area_about_oneself(random) if about_oneself else any_area(random)
        self._declared += 1
        answerer = Answerer(party, self._declared, random.choice(WANTED), where)
        answerer.declare()
        return answerer

    def ask(self, count: int) -> None:
        for _ in range(count):
            self._ask()

    def _ask(self) -> None:
        random = self._random
        party = random.choice(self._parties)
        topic = random.choice(WANTED)
        where, keys = None, None
        # When queryables have gone, a plain get may miss others: see `Subscription.may_leave`.
        if self._generation > 1 or random.random() < 0.85:
            about_oneself = party.kind != "plain" and random.random() < 0.3
            where = any_area_about_oneself(random) if about_oneself else any_area(random)
            keys = where.keys(Role.GET, party.place)
        replies = party.session.get(
            topic,
            target=random.choice([None, zenoh.QueryTarget.ALL]),
            consolidation=zenoh.ConsolidationMode.NONE,
            timeout=20.0,
            **({} if where is None else where.arguments),
        )
        answers = [reply.result.payload.to_string() for reply in replies]
        answerers = [a for p in self._parties for a in p.entries]
        due = Counter(str(a.number) for a in answerers if a.must_answer(topic, keys))
        self.asked += len(answerers)
        self.answered += due.total()
        got = Counter(answers)
        what = f"{topic}, {'everywhere' if where is None else where.arguments}"
        assert got == due, f"get of {what}: missing {due - got}, too many {got - due}"
