"""``/@zla/health``: whether the bridge is on the network."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from zenoh_la.rest_bridge.bridge import Bridge


async def health(request: Request) -> JSONResponse:
    """Whether the session is open."""
    bridge: Bridge = request.app.state.bridge
    is_open = not bridge.session.is_closed()
    return JSONResponse({"status": "ok" if is_open else "closed"}, 200 if is_open else 503)


ROUTES = [Route("/health", health)]
