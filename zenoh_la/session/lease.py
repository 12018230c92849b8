"""When a publisher asks for its route, and how long one holds that was granted.

Only decisions: `zenoh_la.session.sender` sends what they lead to, and guards them with its lock.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

import zenoh

from zenoh_la.router_plugin import documents
from zenoh_la.router_plugin.grants import LEASE_S
from zenoh_la.session.home import Home

# So many messages from one place within so long, and the route is asked for. A grant costs some
# 600 bytes a second in questions and reports: a publisher of few messages is better off without.
_STAYS, _WITHIN_S = 64, 1.0
RENEW_S = LEASE_S / 2
_FIRST_BACK_OFF_S, _LAST_BACK_OFF_S = 0.02, 1.0  # after a grant was taken back
_NO_ANSWER_S, _LAST_PAUSE_S = 1.0, 30.0  # after none was given

Route = tuple[str | None, bytes]
"""The key of the one who wants the messages, None if nobody does, and the end of attachments."""


class Question(NamedTuple):
    """What is the route of this place?"""

    serial: int
    packed: bytes
    home: Home
    asked_s: float


class Grant:
    """A route in force: where to put, until when; no key if nobody wants it."""

    __slots__ = ("_route", "end", "home", "key", "packed", "serial", "until_s")

    def __init__(self, question: Question, route: Route, key: zenoh.KeyExpr | None) -> None:
        self._route = route
        self.end = route[1]
        self.key = key
        self.packed = question.packed
        self.home = question.home
        self.serial = question.serial
        self.until_s = question.asked_s + LEASE_S

    def renew(self, question: Question, route: Route | None) -> bool:
        """Holds on, if the route is still the same one."""
        if route != self._route or question.home is not self.home:
            return False
        self.serial, self.until_s = question.serial, question.asked_s + LEASE_S
        return True


class Lease:
    """The route of one publisher, if it has one, or its question for it.

    Args:
        home: where the session is registered at present.
        key_of: makes the key of a route one to put on.

    Attributes:
        grant: the route, if one is granted.
        question: the question that messages wait for.
        sent: messages that went by a grant and have not been told of.
    """

    def __init__(
        self, home: Callable[[], Home | None], key_of: Callable[[Home, str], zenoh.KeyExpr]
    ) -> None:
        self._home = home
        self._key_of = key_of
        self.grant: Grant | None = None
        self.question: Question | None = None
        self.sent = 0
        self._renewal: Question | None = None
        self._serial = 0
        self._under_way = 0
        self._last = b""
        self._stayed = 0
        self._since_s = 0.0
        self._ask_at_s = 0.0
        self._pause_s = _NO_ANSWER_S
        self._back_off_s = _FIRST_BACK_OFF_S

    def begin(self, packed: bytes) -> Grant | None:
        """The grant that a message goes by; if there is none, it goes by the node."""
        grant = self.grant
        if grant is not None:
            in_force = monotonic() < grant.until_s and grant.home is self._home()
            if in_force and grant.packed == packed:
                self.sent += 1
                return grant
            self.end()
        self._under_way += 1
        return None

    def done(self) -> None:
        """A message that had to go by the node is out."""
        self._under_way -= 1

    def passed(self, packed: bytes) -> Question | None:
        """The same; returns the question to be asked if its publisher stays."""
        self.done()
        if packed != self._last:
            self._last, self._stayed, self._since_s = packed, 1, monotonic()
            return None
        self._stayed += 1
        if self._stayed < _STAYS or self._under_way or self.question or self.grant:
            return None
        now_s = monotonic()
        self._stayed, since_s, self._since_s = 0, self._since_s, now_s
        if now_s - since_s > _WITHIN_S or now_s < self._ask_at_s:
            return None
        self.question = self.new_question(packed)
        return self.question

    def new_question(self, packed: bytes) -> Question | None:
        home = self._home()
        if home is None:
            return None
        self._serial = (self._serial + 1) & documents.MAX_ID
        return Question(self._serial, packed, home, monotonic())

    def renewal(self) -> Question | None:
        """The question by which a grant that is much used is renewed, some time before its end."""
        if self.grant is None or self.sent < _STAYS * RENEW_S / _WITHIN_S:
            return None
        self._renewal = self.new_question(self.grant.packed)
        return self._renewal

    def answered(self, serial: int, route: Route | None) -> bool:
        """Whether an answer is one that messages wait for; None if no route is granted."""
        renewal, question = self._renewal, self.question
        if renewal is not None and renewal.serial == serial:
            self._renewal = None
            if self.grant is not None and not self.grant.renew(renewal, route):
                self.end()  # another one might be shorter: it is asked for as at first
            return False
        if question is None or question.serial != serial:
            return False
        self.question = None
        if route is not None:
            key = None if route[0] is None else self._key_of(question.home, route[0])
            self.grant = Grant(question, route, key)
            self._pause_s = _NO_ANSWER_S
        else:
            self._ask_at_s = monotonic() + self._pause_s
            self._pause_s = min(self._pause_s * 2, _LAST_PAUSE_S)
        return True

    def revoked(self, serial: int) -> None:
        """The route has changed."""
        grant, renewal = self.grant, self._renewal
        if self.question is not None and self.question.serial == serial:
            self.question = None  # its answer is void before it comes
        if grant is not None and serial in (grant.serial, renewal and renewal.serial):
            if monotonic() > grant.until_s - LEASE_S / 2:
                self._back_off_s = _FIRST_BACK_OFF_S
            else:  # again so soon: interests move about
                self._back_off_s = min(self._back_off_s * 2, _LAST_BACK_OFF_S)
            self.end()
        self._ask_at_s = max(self._ask_at_s, monotonic() + self._back_off_s)

    def end(self) -> None:
        """Nothing goes by the grant any more."""
        self.grant = self._renewal = None
