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
from typing import Any, NamedTuple

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.router_plugin import documents, frames, protocol
from zenoh_la.router_plugin.callbacks import is_receiving
from zenoh_la.router_plugin.protocol import ANY, LOCAL
from zenoh_la.session.core import Core
from zenoh_la.session.home import Home
from zenoh_la.session.lease import RENEW_S, Grant, Lease, Question, Route
from zenoh_la.values import Coordinates

log = logging.getLogger("zenoh_la")

_HERE = zenoh.Locality.SESSION_LOCAL
_NOBODY = zenoh.KeyExpr(protocol.NOBODY)
DELETE = object()
"""Instead of a payload: the message is a deletion."""

_ANSWER_S = 0.1  # then the messages that were held go by the node
_MAX_HELD = 4096
_IN_LINE_S = 0.05
"""So long at most a thread waits for another one that lets out what was held. It could be that
other one's handler which keeps this one: then the message is held as well."""
_CLOSE_S = 5.0


class _Message(NamedTuple):
    packed: bytes
    payload: Any
    user: zenoh.ZBytes | None
    options: dict[str, Any]


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
        self._membership = core.membership
        self._topic = topic
        self._precision = precision
        self._is_exact = precision is Precision.POINT  # packed sooner than compared
        self._destination = destination
        self._priority = priority
        self._at: tuple[Coordinates, bytes, object] | None = None
        self._to: tuple[Home, zenoh.KeyExpr] | None = None
        self._number = core.routes.join(self) if destination == ANY else 0
        self._lock = threading.Lock()  # guards all that follows
        self._let_go = threading.Condition(self._lock)
        self._lease = Lease(lambda: core.membership.home, core.stable_key)
        self._held: deque[_Message] = deque()
        self._letting_out: int | None = None
        self._is_ticking = False

    @property
    def grant(self) -> Grant | None:
        """The route that was granted, if one is."""
        return self._lease.grant

    def send(
        self,
        position: Coordinates,
        payload: Any,
        user: zenoh.ZBytes | None,
        options: dict[str, Any],
    ) -> None:
        """Sends a message, or a deletion, that arises at a position.

        Args:
            user: the application's own attachment.
            options: further arguments of Zenoh's ``put`` or ``delete``.
        """
        at, places = self._at, self._core.places
        if at is None or (position is not at[0] and (self._is_exact or position != at[0])):
            at = None
        if at is None or at[2] is not places.domain:
            packed = places.packed(position, self._precision)
            self._at = at = (position, packed, places.domain)
        packed = at[1]
        if not self._number:
            self._by_node(packed, payload, user, options)
            if self._destination == LOCAL:
                self._to_native_here(packed, payload, user, options)
            return
        with self._lock:
            is_free = self._is_free() or self._waited_in_line()
            if is_free:
                grant = self._lease.begin(packed)
            else:
                self._hold(_Message(packed, _as_it_is(payload), user, options))
        if not is_free:
            self._let_out_if_due()
        elif grant is None:
            self._send_by_node(packed, payload, user, options)
        elif grant.key is not None:
            self._put(grant.key, payload, user, grant.end, None, options)
        else:  # nobody wants it, but what is wrong with it is an error all the same
            self._put(_NOBODY, payload, user, grant.end, _HERE, options)

    def _send_by_node(
        self, packed: bytes, payload: Any, user: zenoh.ZBytes | None, options: dict[str, Any]
    ) -> None:
        try:
            self._by_node(packed, payload, user, options)
        finally:
            with self._lock:
                question = self._lease.passed(packed)
        if question is not None:
            self._ask(question)

    def _put(
        self,
        key: Any,
        payload: Any,
        user: zenoh.ZBytes | None,
        end: bytes,
        where: zenoh.Locality | None,
        options: dict[str, Any],
    ) -> None:
        attachment = end if user is None else frames.attached(user, end)
        session = self._core.session
        if payload is DELETE:
            session.delete(key, attachment=attachment, allowed_destination=where, **options)
        elif where is None:
            session.put(key, payload, attachment=attachment, **options)
        else:
            session.put(key, payload, attachment=attachment, allowed_destination=where, **options)

    def _by_node(
        self, packed: bytes, payload: Any, user: zenoh.ZBytes | None, options: dict[str, Any]
    ) -> None:
        end = frames.ending(packed)
        home = self._membership.home
        if home is not None:
            self._put(self._key(home), payload, user, end, home.locality, options)
            return
        kept = _as_it_is(payload)

        def send(home: Home) -> None:
            self._put(self._key(home), kept, user, end, home.locality, options)

        self._membership.send(send)

    def _key(self, home: Home) -> zenoh.KeyExpr:
        to = self._to
        if to is None or to[0] is not home:
            who = protocol.sender(home.slot, self._destination)
            key = protocol.ingress(home.nid, who, protocol.IN_HEADER, self._topic)
            self._to = to = (home, self._core.stable_key(home, key))
        return to[1]

    def _to_native_here(
        self, packed: bytes, payload: Any, user: zenoh.ZBytes | None, options: dict[str, Any]
    ) -> None:
        """To the session's own native subscribers."""
        end = frames.ending(frames.pack_header(packed))
        attachment = frames.attached(user, end) + frames.MAGIC
        self._put(self._topic, payload, None, attachment, _HERE, options)

    # Granted routes. These three are called with the lock held.

    def _hold(self, message: _Message) -> None:
        """Keeps a message for the answer to a question, or for a thread that is at it."""
        if len(self._held) < 2 * _MAX_HELD:
            self._held.append(message)
        else:  # that thread is stuck: there is no room on its link
            self._core.held_lost += 1

    def _is_free(self) -> bool:
        """Whether a message may go now, and overtakes none."""
        is_asked = self._lease.question is not None
        return not (is_asked or self._held or self._letting_out is not None)

    def _waited_in_line(self) -> bool:
        """Waits for a thread that lets out what was held: it would never catch up else."""
        if self._letting_out not in (None, threading.get_ident()):
            self._let_go.wait_for(lambda: self._letting_out is None, _IN_LINE_S)
        return self._is_free()

    def _ask(self, question: Question) -> None:
        """What is sent from now on is held until the answer."""
        serial = question.serial
        self._core.routes.agenda.after(_ANSWER_S, lambda: self.answered(serial, None))
        self._tell_question(question)

    def _tell_question(self, question: Question) -> None:
        place = question.packed.hex()
        more = {"serial": question.serial, "topic": self._topic, "place": place}
        self._tell(question.home, more)

    def _tell(self, home: Home, more: dict[str, Any]) -> None:
        with self._lock:
            sent, self._lease.sent = self._lease.sent, 0
        document = {"secret": home.secret, "n": self._number, "sent": sent}
        self._core.session.put(
            protocol.route(home.nid, home.slot),
            documents.write(document | more),
            priority=self._priority,
            congestion_control=zenoh.CongestionControl.BLOCK,
            allowed_destination=home.locality,
        )

    def _tick(self) -> None:
        """While there is a grant: renews it if it is used, and tells how many went by it.

        The route is the same, so nothing need be held meanwhile.
        """
        with self._lock:
            renewal = self._lease.renewal()
            self._is_ticking = goes_on = self.grant is not None
        if renewal is not None:
            self._tell_question(renewal)
        else:
            self.report()
        if goes_on:
            self._core.routes.agenda.after(RENEW_S, self._tick)

    def report(self) -> None:
        """Tells the node how many messages went by the grant, so that its counters are right."""
        home = self._membership.home
        if self._lease.sent and home is not None:
            self._tell(home, {})

    def answered(self, serial: int, route: Route | None) -> None:
        """The answer: key and header of who wants it, or None if no route is granted or told."""
        with self._lock:
            if not self._lease.answered(serial, route):
                return
            starts = self.grant is not None and not self._is_ticking
            self._is_ticking |= starts
        if starts:
            self._core.routes.agenda.after(RENEW_S, self._tick)
        # Not here: this may be the thread that receives, and a put may wait for its link.
        self._core.routes.agenda.after(0.0, self._let_out)

    def revoked(self, serial: int) -> None:
        """The route has changed."""
        with self._lock:
            self._lease.revoked(serial)
        self._core.routes.agenda.after(0.0, lambda: self._end_route(serial))

    def _end_route(self, serial: int) -> None:
        home = self._membership.home
        if home is not None:  # also if it was given up before: somebody may wait for this
            self._tell(home, {"ended": serial})
        self._let_out()

    def _let_out_if_due(self) -> None:
        """Sends what was held, if its time has come: rather than hold ever more, by the node."""
        with self._lock:
            question = self._lease.question
            if question is not None:
                if len(self._held) < _MAX_HELD:
                    return
                self._lease.answered(question.serial, None)
        if not is_receiving():
            self._let_out()

    def _let_out(self) -> None:
        """Sends what was held, in order; who sends meanwhile waits in line."""
        with self._lock:
            if self._letting_out is not None:
                return
            self._letting_out = threading.get_ident()
        while True:
            with self._lock:
                if not self._held or self._lease.question is not None:
                    # In one step: what is held after this, somebody else lets out.
                    self._letting_out = None
                    self._let_go.notify_all()
                    return
                message = self._held.popleft()
                grant = self._lease.begin(message.packed)
            self._send_held(message, grant)

    def _send_held(self, message: _Message, grant: Grant | None) -> None:
        packed, *rest = message
        try:
            if grant is None:
                self._by_node(packed, *rest)
            elif grant.key is not None:
                payload, user, options = rest
                self._put(grant.key, payload, user, grant.end, None, options)
        except Exception as exc:
            level = logging.DEBUG if self._core.session.is_closed() else logging.WARNING
            log.log(level, "a message on %s could not be sent: %s", self._topic, exc)
        finally:
            if grant is None:
                with self._lock:
                    self._lease.done()

    def close(self) -> None:
        """Nothing held is lost, and nothing sent goes uncounted."""
        with self._lock:
            self._lease.question = None
            self._lease.end()
        self._let_out()
        with self._lock:  # another thread may be at it
            self._let_go.wait_for(lambda: self._letting_out is None, _CLOSE_S)
        self.report()
        if self._number:
            self._core.routes.leave(self._number)
            self._number = 0


def _as_it_is(payload: Any) -> Any:
    """The payload as it is now: it has to wait, and its owner may change it meanwhile."""
    if payload is DELETE or isinstance(payload, zenoh.ZBytes):
        return payload
    return zenoh.ZBytes(payload)


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
