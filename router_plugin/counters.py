"""What a node counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace


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
        match_ns: how long that took, in nanoseconds.
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
    match_ns: int = 0
    dropped: int = 0

    def plus(self, others: Iterable[Counters], *, dropped: int = 0) -> Counters:
        """These and others, together, and what was dropped elsewhere."""
        own = replace(self, dropped=self.dropped + dropped)
        every = (astuple(own), *(astuple(other) for other in others))
        return Counters(*(sum(column) for column in zip(*every, strict=True)))
