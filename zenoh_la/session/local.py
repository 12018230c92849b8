"""Keys on which a session hands things to its own handlers.

Each located subscriber and queryable is a native one on a key of the session's own, so that
channels, callback threads and their ends are Zenoh's own. A subscriber's key names the session, so
that a node can put straight on it; the others only the session itself can reach. Keys are numbered
and used again, because a session that declares more than 65,535 different keys mixes them up.
"""

from __future__ import annotations

import threading
from collections import deque

import zenoh

from zenoh_la.router_plugin import protocol

LOCAL = zenoh.Locality.SESSION_LOCAL

_AT_REST = 64  # a message for the one who had a number before may still be on its way


class Numbers:
    """The numbers of what a session declared at its node, given out and taken back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made = 0
        self._free: deque[int] = deque()

    def take(self) -> int:
        with self._lock:
            if len(self._free) > _AT_REST:
                return self._free.popleft()
            self._made += 1
            return self._made

    def give_back(self, number: int) -> None:
        with self._lock:
            self._free.append(number)


def queryable_key(number: int) -> zenoh.KeyExpr:
    """Where a queryable of an area is reached inside its session."""
    return zenoh.KeyExpr(f"{protocol.ROOT}/own/q/{number}")


def listener_key(number: int) -> zenoh.KeyExpr:
    """Where a matching listener is told."""
    return zenoh.KeyExpr(f"{protocol.ROOT}/own/m/{number}")
