"""How a located get passes a node: to the queryables whose area it meets, replies streamed back.

Everything runs on callbacks: a get that waits inside a callback would hang. A get is passed on
with a little more time than its caller has, so that it is the caller's own time that runs out.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import zenoh

from zenoh_la.encoders import Location
from zenoh_la.encoders.locations import Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.keys import check_topic
from zenoh_la.router_plugin import documents, frames, protocol
from zenoh_la.router_plugin.adverts import Advert
from zenoh_la.router_plugin.agenda import Agenda
from zenoh_la.router_plugin.callbacks import direct
from zenoh_la.router_plugin.chunks import located_all
from zenoh_la.router_plugin.counters import Counters
from zenoh_la.router_plugin.documents import field, whole
from zenoh_la.router_plugin.members import Members
from zenoh_la.router_plugin.protocol import ANY, LOCAL, Interest, Sender
from zenoh_la.router_plugin.routes import Owner, RoutingTable
from zenoh_la.values import Circle

log = logging.getLogger("zenoh_la")

BEST, ALL, ALL_COMPLETE = "best", "all", "complete"
_MORE_TIME_MS = 1000
_DEFAULT_TIMEOUT_MS = 10_000
MAX_TIMEOUT_MS = 24 * 3600 * 1000
_MAX_COMPARED = 10_000


@dataclass(frozen=True, slots=True)
class Ask:
    """A located get: the document that goes with it.

    Attributes:
        topic: the plain topic.
        chunk: the location keys of its area, in one chunk.
        target: ``"best"``, ``"all"`` or ``"complete"``.
        timeout_ms: the caller's; at most a day.
        any_key: whether replies may have any key.
        only: of the node that gets it, the one entry of its advert that is meant; -1 for all.
        tag: of the session that gets it.
        ids: of the queryables that are meant in that session.
    """

    topic: str = ""
    chunk: str = ""
    target: str = BEST
    timeout_ms: int = _DEFAULT_TIMEOUT_MS
    any_key: bool = False
    only: int = -1
    tag: int = 0
    ids: tuple[int, ...] = ()

    def write(self) -> bytes:
        """The document: fields that have their default are left out."""
        every = ((f.name, getattr(self, f.name), f.default) for f in dataclasses.fields(self))
        return documents.write({name: value for name, value, usual in every if value != usual})

    @classmethod
    def read(cls, data: bytes) -> Ask:
        fields = documents.read(data)
        only = fields.get("only")
        ids = tuple(whole(number) for number in field(fields, "ids", list))
        ask = cls(
            field(fields, "topic", str),
            field(fields, "chunk", str),
            field(fields, "target", str, BEST),
            field(fields, "timeout_ms", int, _DEFAULT_TIMEOUT_MS),
            field(fields, "any_key", bool),
            -1 if only is None else whole(only),
            field(fields, "tag", int),
            ids,
        )
        if ask.target not in (BEST, ALL, ALL_COMPLETE):
            raise ProtocolError(ask.target, "is no target of a get")
        if not 0 < ask.timeout_ms <= MAX_TIMEOUT_MS:
            raise ProtocolError(ask.timeout_ms, f"timeout_ms must be from 1 to {MAX_TIMEOUT_MS}")
        if any(a >= b for a, b in pairwise(ids)):
            raise ProtocolError(ids, "ids must ascend")
        return ask


class Passing:
    """A get on its way: replies go back as they come, and it ends when all parts have ended.

    Args:
        ends: where its end is told, if others than the own session answer. When one of them is
            cut off, Zenoh ends its part with its own locks held, and to tell the one who asked
            would take them again: the whole router stood still.
    """

    def __init__(
        self, session: zenoh.Session, query: zenoh.Query, ends: Agenda | None = None
    ) -> None:
        self._session = session
        self._query = query
        self._ends = ends
        self._lock = threading.Lock()
        self._parts = 1

    def to(
        self,
        key: zenoh.KeyExpr | str,
        end: bytes,
        user: zenoh.ZBytes | None,
        timeout_ms: int,
        destination: zenoh.Locality | None = None,
    ) -> None:
        """Passes it on to one more."""
        with self._lock:
            self._parts += 1
        query = self._query
        self._session.get(
            zenoh.Selector(key, query.parameters),
            direct(self._back, self._part_done),
            target=zenoh.QueryTarget.ALL,
            consolidation=zenoh.ConsolidationMode.NONE,
            accept_replies=zenoh.ReplyKeyExpr.ANY,
            timeout=(timeout_ms + _MORE_TIME_MS) / 1000,
            payload=query.payload,
            encoding=query.encoding,
            attachment=frames.attached(user, end),
            allowed_destination=destination,
            source_info=query.source_info,
        )

    def _back(self, reply: zenoh.Reply) -> None:
        pass_back(self._query, reply)

    def _part_done(self) -> None:
        if self._ends is None:
            self.done()
        else:
            self._ends.after(0.0, self.done)

    def done(self) -> None:
        """One part has ended; the caller ends the first one, when all others have begun."""
        with self._lock:
            self._parts -= 1
            if self._parts:
                return
        self._query.drop()


def pass_back(query: zenoh.Query, reply: zenoh.Reply, key: str | None = None) -> None:
    """A reply to the one who asked, with all that it came with; on another key if one is given."""
    try:
        sample = reply.ok
        if sample is None:
            error = reply.err
            assert error is not None
            query.reply_err(error.payload, encoding=error.encoding)
        elif sample.kind == zenoh.SampleKind.PUT:
            query.reply(
                sample.key_expr if key is None else key,
                sample.payload,
                encoding=sample.encoding,
                express=sample.express,
                attachment=sample.attachment,
                timestamp=sample.timestamp,
            )
        else:
            query.reply_del(
                sample.key_expr if key is None else key,
                express=sample.express,
                attachment=sample.attachment,
                timestamp=sample.timestamp,
            )
    except zenoh.ZError as exc:
        log.debug("a reply came too late: %s", exc)


class Queries:
    """Takes located gets in and passes them on."""

    def __init__(
        self,
        session: zenoh.Session,
        nid: str,
        table: RoutingTable,
        members: Members,
        advert: Advert,
        counters: Counters,
    ) -> None:
        self._session = session
        self._nid = nid
        self._table = table
        self._members = members
        self._advert = advert
        self._counters = counters
        # Of its own: a caller that does not read holds up the ends of others, but nothing else.
        self._ends = Agenda(f"zenoh-la-gets-{nid}")

    def close(self) -> None:
        self._ends.close()

    def on_ingress(self, query: zenoh.Query) -> None:
        """A located get from one of this node's sessions."""
        self._handle(query, self._from_session)

    def on_egress(self, query: zenoh.Query) -> None:
        """A located get from another node."""
        self._handle(query, self._from_node)

    def _handle(self, query: zenoh.Query, step: Callable[[zenoh.Query, Passing], None]) -> None:
        passing = Passing(self._session, query, self._ends)
        try:
            step(query, passing)
        except (ZenohLaError, zenoh.ZError) as exc:
            self._counters.refused += 1
            query.reply_err(f"zenoh-la: {exc}", encoding=zenoh.Encoding.TEXT_PLAIN)
        finally:
            passing.done()

    def _from_session(self, query: zenoh.Query, passing: Passing) -> None:
        sender, chunk, topic = protocol.split_ingress(str(query.key_expr), self._nid)
        check_topic(topic)
        parts = frames.split_marked(query.attachment)
        if parts is None:  # a client that knows no more than the key
            user = query.attachment
            ask = Ask(topic, chunk)
        else:
            header, own = parts
            user = None if own is None else zenoh.ZBytes(own)
            ask = Ask.read(header)
            ask = Ask(topic, chunk, ask.target, ask.timeout_ms, ask.any_key)
        locations = located_all(chunk)
        self._counters.gets += 1
        found = self._table.answerers(topic, locations, sender)
        if sender.destination == LOCAL:
            found = _of_sessions(found)
        self._pass_on(passing, ask, user, chosen(found, ask, locations))

    def _from_node(self, query: zenoh.Query, passing: Passing) -> None:
        header, own = frames.split(query.attachment)
        ask = Ask.read(header)
        check_topic(ask.topic)
        locations = located_all(ask.chunk)
        found = self._table.answerers(ask.topic, locations, Sender(None, ANY))
        mine = _of_sessions(found)
        if ask.only >= 0:
            owner = self._advert.owner(ask.only)
            # It may be gone, and another one be there that the asking node has not heard of.
            mine = {o: i for o, i in mine.items() if o == owner} or mine
        elif ask.target == ALL_COMPLETE:
            mine = chosen(mine, ask, locations)
        self._pass_on(passing, ask, None if own is None else zenoh.ZBytes(own), mine)

    def _pass_on(
        self, passing: Passing, ask: Ask, user: zenoh.ZBytes | None, found: dict[Owner, Interest]
    ) -> None:
        mine: defaultdict[int, list[int]] = defaultdict(list)
        nodes: dict[str, int] = {}
        for first, number in found:
            if isinstance(first, int):
                mine[first].append(number)
            else:
                nodes[first] = number if ask.target == BEST and len(found) == 1 else -1
        more = min(ask.timeout_ms + _MORE_TIME_MS, MAX_TIMEOUT_MS)
        for slot, ids in mine.items():
            member = self._members.get(slot)
            if member is not None:
                fields: dict[str, Any] = {"tag": member.tag, "ids": tuple(sorted(ids))}
                part = Ask(ask.topic, ask.chunk, ask.target, more, ask.any_key, -1, **fields)
                passing.to(member.gets, frames.ending(part.write()), user, more)
        for nid, only in nodes.items():
            part = Ask(ask.topic, ask.chunk, ask.target, more, ask.any_key, only)
            passing.to(protocol.one_get(nid), frames.ending(part.write()), user, more)


