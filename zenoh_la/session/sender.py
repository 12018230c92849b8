"""Sends the located messages of one topic: by the node, or straight to the one who wants them.

A publisher that stays put asks for its route, and from the answer on its messages need no Python
between it and its one subscriber (or stop right here, if nobody wants them). See
`zenoh_la.router_plugin.grants` for how long that holds and why nothing is overtaken.
"""

from __future__ import annotations

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

_HERE = zenoh.Locality.SESSION_LOCAL
DELETE = object()
"""Instead of a payload: the message is a deletion."""

# So many messages from one place within so long, and the route is asked for. A grant costs some
# 600 bytes a second in questions and reports: a publisher of few messages is better off without.
_STAYS, _WITHIN_S = 64, 1.0
_ANSWER_S = 0.1  # then the messages that were held go by the node
_MAX_HELD = 1024
_ASK_AGAIN_S = 1.0
_REPORT_S = 0.5
_FIRST_BACK_OFF_S, _LAST_BACK_OFF_S = 0.02, 1.0


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
        priority: zenoh.Priority | None = None,
    ) -> None:
        self._core = core
        self._topic = topic
        self._precision = precision
        self._destination = destination
        self._priority = priority
        self._lock = threading.RLock()
        self._at: tuple[Coordinates, bytes] | None = None
        self._to: tuple[Home, zenoh.KeyExpr] | None = None
        self._number = core.routes.join(self) if destination == ANY else 0
        self._last = b""
        self._stayed = 0
        self._since_s = 0.0
        self._grant: _Grant | None = None
        self._question: _Question | None = None
        self._held: deque[_Message] = deque()
        self._serial = 0
        self._sent = 0
        self._ask_at_s = 0.0
        self._back_off_s = _FIRST_BACK_OFF_S

    def send(self, position: Coordinates, payload: Any, qos: dict[str, Any]) -> None:
        """Sends a message, or a deletion, that arises at a position."""
        user = frames.given(qos.pop("attachment"))
        message = _Message(self._packed(position), payload, user, qos)
        if not self._number:
            self._by_node(message)
            if self._destination == LOCAL:
                self._to_native_here(message)
            return
        with self._lock:
            if self._question is None:
                self._go(message)
            else:
                self._held.append(message)
                if len(self._held) > _MAX_HELD:
                    self._go_on_without(self._question.serial)

    def _packed(self, position: Coordinates) -> bytes:
        at = self._at
        if at is None or (position is not at[0] and position != at[0]):
            self._at = at = (position, self._core.places.packed(position, self._precision))
        return at[1]

    def _go(self, message: _Message) -> None:
        grant = self._grant
        if grant is not None:
            if grant.packed != message.packed or grant.home is not self._core.membership.home:
                self._end_grant()
            elif monotonic() < grant.until_s:
                self._by_grant(grant, message)
                return
            else:
                self._held.append(message)
                self._ask(message.packed)
                return
        self._by_node(message)
        if self._stays(message.packed):
            self._ask(message.packed)

    def _stays(self, packed: bytes) -> bool:
        """Whether the publisher stays, and has enough to say, so that a route is worth asking."""
        self._stayed += 1
        if packed != self._last:
            self._last, self._stayed, self._since_s = packed, 1, monotonic()
        elif self._stayed >= _STAYS:
            now_s = monotonic()
            self._stayed, since_s, self._since_s = 0, self._since_s, now_s
            return now_s - since_s <= _WITHIN_S and now_s >= self._ask_at_s
        return False

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

    # Granted routes

    def _by_grant(self, grant: _Grant, message: _Message) -> None:
        if grant.key is not None:
            self._put(grant.key, message, grant.end, None)
        self._sent += 1
        if self._sent == 1:
            self._core.routes.agenda.after(_REPORT_S, self.report)

    def _ask(self, packed: bytes) -> None:
        """Asks for the route; what is sent from now on is held until the answer."""
        home = self._core.membership.home
        if home is None:
            self._go_on_without(None)
            return
        self._serial = serial = (self._serial + 1) & documents.MAX_ID
        self._question = _Question(serial, packed, home)
        self._core.routes.agenda.after(_ANSWER_S, lambda: self._go_on_without(serial))
        question = {"serial": serial, "topic": self._topic, "place": packed.hex()}
        self._tell(home, question)

    def _tell(self, home: Home, more: dict[str, Any]) -> None:
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
        with self._lock:
            home = self._core.membership.home
            if self._sent and home is not None:
                self._tell(home, {})

    def answered(self, serial: int, key: str | None, end: bytes, *, granted: bool) -> None:
        """The answer: a route, or that there is none to grant."""
        with self._lock:
            question = self._question
            if question is None or question.serial != serial:
                return
            self._question = None
            if granted:
                to = None if key is None else zenoh.KeyExpr(key)
                until_s = monotonic() + LEASE_S
                self._grant = _Grant(serial, question.packed, question.home, to, end, until_s)
            else:
                self._grant = None
                self._ask_at_s = monotonic() + _ASK_AGAIN_S
            self._let_out()

    def _go_on_without(self, serial: int | None) -> None:
        """There is no answer: what was held goes by the node."""
        with self._lock:
            if serial is None or (self._question is not None and self._question.serial == serial):
                self._question = self._grant = None
                self._ask_at_s = monotonic() + _ASK_AGAIN_S
                self._let_out()

    def _let_out(self) -> None:
        while self._held and self._question is None:
            self._go(self._held.popleft())

    def revoked(self, serial: int) -> None:
        """The route has changed."""
        with self._lock:
            grant, question = self._grant, self._question
            if question is not None and question.serial == serial:
                self._go_on_without(serial)  # its answer is void before it comes
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

    def _end_grant(self) -> None:
        self._grant = None
        self.report()

    def close(self) -> None:
        """Nothing held is lost, and nothing sent goes uncounted."""
        if self._number:
            self._go_on_without(None)
            self.report()
            self._core.routes.leave(self._number)
