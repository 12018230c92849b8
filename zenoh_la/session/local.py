"""Keys on which a session hands things to its own handlers.

Each located subscriber and queryable is a native one on a key that only this session sees, so
that channels, callback threads and their ends are Zenoh's own. Handing a sample over costs 1 µs.
The keys are numbered and used again: a session that declares more than 65,535 different keys
mixes them up.
"""

from __future__ import annotations

import threading

import zenoh

from zenoh_la.router_plugin import protocol

LOCAL = zenoh.Locality.SESSION_LOCAL


class LocalKeys:
    """Numbered keys, given out and taken back."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._made = 0
        self._free: list[zenoh.KeyExpr] = []

    def take(self) -> zenoh.KeyExpr:
        with self._lock:
            if self._free:
                return self._free.pop()
            self._made += 1
            return zenoh.KeyExpr(f"{protocol.ROOT}/own/{self._kind}/{self._made}")

    def give_back(self, key: zenoh.KeyExpr) -> None:
        with self._lock:
            self._free.append(key)
