"""Routes granted to publishers that stay put, so that their messages need no Python on the way.

A session whose publisher stays asks its node for the route of a topic and a place. If just one
session or one node wants it, or nobody, the node grants it: the session puts straight on the key
of that one, or does not put at all. When an interest, an advert or a native subscriber changes the
route, every node that took part takes the grant back.

The question goes the way that messages go, behind those that were sent before, and the last node
on the way answers. Whoever asks holds its messages until the answer comes, so none overtakes
another. A grant ends by itself after `LEASE_S`, so that is how long a lost revocation can matter;
egress nodes and sessions match again whatever comes by a grant, so a stale one is never wrong.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import zenoh

from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.keys import check_topic
from zenoh_la.router_plugin import documents, frames, protocol
from zenoh_la.router_plugin.agenda import Agenda
from zenoh_la.router_plugin.counters import Counters
from zenoh_la.router_plugin.documents import field, whole
from zenoh_la.router_plugin.members import Members
from zenoh_la.router_plugin.protocol import ANY, Sender
from zenoh_la.router_plugin.relay import Plan, Relay

log = logging.getLogger("zenoh_la")

LEASE_S = 1.0
"""How long a grant holds, unless the session asks again."""
_KEEP_S = 3.0  # what was sent by a grant may be told after its end
_MAX_GRANTS = 100_000
_MAX_COMPARED = 100_000  # pairs of topics; if there were more, all grants are taken back
_PATIENCE_S = 0.05


@dataclass(frozen=True, slots=True)
class Asker:
    """The session that asks: where it is told, its tag, and its number for the publisher."""

    nid: str
    slot: int
    tag: int
    number: int


@dataclass(slots=True)
class _Grant:
    serial: int
    topic: zenoh.KeyExpr
    plan: Plan
    is_ingress: bool
    onward: str | None
    made_s: float
    holds: bool = True


class _Wait:
    """Something to be done as soon as some grants have ended."""

    def __init__(self, pending: set[tuple[Asker, int]], done: Callable[[], None]) -> None:
        self.pending = pending
        self.done = done


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
        relay: Relay,
        counters: Counters,
        agenda: Agenda,
        *,
        allowed: bool,
    ) -> None:
        self._allowed = allowed
        self._suspended = False
        self._session = session
        self._nid = nid
        self._members = members
        self._relay = relay
        self._counters = counters
        self._agenda = agenda
        self._lock = threading.Lock()
        self._grants: dict[Asker, _Grant] = {}
        self._stale: dict[tuple[Asker, int], float] = {}
        self._waits: list[_Wait] = []
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
        grant = _Grant(serial, zenoh.KeyExpr(topic), plan, True, node, monotonic())
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
        grant = _Grant(serial, zenoh.KeyExpr(topic), plan, False, None, monotonic())
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
        with self._lock:
            full = len(self._grants) >= _MAX_GRANTS and asker not in self._grants
            if full or self._suspended or not self._allowed:
                return False
            self._grants[asker] = grant
        return grant.plan.is_current

    def _settle(self, asker: Asker, document: dict[str, Any]) -> str | None:
        """Counts what was sent by a grant, and ends it; returns the node to be told as well."""
        sent = whole(document.get("sent", 0))
        with self._lock:
            grant = self._grants.get(asker)
        if "ended" in document:
            self._ended({(asker, whole(document["ended"]))})
        if grant is None:
            return None
        plan = grant.plan
        counters = plan.counters
        if grant.is_ingress:
            counters.received += sent
            counters.vetoed += plan.vetoed * sent
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
        limit = monotonic() - LEASE_S
        with self._lock:
            return sum(since_s > limit for since_s in self._stale.values())

    def changed(self, topics: set[str]) -> None:
        """Takes back the grants that a change of these topics may concern."""
        self._take_back(topics)

    def suspend(self, is_suspended: bool) -> None:
        """Has every message pass the node meanwhile: all grants end, and there are no new ones."""
        with self._lock:
            self._suspended = is_suspended
        if is_suspended:
            self._take_back(None)

    def _take_back(self, topics: set[str] | None) -> None:
        """Those of some topics; None for all."""
        gone: defaultdict[tuple[str, int, int], list[list[int]]] = defaultdict(list)
        with self._lock:
            every = topics is None or len(topics) * len(self._grants) > _MAX_COMPARED
            for asker, grant in self._grants.items():
                if grant.holds and (every or any(grant.topic.intersects(t) for t in topics or ())):
                    grant.holds = False
                    gone[asker.nid, asker.slot, asker.tag].append([asker.number, grant.serial])
                    self._stale[asker, grant.serial] = monotonic()
        if gone:
            self._agenda.after(0.0, lambda: self._revoke(gone))

    def _revoke(self, gone: dict[tuple[str, int, int], list[list[int]]]) -> None:
        for (nid, slot, tag), some in gone.items():
            self._tell(nid, slot, {"tag": tag, "revoked": some})

    def when_ended(self, done: Callable[[], None]) -> None:
        """Has something done when nobody uses a grant that was taken back, or soon after."""
        with self._lock:
            wait = _Wait(set(self._stale), done)
            if wait.pending:
                self._waits.append(wait)
        if wait.pending:
            self._agenda.after(_PATIENCE_S, lambda: self._ended(wait.pending.copy()))
        else:
            done()

    def _ended(self, which: set[tuple[Asker, int]]) -> None:
        with self._lock:
            for one in which:
                self._stale.pop(one, None)
            for wait in self._waits:
                wait.pending -= which
            ready = [wait for wait in self._waits if not wait.pending]
            self._waits = [wait for wait in self._waits if wait.pending]
        for wait in ready:
            try:
                wait.done()
            except zenoh.ZError as exc:
                log.debug("an answer came too late: %s", exc)

    def _sweep(self) -> None:
        limit = monotonic() - _KEEP_S
        with self._lock:
            self._grants = {a: grant for a, grant in self._grants.items() if grant.made_s > limit}
            self._stale = {one: since_s for one, since_s in self._stale.items() if since_s > limit}


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
