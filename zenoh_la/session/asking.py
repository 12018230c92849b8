"""Getting from an area.

A located get is a native get of a queryable that only this session sees. Handlers, timeouts and
cancellation are thereby Zenoh's own; behind that queryable the node is asked. It replies on one key
per topic and place, so that consolidation is Zenoh's own too, and two places are two replies.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from types import NoneType
from typing import Any

import zenoh

from zenoh_la.errors import InvalidLocationError, LocationKeyError, PositionError, ProtocolError
from zenoh_la.keys import Role
from zenoh_la.router_plugin import frames, location_bytes, protocol
from zenoh_la.router_plugin.asks import ALL, ALL_COMPLETE, BEST, MAX_TIMEOUT_MS, Ask
from zenoh_la.router_plugin.callbacks import direct
from zenoh_la.router_plugin.chunks import check_count, joined
from zenoh_la.router_plugin.queries import pass_back
from zenoh_la.session import handlers
from zenoh_la.session.core import Core, check_kind, locality, topic_of
from zenoh_la.session.home import Home
from zenoh_la.session.local import LOCAL
from zenoh_la.session.places import Where
from zenoh_la.session.samples import LocatedReply, as_seen, of_own

log = logging.getLogger("zenoh_la")

KEY = f"{protocol.ROOT}/own/get"
HERE: dict[str, Any] = {
    "accept_replies": zenoh.ReplyKeyExpr.ANY,
    "allowed_destination": LOCAL,
}
"""How the queryable that only this session sees is asked."""
_MORE_TIME_S = 1.0


def seen(core: Core, reply: zenoh.Reply) -> zenoh.Reply | LocatedReply:
    """A reply as it is, or located if it carries a place."""
    sample = reply.ok
    if sample is None:
        return reply
    found = as_seen(sample, core.places)
    if found is sample:
        return reply
    return LocatedReply(reply, found, reply.replier_id)


@dataclass(frozen=True, slots=True)
class Get:
    """What a get says, as the application said it, save for what travels as it is."""

    topic: str
    parameters: zenoh.Parameters
    chunk: str
    target: Any
    accept_replies: Any
    timeout_s: float
    attachment: zenoh.ZBytes | None
    destination: int
    quality: dict[str, Any]

    def ask(self) -> Ask:
        target = BEST
        if self.target == zenoh.QueryTarget.ALL:
            target = ALL
        elif self.target == zenoh.QueryTarget.ALL_COMPLETE:
            target = ALL_COMPLETE
        any_key = self.accept_replies == zenoh.ReplyKeyExpr.ANY
        timeout_ms = int(min(max(self.timeout_s * 1000, 1), MAX_TIMEOUT_MS))
        return Ask("", "", target, timeout_ms, any_key)


class Asking:
    """The located gets of a session."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._numbers = count()
        self._gets: dict[int, Get] = {}
        self._queryable: Any = None

    def get(self, get: Get, ask: Callable[..., Any], handler: Any, options: dict[str, Any]) -> Any:
        """Begins a get.

        Args:
            ask: what Zenoh does for one: `zenoh.Session.get` or `zenoh.Querier.get`, of `KEY`.
            options: what travels as it is, and what says how it is to travel.
        """
        # It would trace no more than the way from this session to itself.
        traced = options.pop("timestamp_instrumentation")
        check_kind("timestamp_instrumentation", traced, zenoh.TimestampInstrumentation, NoneType)
        core = self._core
        core.membership.join()
        with self._lock:
            if self._queryable is None:
                self._queryable = core.session.declare_queryable(
                    KEY,
                    direct(self._on_query),
                    allowed_origin=LOCAL,
                )
        number = next(self._numbers)
        self._gets[number] = get

        def change(reply: zenoh.Reply) -> LocatedReply:
            sample = reply.ok
            return LocatedReply(reply, None if sample is None else of_own(sample, core.places))

        try:
            given = ask(handlers.adapted(handler, change), attachment=str(number), **options)
        finally:
            self._gets.pop(number, None)
        return handlers.shown(given, change)

    def _on_query(self, query: zenoh.Query) -> None:
        attachment = query.attachment
        get = self._gets.pop(int(attachment.to_string()), None) if attachment else None
        if get is None:
            query.drop()
            return

        def take(reply: zenoh.Reply) -> None:
            _hand_over(query, reply)

        def send(home: Home) -> None:
            who = protocol.sender(home.slot, get.destination)
            key = protocol.ingress_get(home.nid, who, get.chunk, get.topic)
            end = frames.ending(get.ask().write())
            self._core.session.get(
                zenoh.Selector(key, get.parameters),
                direct(take, query.drop),
                target=zenoh.QueryTarget.ALL,
                consolidation=zenoh.ConsolidationMode.NONE,
                accept_replies=zenoh.ReplyKeyExpr.ANY,
                timeout=get.timeout_s + _MORE_TIME_S,
                payload=query.payload,
                encoding=query.encoding,
                source_info=query.source_info,
                attachment=frames.attached(get.attachment, end) + frames.MAGIC,
                allowed_destination=home.locality,
                **get.quality,
            )

        try:
            self._core.membership.send(send)
        except zenoh.ZError:
            if not self._core.session.is_closed():  # else it was closed under this get
                raise
            query.drop()


def _hand_over(query: zenoh.Query, reply: zenoh.Reply) -> None:
    """Passes a reply on to the get of this session, on a key that tells its place."""
    sample = reply.ok
    if sample is None:
        pass_back(query, reply)
        return
    parts = frames.split_plain(sample.attachment)
    place = location_bytes.NOWHERE if parts is None else parts[0].location
    try:
        key = protocol.own_reply(place, str(sample.key_expr))
    except LocationKeyError as exc:
        log.warning("a reply is lost: %s", exc)
        return
    pass_back(query, reply, key)


def area_chunk(core: Core, where: Where) -> str:
    """The area of a get at this moment, in one chunk."""
    position = None
    if where.is_ego_centric:
        position = core.position_needed()
    chunks = core.places.chunks(where, Role.GET, position)
    if not chunks:
        raise PositionError("an area about oneself needs a position, and there is none now")
    chunk = joined(list(chunks))
    try:
        check_count(len(chunks))
        protocol.ingress_get("0" * 8, 0, chunk, "t")
    except (LocationKeyError, ProtocolError) as exc:
        raise InvalidLocationError("area", f"{len(chunks)} location keys", exc.problem) from exc
    return chunk


def check_area(core: Core, where: Where) -> None:
    """Says what is wrong with an area that is asked later; the position is not asked for yet."""
    if not where.is_ego_centric:
        area_chunk(core, where)
        return
    core.places.chunks(where, Role.GET, None)
    core.check_position()


def checked(
    topic: Any, target: Any, accept_replies: Any, allowed_destination: Any
) -> dict[str, Any]:
    """Those arguments of a get that Zenoh does not see as they are; raises its own errors."""
    check_kind("target", target, zenoh.QueryTarget, NoneType)
    check_kind("accept_replies", accept_replies, zenoh.ReplyKeyExpr, NoneType)
    return {
        "topic": topic_of(topic),
        "target": target,
        "accept_replies": accept_replies,
        "destination": locality("allowed_destination", allowed_destination),
    }
