"""What a node knows of the interests of all others: their adverts, pulled and followed.

An advert is pulled when its node appears: by its presence token or, should that have been lost, by
its heartbeat. A gap in the versions pulls again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

import zenoh

from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.router_plugin import documents, protocol
from zenoh_la.router_plugin.adverts import HEARTBEAT_S
from zenoh_la.router_plugin.agenda import Agenda
from zenoh_la.router_plugin.callbacks import direct
from zenoh_la.router_plugin.documents import MAX_VERSION, decimal, field, whole
from zenoh_la.router_plugin.epochs import Changes
from zenoh_la.router_plugin.protocol import Interest
from zenoh_la.router_plugin.routes import Owner, RoutingTable
from zenoh_la.router_plugin.ways import At

log = logging.getLogger("zenoh_la")

_PULL_TIMEOUT_S = 2.0
_FIRST_RETRY_S = 0.05
_LAST_RETRY_S = 1.0
_MAX_ENTRIES = 1_000_000
_MAX_NODES = 4096
_MAX_NAMES = 8
"""Tokens of one node: there should be one, but anybody can declare another."""
_BACKWARDS = 2
"""So many times a node may seem to be behind what is known of it until that is not believed."""
_MAX_UNSEEN = 64
_UNSEEN_S = 5 * HEARTBEAT_S
"""Nodes that are heard of and have no presence token, and for how long one is waited for: late
deltas of a node that is gone must not keep it."""


class _View:
    """What this node knows of another one."""

    def __init__(self, nid: str) -> None:
        self.nid = nid
        self.zids: set[str] = set()
        self.version = -1
        self.newest = -1
        self.backwards = 0
        self.entries: set[int] = set()
        self.at: dict[int, At] = {}
        self.pulling = False
        self.retry_s = _FIRST_RETRY_S
        self.heard_s = monotonic()


class Views:
    """The adverts of all other nodes, kept in the routing table.

    Args:
        on_change: is told which interests changed.
        on_refused: is called when another node said something that cannot be right.
    """

    def __init__(
        self,
        session: zenoh.Session,
        nid: str,
        agenda: Agenda,
        table: RoutingTable,
        on_change: Callable[[Changes], None],
        on_refused: Callable[[Exception], None],
    ) -> None:
        self._session = session
        self._nid = nid
        self._agenda = agenda
        self._table = table
        self._on_change = on_change
        self._on_refused = on_refused
        self._lock = threading.RLock()
        self._views: dict[str, _View] = {}
        self._closed = False
        self._deltas = session.declare_subscriber(protocol.delta("*"), direct(self._on_delta))
        agenda.every(HEARTBEAT_S, self._sweep)

    def known(self) -> dict[str, int]:
        """The nodes of which this one knows the interests, and in which version."""
        with self._lock:
            return {view.nid: view.version for view in self._views.values() if view.version >= 0}

    def at(self, nid: str, entry: int) -> At | None:
        """Slot, tag and id of the queryable behind an entry, if its node says so."""
        view = self._views.get(nid)
        return None if view is None else view.at.get(entry)

    def appeared(self, nid: str, zid: str) -> None:
        """Its presence token is there.

        Raises:
            ProtocolError: there are too many already.
        """
        with self._lock:
            view = self._views.get(nid)
            if view is None:
                view = self._begin(nid)
            if len(view.zids) >= _MAX_NAMES:
                raise ProtocolError(zid, f"node {nid} has too many Zenoh ids")
            view.zids.add(zid)

    def _begin(self, nid: str) -> _View:
        if len(self._views) >= _MAX_NODES:
            raise ProtocolError(nid, f"more than {_MAX_NODES} nodes")
        view = self._views[nid] = _View(nid)
        self._agenda.after(0.0, lambda: self._pull(nid))
        return view

    def vanished(self, nid: str, zid: str) -> None:
        """Its token is gone; somebody else's with the same id does not count."""
        with self._lock:
            view = self._views.get(nid)
            if view is None:
                return
            view.zids.discard(zid)
            if not view.zids:
                self._forget(view)

    def _forget(self, view: _View) -> None:
        del self._views[view.nid]
        self._tell(self._table.change([], [(view.nid, entry) for entry in view.entries]))

    def _unseen(self) -> list[_View]:
        return [view for view in self._views.values() if not view.zids]

    def _sweep(self) -> None:
        """Forgets nodes without a token that are not heard of any more."""
        with self._lock:
            for view in self._unseen():
                if view.heard_s < monotonic() - _UNSEEN_S:
                    self._forget(view)

    def pull_all(self) -> None:
        """Asks all nodes again: after the network came back."""
        with self._lock:
            for view in self._views.values():
                view.newest = max(view.newest, view.version + 1)
                self._agenda.after(0.0, partial(self._pull, view.nid))

    def close(self) -> None:
        self._closed = True
        self._deltas.undeclare()

    def _tell(self, changes: Changes) -> None:
        if changes.topics:
            self._on_change(changes)

    def _pull(self, nid: str) -> None:
        with self._lock:
            view = self._views.get(nid)
            if view is None or view.pulling or self._closed:
                return
            view.pulling = True

        def done() -> None:
            with self._lock:
                view.pulling = False
                if self._views.get(nid) is not view or self._closed:
                    return
                if 0 <= view.version >= view.newest:
                    view.retry_s = _FIRST_RETRY_S
                    return
                wait_s, view.retry_s = view.retry_s, min(view.retry_s * 2, _LAST_RETRY_S)
            self._agenda.after(wait_s, lambda: self._pull(nid))

        def on_reply(reply: zenoh.Reply) -> None:
            sample = reply.ok
            if sample is not None:
                self._guarded(nid, lambda: self._take_state(view, documents.read(sample.payload)))

        self._session.get(
            protocol.state(nid),
            direct(on_reply, done),
            timeout=_PULL_TIMEOUT_S,
            consolidation=zenoh.ConsolidationMode.NONE,
            priority=zenoh.Priority.INTERACTIVE_HIGH,
        )

    def _on_delta(self, sample: zenoh.Sample) -> None:
        nid = protocol.last_chunk(str(sample.key_expr))
        if nid != self._nid:
            self._guarded(nid, lambda: self._take_delta(nid, documents.read(sample.payload)))

    def _guarded(self, nid: str, step: Callable[[], None]) -> None:
        try:
            step()
        except (ZenohLaError, zenoh.ZError) as exc:
            log.debug("node %s sent an advert that cannot be right", nid)
            self._on_refused(exc)

    def _take_state(self, view: _View, document: dict[str, Any]) -> None:
        version = whole(document.get("v"), MAX_VERSION)
        new = _entries(view.nid, field(document, "set", dict))
        at = _whose(field(document, "at", dict))
        with self._lock:
            if self._views.get(view.nid) is not view or version < view.version:
                return
            numbers = {owner[1] for owner, _ in new}
            gone = [(view.nid, entry) for entry in view.entries - numbers]
            view.entries, view.version, view.at = numbers, version, at
            self._tell(self._table.change(new, gone))

    def _take_delta(self, nid: str, document: dict[str, Any]) -> None:
        before, after = _versions(document.get("v"))
        new = _entries(protocol.check_nid(nid), field(document, "set", dict))
        gone = [whole(entry) for entry in field(document, "gone", list)]
        at = _whose(field(document, "at", dict))
        with self._lock:
            view = self._views.get(nid)
            if view is None:
                if len(self._unseen()) >= _MAX_UNSEEN:
                    raise ProtocolError(nid, "too many nodes without a presence token")
                view = self._begin(nid)
            view.heard_s = monotonic()
            view.newest = after
            if after >= view.version:
                view.backwards = 0
            # A delta says what is true now: that a part of it is known already does no harm.
            if before <= view.version < after:
                view.version = after
                view.entries.difference_update(gone)
                view.entries.update(owner[1] for owner, _ in new)
                for entry in (*gone, *(owner[1] for owner, _ in new)):
                    view.at.pop(entry, None)
                view.at.update(at)
                self._tell(self._table.change(new, [(nid, entry) for entry in gone]))
            elif view.version < before or self._goes_backwards(view, after):
                self._agenda.after(0.0, lambda: self._pull(nid))

    def _goes_backwards(self, view: _View, newest: int) -> bool:
        """Whether a node says again and again that it is not where it was believed to be.

        Versions only go up, so somebody else spoke for it: what it says of itself now counts.
        """
        if newest < view.version:
            view.backwards += 1
            if view.backwards >= _BACKWARDS:
                view.version, view.backwards = -1, 0
                return True
        return False


def _whose(plain: dict[str, Any]) -> dict[int, At]:
    """Who is behind the entries of an advert, as far as it says so."""
    found: dict[int, At] = {}
    for number, data in plain.items():
        match data:
            case [slot, tag, ident]:
                at = whole(slot, protocol.MAX_SLOT), whole(tag), whole(ident)
                found[decimal(number)] = at
            case _:
                raise ProtocolError(data, "is no queryable [slot, tag, id]")
    return found


def _versions(plain: Any) -> tuple[int, int]:
    match plain:
        case [before, after]:
            if whole(before, MAX_VERSION) <= whole(after, MAX_VERSION):
                return before, after
    raise ProtocolError(plain, "v must be two versions, the older first")


def _entries(nid: str, plain: dict[str, Any]) -> list[tuple[Owner, Interest]]:
    if len(plain) > _MAX_ENTRIES:
        raise ProtocolError(f"{len(plain)} entries", f"at most {_MAX_ENTRIES}")
    new: list[tuple[Owner, Interest]] = []
    for number, data in plain.items():
        if not isinstance(data, list):
            raise ProtocolError(data, "is no entry of an advert [kind, topic, [key …], complete]")
        new.append(((nid, decimal(number)), Interest.from_plain([*data, 0])))
    return new
