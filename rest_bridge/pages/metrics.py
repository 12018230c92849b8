"""``/@zla/metrics``: what the bridge and its node do, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zenoh_la.rest_bridge.bridge import Bridge
from zenoh_la.router_plugin.metrics import registry


class BridgeMetrics(Collector):
    """The bridge's own."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        text = "Requests for key expressions that were answered."
        answered = CounterMetricFamily("zla_http_requests", text, labels=["method", "status"])
        for (method, status), count in list(self._bridge.answered.items()):
            answered.add_metric([method, str(status)], count)
        yield answered
        streams = self._bridge.streams
        yield GaugeMetricFamily("zla_streams", "Event streams that are open.", len(streams))
        yield CounterMetricFamily("zla_events_sent", "Events of all streams.", streams.sent)
        text = "Events that readers were too slow for."
        yield CounterMetricFamily("zla_events_dropped", text, streams.lost)


async def metrics(request: Request) -> Response:
    """All metrics; those of the node are its router's if the bridge belongs to one."""
    bridge: Bridge = request.app.state.bridge

    def collected() -> bytes:
        found = registry(bridge.session.ask_node)
        found.register(BridgeMetrics(bridge))
        return generate_latest(found)

    return Response(await bridge.run(collected), headers={"Content-Type": CONTENT_TYPE_LATEST})


ROUTES = [Route("/metrics", metrics)]
