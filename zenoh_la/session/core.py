"""What the parts of a session share: its position, its node, and who gets what is delivered."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.errors import (
    ArgumentError,
    LocationKeyError,
    PositionError,
    ProtocolError,
    ZenohLaError,
)
from zenoh_la.keys import Role, check_topic
from zenoh_la.router_plugin import documents, frames, location_bytes
from zenoh_la.router_plugin.chunks import located_all
from zenoh_la.router_plugin.forwarding import forward
from zenoh_la.router_plugin.numbered import NumberedKeys
from zenoh_la.router_plugin.protocol import (
    ANY,
    LOCAL,
    REMEMBERED_LENGTH,
    REMOTE,
    Interest,
    Kind,
)
from zenoh_la.router_plugin.queries import Ask, Passing
from zenoh_la.session.home import Home
from zenoh_la.session.local import Numbers
from zenoh_la.session.membership import Membership
from zenoh_la.session.mobility import Mobility
from zenoh_la.session.places import Places, Where
from zenoh_la.session.position import PositionSource
from zenoh_la.session.routes import Routes
from zenoh_la.values import Coordinates

log = logging.getLogger("zenoh_la")

_HERE = zenoh.Locality.SESSION_LOCAL
_MAX_HEADERS = 4096
_MAX_KEY_BYTES = 65_535


def check_kind(argument: str, value: Any, *kinds: type) -> None:
    """Refuses an argument of Zenoh's as Zenoh does, at the call."""
    if not isinstance(value, kinds):
        problem = f"'{type(value).__name__}' object cannot be converted to '{kinds[0].__name__}'"
        raise TypeError(f"argument '{argument}': {problem}")


def locality(argument: str, given: zenoh.Locality | None) -> int:
    """Zenoh's locality as the protocol numbers it."""
    check_kind(argument, given, zenoh.Locality, NoneType)
    if given is None or given == zenoh.Locality.ANY:
        return ANY
    return REMOTE if given == zenoh.Locality.REMOTE else LOCAL


def check_length(key_expr: Any, argument: str = "key_expr") -> None:
    """Refuses what is so long that Zenoh would panic, and its session be of no use any more."""
    if type(key_expr) is str and len(key_expr) * 4 > _MAX_KEY_BYTES:
        length = len(key_expr.partition("?")[0].encode(errors="replace"))
        if length > _MAX_KEY_BYTES:
            problem = f"has {length} bytes, a key expression has at most {_MAX_KEY_BYTES}"
            raise ArgumentError(argument, key_expr, problem)


def topic_of(key_expr: Any) -> str:
    """A topic as text; what is no key expression is Zenoh's own error."""
    check_kind("key_expr", key_expr, str, zenoh.KeyExpr)
    check_length(key_expr)
    topic = str(key_expr if isinstance(key_expr, zenoh.KeyExpr) else zenoh.KeyExpr(key_expr))
    try:
        check_topic(topic)
    except LocationKeyError as exc:
        raise ArgumentError("key_expr", topic, exc.problem) from exc
    return topic


@dataclass(frozen=True, slots=True)
class Claim:
    """An interest as the application declared it: where may depend on the session's position."""

    kind: Kind
    topic: str
    where: Where
    role: Role
    complete: bool = False
    origin: int = ANY

    def interest(self, places: Places, position: Coordinates | None) -> Interest:
        chunks = places.chunks(self.where, self.role, position)
        return Interest.of(self.kind, self.topic, chunks, self.complete, self.origin)


