"""Grants that were taken back: who may still use them, and who waits for that to end.

A declaration is answered when nobody puts past it any more. Those who had a grant say that it has
ended; one who does not is waited for once, and then no more until it has behaved for a while.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import zenoh

from zenoh_la.router_plugin.agenda import Agenda

log = logging.getLogger("zenoh_la")

_PATIENCE_S = 0.05
_DEBT = 4
"""A session that was waited for in vain must say so often in time that a grant has ended, before
others wait for it again."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The session that asks: where it is told, its tag, and its number for the publisher."""

    nid: str
    slot: int
    tag: int
    number: int

    @property
    def who(self) -> tuple[str, int, int]:
        """The session alone."""
        return self.nid, self.slot, self.tag


_One = tuple[Asker, int]
"""A grant: who has it, and the number of the question for it."""


class _Wait:
    """Something to be done as soon as some grants have ended."""

    def __init__(self, pending: set[_One], done: Callable[[], None]) -> None:
        self.pending = pending
        self.done = done


class Endings:
    """What is known of the grants that were taken back."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._lock = threading.Lock()
        self._stale: dict[_One, float] = {}
        self._waits: list[_Wait] = []
        self._debts: dict[tuple[str, int, int], int] = {}

    def began(self, asker: Asker, serial: int) -> None:
        """A grant is taken back; its session has yet to hear of it."""
        with self._lock:
            self._stale[asker, serial] = monotonic()

    def since(self, limit_s: float) -> int:
        """How many were taken back since then and may still be in use."""
        with self._lock:
            return sum(since_s > limit_s for since_s in self._stale.values())

    def when_ended(self, done: Callable[[], None]) -> None:
        """Has something done when nobody uses a grant that was taken back, or soon after."""
        with self._lock:
            wait = _Wait({one for one in self._stale if one[0].who not in self._debts}, done)
            if wait.pending:
                self._waits.append(wait)
        if wait.pending:
            self._agenda.after(_PATIENCE_S, lambda: self._give_up(wait))
        else:
            done()

    def _give_up(self, wait: _Wait) -> None:
        with self._lock:
            late = wait.pending.copy()
            for asker, _ in late:
                self._debts[asker.who] = _DEBT
        self._end(late)

    def ended(self, asker: Asker, serial: int) -> None:
        """A session says that it uses a grant no more."""
        with self._lock:
            since_s = self._stale.get((asker, serial))
            debt = self._debts.get(asker.who)
            if debt is not None and since_s is not None and monotonic() < since_s + _PATIENCE_S:
                self._debts[asker.who] = debt - 1
                if debt == 1:
                    del self._debts[asker.who]
        self._end({(asker, serial)})

    def _end(self, which: set[_One]) -> None:
        with self._lock:
            for one in which:
                self._stale.pop(one, None)
            for wait in self._waits:
                wait.pending -= which
            ready = [wait for wait in self._waits if not wait.pending]
            self._waits = [wait for wait in self._waits if wait.pending]
        for wait in ready:
            try:
                wait.done()
            except zenoh.ZError as exc:
                log.debug("an answer came too late: %s", exc)

    def forget(self, limit_s: float, here: set[tuple[str, int, int]]) -> None:
        """Forgets what is older, and the debts of sessions that have no grants any more."""
        with self._lock:
            self._stale = {one: s for one, s in self._stale.items() if s > limit_s}
            self._debts = {who: debt for who, debt in self._debts.items() if who in here}
