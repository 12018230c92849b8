"""Routes granted to publishers that stay put, so that their messages need no Python on the way.

A session whose publisher stays asks its node for the route of a topic and a place. If just one
session or one node wants it, or nobody, the node grants it: the session puts straight on the key
of that one, or does not put at all. When an interest, an advert or a native subscriber changes the
route, every node that took part takes the grant back; what happens elsewhere does not concern it.

The question goes the way that messages go, behind those that were sent before, and the last node
on the way answers. Whoever asks holds its messages until the answer comes, so none overtakes
another. A grant ends by itself after `LEASE_S`, so that is how long a lost revocation can matter;
egress nodes and sessions match again whatever comes by a grant, so a stale one is never wrong.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import zenoh

from zenoh_la.encoders import Location
from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.keys import check_topic
from zenoh_la.router_plugin import documents, frames, location_bytes, protocol
from zenoh_la.router_plugin.agenda import Agenda
from zenoh_la.router_plugin.counters import Counters
from zenoh_la.router_plugin.couriers import Couriers
from zenoh_la.router_plugin.documents import field, whole
from zenoh_la.router_plugin.endings import Asker, Endings
from zenoh_la.router_plugin.epochs import Changes, Epoch
from zenoh_la.router_plugin.members import Members
from zenoh_la.router_plugin.protocol import ANY, Interest, Sender
from zenoh_la.router_plugin.relay import Plan, Relay
from zenoh_la.router_plugin.routes import RoutingTable

log = logging.getLogger("zenoh_la")

LEASE_S = 1.0
"""How long a grant holds, unless the session asks again."""
_KEEP_S = 3.0  # what was sent by a grant may be told after its end
_MAX_GRANTS = 100_000
_MOST_PER_S = 1_000_000
_BURST_S = 10.0
"""What a session says it sent by a grant is believed up to this rate, and for so long after."""


@dataclass(slots=True)
class _Grant:
    serial: int
    location: Location
    plan: Plan
    is_ingress: bool
    onward: str | None
    made_s: float
    vetoed: int
    holds: bool = False
    believed_s: float = 0.0

    def believed(self, sent: int) -> int:
        """How many of the messages that its session says it sent can be true."""
        now_s = monotonic()
        since_s = max(self.believed_s or self.made_s, now_s - _BURST_S)
        most = int((now_s - since_s) * _MOST_PER_S) + 1
        self.believed_s = since_s + min(sent, most) / _MOST_PER_S
        return min(sent, most)


class Grants:
    """The grants that a node took part in.

    Args:
        allowed: whether it grants at all. Where access rules keep clients from the keys on which
            messages are delivered, it must not.
    """

    def __init__(
        self,
        session: zenoh.Session,
        nid: str,
        members: Members,
        table: RoutingTable,
        relay: Relay,
        counters: Counters,
        agenda: Agenda,
        couriers: Couriers,
        *,
        allowed: bool,
    ) -> None:
        self._allowed = allowed
        self._suspended = False
        self._session = session
        self._nid = nid
        self._members = members
        self._table = table
        self._relay = relay
        self._counters = counters
        self._couriers = couriers
        self._lock = threading.Lock()
        self._grants: dict[Asker, _Grant] = {}
        self._by_epoch: dict[Epoch, set[Asker]] = {}
        self.endings = Endings(agenda)
        agenda.every(_KEEP_S, self._sweep)

    def on_session(self, sample: zenoh.Sample) -> None:
        """One of this node's sessions asks for a route, or tells what it sent by one."""
        self._guarded(sample, self._from_session)

    def on_node(self, sample: zenoh.Sample) -> None:
        """The same, passed on by the session's node."""
        self._guarded(sample, self._from_node)

    def _guarded(self, sample: zenoh.Sample, step: Any) -> None:
        try:
            step(sample, documents.read(sample.payload))
        except (ZenohLaError, zenoh.ZError) as exc:
            self._counters.refused += 1
            log.debug("refused: %s", exc)

    def _from_session(self, sample: zenoh.Sample, document: dict[str, Any]) -> None:
        slot = protocol.slot_in(str(sample.key_expr), self._nid)
        member = self._members.asking(slot, document.get("secret"))
        asker = Asker(self._nid, slot, member.tag, whole(document.get("n")))
        onward = self._settle(asker, document)
        if onward is not None:
            told = {k: v for k, v in document.items() if k in ("sent", "ended")}
            self._pass_on(sample, onward, asker, told)
        if "topic" not in document:
            return
        serial, topic, packed = _question(document)
        plan = self._relay.route(Sender(slot, ANY), topic, packed)
        if len(plan.targets) > 1 or (plan.outlet is not None and plan.outlet.wanted):
            self._answer(asker, [asker.number, serial])
            return
        # A list of nodes is one key: each of them hands it out, and matches again.
        node = protocol.node_of(str(plan.targets[0][0])) if plan.forwards else None
        grant = _Grant(serial, _place(packed), plan, True, node, monotonic(), plan.vetoed)
        if not self._keep(asker, grant) or (plan.outlet is not None and plan.outlet.wanted):
            self._answer(asker, [asker.number, serial])
        elif node is not None:
            self._pass_on(sample, node, asker, {"serial": serial, "topic": topic,
                                                "place": packed.hex()})  # fmt: skip
        else:
            self._answer(asker, [asker.number, serial, *_target(plan, packed)])

    def _from_node(self, _sample: zenoh.Sample, document: dict[str, Any]) -> None:
        nid = protocol.check_nid(field(document, "nid", str))
        slot = whole(document.get("slot"), protocol.MAX_SLOT)
        asker = Asker(nid, slot, whole(document.get("tag")), whole(document.get("n")))
        self._settle(asker, document)
        if "topic" not in document:
            return
        serial, topic, packed = _question(document)
        plan = self._relay.route(Sender(None, ANY), topic, packed, onward=False)
        grant = _Grant(serial, _place(packed), plan, False, None, monotonic(), 0)
        if not self._keep(asker, grant):
            self._answer(asker, [asker.number, serial])
        elif len(plan.targets) == 1:
            self._answer(asker, [asker.number, serial, *_target(plan, packed)])
        else:  # this node hands it out; still the session's own node is spared
            grant.plan = Plan(plan.epoch, plan.number, plan.counters)
            end = frames.ending(frames.pack_header(packed, topic), granted=True)
            self._answer(asker, [asker.number, serial, protocol.one(self._nid), end.hex()])

    def _keep(self, asker: Asker, grant: _Grant) -> bool:
        """Remembers a grant; False if its route changed meanwhile, or there are too many."""
        epoch = grant.plan.epoch
        with self._lock:
            full = len(self._grants) >= _MAX_GRANTS and asker not in self._grants
            if full or self._suspended or not self._allowed or not self._table.hold(epoch):
                return False
            before = self._grants.get(asker)
            if before is not None:
                grant.believed_s = before.believed_s or before.made_s
            self._end(asker)
            self._grants[asker] = grant
            self._by_epoch.setdefault(epoch, set()).add(asker)
            grant.holds = True
        return grant.plan.is_current

    def _end(self, asker: Asker) -> None:
        """A grant that holds does so no longer; what was sent by it can still be told."""
        grant = self._grants.get(asker)
        if grant is None or not grant.holds:
            return
        grant.holds = False
        epoch = grant.plan.epoch
        askers = self._by_epoch[epoch]
        askers.remove(asker)
        if not askers:
            del self._by_epoch[epoch]
        self._table.release(epoch)

    def _settle(self, asker: Asker, document: dict[str, Any]) -> str | None:
        """Counts what was sent by a grant, and ends it; returns the node to be told as well."""
        sent = whole(document.get("sent", 0))
        with self._lock:
            grant = self._grants.get(asker)
        if "ended" in document:
            self.endings.ended(asker, whole(document["ended"]))
        if grant is None:
            return None
        plan = grant.plan
        counters = plan.counters
        claimed, sent = sent, grant.believed(sent)
        self._counters.refused += claimed > sent
        if grant.is_ingress:
            counters.received += sent
            counters.vetoed += grant.vetoed * sent
            if not plan.targets:
                counters.stopped += sent
        counters.delivered += plan.deliveries * sent
        counters.forwarded += plan.forwards * sent
        return grant.onward

    def _pass_on(self, sample: zenoh.Sample, nid: str, asker: Asker, more: dict[str, Any]) -> None:
        document = {"nid": asker.nid, "slot": asker.slot, "tag": asker.tag, "n": asker.number}
        self._session.put(
            protocol.route_at(nid),
            documents.write(document | more),
            priority=sample.priority,
            congestion_control=zenoh.CongestionControl.BLOCK,
        )

    def _answer(self, asker: Asker, route: list[Any]) -> None:
        self._tell(asker.nid, asker.slot, {"tag": asker.tag, "route": route})

    def _tell(self, nid: str, slot: int, document: dict[str, Any]) -> None:
        self._session.put(
            protocol.to_session(nid, slot),
            documents.write(document),
            priority=zenoh.Priority.INTERACTIVE_HIGH,
            congestion_control=zenoh.CongestionControl.BLOCK,
            express=True,
        )

    @property
    def stale(self) -> int:
        """How many were taken back and may still be in use."""
        return self.endings.since(monotonic() - LEASE_S)

    def changed(self, changes: Changes) -> None:
        """Takes back the grants whose routes a change may have changed."""
        with self._lock:
            concerned = [
                asker
                for epoch, moves in changes.voided.items()
                for asker in self._by_epoch.get(epoch, ())
                if moves is None
                or any(matters(self._grants[asker].location, *move) for move in moves)
            ]
            gone = self._take_back(concerned)
        self._revoke(gone)

    def suspend(self, is_suspended: bool) -> None:
        """Has every message pass the node meanwhile: all grants end, and there are no new ones."""
        with self._lock:
            self._suspended = is_suspended
            held = [asker for asker, grant in self._grants.items() if grant.holds]
            gone = self._take_back(held if is_suspended else [])
        self._revoke(gone)

    def _take_back(self, askers: list[Asker]) -> dict[tuple[str, int, int], list[list[int]]]:
        gone: defaultdict[tuple[str, int, int], list[list[int]]] = defaultdict(list)
        for asker in askers:
            serial = self._grants[asker].serial
            self._end(asker)
            gone[asker.nid, asker.slot, asker.tag].append([asker.number, serial])
            self.endings.began(asker, serial)
        return gone

    def _revoke(self, gone: dict[tuple[str, int, int], list[list[int]]]) -> None:
        for (nid, slot, tag), some in gone.items():
            document = {"tag": tag, "revoked": some}
            self._couriers.send((nid, slot), partial(self._tell, nid, slot, document))

    def _sweep(self) -> None:
        limit = monotonic() - _KEEP_S
        with self._lock:
            for asker in [a for a, grant in self._grants.items() if grant.made_s <= limit]:
                self._end(asker)
                del self._grants[asker]
            here = {asker.who for asker in self._grants}
        self.endings.forget(limit, here)


def matters(location: Location, old: Interest | None, new: Interest | None) -> bool:
    """Whether a move of an interest changes what it has to do with a place."""
    before = old is not None and old.matches(location)
    after = new is not None and new.matches(location)
    if before and after and old is not None and new is not None:
        return old.origin != new.origin
    return before or after


def _place(packed: bytes) -> Location:
    location = location_bytes.location_of(packed)
    if location is None:
        raise ProtocolError(packed, "a route is of a place")
    return location


def _question(document: dict[str, Any]) -> tuple[int, str, bytes]:
    topic = field(document, "topic", str)
    check_topic(topic)
    try:
        packed = bytes.fromhex(field(document, "place", str))
    except ValueError as exc:
        raise ProtocolError(document["place"], "place must be hexadecimal") from exc
    return whole(document.get("serial")), topic, packed


def _target(plan: Plan, packed: bytes) -> list[Any]:
    """Key and header of the one who wants it; none if nobody does."""
    if not plan.targets:
        return [None, ""]
    key, tail = plan.targets[0]
    return [str(key), frames.as_granted(packed + tail).hex()]
