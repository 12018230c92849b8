"""What a node tells of itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from zenoh_la.router_plugin.counters import Counters


@dataclass(frozen=True, slots=True)
class Share:
    """What of a node's work is in one encoding."""

    interests: int
    counters: Counters


@dataclass(frozen=True, slots=True)
class Status:
    """What a node is doing, for people and for metrics.

    Attributes:
        nid: its id in the protocol.
        zid: the Zenoh id of its session.
        mode: whether it is a ``"router"`` for others, or a ``"session"`` that matches for itself.
        sessions: how many belong to it.
        interests: how many it knows of, other nodes' included.
        version: of what it tells others of its own interests.
        nodes: the others it knows, and which version of their interests.
        stale: granted routes that were taken back and may still be in use.
        routes: those that it remembers.
        counters: what it did since it started.
        encodings: the same by the encoding of messages, and how many interests there are in it.
    """

    nid: str
    zid: str
    mode: str
    sessions: int
    interests: int
    version: int
    nodes: dict[str, int]
    stale: int
    routes: int
    counters: Counters
    encodings: dict[str, Share]

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)