class Core:
    """The inside of a location-aware session.

    Args:
        session: the Zenoh session it wraps.
        mode: whether that session is a client, and so belongs to its router if it can, a peer or
            a router.
        timeout_s: Zenoh's default timeout of a get.
    """

    def __init__(self, session: zenoh.Session, mode: zenoh.WhatAmI, timeout_s: float) -> None:
        self.session = session
        self.timeout_s = timeout_s
        self.places = Places()
        self.zid = str(session.zid())
        self.numbers = Numbers()
        self.subscribers: dict[int, zenoh.KeyExpr] = {}
        self.queryables: dict[int, zenoh.KeyExpr] = {}
        self.membership = Membership(
            session, mode, on_message=self._on_message, on_get=self._on_get
        )
        self.mobility = Mobility(self._move, lambda: self.has_mobile_claims)
        self.position = PositionSource(self.mobility.wake)
        self.mobility.follow(self.position)
        self.routes = Routes()
        self._keys = NumberedKeys(session, on_links=True)
        self._moving: dict[int, Interest] = {}
        self._claims: dict[int, tuple[Claim, Interest]] = {}
        self._one_move = threading.Lock()  # so that none undoes another
        self._mobile: set[int] = set()
        self._headers: dict[bytes, tuple[int | None, tuple[int, ...]]] = {}
        self.held_lost = 0
        self.refused = 0

    def stable_key(self, home: Home, key: str) -> zenoh.KeyExpr:
        """A key on which much is put, as long as the session is at home there."""
        return zenoh.KeyExpr(key) if home.node is not None else self._keys.get(key)

    # What the application declares

    def claim(self, number: int, claim: Claim) -> None:
        """Declares an interest at the node; it is in force there when this returns."""
        position = self.position_needed() if claim.where.is_ego_centric else None
        interest = claim.interest(self.places, position)
        self.membership.declare({number: interest})
        self._claims[number] = (claim, interest)
        self._follow(number, claim)

    def interest(self, number: int) -> Interest | None:
        """The interest of a claim as it is at the node; None while it is being declared."""
        found = self._claims.get(number)
        return None if found is None else found[1]

    def moving_to(self, number: int) -> Interest | None:
        """Where an interest is being moved, or was moved last."""
        return self._moving.get(number)

    def check_position(self) -> None:
        """Refuses an area that goes with the position if nobody can say where that is."""
        if not self.position.is_declared:
            problem = "an area about oneself needs a position: call declare_position_handler"
            raise PositionError(problem)

    def position_needed(self) -> Coordinates | None:
        """The position for an area that goes with it; None if the handler says there is none."""
        self.check_position()
        return self.position.current()

    def renounce(self, number: int) -> None:
        self._mobile.discard(number)
        self._claims.pop(number, None)
        self._moving.pop(number, None)  # the number is given out again
        self.membership.undeclare(number)

    def relocate(self, number: int, where: Where) -> None:
        """Gives a live interest another area, in place: what both areas hold is never missed."""
        with self._one_move:
            found = self._claims.get(number)
            if found is None:
                raise zenoh.ZError("undeclared")
            claim = replace(found[0], where=where)
            position = self.position_needed() if where.is_ego_centric else None
            interest = claim.interest(self.places, position)
            self._moving = {number: interest}
            try:
                self.membership.move({number: interest})
            except BaseException:
                self._moving = {}
                raise
            if number in self._claims:
                self._claims[number] = (claim, interest)
                self._follow(number, claim)

    def _follow(self, number: int, claim: Claim) -> None:
        if claim.where.is_ego_centric:
            self._mobile.add(number)
            self.mobility.start()
        else:
            self._mobile.discard(number)

    def _move(self, position: Coordinates | None) -> int:
        """Moves the interests that go with the position; returns how many changed."""
        with self._one_move:
            return self._move_all(position)

    def _move_all(self, position: Coordinates | None) -> int:
        changes = {}
        for number in list(self._mobile):
            found = self._claims.get(number)
            if found is None:
                continue
            claim, old = found
            new = self._moved(claim, old, position)
            if new.chunks != old.chunks:
                changes[number] = (claim, new)
        if changes:
            # Granted messages for the new place may come before the node's answer.
            self._moving = {number: new for number, (_, new) in changes.items()}
            self.membership.move({number: new for number, (_, new) in changes.items()})
            for number, moved in changes.items():
                if number in self._claims:
                    self._claims[number] = moved
        return len(changes)

    def _moved(self, claim: Claim, old: Interest, position: Coordinates | None) -> Interest:
        try:
            return claim.interest(self.places, position)
        except ValueError as exc:  # e.g. the position left the Bloom domain
            if old.chunks:
                log.warning("an interest in %s is nowhere now: %s", claim.topic, exc)
            return claim.interest(self.places, None)

    @property
    def has_mobile_claims(self) -> bool:
        """Whether an interest goes with the session's position."""
        return bool(self._mobile)

    def chunk_here(self, precision: Precision) -> str | None:
        """The location key of the session's position; None if it has none."""
        position = self.position.current()
        return None if position is None else self.places.position_chunk(position, precision)

    def close(self) -> None:
        """Closes the session under whatever waits for an answer, so that nothing holds it up."""
        self.routes.close()
        self.mobility.stop()
        self.membership.stop()
        try:
            self.session.close()  # Zenoh gives up after 10 s, with an error, if nothing can be sent
        finally:
            self.mobility.close()
            self.membership.close()

    # What the node delivers

    def _on_message(self, home: Home, sample: zenoh.Sample) -> None:
        attachment = sample.attachment
        try:
            if attachment is None:
                document = documents.read(sample.payload)
                if document.get("tag") == home.tag:
                    self.membership.on_news(document, home)
                    self.routes.told(document)
                return
            header, _, _ = frames.split_delivered(attachment.to_bytes())
            found = self._headers.get(header)
            if found is None:
                parsed = frames.unpack_header(header)
                location_bytes.location_of(parsed.location)
                found = parsed.tag, parsed.ids
                if len(self._headers) >= _MAX_HEADERS:
                    self._headers.clear()
                if len(header) <= REMEMBERED_LENGTH:
                    self._headers[header] = found
        except (ProtocolError, zenoh.ZError) as exc:
            self.refuse(exc)
            return
        tag, ids = found
        if tag not in self.membership.tags:
            return  # for the session that had this slot before
        for number in ids:
            key = self.subscribers.get(number)
            if key is not None:
                try:
                    forward(self.session, key, sample, attachment, _HERE)
                except zenoh.ZError:
                    if not self.session.is_closed():  # else it was closed under this message
                        raise

    def refuse(self, exc: Exception) -> None:
        """Somebody sent what cannot be right."""
        self.refused += 1
        log.debug("refused: %s", exc)

    def _on_get(self, home: Home, query: zenoh.Query) -> None:
        passing = Passing(self.session, query)
        try:
            header, own = frames.split(query.attachment)
            ask = Ask.read(header)
            user = None if own is None else zenoh.ZBytes(own)
            check_topic(ask.topic)
            located_all(ask.chunk)  # so that no handler stumbles over it
            if ask.tag == home.tag:
                for number in ask.ids:
                    key = self.queryables.get(number)
                    if key is not None:
                        passing.to(key, frames.ending(header), user, ask.timeout_ms, _HERE)
        except (ZenohLaError, zenoh.ZError) as exc:
            self.refuse(exc)
        finally:
            passing.done()
