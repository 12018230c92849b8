"""A node: what makes a Zenoh session decode location keys and veto routes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import zenoh

from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.router_plugin import documents, protocol
from zenoh_la.router_plugin.adverts import Advert
from zenoh_la.router_plugin.agenda import Agenda
from zenoh_la.router_plugin.callbacks import direct, seldom
from zenoh_la.router_plugin.chunks import located, located_all
from zenoh_la.router_plugin.counters import Counters
from zenoh_la.router_plugin.couriers import Couriers
from zenoh_la.router_plugin.epochs import Changes
from zenoh_la.router_plugin.grants import Grants
from zenoh_la.router_plugin.members import (
    Member,
    Members,
    NotRegisteredError,
    Request,
    Watch,
)
from zenoh_la.router_plugin.outlets import Outlets
from zenoh_la.router_plugin.protocol import LOCAL, Interest, Sender
from zenoh_la.router_plugin.queries import Queries
from zenoh_la.router_plugin.relay import Relay, Watcher
from zenoh_la.router_plugin.routes import Owner, RoutingTable
from zenoh_la.router_plugin.status import Status
from zenoh_la.router_plugin.views import Views
from zenoh_la.router_plugin.ways import Ways

log = logging.getLogger("zenoh_la")

_SWEEP_S = 2.0
_WATCH_S = 0.01
_MANY_TOPICS = 64
"""If more have changed, all who watch are looked after: comparing would cost more."""


class Node:
    """Matches located messages for the sessions that belong to it.

    Args:
        session: the Zenoh session of a router, or of a peer or client that matches for itself.
        serves_clients: whether other sessions may join: a router's clients.
        on_presence: is told the Zenoh id of every location-aware node that appears.
        grants: whether publishers that stay may put straight to those who listen.
    """

    def __init__(
        self,
        session: zenoh.Session,
        *,
        serves_clients: bool,
        on_presence: Callable[[str], None] | None = None,
        grants: bool = True,
    ) -> None:
        self._session = session
        self._mode = "router" if serves_clients else "session"
        self._on_presence = on_presence
        self.nid = protocol.new_nid()
        self.counters = Counters()
        self._lock = threading.RLock()
        self._changed_topics: set[str] = set()
        self._agenda = Agenda(f"zenoh-la-node-{self.nid}")
        self._couriers = Couriers(f"zenoh-la-news-{self.nid}")
        self._table = RoutingTable()
        self._members = Members(self.nid)
        # Zenoh tells of native subscribers in a thread that may hold its locks: take none of ours.
        self._outlets = Outlets(
            session,
            knows_at_once=serves_clients,
            on_change=lambda topic: self._agenda.after(
                0.0, lambda: self._changed(self._table.about(topic))
            ),
        )
        clients = self._members if serves_clients else None  # reached from everywhere
        self._advert = Advert(session, self.nid, self._agenda, clients)
        self._relay = Relay(
            session, self.nid, self._table, self._members, self._outlets, self.counters
        )
        self._ways = Ways(self.nid, self._table, self._members, self._advert.owner)
        self._queries = Queries(session, self.nid, self._ways, self.counters, self._couriers)
        self._grants = Grants(
            session, self.nid, self._members, self._table, self._relay, self.counters,
            self._agenda, self._couriers, allowed=grants,
        )  # fmt: skip
        self._views = Views(
            session, self.nid, self._agenda, self._table, self._changed, self._refuse
        )
        self._ways.at = self._views.at
        self._declared: list[Any] = []
        self._declare(serves_clients)
        self._agenda.every(_SWEEP_S, self._sweep)

    def _declare(self, serves_clients: bool) -> None:
        session, nid, add = self._session, self.nid, self._declared.append
        zid = str(session.zid())
        # What only the own session sends need not be known to the network.
        origin = None if serves_clients else zenoh.Locality.SESSION_LOCAL

        into, gets = f"{protocol.ROOT}/in/{nid}/**", f"{protocol.ROOT}/get/{nid}/**"
        on = self._relay
        add(session.declare_subscriber(into, direct(on.on_ingress), allowed_origin=origin))
        add(session.declare_subscriber(protocol.one(nid), direct(on.on_egress)))
        add(session.declare_subscriber(protocol.many_for(nid), direct(on.on_egress)))
        routes = self._grants
        add(session.declare_subscriber(
            protocol.route(nid, "*"), direct(routes.on_session), allowed_origin=origin
        ))  # fmt: skip
        add(session.declare_subscriber(protocol.route_at(nid), direct(routes.on_node)))
        asked = self._queries
        add(session.declare_queryable(gets, direct(asked.on_ingress), allowed_origin=origin))
        add(session.declare_queryable(protocol.one_get(nid), direct(asked.on_egress)))
        add(session.declare_queryable(protocol.status(nid), direct(self._on_status)))
        add(session.declare_queryable(
            protocol.ask(nid, "*"), direct(self._on_ask), allowed_origin=origin
        ))  # fmt: skip
        liveliness = session.liveliness()
        if serves_clients:
            add(session.declare_queryable(protocol.hello(zid), direct(self._on_hello)))
            add(liveliness.declare_subscriber(
                protocol.alive(nid, "*"), seldom(self._on_session), history=True
            ))  # fmt: skip
        add(liveliness.declare_subscriber(
            protocol.presence("*", "*"), seldom(self._on_node), history=True
        ))  # fmt: skip
        add(liveliness.declare_token(protocol.presence(nid, zid)))

    def status(self) -> Status:
        return Status(
            self.nid,
            str(self._session.zid()),
            self._mode,
            len(self._members),
            len(self._table),
            self._advert.version,
            self._views.known(),
            self._grants.stale,
            self._relay.remembered,
            self.counters.plus(self._relay.by_encoding.values(), dropped=self._couriers.dropped),
            self._relay.shares(),
        )

    def interests(self) -> list[tuple[Owner, Interest]]:
        """All interests this node knows of, and whose they are."""
        return self._table.items()

    def watch(self, watcher: Watcher | None) -> None:
        """Has all located messages shown, and grants nothing meanwhile; None ends it."""
        self._relay.watcher = watcher
        self._grants.suspend(watcher is not None)

    def network_changed(self) -> None:
        """To be called when the session was cut off and is connected again."""
        self._views.pull_all()

    def stop(self) -> None:
        """Has nothing more done by the clock, and does not wait for what is being done."""
        self._agenda.close(0.0)

    def close(self) -> None:
        """Takes everything back; the session stays open."""
        self._agenda.close()
        self._couriers.close()
        for declared in reversed(self._declared):
            declared.undeclare()
        self._declared.clear()
        self._queries.close()
        self._views.close()
        self._advert.close()
        self._outlets.close()

    def _on_status(self, query: zenoh.Query) -> None:
        query.reply(protocol.status(self.nid), documents.write(self.status().to_plain()))
        query.drop()

    # Sessions

    def adopt(self) -> Member:
        """The session that this node itself runs in becomes a member that is always there."""
        member = self._members.new(str(self._session.zid()))
        member.present = member.is_own = True
        return member

    def _on_hello(self, query: zenoh.Query) -> None:
        try:
            if "*" in str(query.key_expr):  # one of many routers: nobody can belong to them all
                raise ProtocolError(str(query.key_expr), "needs the Zenoh id of one router")
            member = self._members.new(protocol.zid_told(query.payload))
        except ProtocolError as exc:
            self._refuse(exc)
            _answer(query, {"error": str(exc)})
            return
        at = {"nid": self.nid, "slot": member.slot, "tag": member.tag, "secret": member.secret}
        _answer(query, at)

    def _on_session(self, sample: zenoh.Sample) -> None:
        try:
            member = self._members.get(protocol.slot_in(str(sample.key_expr), self.nid))
        except ProtocolError as exc:
            self._refuse(exc)
            return
        if member is None:
            return
        if sample.kind == zenoh.SampleKind.PUT:
            member.present = True
        else:
            self._dismiss(member)

    def _dismiss(self, member: Member) -> None:
        with self._lock:
            gone: list[Owner] = [(member.slot, number) for number in member.interests]
            member.secret = ""  # a request that is still on its way comes too late
            self._change([], gone)
            self._members.remove(member.slot)
        self._agenda.after(0.0, self._advert.tell)
        self._tell_member(member, {"gone": True})  # should it be there after all, it comes again

    def _sweep(self) -> None:
        for member in self._members.never_came():
            self._dismiss(member)

    def _on_ask(self, query: zenoh.Query) -> None:
        try:
            document = documents.read(query.payload)
            slot = protocol.slot_in(str(query.key_expr), self.nid)
            member = self._members.asking(slot, document.get("secret"))
            answer = self._obey(member, Request.read(document))
        except (ZenohLaError, zenoh.ZError) as exc:
            self._refuse(exc)
            answer = {"error": str(exc)}
            if isinstance(exc, NotRegisteredError):
                answer["registered"] = False  # it must say hello again
        # In force when the caller goes on: also for those who put straight to others so far.
        self._grants.endings.when_ended(lambda: _answer(query, answer))

    def _obey(self, member: Member, request: Request) -> dict[str, Any]:
        """Does what a session asks, all of it or, if any of it is wrong, nothing."""
        with self._lock:
            if self._members.get(member.slot) is not member:
                raise NotRegisteredError(member.slot, "the session is gone")
            gone = member.take(request)
            self._change(
                [((member.slot, number), new) for number, new in request.interests.items()],
                [(member.slot, number) for number in gone],
            )
            matching = {}
            for number, watch in request.watches.items():
                matching[number] = watch.matching = self._matches(member, watch)
        self._advert.tell()
        answer: dict[str, Any] = {"watch": matching} if matching else {}
        if request.matching is not None:
            answer["matching"] = self._matches(member, request.matching)
        return answer

    def _change(self, new: list[tuple[Owner, Interest]], gone: list[Owner]) -> None:
        self._changed(self._table.change(new, gone))
        self._advert.change(new, gone)

    # Who listens

    def _changed(self, changes: Changes) -> None:
        """Interests changed: grants are taken back, those who watch are told."""
        self._ways.changed(changes.topics)
        self._grants.changed(changes)
        with self._lock:
            if not any(member.watches for member in self._members.all()):
                return
            if not self._changed_topics:
                self._agenda.after(_WATCH_S, self._tell_watchers)
            self._changed_topics |= changes.topics

    def _tell_watchers(self) -> None:
        with self._lock:
            everything = len(self._changed_topics) > _MANY_TOPICS
            changed = [] if everything else [zenoh.KeyExpr(t) for t in self._changed_topics]
            self._changed_topics.clear()
            news: list[tuple[Member, dict[int, bool]]] = []
            for member in self._members.all():
                told = {}
                for number, watch in member.watches.items():
                    if not everything and not any(t.intersects(watch.topic) for t in changed):
                        continue
                    matching = self._matches(member, watch)
                    if matching != watch.matching:
                        told[number] = watch.matching = matching
                if told:
                    news.append((member, told))
        for member, told in news:
            self._tell_member(member, {"watch": told})

    def _tell_member(self, member: Member, news: dict[str, Any]) -> None:
        document = documents.write({"tag": member.tag, **news})
        block = zenoh.CongestionControl.BLOCK
        put = partial(self._session.put, member.messages, document, congestion_control=block)
        self._couriers.send((self.nid, member.slot), put)

    def _matches(self, member: Member, watch: Watch) -> bool:
        sender = Sender(member.slot, watch.destination)
        onward = watch.destination != LOCAL
        if watch.kind == "q":
            if watch.chunk is None:
                return False
            locations = located_all(watch.chunk)
            found = self._table.answerers(watch.topic, locations, sender)
            return any(onward or isinstance(first, int) for first, _ in found)
        if onward and self._outlets.get(watch.topic, member.slot).matching:
            return True
        if watch.chunk is None:
            return False
        takers = self._table.takers(watch.topic, located(watch.chunk), sender)
        return bool(takers.mine or (onward and takers.nodes))

    # Other nodes

    def _on_node(self, sample: zenoh.Sample) -> None:
        try:
            nid, zid = protocol.split_presence(str(sample.key_expr))
            if nid == self.nid:
                return
            if sample.kind == zenoh.SampleKind.DELETE:
                self._views.vanished(nid, zid)
                return
            self._views.appeared(nid, zid)
        except ProtocolError as exc:
            self._refuse(exc)
            return
        if self._on_presence is not None:
            self._on_presence(zid)

    def _refuse(self, exc: Exception) -> None:
        self.counters.refused += 1
        log.debug("refused: %s", exc)


def _answer(query: zenoh.Query, document: dict[str, Any]) -> None:
    query.reply(query.key_expr, documents.write(document), express=True)
    query.drop()
