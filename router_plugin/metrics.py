"""What a node does, in the form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector, CollectorRegistry

_COUNTED = {
    "received": "Located messages that entered the network here.",
    "delivered": "Copies handed to this node's sessions.",
    "forwarded": "Copies sent on to other nodes.",
    "native": "Copies put on the plain topic, for native applications.",
    "vetoed": "Interests whose topic a message matched and whose area it did not.",
    "stopped": "Messages that nobody wanted.",
}
_OF_NODE = {
    "gets": "Located gets that entered the network here.",
    "refused": "Messages and requests that could not be right.",
}
_GAUGES = {
    "sessions": "Sessions that belong to this node.",
    "routes": "Routes that are remembered.",
    "stale": "Granted routes that were taken back and may still be in use.",
}

Look = Callable[[], Mapping[str, Any] | None]
"""Gives a node's status as `Status.to_plain` does; None if there is none at present."""


class NodeMetrics(Collector):
    """The metrics of one node, read anew whenever they are asked for."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def describe(self) -> Iterator[Metric]:
        """Nothing: so that registering it asks no node."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        status = self._look()
        if status is None:
            return
        shares: Mapping[str, Any] = status["encodings"]
        for name, text in _COUNTED.items():
            counter = CounterMetricFamily(f"zla_{name}", text, labels=["encoding"])
            for encoding, share in shares.items():
                counter.add_metric([encoding], share["counters"][name])
            yield counter
        matched = SummaryMetricFamily("zla_match_seconds", _MATCH, labels=["encoding"])
        interests = GaugeMetricFamily("zla_interests", _INTERESTS, labels=["encoding"])
        for encoding, share in shares.items():
            counters = share["counters"]
            matched.add_metric([encoding], counters["decided"], counters["match_ns"] / 1e9)
            interests.add_metric([encoding], share["interests"])
        yield matched
        yield interests
        for name, text in _OF_NODE.items():
            yield CounterMetricFamily(f"zla_{name}", text, value=status["counters"][name])
        for name, text in _GAUGES.items():
            yield GaugeMetricFamily(f"zla_{name}", text, value=status[name])
        yield GaugeMetricFamily("zla_nodes", "Other nodes it knows.", value=len(status["nodes"]))


_MATCH = "Time to decide a route; a message whose route is remembered takes none."
_INTERESTS = "Interests that this node knows of, other nodes' included."


def registry(look: Look) -> CollectorRegistry:
    """What an exporter of one node needs."""
    found = CollectorRegistry()
    found.register(NodeMetrics(look))
    return found
