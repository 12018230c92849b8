"""Sends the located messages of one topic: by the node, or straight to the one who wants them.

A publisher that stays put asks for its route, and from the answer on its messages need no Python
between it and its one subscriber (or stop right here, if nobody wants them). See
`zenoh_la.router_plugin.grants` for how long that holds and why nothing is overtaken.

Nothing is put while a lock is held: a put may call handlers of the application, and these may put.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from time import monotonic
from typing import Any, NamedTuple

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.router_plugin import documents, frames, protocol
from zenoh_la.router_plugin.grants import LEASE_S
from zenoh_la.router_plugin.protocol import ANY, LOCAL
from zenoh_la.session.core import Core
from zenoh_la.session.home import Home
from zenoh_la.values import Coordinates

log = logging.getLogger("zenoh_la")

_HERE = zenoh.Locality.SESSION_LOCAL
DELETE = object()
"""Instead of a payload: the message is a deletion."""

# So many messages from one place within so long, and the route is asked for. A grant costs some
# 600 bytes a second in questions and reports: a publisher of few messages is better off without.
_STAYS, _WITHIN_S = 64, 1.0
_ANSWER_S = 0.1  # then the messages that were held go by the node
_REPORT_S = 0.5
_FIRST_BACK_OFF_S, _LAST_BACK_OFF_S = 0.02, 1.0  # after a grant was taken back
_NO_ANSWER_S, _LAST_PAUSE_S = 1.0, 30.0  # after none was given
_MAX_HELD, _FULL_S = 4096, 5.0


class _Message(NamedTuple):
    packed: bytes
    payload: Any
    user: zenoh.ZBytes | None
    qos: dict[str, Any]


class _Grant(NamedTuple):
    serial: int
    packed: bytes
    home: Home
    key: zenoh.KeyExpr | None
    end: bytes
    until_s: float


class _Question(NamedTuple):
    serial: int
    packed: bytes
    home: Home


class Sender:
    """Sends located messages of one topic, all with the same priority.

    Args:
        destination: where they may go, as the protocol numbers it.
    """

    def __init__(
        self,
        core: Core,
        topic: str,
        precision: Precision,
        destination: int,
        priority: zenoh.Priority,
    ) -> None:
        self._core = core
        self._topic = topic
        self._precision = precision
        self._destination = destination
        self._priority = priority
        self._at: tuple[Coordinates, bytes] | None = None
        self._to: tuple[Home, zenoh.KeyExpr] | None = None
        self._number = core.routes.join(self) if destination == ANY else 0
        self._changed = threading.Condition(threading.Lock())  # guards all that follows
        self._under_way = 0
        self._held: deque[_Message] = deque()
        self._is_letting_out = False
        self._question: _Question | None = None
        self._grant: _Grant | None = None
        self._serial = 0
        self._last = b""
        self._stayed = 0
        self._since_s = 0.0
        self._sent = 0
        self._sent_in_lease = 0
        self._ask_at_s = 0.0
        self._pause_s = _NO_ANSWER_S
        self._back_off_s = _FIRST_BACK_OFF_S

    def send(self, position: Coordinates, payload: Any, qos: dict[str, Any]) -> None:
        """Sends a message, or a deletion, that arises at a position."""
        user = frames.given(qos.pop("attachment"))
        if payload is not DELETE and not isinstance(payload, zenoh.ZBytes):
            payload = zenoh.ZBytes(payload)  # as it is now: it may have to wait
        message = _Message(self._packed(position), payload, user, qos)
        if not self._number:
            self._by_node(message)
            if self._destination == LOCAL:
                self._to_native_here(message)
            return
        with self._changed:
            if self._question is not None or self._held or self._is_letting_out:
                self._hold(message)
                return
            grant, question = self._begin(message)
            if question is not None:
                self._hold(message)
        if question is not None:
            self._ask(question)
            return
        try:
            self._put_one(grant, message)
        finally:
            question = self._end(message, grant)
        if question is not None:
            self._ask(question)

    def _packed(self, position: Coordinates) -> bytes:
        at = self._at
        if at is None or (position is not at[0] and position != at[0]):
            self._at = at = (position, self._core.places.packed(position, self._precision))
        return at[1]

    def _put_one(self, grant: _Grant | None, message: _Message) -> None:
        if grant is None:
            self._by_node(message)
        elif grant.key is not None:
            self._put(grant.key, message, grant.end, None)

    def _put(self, key: Any, message: _Message, end: bytes, where: zenoh.Locality | None) -> None:
        attachment = frames.attached(message.user, end)
        session = self._core.session
        if message.payload is DELETE:
            session.delete(key, attachment=attachment, allowed_destination=where, **message.qos)
        else:
            session.put(
                key,
                message.payload,
                attachment=attachment,
                allowed_destination=where,
                **message.qos,
            )

    def _by_node(self, message: _Message) -> None:
        end = frames.ending(message.packed)

        def send(home: Home) -> None:
            self._put(self._key(home), message, end, home.locality)

        self._core.membership.send(send)

    def _key(self, home: Home) -> zenoh.KeyExpr:
        to = self._to
        if to is None or to[0] is not home:
            who = protocol.sender(home.slot, self._destination)
            key = protocol.ingress(home.nid, who, protocol.IN_HEADER, self._topic)
            self._to = to = (home, zenoh.KeyExpr(key))
        return to[1]

    def _to_native_here(self, message: _Message) -> None:
        """To the session's own native subscribers."""
        end = frames.ending(frames.pack_header(message.packed))
        attachment = frames.attached(message.user, end) + frames.MAGIC
        self._put(self._topic, message._replace(user=None), attachment, _HERE)

    # Granted routes: what these three do, they do with the lock held, and put nothing.

    def _hold(self, message: _Message) -> None:
        """Keeps a message until the question is answered; it is lost if there is no room soon."""
        if self._changed.wait_for(lambda: len(self._held) < _MAX_HELD, _FULL_S):
            self._held.append(message)
        else:
            self._core.held_lost += 1

    def _begin(self, message: _Message) -> tuple[_Grant | None, _Question | None]:
        """The grant a message goes by, or the question to be asked before it goes."""
        grant = self._grant
        if grant is not None:
            if grant.packed != message.packed or grant.home is not self._core.membership.home:
                self._grant = grant = None
            elif monotonic() >= grant.until_s:
                self._grant = grant = None
                if self._sent_in_lease >= _STAYS:  # else it has little to say by now
                    question = self._new_question(message.packed)
                    if question is not None:
                        return None, question
        self._under_way += 1
        if grant is not None:
            self._sent_in_lease += 1
            self._sent += 1
            if self._sent == 1:
                self._core.routes.agenda.after(_REPORT_S, self.report)
        return grant, None

    def _new_question(self, packed: bytes) -> _Question | None:
        home = self._core.membership.home
        if home is None:
            return None
        self._serial = (self._serial + 1) & documents.MAX_ID
        self._question = _Question(self._serial, packed, home)
        return self._question

    def _end(self, message: _Message, grant: _Grant | None) -> _Question | None:
        """A message is out; the question to be asked if the publisher stays and has much to say."""
        with self._changed:
            self._under_way -= 1
            if grant is not None or self._question is not None:
                return None
            self._stayed += 1
            if message.packed != self._last:
                self._last, self._stayed, self._since_s = message.packed, 1, monotonic()
            if self._stayed < _STAYS or self._under_way or self._held or not self._number:
                return None
            now_s = monotonic()
            self._stayed, since_s, self._since_s = 0, self._since_s, now_s
            if now_s - since_s > _WITHIN_S or now_s < self._ask_at_s:
                return None
            return self._new_question(message.packed)

    def _ask(self, question: _Question) -> None:
        """What is sent from now on is held until the answer."""
        serial = question.serial
        self._core.routes.agenda.after(_ANSWER_S, lambda: self.answered(serial, None))
        self._tell(
            question.home,
            {"serial": serial, "topic": self._topic, "place": question.packed.hex()},
        )

    def _tell(self, home: Home, more: dict[str, Any]) -> None:
        with self._changed:
            sent, self._sent = self._sent, 0
        document = {"secret": home.secret, "n": self._number, "sent": sent}
        self._core.session.put(
            protocol.route(home.nid, home.slot),
            documents.write(document | more),
            priority=self._priority,
            congestion_control=zenoh.CongestionControl.BLOCK,
            allowed_destination=home.locality,
        )

    def report(self) -> None:
        """Tells the node how many messages went by the grant, so that its counters are right."""
        home = self._core.membership.home
        if self._sent and home is not None:
            self._tell(home, {})

    def answered(self, serial: int, route: tuple[str | None, bytes] | None) -> None:
        """The answer: key and header of who wants it, or None if no route is granted or told."""
        with self._changed:
            question = self._question
            if question is None or question.serial != serial:
                return
            self._question = None
            if route is not None:
                key = None if route[0] is None else zenoh.KeyExpr(route[0])
                until_s = monotonic() + LEASE_S
                self._grant = _Grant(serial, question.packed, question.home, key, route[1], until_s)
                self._sent_in_lease = 0
                self._pause_s = _NO_ANSWER_S
            else:
                self._ask_at_s = monotonic() + self._pause_s
                self._pause_s = min(self._pause_s * 2, _LAST_PAUSE_S)
        self._let_out()

    def revoked(self, serial: int) -> None:
        """The route has changed."""
        with self._changed:
            grant, question = self._grant, self._question
            if question is not None and question.serial == serial:
                self._question = None  # its answer is void before it comes
            elif grant is None or grant.serial != serial:
                return
            elif monotonic() > grant.until_s - LEASE_S / 2:
                self._back_off_s = _FIRST_BACK_OFF_S
            else:  # again so soon: interests move about
                self._back_off_s = min(self._back_off_s * 2, _LAST_BACK_OFF_S)
            self._grant = None
            self._ask_at_s = monotonic() + self._back_off_s
        home = self._core.membership.home
        if home is not None:
            self._tell(home, {"ended": serial})
        self._let_out()

    def _let_out(self) -> None:
        """Sends what was held, in order; who sends meanwhile waits in line."""
        with self._changed:
            if self._is_letting_out:
                return
            self._is_letting_out = True
        question = None
        while question is None:
            with self._changed:
                self._changed.notify_all()
                if not self._held or self._question is not None:
                    break
                grant, question = self._begin(self._held[0])
                if question is not None:
                    break
                message = self._held.popleft()
            try:
                self._put_one(grant, message)
            except Exception as exc:
                log.warning("a message on %s could not be sent: %s", self._topic, exc)
            with self._changed:
                self._under_way -= 1
        with self._changed:
            self._is_letting_out = False
            self._changed.notify_all()
        if question is not None:
            self._ask(question)

    def close(self) -> None:
        """Nothing held is lost, and nothing sent goes uncounted."""
        with self._changed:
            self._question = self._grant = None
        self._let_out()
        with self._changed:  # another thread may be at it
            self._changed.wait_for(lambda: not (self._held or self._is_letting_out), _FULL_S)
        self.report()
        if self._number:
            self._core.routes.leave(self._number)
            self._number = 0


def sender_of(
    core: Core,
    topic: str,
    precision: Precision,
    destination: int,
    priority: zenoh.Priority | None,
) -> Sender:
    """The one sender of a session for a topic, so that what goes to it keeps its order."""
    exact = zenoh.Priority.DATA if priority is None else priority
    key = (topic, precision, destination, str(exact))  # a priority cannot be hashed
    return core.routes.shared(key, lambda: Sender(core, topic, precision, destination, exact))
