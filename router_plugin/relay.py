"""How a located message passes a node. Hot: a message whose route is known costs one look-up.

What can be decided once per route is decided once: the targets' keys, the bytes that go with the
message, the plain topic. Per message there remains to look the route up and to put.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import zenoh

from zenoh_la.encoders import Location
from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.keys import check_topic
from zenoh_la.router_plugin import frames, protocol
from zenoh_la.router_plugin.chunks import check_position, located
from zenoh_la.router_plugin.members import Members
from zenoh_la.router_plugin.outlets import Outlet, Outlets, Untold
from zenoh_la.router_plugin.protocol import ANY, LOCAL, REMOTE, Sender
from zenoh_la.router_plugin.routes import Epoch, RoutingTable

log = logging.getLogger("zenoh_la")

_MAX_PLANS = 16_384  # of each kind: some 20 MB
_MAX_PLACES = 64  # of one source: it stays at one, or is elsewhere with every message
MAX_LISTED = 32
"""Nodes on one list key; more get a second copy of the message."""

_PUT = zenoh.SampleKind.PUT


@dataclass(slots=True)
class Counters:
    """What a node did since it started.

    Attributes:
        received: located messages that entered the network here.
        delivered: copies handed to this node's sessions.
        forwarded: copies sent on to other nodes, a list of nodes counting once.
        native: copies put on the plain topic.
        vetoed: interests, other nodes' included, that a message's topic matched and its place did
            not; counted where it entered the network.
        stopped: messages that nobody wanted.
        refused: messages and requests that could not be right.
        gets: located gets that entered the network here.
        decided: routes that were decided; a message whose route is remembered adds none.
        dropped: news for sessions that were given up, because too many waited for one of them.
    """

    received: int = 0
    delivered: int = 0
    forwarded: int = 0
    native: int = 0
    vetoed: int = 0
    stopped: int = 0
    refused: int = 0
    gets: int = 0
    decided: int = 0
    dropped: int = 0


class Plan:
    """A decided route: where copies of a message go, until an interest in its topic changes."""

    __slots__ = ("deliveries", "epoch", "forwards", "number", "outlet", "plain_end", "targets",
                 "vetoed")  # fmt: skip

    def __init__(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.number = epoch.number
        self.targets: list[tuple[zenoh.KeyExpr, bytes]] = []
        self.deliveries = 0
        self.forwards = 0
        self.vetoed = 0
        self.outlet: Outlet | Untold | None = None
        self.plain_end = b""

    @property
    def is_current(self) -> bool:
        """Whether nothing has changed since it was decided."""
        return self.number == self.epoch.number


class _Source:
    """A key on which a session publishes: who, what, and the routes of the places it was at."""

    __slots__ = ("packed", "plans", "sender", "topic")

    def __init__(self, sender: Sender, topic: str, packed: bytes | None) -> None:
        self.sender = sender
        self.topic = topic
        self.packed = packed
        self.plans: dict[bytes, Plan] = {}


def forward(
    session: zenoh.Session,
    key: zenoh.KeyExpr | str,
    sample: zenoh.Sample,
    attachment: bytes | zenoh.ZBytes,
    destination: zenoh.Locality | None = None,
) -> None:
    """Puts a message again, with all that it came with."""
    if sample.kind == _PUT:
        session.put(
            key,
            sample.payload,
            encoding=sample.encoding,
            congestion_control=sample.congestion_control,
            priority=sample.priority,
            express=sample.express,
            attachment=attachment,
            timestamp=sample.timestamp,
            allowed_destination=destination,
            source_info=sample.source_info,
        )
    else:
        session.delete(
            key,
            congestion_control=sample.congestion_control,
            priority=sample.priority,
            express=sample.express,
            attachment=attachment,
            timestamp=sample.timestamp,
            allowed_destination=destination,
            source_info=sample.source_info,
        )


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
        self._sources: dict[str, _Source] = {}
        self._decided = 0
        self._egress: dict[bytes, Plan] = {}

    def on_ingress(self, sample: zenoh.Sample) -> None:
        """A located message from one of this node's sessions."""
        try:
            self._take_in(sample)
        except (ZenohLaError, zenoh.ZError) as exc:
            self._refuse(exc)

    def on_egress(self, sample: zenoh.Sample) -> None:
        """A located message from another node."""
        try:
            self._hand_out(sample)
        except (ZenohLaError, zenoh.ZError) as exc:
            self._refuse(exc)

    def _take_in(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr)
        source = self._sources.get(key)
        if source is None:
            source = self._new_source(key)
        packed, user = source.packed, sample.attachment
        if packed is None:
            packed, own = frames.split(user)
            user = None if own is None else zenoh.ZBytes(own)
        plan = source.plans.get(packed)
        if plan is None or plan.number != plan.epoch.number:
            plan = self._decide_ingress(source, packed)
        counters = self._counters
        counters.received += 1
        counters.vetoed += plan.vetoed
        self._pass_on(sample, plan, user)
        outlet = plan.outlet
        if outlet is not None and outlet.wanted:
            counters.native += 1
            end = frames.attached(user, plan.plain_end) + frames.MAGIC
            forward(self._session, outlet.key_expr, sample, end)
        elif not plan.targets:
            counters.stopped += 1

    def _hand_out(self, sample: zenoh.Sample) -> None:
        if "*" in str(sample.key_expr):  # a rule against this key would not have seen it
            raise ProtocolError(str(sample.key_expr), "must name nodes")
        header, user, _ = frames.split_delivered(sample.attachment)
        plan = self._egress.get(header)
        if plan is None or plan.number != plan.epoch.number:
            plan = self._decide_egress(header)
            _remember(self._egress, header, plan, _MAX_PLANS)
        self._pass_on(sample, plan, None if user is None else zenoh.ZBytes(user))

    def _pass_on(self, sample: zenoh.Sample, plan: Plan, user: zenoh.ZBytes | None) -> None:
        session = self._session
        for key, end in plan.targets:
            forward(session, key, sample, frames.attached(user, end))
        self._counters.delivered += plan.deliveries
        self._counters.forwarded += plan.forwards

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
            packed = frames.pack_location(location, chunk)
        source = _Source(sender, topic, packed)
        if len(key) <= protocol.REMEMBERED_LENGTH:
            self._make_room()
            self._sources[key] = source
        return source

    def _decide_ingress(self, source: _Source, packed: bytes) -> Plan:
        plan = self.route(source.sender, source.topic, packed)
        self._counters.decided += 1
        self._make_room()
        _remember(source.plans, packed, plan, _MAX_PLACES)
        return plan

    def route(self, sender: Sender, topic: str, packed: bytes, *, onward: bool = True) -> Plan:
        """Decides where a message goes; without ``onward`` only to this node's own sessions."""
        location = frames.location_of(packed)
        if location is None:
            raise ProtocolError(packed, "a located message without a place")
        check_position(topic, location)
        onward = onward and sender.destination != LOCAL
        plan = self._plan(topic, location, packed, sender, onward=onward)
        if not onward:
            return plan
        if sender.destination == ANY:
            plan.outlet = self._outlets.get(topic, sender.slot)
            plan.plain_end = frames.ending(frames.pack_header(packed))
        elif sender.destination == REMOTE:
            # Its own session knows its messages, and keeps them from its subscribers.
            plan.outlet = self._outlets.get(topic, sender.slot)
            plan.plain_end = frames.ending(frames.pack_not_for(packed, self._nid, sender.slot))
        return plan

    def _make_room(self) -> None:
        """Sources and their routes together are bounded: one client could fill both."""
        self._decided += 1
        if self._decided > _MAX_PLANS:
            self._sources.clear()
            self._decided = 0

    def _decide_egress(self, header: bytes) -> Plan:
        packed, topic, _, ids = frames.unpack_header(header)
        if ids:
            raise ProtocolError(header, "is no header between nodes")
        check_topic(topic)
        self._counters.decided += 1
        return self.route(Sender(None, ANY), topic, packed, onward=False)

    def _plan(
        self, topic: str, location: Location, packed: bytes, sender: Sender, *, onward: bool
    ) -> Plan:
        plan = Plan(self._table.epoch(topic))
        takers = self._table.takers(topic, location, sender)
        plan.vetoed = takers.vetoed
        for slot, ids in takers.mine.items():
            member = self._members.get(slot)
            if member is not None:
                header = frames.pack_header(packed, topic, member.tag, ids)
                plan.targets.append((member.key_for(ids), frames.ending(header)))
        plan.deliveries = len(plan.targets)
        if onward and takers.nodes:
            end = frames.ending(frames.pack_header(packed, topic))
            plan.targets += [(key, end) for key in _keys_to(list(takers.nodes))]
            plan.forwards = len(plan.targets) - plan.deliveries
        return plan


def _keys_to(nids: list[str]) -> list[zenoh.KeyExpr]:
    """To one node on its own key, which costs half; to several on a key that lists them."""
    if len(nids) == 1:
        return [zenoh.KeyExpr(protocol.one(nids[0]))]
    lists = [nids[i : i + MAX_LISTED] for i in range(0, len(nids), MAX_LISTED)]
    return [
        zenoh.KeyExpr(protocol.many(some) if len(some) > 1 else protocol.one(some[0]))
        for some in lists
    ]


def _remember(plans: dict[bytes, Plan], key: bytes, plan: Plan, most: int) -> None:
    if len(key) > protocol.REMEMBERED_LENGTH:
        return
    if len(plans) >= most:
        plans.clear()  # a publisher that moves leaves one plan per message behind
    plans[key] = plan
