"""Why a message was delivered or not: every interest its topic matches, and the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import zenoh

from zenoh_la.keys import from_chunk
from zenoh_la.rest_bridge.drawn import encoding_name, owner_name
from zenoh_la.router_plugin.chunks import located
from zenoh_la.router_plugin.explain import explain_match
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.router_plugin.protocol import LOCAL, Interest
from zenoh_la.router_plugin.routes import Owner

_MOST = 200


def verdicts(
    interests: Iterable[tuple[Owner, Interest]], topic: zenoh.KeyExpr, chunk: str
) -> dict[str, Any]:
    """What becomes of a message of a topic, from the place of a location key that travels.

    Returns:
        ``delivered`` and ``vetoed``, how many; ``other_topics``, how many have nothing to do with
        it; and ``interests``, of which at most 200 are listed, those that get it first.
    """
    judged = []
    others = 0
    for owner, interest in interests:
        if interest.kind != "s":
            continue
        if not topic.intersects(interest.topic):
            others += 1
            continue
        gets_it, reason = _judged(interest, chunk)
        judged.append({
            "id": owner_name(owner),
            "topic": interest.topic,
            "encoding": encoding_name(interest),
            "delivered": gets_it,
            "reason": reason,
        })  # fmt: skip
    judged.sort(key=lambda one: not one["delivered"])
    delivered = sum(1 for one in judged if one["delivered"])
    return {
        "topic": str(topic),
        "location_key": from_chunk(chunk)[0].written,
        "delivered": delivered,
        "vetoed": len(judged) - delivered,
        "other_topics": others,
        "interests": judged[:_MOST],
    }


def _judged(interest: Interest, chunk: str) -> tuple[bool, str]:
    if not interest.chunks:
        return False, "it is nowhere at present: its session has no position"
    position, key = located(chunk), from_chunk(chunk)[0]
    reasons = []
    for its_chunk, location in zip(interest.chunks, interest.locations, strict=True):
        matches = locations_match(position, location)
        said = explain_match(key, from_chunk(its_chunk)[0])
        if matches:
            only = ", if it comes from its own session" if interest.origin == LOCAL else ""
            return True, said.reason + only
        reasons.append("it is of another Bloom grid" if said.matches else said.reason)
    if len(reasons) == 1:
        return False, reasons[0]
    return False, f"none of its {len(reasons)} cells; of the first: {reasons[0]}"
