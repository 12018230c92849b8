"""What every node must know: exactly what the sessions have declared, of all nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from zenoh_la import LocationSession
from zenoh_la.router_plugin.node import Node
from zenoh_la.router_plugin.protocol import LOCAL, Interest

Known = Counter[tuple[str, str, str, tuple[str, ...]]]
"""Node, kind, topic and location keys of interests."""


def _row(nid: str, interest: Interest) -> tuple[str, str, str, tuple[str, ...]]:
    return nid, interest.kind, interest.topic, interest.chunks


def truth(sessions: Iterable[LocationSession]) -> Known:
    """The interests that sessions have, and the nodes where they have them."""
    found: Known = Counter()
    for session in sessions:
        membership = session._core.membership
        home = membership.home
        nid = "nowhere" if home is None else home.nid
        interests = membership.interests.copy().values()
        found.update(_row(nid, i) for i in interests if i.chunks and i.origin != LOCAL)
    return found


def known(node: Node) -> Known:
    """The interests that a node knows of."""
    return Counter(
        _row(node.nid if isinstance(first, int) else first, interest)
        for (first, _), interest in node.interests()
        if interest.chunks
    )


def differences(nodes: Iterable[Node], sessions: Iterable[LocationSession]) -> dict[str, str]:
    """By node what it does not know, and what it knows that is not so."""
    right = truth(sessions)
    found = {}
    for node in nodes:
        knows = known(node)
        if knows != right:
            found[node.nid] = f"lacks {right - knows}, believes {knows - right}"[:400]
    return found
