"""What a node tells of itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(slots=True)
class Counters:
    """What a node did since it started.

    Attributes:
        received: located messages that entered the network here.
        delivered: copies handed to this node's sessions.
        forwarded: copies sent on to other nodes, a list of nodes counting once.
        native: copies put on the plain topic.
        vetoed: interests, other nodes' included, that a message's topic matched and its place did
            not; counted where it entered the network.
        stopped: messages that nobody wanted.
        refused: messages and requests that could not be right.
        gets: located gets that entered the network here.
        decided: routes that were decided; a message whose route is remembered adds none.
        dropped: news for sessions that were given up, because too many waited for one of them.
    """

    received: int = 0
    delivered: int = 0
    forwarded: int = 0
    native: int = 0
    vetoed: int = 0
    stopped: int = 0
    refused: int = 0
    gets: int = 0
    decided: int = 0
    dropped: int = 0


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
        counters: what it did since it started.
    """

    nid: str
    zid: str
    mode: str
    sessions: int
    interests: int
    version: int
    nodes: dict[str, int]
    stale: int
    counters: Counters

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)
