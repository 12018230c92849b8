"""Who may use the bridge: a bearer token, and pages of which origins."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from zenoh_la.rest_bridge.pages import PUBLIC
from zenoh_la.rest_bridge.problems import Problem
from zenoh_la.rest_bridge.requests import header

ANY_ORIGIN = "*"


class BearerToken:
    """Lets those in who know the token; pages that show no data are open to all."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._digest = _digest(token.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(PUBLIC) or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        challenge = {"WWW-Authenticate": 'Bearer realm="zenoh-la"'}
        problem = Problem(401, "a bearer token is needed", "Authorization", challenge)
        await problem.response()(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        given = header(scope, b"authorization") or ""
        scheme, _, token = given.partition(" ")
        # Digests have one length, so that the comparison tells nothing of the token's.
        known = hmac.compare_digest(_digest(token.strip().encode("latin-1")), self._digest)
        return known and scheme.lower() == "bearer"


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def middleware(token: str | None, origins: Sequence[str]) -> list[Middleware]:
    """What stands around the application.

    Args:
        token: what a caller must know; None lets everybody in.
        origins: whose pages a browser lets use the bridge; none if it is empty.
    """
    found = []
    if origins:
        found.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=["*"],
            )
        )
    if token is not None:
        found.append(Middleware(BearerToken, token=token))
    return found
