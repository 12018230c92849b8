"""The application: own pages below ``/@zla/``, and every other path is a key expression."""

from __future__ import annotations

from collections.abc import Sequence

import zenoh
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from zenoh_la.errors import ZenohLaError
from zenoh_la.rest_bridge.bridge import Bridge
from zenoh_la.rest_bridge.keyed import Keyed
from zenoh_la.rest_bridge.pages import pages
from zenoh_la.rest_bridge.problems import Problem, of_error

OWN = "/@zla"
"""Below this are the bridge's own pages; no topic can be there."""


def make_app(
    bridge: Bridge,
    *,
    routes: Sequence[BaseRoute] = (),
    middleware: Sequence[Middleware] = (),
) -> Starlette:
    """The bridge as an ASGI application.

    Args:
        bridge: what the handlers share; they find it as ``request.app.state.bridge``.
        routes: further ones below ``/@zla``, before the bridge's own.
        middleware: around all else, the first outermost.
    """
    handlers = dict.fromkeys((Problem, ZenohLaError, zenoh.ZError, Exception), _on_error)
    app = Starlette(
        routes=[Mount(OWN, routes=[*routes, *pages()])],
        middleware=[*middleware, Middleware(_KeysFirst, keyed=Keyed(bridge))],
        exception_handlers={**handlers, HTTPException: _on_http_error},
    )
    app.state.bridge = bridge
    return app


class _KeysFirst:
    """Key expressions need no routing; without it a put costs a tenth less."""

    def __init__(self, app: ASGIApp, keyed: ASGIApp) -> None:
        self._app = app
        self._keyed = keyed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_key = scope["type"] == "http" and not scope["path"].startswith(f"{OWN}/")
        await (self._keyed if is_key else self._app)(scope, receive, send)


def _on_error(_request: Request, exc: Exception) -> Response:
    return of_error(exc).response()


def _on_http_error(_request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    return Problem(exc.status_code, exc.detail, headers=exc.headers).response()
