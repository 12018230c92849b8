"""How a located message passes a node. Hot: a message whose route is known costs one look-up.

What can be decided once per route is decided once: the targets' keys, the bytes that go with the
message, the plain topic. Per message there remains to look the route up and to put.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

import zenoh

from zenoh_la.encoders.locations import Point
from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.keys import check_topic
from zenoh_la.router_plugin import frames, location_bytes, protocol
from zenoh_la.router_plugin.chunks import ENCODINGS, check_position, encoding_of, located
from zenoh_la.router_plugin.counters import Counters
from zenoh_la.router_plugin.epochs import Epoch
from zenoh_la.router_plugin.forwarding import forward
from zenoh_la.router_plugin.members import Members
from zenoh_la.router_plugin.numbered import NumberedKeys
from zenoh_la.router_plugin.outlets import Outlet, Outlets, Untold
from zenoh_la.router_plugin.protocol import ANY, LOCAL, REMOTE, Sender
from zenoh_la.router_plugin.routes import Owner, RoutingTable
from zenoh_la.router_plugin.status import Share

log = logging.getLogger("zenoh_la")

_MAX_PLANS = 16_384  # of each kind: some 20 MB
_MAX_PLACES = 64  # of one source: it stays at one, or is elsewhere with every message
MAX_LISTED = 32
"""Nodes on one list key; more get a second copy of the message."""


class Plan:
    """A decided route: where copies of a message go, until an interest changes that matters.

    It is the same for all places of an epoch that the same interests want; a target's tail and a
    place make the end of an attachment.
    """

    __slots__ = ("counters", "deliveries", "epoch", "forwards", "is_ingress", "matched", "number",
                 "outlet", "plain_tail", "targets")  # fmt: skip

    def __init__(self, epoch: Epoch, number: int, counters: Counters) -> None:
        self.counters = counters  # of its encoding: to tell them apart costs nothing per message
        self.epoch = epoch
        self.number = number
        self.targets: list[tuple[zenoh.KeyExpr, bytes]] = []
        self.deliveries = 0
        self.forwards = 0
        self.is_ingress = False
        self.matched = 0
        self.outlet: Outlet | Untold | None = None
        self.plain_tail = b""

    @property
    def is_current(self) -> bool:
        """Whether nothing has changed since it was decided."""
        return self.number == self.epoch.number

    @property
    def vetoed(self) -> int:
        """Interests of the topic, as of now, whose places are others."""
        return self.epoch.topic.interests - self.matched


class _Source:
    """Where messages come from, and their routes.

    A key on which a session publishes, or a topic that other nodes forward.

    Attributes:
        packed: the place, if it stands in the key.
        is_ingress: whether they enter the network here.
        onward: whether they go to other nodes too.
        places: routes by place.
        plans: routes by who wants them.
    """

    __slots__ = ("is_ingress", "onward", "packed", "places", "plans", "sender", "topic")

    def __init__(self, sender: Sender, topic: str, packed: bytes | None, *, onward: bool) -> None:
        self.sender = sender
        self.topic = topic
        self.packed = packed
        self.is_ingress = onward
        self.onward = onward and sender.destination != LOCAL
        self.places: dict[bytes, Plan] = {}
        self.plans: dict[tuple[Epoch, int, tuple[Owner, ...]], Plan] = {}


Watcher = Callable[[Sender, str, bytes, Plan, zenoh.Sample], None]
"""Is shown a message that passes: its sender, topic, packed place, route, and itself."""


class Relay:
    """Takes located messages in, decides where they go, remembers it, and passes them on."""

    def __init__(
        self,
        session: zenoh.Session,
        nid: str,
        table: RoutingTable,
        members: Members,
        outlets: Outlets,
        counters: Counters,
    ) -> None:
        self._session = session
        self._nid = nid
        self._table = table
        self._members = members
        self._outlets = outlets
        self._counters = counters
        self.by_encoding = {name: Counters() for name in ENCODINGS}
        self._sources: dict[str, _Source] = {}
        self._egress: dict[bytes, _Source] = {}
        self._from_points: dict[bytes, _Source] = {}
        self._keys = NumberedKeys(session, on_links=False)
        self._remembered = 0
        self.watcher: Watcher | None = None

    def on_ingress(self, sample: zenoh.Sample) -> None:
        """A located message from one of this node's sessions."""
        try:
            key = str(sample.key_expr)
            source = self._sources.get(key)
            if source is None:
                source = self._new_source(key)
            packed, user = source.packed, sample.attachment
            if packed is None:
                packed, own = frames.split(user)
                user = None if own is None else zenoh.ZBytes(own)
            plan = source.places.get(packed)
            if plan is None or plan.number != plan.epoch.number:
                plan = self._decide(source, packed)
            self._pass_on(sample, plan, packed, user)
            outlet = plan.outlet
            if outlet is not None and outlet.wanted:
                end = frames.attached(user, packed + plan.plain_tail) + frames.MAGIC
                forward(self._session, outlet.key_expr, sample, end)
                plan.counters.native += 1
            elif not plan.targets:
                plan.counters.stopped += 1
            watcher = self.watcher
            if watcher is not None:
                watcher(source.sender, source.topic, packed, plan, sample)
        except (ZenohLaError, zenoh.ZError) as exc:
            self._refuse(exc)

    def on_egress(self, sample: zenoh.Sample) -> None:
        """A located message from another node."""
        try:
            key = str(sample.key_expr)
            if "*" in key:  # a rule against this key would not have seen it
                raise ProtocolError(key, "must name nodes")
            attachment = sample.attachment
            data = b"" if attachment is None else attachment.to_bytes()
            # All that differs between the messages of a topic, as a rule, is the position.
            size = location_bytes.POINT_SIZES.get(data[0], 0) if data else 0
            packed, user = data[:size], None
            source = self._from_points.get(data[size:])
            if source is None or not size:
                packed, user, source = self._read_egress(data)
            plan = source.places.get(packed)
            if plan is None or plan.number != plan.epoch.number:
                plan = self._decide(source, packed)
            self._pass_on(sample, plan, packed, None if user is None else zenoh.ZBytes(user))
            watcher = self.watcher
            if watcher is not None:
                watcher(source.sender, source.topic, packed, plan, sample)
        except (ZenohLaError, zenoh.ZError) as exc:
            self._refuse(exc)

    def _pass_on(
        self, sample: zenoh.Sample, plan: Plan, packed: bytes, user: zenoh.ZBytes | None
    ) -> None:
        for key, tail in plan.targets:
            end = packed + tail
            forward(self._session, key, sample, end if user is None else frames.attached(user, end))
        counters = plan.counters  # afterwards: the message need not wait for it
        if plan.is_ingress:
            counters.received += 1
            counters.vetoed += plan.epoch.topic.interests - plan.matched
        counters.delivered += plan.deliveries
        counters.forwarded += plan.forwards

    def _refuse(self, exc: Exception) -> None:
        self._counters.refused += 1
        log.debug("refused: %s", exc)

    def _new_source(self, key: str) -> _Source:
        """What a key of a session says, read once; a key with a place holds just one route."""
        sender, chunk, topic = protocol.split_ingress(key, self._nid)
        check_topic(topic)
        packed = None
        if chunk != protocol.IN_HEADER:
            location = located(chunk)
            check_position(chunk, location)  # packed, a filter would look like an element
            packed = location_bytes.pack_location(location, chunk)
        source = _Source(sender, topic, packed, onward=True)
        if len(key) <= protocol.REMEMBERED_LENGTH:
            self._make_room()
            self._sources[key] = source
        return source

    def _read_egress(self, data: bytes) -> tuple[bytes, bytes | None, _Source]:
        header, user, _ = frames.split_delivered(data)
        size = location_bytes.location_size(header)
        packed, rest = header[:size], header[size:]
        source = self._egress.get(rest)
        if source is None:
            source = self._new_egress(header, rest)
        is_short = user is None and len(data) <= protocol.REMEMBERED_LENGTH
        if is_short and packed[0] in location_bytes.POINT_SIZES:
            self._make_room()
            self._from_points[data[size:]] = source
        return packed, user, source

    def _new_egress(self, header: bytes, rest: bytes) -> _Source:
        _, topic, tag, _ = frames.unpack_header(header)
        if tag is not None:
            raise ProtocolError(header, "is no header between nodes")
        check_topic(topic)
        source = _Source(Sender(None, ANY), topic, None, onward=False)
        if len(rest) <= protocol.REMEMBERED_LENGTH:
            self._make_room()
            self._egress[rest] = source
        return source

    def _decide(self, source: _Source, packed: bytes) -> Plan:
        """The route of a message, remembered for the next one from that place."""
        start_ns = perf_counter_ns()
        plan = self._route(source, packed)
        plan.counters.decided += 1
        plan.counters.match_ns += perf_counter_ns() - start_ns
        if len(packed) <= protocol.REMEMBERED_LENGTH:
            self._make_room(source.places)
            source.places[packed] = plan
        return plan

    def route(self, sender: Sender, topic: str, packed: bytes, *, onward: bool = True) -> Plan:
        """Decides where a message goes; without ``onward`` only to this node's own sessions."""
        return self._route(_Source(sender, topic, None, onward=onward), packed)

    def _route(self, source: _Source, packed: bytes) -> Plan:
        location = location_bytes.location_of(packed)
        if location is None:
            raise ProtocolError(packed, "a located message without a place")
        if type(location) is not Point:
            check_position(source.topic, location)
        epoch, number, found = self._table.find(source.topic, location)
        key = epoch, packed[0], found  # the first byte tells the encoding
        plan = source.plans.get(key)
        if plan is None or plan.number != number:
            plan = Plan(epoch, number, self.by_encoding[encoding_of(location)])
            self._plan(source, plan, found)
            self._make_room(source.plans)
            source.plans[key] = plan
        return plan

    def shares(self) -> dict[str, Share]:
        """What of its work is in which encoding."""
        interests = self._table.encodings
        return {
            name: Share(interests[name], replace(own)) for name, own in self.by_encoding.items()
        }

    @property
    def remembered(self) -> int:
        """How many routes it knows without deciding."""
        return self._remembered

    def _make_room(self, routes: dict[Any, Plan] | None = None) -> None:
        """Sources and their routes together are bounded: one client could fill both."""
        if routes is not None and len(routes) >= _MAX_PLACES:
            self._remembered -= len(routes)
            routes.clear()  # a publisher that moves leaves one per message behind
        self._remembered += 1
        if self._remembered > _MAX_PLANS:
            self._sources.clear()
            self._egress.clear()
            self._from_points.clear()
            self._remembered = 0

    def _plan(self, source: _Source, plan: Plan, found: tuple[Owner, ...]) -> None:
        sender, topic = source.sender, source.topic
        takers = self._table.takers_of(found, sender)
        plan.is_ingress = source.is_ingress
        plan.matched = takers.matched
        text = frames.pack_topic(topic)
        for slot, ids in takers.mine.items():
            member = self._members.get(slot)
            if member is not None:
                address, named = member.address(ids)
                whom = frames.pack_whom(member.tag, named)
                plan.targets.append((self._keys.get(address), frames.ending(text + whom)))
        plan.deliveries = len(plan.targets)
        if not source.onward:
            return
        if takers.nodes:
            tail = frames.ending(text)
            plan.targets += [(self._keys.get(key), tail) for key in _keys_to(list(takers.nodes))]
            plan.forwards = len(plan.targets) - plan.deliveries
        plan.outlet = self._outlets.get(topic, sender.slot)
        whom = b""
        if sender.destination == REMOTE and sender.slot is not None:
            # Its own session knows its messages, and keeps them from its subscribers.
            whom = frames.pack_whom(int(self._nid, 16), (sender.slot,))
        plan.plain_tail = frames.ending(frames.pack_topic("") + whom)


def _keys_to(nids: list[str]) -> list[str]:
    """To one node on its own key, which costs half; to several on a key that lists them."""
    if len(nids) == 1:
        return [protocol.one(nids[0])]
    lists = [nids[i : i + MAX_LISTED] for i in range(0, len(nids), MAX_LISTED)]
    return [protocol.many(some) if len(some) > 1 else protocol.one(some[0]) for some in lists]
