"""Where a located get goes: decided once, and remembered until an interest in its topic changes."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import NamedTuple

import zenoh

from zenoh_la.encoders import Location
from zenoh_la.encoders.locations import Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.keys import check_topic
from zenoh_la.router_plugin import frames, protocol
from zenoh_la.router_plugin.asks import ALL, ALL_COMPLETE, BEST, MAX_TIMEOUT_MS, Ask
from zenoh_la.router_plugin.chunks import located_all
from zenoh_la.router_plugin.members import Members
from zenoh_la.router_plugin.protocol import ANY, LOCAL, Interest, Sender
from zenoh_la.router_plugin.routes import Owner, RoutingTable
from zenoh_la.values import Circle

MORE_TIME_MS = 1000
_MAX_COMPARED = 10_000
_MAX_WAYS = 4096

At = tuple[int, int, int]
"""Slot, tag and id of a queryable at its node."""


class Way(NamedTuple):
    """Whom a get is passed on to, with what, and how long they are waited for."""

    topic: str
    timeout_ms: int
    targets: list[tuple[zenoh.KeyExpr, bytes]]


_Question = tuple[str, bytes | None]
"""Key and document of a get; of one from another node the document says all."""


class Ways:
    """The ways of a node's gets.

    Args:
        owner: tells whose interest an entry of this node's own advert is.

    Attributes:
        at: tells who is behind an entry of another node's advert, if that says so.
    """

    def __init__(
        self,
        nid: str,
        table: RoutingTable,
        members: Members,
        owner: Callable[[int], Owner | None],
    ) -> None:
        self._nid = nid
        self._table = table
        self._members = members
        self._owner = owner
        self.at: Callable[[str, int], At | None] = lambda *_: None
        self._lock = threading.Lock()
        self._changes = 0
        self._ways: dict[_Question, Way] = {}
        self._topics: dict[str, zenoh.KeyExpr] = {}

    def changed(self, topics: Collection[str]) -> None:
        """Forgets the ways that interests in these topics may change; they have changed."""
        with self._lock:
            self._changes += 1
            if len(topics) * len(self._topics) > _MAX_COMPARED:
                self._forget(set(self._topics))
            elif self._topics:
                known = self._topics.items()
                self._forget({name for name, own in known if any(map(own.intersects, topics))})

    def _forget(self, topics: set[str]) -> None:
        if topics:
            self._ways = {q: way for q, way in self._ways.items() if way.topic not in topics}
            for topic in topics:
                del self._topics[topic]

    def of_session(self, key: str, document: bytes | None) -> Way:
        """The way of a get from one of this node's sessions.

        Raises:
            ProtocolError, LocationKeyError: it cannot be right.
        """
        way = self._ways.get((key, document))
        if way is not None:
            return way
        before = self._changes
        sender, chunk, topic = protocol.split_ingress(key, self._nid)
        check_topic(topic)
        if document is None:  # a client that knows no more than the key
            ask = Ask(topic, chunk)
        else:
            said = Ask.read(document)
            ask = Ask(topic, chunk, said.target, said.timeout_ms, said.any_key)
        locations = located_all(chunk)
        found = self._table.answerers(topic, locations, sender)
        if sender.destination == LOCAL:
            found = _of_sessions(found)
        way = self._lead(ask, chosen(found, ask, locations))
        return self._remembered((key, document), way, before)

    def of_node(self, document: bytes) -> Way:
        """The way of a get from another node, to this one's sessions."""
        way = self._ways.get(("", document))
        if way is not None:
            return way
        before = self._changes
        ask = Ask.read(document)
        check_topic(ask.topic)
        locations = located_all(ask.chunk)
        mine = _of_sessions(self._table.answerers(ask.topic, locations, Sender(None, ANY)))
        if ask.target == ALL_COMPLETE:
            mine = chosen(mine, ask, locations)
        elif ask.only >= 0:
            owner = self._owner(ask.only)
            only = {o: i for o, i in mine.items() if o == owner}
            if not only:
                # It may be gone, and another one be there that the asking node has not heard of.
                return self._lead(ask, mine)
            mine = only
        return self._remembered(("", document), self._lead(ask, mine), before)

    def _remembered(self, question: _Question, way: Way, before: int) -> Way:
        """Unless something changed since it was begun to decide."""
        key, document = question
        if len(key) + len(document or b"") > 2 * protocol.REMEMBERED_LENGTH:
            return way
        with self._lock:
            if self._changes == before:
                if len(self._ways) >= _MAX_WAYS:
                    self._forget(set(self._topics))
                self._topics.setdefault(way.topic, zenoh.KeyExpr(way.topic))
                self._ways[question] = way
        return way

    def _lead(self, ask: Ask, found: dict[Owner, Interest]) -> Way:
        way = Way(ask.topic, min(ask.timeout_ms + MORE_TIME_MS, MAX_TIMEOUT_MS), [])
        mine: defaultdict[int, list[int]] = defaultdict(list)
        nodes: defaultdict[str, list[int]] = defaultdict(list)
        for first, number in found:
            if isinstance(first, int):
                mine[first].append(number)
            else:
                nodes[first].append(number)
        for slot, ids in mine.items():
            member = self._members.get(slot)
            if member is not None:
                self._add(way, ask, member.gets, tag=member.tag, ids=ids)
        for nid, entries in nodes.items():
            only = entries[0] if ask.target == BEST and len(found) == 1 else -1
            known = [self.at(nid, entry) for entry in entries]
            sessions = {None if at is None else at[:2] for at in known}
            (first_at, *others) = sessions
            if first_at is None or others:
                self._add(way, ask, zenoh.KeyExpr(protocol.one_get(nid)), only=only)
                continue
            # Just one session there can answer: its node need not be asked who that is.
            slot, tag = first_at
            key = zenoh.KeyExpr(protocol.get_of_session(nid, slot))
            self._add(way, ask, key, tag=tag, ids=[at[2] for at in known if at is not None])
        return way

    def _add(
        self,
        way: Way,
        ask: Ask,
        key: zenoh.KeyExpr,
        *,
        only: int = -1,
        tag: int = 0,
        ids: list[int] | None = None,
    ) -> None:
        numbers = tuple(sorted(ids or ()))
        part = Ask(
            ask.topic, ask.chunk, ask.target, way.timeout_ms, ask.any_key, only, tag, numbers
        )
        way.targets.append((key, frames.ending(part.write())))


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
