"""Getting from an area: `get` and queriers.

A located get is a native get of a queryable that only this session sees. Handlers, timeouts and
cancellation are thereby Zenoh's own; behind that queryable the node is asked, and replies are
consolidated per topic and place on their way back.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

import zenoh

from zenoh_la.errors import InvalidLocationError, LocationKeyError, PositionError, ProtocolError
from zenoh_la.keys import Role
from zenoh_la.router_plugin import frames, protocol
from zenoh_la.router_plugin.chunks import check_count, joined
from zenoh_la.router_plugin.queries import (
    ALL,
    ALL_COMPLETE,
    BEST,
    MAX_TIMEOUT_MS,
    Ask,
    pass_back,
)
from zenoh_la.session import handlers
from zenoh_la.session.core import Core, locality, topic_of
from zenoh_la.session.home import Home
from zenoh_la.session.local import LOCAL
from zenoh_la.session.matching import listen, status_now
from zenoh_la.session.places import Where
from zenoh_la.session.samples import LocatedReply

_KEY = f"{protocol.ROOT}/own/get"
_MORE_TIME_S = 1.0


def seen(core: Core, reply: zenoh.Reply) -> zenoh.Reply | LocatedReply:
    """A reply as it is, or located if it carries a place."""
    sample = reply.ok
    if sample is None or frames.split_plain(sample.attachment) is None:
        return reply
    return LocatedReply(reply, core.places)


@dataclass(frozen=True, slots=True)
class Get:
    """All that a get says, as the application said it."""

    topic: str
    parameters: zenoh.Parameters
    chunk: str
    target: Any
    consolidation: Any
    accept_replies: Any
    timeout_s: float
    payload: Any
    encoding: Any
    attachment: Any
    destination: int
    options: dict[str, Any]

    @property
    def mode(self) -> zenoh.ConsolidationMode:
        mode = getattr(self.consolidation, "mode", self.consolidation)
        modes = zenoh.ConsolidationMode
        if mode is None or mode == modes.AUTO:
            return modes.NONE if "_time" in self.parameters else modes.LATEST
        found: zenoh.ConsolidationMode = mode
        return found

    def ask(self) -> Ask:
        target = BEST
        if self.target == zenoh.QueryTarget.ALL:
            target = ALL
        elif self.target == zenoh.QueryTarget.ALL_COMPLETE:
            target = ALL_COMPLETE
        any_key = self.accept_replies == zenoh.ReplyKeyExpr.ANY
        timeout_ms = int(min(max(self.timeout_s * 1000, 1), MAX_TIMEOUT_MS))
        return Ask("", "", target, timeout_ms, any_key)


class Consolidation:
    """Of replies on one topic from one place, the newest; two places are two replies."""

    def __init__(self, mode: zenoh.ConsolidationMode, query: zenoh.Query) -> None:
        self._mode = mode
        self._query = query
        self._lock = threading.Lock()
        self._newest: dict[tuple[str, bytes], zenoh.Reply] = {}

    def take(self, reply: zenoh.Reply) -> None:
        sample = reply.ok
        if sample is None or self._mode == zenoh.ConsolidationMode.NONE:
            pass_back(self._query, reply)
            return
        parts = frames.split_plain(sample.attachment)
        place = frames.NOWHERE if parts is None else parts[0].location
        at = (str(sample.key_expr), place)
        with self._lock:
            old = self._newest.get(at)
            if old is not None and not _is_newer(sample, old.ok):
                return
            self._newest[at] = reply
        if self._mode == zenoh.ConsolidationMode.MONOTONIC:
            pass_back(self._query, reply)

    def end(self) -> None:
        if self._mode == zenoh.ConsolidationMode.LATEST:
            for reply in self._newest.values():
                pass_back(self._query, reply)
        self._query.drop()


def _is_newer(sample: zenoh.Sample, old: zenoh.Sample | None) -> bool:
    if sample.timestamp is None:
        return False
    return old is None or old.timestamp is None or not old.timestamp >= sample.timestamp


class Asking:
    """The located gets of a session."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._numbers = count()
        self._gets: dict[int, Get] = {}
        self._queryable: Any = None

    def get(self, get: Get, handler: Any, cancellation_token: Any) -> Any:
        core = self._core
        core.membership.join()
        with self._lock:
            if self._queryable is None:
                self._queryable = core.session.declare_queryable(
                    _KEY,
                    zenoh.handlers.Callback(self._on_query, indirect=False),
                    allowed_origin=LOCAL,
                )
        number = next(self._numbers)
        self._gets[number] = get

        def change(reply: zenoh.Reply) -> LocatedReply:
            return LocatedReply(reply, core.places)

        try:
            given = core.session.get(
                _KEY,
                handlers.adapted(handler, change),
                timeout=get.timeout_s,
                consolidation=zenoh.ConsolidationMode.NONE,
                accept_replies=zenoh.ReplyKeyExpr.ANY,
                attachment=str(number),
                allowed_destination=LOCAL,
                cancellation_token=cancellation_token,
            )
        finally:
            self._gets.pop(number, None)
        return handlers.shown(given, change)

    def _on_query(self, query: zenoh.Query) -> None:
        attachment = query.attachment
        get = self._gets.pop(int(attachment.to_string()), None) if attachment else None
        if get is None:
            query.drop()
            return
        result = Consolidation(get.mode, query)

        def send(home: Home) -> None:
            who = protocol.sender(home.slot, get.destination)
            user = frames.given(get.attachment)
            key = protocol.ingress_get(home.nid, who, get.chunk, get.topic)
            self._core.session.get(
                zenoh.Selector(key, get.parameters),
                zenoh.handlers.Callback(result.take, result.end, indirect=False),
                target=zenoh.QueryTarget.ALL,
                consolidation=zenoh.ConsolidationMode.NONE,
                accept_replies=zenoh.ReplyKeyExpr.ANY,
                timeout=get.timeout_s + _MORE_TIME_S,
                payload=get.payload,
                encoding=get.encoding,
                attachment=frames.attached(user, frames.ending(get.ask().write())) + frames.MAGIC,
                allowed_destination=home.locality,
                **get.options,
            )

        self._core.membership.send(send)


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


