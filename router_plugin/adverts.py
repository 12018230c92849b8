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
from zenoh_la.router_plugin.members import Members
from zenoh_la.router_plugin.protocol import LOCAL, Interest
from zenoh_la.router_plugin.routes import Owner

HEARTBEAT_S = 1.0
_COALESCE_S = 0.002


class Advert:
    """What this node's sessions are interested in, told to all other nodes.

    Args:
        members: those sessions, if other nodes may pass gets on to them straight.
    """

    def __init__(
        self, session: zenoh.Session, nid: str, agenda: Agenda, members: Members | None
    ) -> None:
        self._lock = threading.Lock()
        self._agenda = agenda
        self._members = members
        self._at: dict[int, list[int]] = {}
        self._version = 0
        self._told = 0
        self._entries: dict[int, list[Any]] = {}
        self._numbers: dict[Owner, int] = {}
        self._owners: dict[int, Owner] = {}
        self._next = 0
        self._changed: dict[int, list[Any] | None] = {}
        self._flush_is_due = False
        self._flushed_s = -1.0
        self._sending = threading.Lock()  # never waited for
        self._patient = self._publisher(session, nid, zenoh.CongestionControl.BLOCK)
        self._quick = self._publisher(session, nid, zenoh.CongestionControl.DROP)
        self._queryable = session.declare_queryable(protocol.state(nid), direct(self._answer))
        agenda.every(HEARTBEAT_S, self._flush)

    @staticmethod
    def _publisher(
        session: zenoh.Session, nid: str, congestion_control: zenoh.CongestionControl
    ) -> zenoh.Publisher:
        return session.declare_publisher(
            protocol.delta(nid),
            congestion_control=congestion_control,
            priority=zenoh.Priority.INTERACTIVE_HIGH,
            express=True,
        )

    @property
    def version(self) -> int:
        """Goes up with every change."""
        return self._version

    def owner(self, entry: int) -> Owner | None:
        """Whose interest an entry of the advert is."""
        with self._lock:
            return self._owners.get(entry)

    def change(self, new: list[tuple[Owner, Interest]], gone: list[Owner]) -> None:
        """Notes what changed; `tell` tells the others."""
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

    def tell(self) -> None:
        """Tells the others, without waiting: what changes within two milliseconds goes together.

        If it is time, here and now, which a declaration gains a tenth of a millisecond by. Somebody
        who does not read must not hold up the thread that messages come by: such a one misses it,
        and finds out by the next heartbeat.
        """
        with self._lock:
            if not self._changed or self._flush_is_due:
                return
            wait_s = self._flushed_s + _COALESCE_S - monotonic()
            if wait_s > 0:
                self._flush_is_due = True
                self._agenda.after(wait_s, self._flush)
                return
        self._send(self._quick)

    def _put(self, owner: Owner, plain: list[Any]) -> None:
        entry = self._numbers.get(owner)
        if entry is None:
            entry = self._numbers[owner] = self._next
            self._owners[entry] = owner
            self._next += 1
            self._say_where(entry, owner, plain[0])
        if self._entries.get(entry) != plain:
            self._entries[entry] = self._changed[entry] = plain

    def _say_where(self, entry: int, owner: Owner, kind: str) -> None:
        """Whose queryable it is: others need not ask this node then who can answer."""
        slot, number = owner
        if kind == "q" and self._members is not None and isinstance(slot, int):
            member = self._members.get(slot)
            if member is not None and not member.is_own:
                self._at[entry] = [slot, member.tag, number]

    def _drop(self, owner: Owner) -> None:
        entry = self._numbers.pop(owner, None)
        if entry is not None:
            del self._entries[entry], self._owners[entry]
            self._at.pop(entry, None)
            self._changed[entry] = None

    def _flush(self) -> None:
        self._send(self._patient)

    def _send(self, publisher: zenoh.Publisher) -> None:
        """One at a time, so that the versions leave in order; who comes second comes again."""
        if not self._sending.acquire(blocking=False):
            with self._lock:
                is_due, self._flush_is_due = self._flush_is_due, True
            if not is_due or publisher is self._patient:
                self._agenda.after(_COALESCE_S, self._flush)
            return
        try:
            publisher.put(self._news())
        finally:
            self._sending.release()

    def _news(self) -> bytes:
        with self._lock:
            self._flush_is_due = False
            self._flushed_s = monotonic()
            changed, self._changed = self._changed, {}
            document: dict[str, Any] = {"v": [self._told, self._version]}
            self._told = self._version
            if changed:
                document["set"] = {e: plain for e, plain in changed.items() if plain is not None}
                document["gone"] = [e for e, plain in changed.items() if plain is None]
                document["at"] = {e: self._at[e] for e in changed if e in self._at}
        return documents.write(document)

    def _answer(self, query: zenoh.Query) -> None:
        with self._lock:
            state = {"v": self._version, "set": self._entries, "at": self._at}
            document = documents.write(state)
        query.reply(self._queryable.key_expr, document)
        query.drop()

    def close(self) -> None:
        self._queryable.undeclare()
        self._patient.undeclare()
        self._quick.undeclare()
