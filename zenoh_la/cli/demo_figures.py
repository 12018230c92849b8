"""The demo's figures: what two runs measured, side by side, and whether it is right."""

from __future__ import annotations

from statistics import median
from typing import Any

from zenoh_la.cli.demo_drive import LINKS, Run
from zenoh_la.cli.demo_scene import Oracle, listeners, stops


def figures(located: Run, plain: Run) -> dict[str, Any]:
    """All figures, as JSON has them."""
    saved = {"messages": _saved(plain.delivered, located.delivered)}
    if located.link_bytes is not None and plain.link_bytes is not None:
        for link in LINKS:
            saved[f"bytes, {link}"] = _saved(plain.link_bytes[link], located.link_bytes[link])
        saved["bytes"] = _saved(sum(plain.link_bytes.values()), sum(located.link_bytes.values()))
    counters = located.counters
    return {
        "published": len(located.messages),
        "subscribers": len(listeners()),
        "stops": len(stops()),
        "located": {
            **_of(located),
            "vetoed": counters["vetoed"],
            "stopped": counters["stopped"],
            "forwarded": counters["forwarded"],
        },
        "plain": _of(plain),
        "saved_percent": saved,
        "faults": faults(located, plain),
    }


def _of(run: Run) -> dict[str, Any]:
    oracle, listening = Oracle(), listeners()
    inside = sum(
        oracle.is_inside(run.messages[number], listener)
        for listener in listening
        for number in run.received[listener.name]
    )
    return {
        "delivered": run.delivered,
        "inside": inside,
        "bytes": run.link_bytes,
        "median_latency_ms": round(run.median_ms, 3),
        "median_latency_ms_by_topic": {
            topic: round(median(some), 3) for topic, some in run.latencies_ms.items()
        },
    }


def _saved(plain: int, located: int) -> float:
    return round(100 * (1 - located / plain), 1)


def faults(located: Run, plain: Run) -> list[str]:
    """What is not as it must be; nothing, if all is well."""
    found = []
    oracle, listening = Oracle(), listeners()
    due_to_somebody: set[int] = set()
    for listener in listening:
        numbered = list(enumerate(located.messages))
        due = [number for number, message in numbered if oracle.is_due(message, listener)]
        inside = {number for number, message in numbered if oracle.is_inside(message, listener)}
        due_to_somebody.update(due)
        got = located.received[listener.name]
        if got != due:
            found.append(f"{listener.name} received {len(got)} messages; {len(due)} were due")
        if not inside <= set(got):
            found.append(f"{listener.name} missed {len(inside - set(got))} messages of its area")
        if plain.received[listener.name] != list(range(len(plain.messages))):
            found.append(f"without location {listener.name} did not receive each message once")
    published, counters = len(located.messages), located.counters
    expected = {
        "received": published,
        "delivered": located.delivered,
        "vetoed": published * len(listening) - located.delivered,
        "stopped": published - len(due_to_somebody),
        "native": 0,
        "refused": 0,
    }
    found += [
        f"the routers counted {counters[name]} {name}; it should be {count}"
        for name, count in expected.items()
        if counters[name] != count
    ]
    return found
