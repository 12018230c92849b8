"""``/@zla/live/``: what the map shows, as an event stream, and why a message went where it went."""

from __future__ import annotations

import zenoh
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from zenoh_la.errors import LocationKeyError, ZenohLaError
from zenoh_la.keys import check_topic
from zenoh_la.rest_bridge import location, query_string
from zenoh_la.rest_bridge.bridge import Bridge
from zenoh_la.rest_bridge.problems import Problem
from zenoh_la.rest_bridge.viewers import Viewer
from zenoh_la.rest_bridge.why import verdicts
from zenoh_la.router_plugin.chunks import ENCODINGS

_PING_S = 15
_SEND_S = 30.0


def _key_expr(request: Request, default: str | None = None) -> zenoh.KeyExpr:
    text = request.query_params.get("topic", default)
    if not text:
        raise Problem(400, "topic: a key expression is needed", "topic")
    try:
        check_topic(text)
        return zenoh.KeyExpr(text)
    except LocationKeyError as exc:
        raise Problem(400, f"topic: {exc.problem}", "topic") from exc
    except zenoh.ZError as exc:
        raise Problem(400, f"topic is no key expression: {exc}", "topic") from exc


async def feed(request: Request) -> Response:
    """Interests, messages and counters, ten times a second; of a topic and an encoding."""
    bridge: Bridge = request.app.state.bridge
    encoding = request.query_params.get("encoding") or None
    if encoding is not None and encoding not in ENCODINGS:
        raise Problem(400, f"encoding must be one of {', '.join(ENCODINGS)}", "encoding")
    viewer, scope = await bridge.viewers.add(_key_expr(request, "**"), encoding)
    return _Feed(bridge, viewer, scope)


class _Feed(EventSourceResponse):
    """A feed that ends with its reader."""

    def __init__(self, bridge: Bridge, viewer: Viewer, scope: str) -> None:
        super().__init__(viewer.chunks(scope), ping=_PING_S, sep="\n", send_timeout=_SEND_S)
        self._bridge = bridge
        self._viewer = viewer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            pass  # nobody reads it any more
        finally:
            self._bridge.viewers.remove(self._viewer)


async def why(request: Request) -> Response:
    """Who gets a message of a topic that arises at ``lat`` and ``long``, who does not, and why."""
    bridge: Bridge = request.app.state.bridge
    at = location.position(query_string.parse(request.scope["query_string"]).location)
    if at is None:
        raise Problem(400, "lat and long are needed", "lat")
    topic = _key_expr(request)
    try:
        chunk = bridge.session.places.position_chunk(*at)
    except ZenohLaError as exc:
        raise Problem(400, str(exc), "precision") from exc
    interests = await bridge.viewers.interests()
    return JSONResponse(await bridge.run(lambda: verdicts(interests, topic, chunk)))


ROUTES = [Route("/live/feed", feed), Route("/live/why", why)]
