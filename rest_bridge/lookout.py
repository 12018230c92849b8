"""What passes in the network, gathered for those who look at the map.

A bridge that is a router is shown every message that passes its own node, and nothing is granted
meanwhile, so none goes past it. Any other bridge subscribes to all topics everywhere while somebody
looks, and asks all nodes what they want, to tell what was delivered.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Protocol

import zenoh

from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.router_plugin import documents, location_bytes, protocol
from zenoh_la.router_plugin.node import Node
from zenoh_la.router_plugin.protocol import ANY, Interest, Sender
from zenoh_la.router_plugin.relay import Plan
from zenoh_la.router_plugin.routes import Owner, RoutingTable
from zenoh_la.session import LocationSession
from zenoh_la.session.samples import LocatedSample

log = logging.getLogger("zenoh_la")

MAX_SEEN = 4096
"""Places of publishers in one batch; the messages of others are only counted."""
_EVERY_TOPIC = "**"
_ASK_S = 2.0


class Seen:
    """Messages of one publisher from one place that came within one batch; the last is kept."""

    __slots__ = ("count", "delivered", "packed", "sample", "slot", "topic", "vetoed")

    def __init__(self, slot: int | None, topic: str, packed: bytes) -> None:
        self.slot = slot
        self.topic = topic
        self.packed = packed
        self.count = self.delivered = self.vetoed = 0
        self.sample: zenoh.Sample | LocatedSample | None = None


class Batch:
    """What was seen between two looks; bounded, however much passes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[int | None, str, bytes], Seen] = {}
        self._more = 0

    def add(
        self,
        slot: int | None,
        topic: str,
        packed: bytes,
        sample: zenoh.Sample | LocatedSample,
        delivered: int,
        vetoed: int,
    ) -> None:
        """Called in Zenoh's threads for every message: it must not wait."""
        key = slot, topic, packed
        with self._lock:
            seen = self._seen.get(key)
            if seen is None:
                if len(self._seen) >= MAX_SEEN:
                    self._more += 1
                    return
                seen = self._seen[key] = Seen(slot, topic, packed)
            seen.count += 1
            seen.delivered, seen.vetoed, seen.sample = delivered, vetoed, sample

    def take(self) -> tuple[list[Seen], int]:
        """All since the last time, and how many messages were too many."""
        with self._lock:
            seen, self._seen = self._seen, {}
            more, self._more = self._more, 0
        return list(seen.values()), more


class Lookout(Protocol):
    """Where one can see what passes."""

    scope: str
    batch: Batch

    def start(self) -> None:
        """Begins to look; may wait."""

    def refresh(self) -> None:
        """Finds out anew what is wanted; may wait."""

    def interests(self) -> list[tuple[Owner, Interest]]:
        """What is wanted, as far as it is known here."""

    def stop(self) -> None:
        """Ends it, and all that it costs; may wait."""


class NodeLookout:
    """From a router: what passes its node."""

    def __init__(self, node: Node) -> None:
        self.scope = f"all located messages that pass this bridge's own router (node {node.nid})"
        self.batch = Batch()
        self._node = node

    def start(self) -> None:
        self._node.watch(self._on_message)

    def _on_message(
        self, sender: Sender, topic: str, packed: bytes, plan: Plan, sample: zenoh.Sample
    ) -> None:
        outlet = plan.outlet
        native = 1 if outlet is not None and outlet.wanted else 0
        wanted = plan.deliveries + plan.forwards + native
        self.batch.add(sender.slot, topic, packed, sample, wanted, plan.vetoed)

    def refresh(self) -> None:
        """Nothing to be done: the node is told at once."""

    def interests(self) -> list[tuple[Owner, Interest]]:
        return self._node.interests()

    def stop(self) -> None:
        self._node.watch(None)
        self.batch.take()


class NetworkLookout:
    """From any other session: what a subscriber to all topics gets, and what all nodes want."""

    def __init__(self, session: LocationSession) -> None:
        self.scope = (
            "all located messages of the network, by a subscription to all topics; what was "
            "delivered is worked out from what the nodes say they want"
        )
        self.batch = Batch()
        self._session = session
        self._table = RoutingTable()
        self._subscriber: Any = None

    def start(self) -> None:
        self.refresh()
        callback = zenoh.handlers.Callback(self._on_sample, indirect=False)
        self._subscriber = self._session.declare_subscriber(_EVERY_TOPIC, callback)

    def _on_sample(self, sample: Any) -> None:
        if not isinstance(sample, LocatedSample) or not sample.packed_location:
            return
        try:
            location = location_bytes.location_of(sample.packed_location)
            if location is None:
                return
            topic = str(sample.key_expr)
            epoch, _, found = self._table.find(topic, location)
            vetoed = epoch.topic.interests - len(found)
        except ZenohLaError as exc:
            log.debug("not shown: %s", exc)
            return
        self.batch.add(None, topic, sample.packed_location, sample, len(found), vetoed)

    def refresh(self) -> None:
        known = dict(self._table.items())
        found: dict[Owner, Interest] = {}
        for owner, interest in self._adverts():
            found[owner] = known[owner] if known.get(owner) == interest else interest
        new = [(owner, interest) for owner, interest in found.items()
               if known.get(owner) is not interest]  # fmt: skip
        self._table.change(new, known.keys() - found.keys())

    def _adverts(self) -> list[tuple[Owner, Interest]]:
        """What every node says it wants; a node that cannot be right is left out."""
        found: list[tuple[Owner, Interest]] = []
        for reply in self._session.get(
            protocol.state("*"),
            target=zenoh.QueryTarget.ALL,
            consolidation=zenoh.ConsolidationMode.NONE,
            timeout=_ASK_S,
        ):
            if reply.ok is not None:
                try:
                    nid = protocol.check_nid(protocol.last_chunk(str(reply.ok.key_expr)))
                    found += _entries(nid, documents.read(reply.ok.payload))
                except ZenohLaError as exc:
                    log.debug("an advert that cannot be right: %s", exc)
        return found

    def interests(self) -> list[tuple[Owner, Interest]]:
        return self._table.items()

    def stop(self) -> None:
        if self._subscriber is not None:
            self._subscriber.undeclare()
            self._subscriber = None
        self.batch.take()


def _entries(nid: str, document: dict[str, Any]) -> list[tuple[Owner, Interest]]:
    entries = documents.field(document, "set", dict).items()
    return [
        ((nid, documents.decimal(number)), Interest.from_plain([*_listed(plain), ANY]))
        for number, plain in entries
    ]


def _listed(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise ProtocolError(plain, "is no entry of an advert")
    return plain


def lookout(session: LocationSession) -> Lookout:
    """The best there is from a session; may wait for its node."""
    node = session.node
    if node is not None and session.mode == zenoh.WhatAmI.ROUTER:
        return NodeLookout(node)
    return NetworkLookout(session)
