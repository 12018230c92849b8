"""The bridge's own pages, below ``/@zla/``: one module each, listed here."""

from __future__ import annotations

from starlette.routing import BaseRoute

from zenoh_la.rest_bridge.pages import docs, health, live, live_map, metrics, streams

PUBLIC = ("/@zla/docs", "/@zla/health", "/@zla/map", "/@zla/openapi.json")
"""What needs no token: paths that begin so show how the bridge is used, and no data."""


def pages() -> list[BaseRoute]:
    """The routes of all pages, below ``/@zla``; a new page adds its own here."""
    return [
        *docs.ROUTES,
        *health.ROUTES,
        *live.ROUTES,
        *live_map.ROUTES,
        *metrics.ROUTES,
        *streams.ROUTES,
    ]
