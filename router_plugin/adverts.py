"""What a node tells the others of its sessions' interests: versioned state, pulled, then followed.

An advert is the state of one node. Others pull it when the node's presence appears and follow it by
deltas; a heartbeat says which version is the newest, so that a delta that was lost is found out
within a second although nothing more changes.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

import zenoh

from zenoh_la.router_plugin import documents, protocol
from zenoh_la.router_plugin.agenda import Agenda
from zenoh_la.router_plugin.callbacks import direct
from zenoh_la.router_plugin.protocol import LOCAL, Interest
from zenoh_la.router_plugin.routes import Owner

HEARTBEAT_S = 1.0
_COALESCE_S = 0.002


class Advert:
    """What this node's sessions are interested in, told to all other nodes."""

    def __init__(self, session: zenoh.Session, nid: str, agenda: Agenda) -> None:
        self._lock = threading.Lock()
        self._agenda = agenda
        self._version = 0
        self._told = 0
        self._entries: dict[int, list[Any]] = {}
        self._numbers: dict[Owner, int] = {}
        self._owners: dict[int, Owner] = {}
        self._next = 0
        self._changed: dict[int, list[Any] | None] = {}
        self._flush_is_due = False
        self._flushed_s = -1.0
        self._publisher = session.declare_publisher(
            protocol.delta(nid),
            congestion_control=zenoh.CongestionControl.BLOCK,
            priority=zenoh.Priority.INTERACTIVE_HIGH,
            express=True,
        )
        self._queryable = session.declare_queryable(protocol.state(nid), direct(self._answer))
        agenda.every(HEARTBEAT_S, self._flush)

    @property
    def version(self) -> int:
        """Goes up with every change."""
        return self._version

    def owner(self, entry: int) -> Owner | None:
        """Whose interest an entry of the advert is."""
        with self._lock:
            return self._owners.get(entry)

    def change(self, new: list[tuple[Owner, Interest]], gone: list[Owner]) -> None:
        """Tells the others, soon: what changes within two milliseconds goes together."""
        with self._lock:
            for owner in gone:
                self._drop(owner)
            for owner, interest in new:
                if interest.origin == LOCAL or not interest.chunks:
                    self._drop(owner)  # nobody else's business
                else:
                    self._put(owner, interest.to_plain()[:4])
            if self._changed:
                self._version += 1
                if not self._flush_is_due:
                    self._flush_is_due = True
                    self._agenda.after(self._flushed_s + _COALESCE_S - monotonic(), self._flush)

    def _put(self, owner: Owner, plain: list[Any]) -> None:
        entry = self._numbers.get(owner)
        if entry is None:
            entry = self._numbers[owner] = self._next
            self._owners[entry] = owner
            self._next += 1
        if self._entries.get(entry) != plain:
            self._entries[entry] = self._changed[entry] = plain

    def _drop(self, owner: Owner) -> None:
        entry = self._numbers.pop(owner, None)
        if entry is not None:
            del self._entries[entry], self._owners[entry]
            self._changed[entry] = None

    def _flush(self) -> None:
        with self._lock:
            self._flush_is_due = False
            self._flushed_s = monotonic()
            changed, self._changed = self._changed, {}
            document: dict[str, Any] = {"v": [self._told, self._version]}
            self._told = self._version
            if changed:
                document["set"] = {e: plain for e, plain in changed.items() if plain is not None}
                document["gone"] = [e for e, plain in changed.items() if plain is None]
        # Only the agenda's thread comes here, so the versions leave in order.
        self._publisher.put(documents.write(document))

    def _answer(self, query: zenoh.Query) -> None:
        with self._lock:
            document = documents.write({"v": self._version, "set": self._entries})
        query.reply(self._queryable.key_expr, document)
        query.drop()

    def close(self) -> None:
        self._queryable.undeclare()
        self._publisher.undeclare()