def _of_sessions(found: dict[Owner, Interest]) -> dict[Owner, Interest]:
    """Those of this node's own sessions."""
    return {owner: interest for owner, interest in found.items() if isinstance(owner[0], int)}


def chosen(
    found: dict[Owner, Interest], ask: Ask, locations: tuple[Location, ...]
) -> dict[Owner, Interest]:
    """Those that the target means.

    As in Zenoh, the best match is the nearest queryable that knows all, or else everybody. Here
    one that knows all must also hold the whole area of the get.
    """
    if ask.target == ALL:
        return found
    complete = {
        owner: interest
        for owner, interest in found.items()
        if interest.complete and zenoh.KeyExpr(interest.topic).includes(ask.topic)
    }
    if ask.target == ALL_COMPLETE:
        return complete
    compared = 0
    for owner in sorted(complete, key=lambda o: isinstance(o[0], str)):
        compared += len(complete[owner].locations) * len(locations)
        if compared > _MAX_COMPARED:
            break  # it would take longer than to ask them all
        if all(any(_covers(a, b) for a in complete[owner].locations) for b in locations):
            return {owner: complete[owner]}
    return found


def _covers(area: Location, part: Location) -> bool:
    """Whether an area surely holds another one; False if that is not easy to tell."""
    if isinstance(area, Cell) and isinstance(part, Cell):
        return part.place.path.startswith(area.place.path)
    if isinstance(area, Region) and isinstance(part, Region):
        if area.place == part.place:
            return True
        inner = part.place.bounds if isinstance(part.place, Circle) else part.place
        if area.place.planar is not None and inner.planar is not None:
            return bool(area.place.planar.geometry.covers(inner.planar.geometry))
        return False
    return area.matches(part) is True and not isinstance(area, Cell | Region)