class Querier:
    """Like `zenoh.Querier`, of an area."""

    def __init__(
        self, asking: Asking, core: Core, topic: str, where: Where, **options: Any
    ) -> None:
        self._asking = asking
        self._core = core
        self._topic = topic
        self._where = where
        self._options = options
        self._id = core.session.id
        self._undeclared = False

    @property
    def id(self) -> zenoh.EntityGlobalId:
        self._check()
        return self._id

    @property
    def key_expr(self) -> zenoh.KeyExpr:
        self._check()
        return zenoh.KeyExpr(self._topic)

    @property
    def accept_replies(self) -> zenoh.ReplyKeyExpr:
        self._check()
        given: zenoh.ReplyKeyExpr | None = self._options["accept_replies"]
        return zenoh.ReplyKeyExpr.DEFAULT if given is None else given

    def _check(self) -> None:
        if self._undeclared:
            raise zenoh.ZError("Undeclared querier")

    def get(
        self,
        handler: Any = None,
        *,
        parameters: Any = None,
        payload: Any = None,
        encoding: Any = None,
        attachment: Any = None,
        source_info: zenoh.SourceInfo | None = None,
        cancellation_token: Any = None,
        timestamp_instrumentation: Any = None,
    ) -> Any:
        self._check()
        own = dict(self._options)
        options = {
            **own.pop("options"),
            "source_info": source_info,
            "timestamp_instrumentation": timestamp_instrumentation,
        }
        given = parameters if isinstance(parameters, zenoh.Parameters) else None
        get = Get(
            topic=self._topic,
            parameters=zenoh.Parameters(parameters) if given is None else given,
            chunk=area_chunk(self._core, self._where),
            payload=payload,
            encoding=encoding,
            attachment=attachment,
            options=options,
            **own,
        )
        return self._asking.get(get, handler, cancellation_token)

    def _watched(self) -> list[Any]:
        return ["q", self._topic, area_chunk(self._core, self._where)]

    @property
    def matching_status(self) -> Any:
        """Whether any queryable's area meets this one's."""
        self._check()
        return status_now(self._core, self._watched())

    def declare_matching_listener(self, handler: Any = None) -> Any:
        self._check()
        return listen(self._core, self._watched, handler)

    def undeclare(self) -> None:
        self._check()
        self._undeclared = True

    def __enter__(self) -> Self:
        self._check()
        return self

    def __exit__(self, *_args: Any, **_kwargs: Any) -> None:
        self.undeclare()


def checked(topic: Any, allowed_destination: Any) -> tuple[str, int]:
    """Topic and destination of a get."""
    return topic_of(topic), locality("allowed_destination", allowed_destination)
