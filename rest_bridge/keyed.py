"""Every path that is not the bridge's own is a key expression: put, delete, get and subscribe."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import zenoh
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from zenoh_la.errors import ZenohLaError
from zenoh_la.rest_bridge import location, query_string, shown
from zenoh_la.rest_bridge.bridge import Bridge
from zenoh_la.rest_bridge.problems import Problem, of_error
from zenoh_la.rest_bridge.requests import body_of, header, key_of
from zenoh_la.rest_bridge.streams import Stream
from zenoh_la.router_plugin.callbacks import direct

log = logging.getLogger("zenoh_la")

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_WRITES = frozenset({"PUT", "PATCH", "DELETE"})
_PING_S = 15
_SEND_S = 300.0
_MORE_TIME_S = 5.0
_LATEST, _ALL = zenoh.ConsolidationMode.LATEST, zenoh.ConsolidationMode.NONE


class Keyed:
    """The ASGI application of all paths that are key expressions."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._session = bridge.session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        try:
            if method in _WRITES:
                await self._write(method, scope, receive)
                self._bridge.answered[method, 200] += 1
                await _send_empty(send)
                return
            response = await self._ask(method, scope, receive)
        except (Problem, ZenohLaError, zenoh.ZError) as exc:
            response = of_error(exc).response()
        except Exception as exc:
            log.exception("a fault in %s of a key expression", method)
            response = of_error(exc).response()
        self._bridge.answered[method, response.status_code] += 1
        await response(scope, receive, send)

    # Hot: a put costs what its parsing and its sending cost, and little more.
    async def _write(self, method: str, scope: Scope, receive: Receive) -> None:
        bridge = self._bridge
        key = key_of(scope, bridge)
        at = location.position_in(scope["query_string"])
        body = await body_of(scope, receive, bridge.limits.body_bytes)
        if at is None:
            more: dict[str, Any] = {"precision": None}
        else:
            more = {"location": at[0], "precision": at[1]}
        if method == "DELETE":
            self._session.delete(key, **more)
        else:
            self._session.put(key, body, encoding=header(scope, b"content-type"), **more)

    async def _ask(self, method: str, scope: Scope, receive: Receive) -> Response:
        accepts = (header(scope, b"accept") or "").partition(",")[0].partition(";")[0].strip()
        if method not in METHODS:
            problem = f"{method} is not a method of a key expression"
            raise Problem(405, problem, headers={"Allow": ", ".join(METHODS)})
        if scope["path"] in ("", "/") and accepts == "text/html":
            return RedirectResponse("/@zla/docs")
        bridge = self._bridge
        key = key_of(scope, bridge)
        parameters = query_string.parse(scope["query_string"])
        area = location.area(parameters.location, bridge.limits.polygon_vertices)
        if accepts == "text/event-stream" and method != "HEAD":
            return await self._stream(scope, key, area)
        replies = await self._get(
            zenoh.Selector(key, parameters.rest),
            only_first=(is_raw := parameters.has("_raw")),
            consolidation=_ALL if parameters.has("_time") else _LATEST,
            payload=await body_of(scope, receive, bridge.limits.body_bytes) or None,
            encoding=header(scope, b"content-type"),
            **({} if area is None else {"location_shape": area[0], "precision": area[1]}),
        )
        if is_raw:
            return shown.as_it_is(replies)
        return shown.as_html(replies) if accepts == "text/html" else shown.as_json(replies)

    async def _get(
        self, selector: zenoh.Selector, *, only_first: bool, **options: Any
    ) -> list[shown.Reply]:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        replies: list[shown.Reply] = []

        def done() -> None:
            try:
                loop.call_soon_threadsafe(ended.set)
            except RuntimeError:
                log.debug("a get whose server is gone")

        def take(reply: shown.Reply) -> None:
            replies.append(reply)
            if only_first:
                done()

        if options["payload"] is None:
            options["encoding"] = None
        timeout_s = self._bridge.limits.query_s
        callback = direct(take, done)
        get = partial(self._session.get, selector, callback, timeout=timeout_s, **options)
        await self._bridge.run(get)
        try:
            await asyncio.wait_for(ended.wait(), timeout_s + _MORE_TIME_S)
        except TimeoutError:
            raise Problem(504, "the get did not end in time") from None
        return replies

    async def _stream(self, scope: Scope, key: zenoh.KeyExpr, area: Any) -> Response:
        streams = self._bridge.streams
        client = (scope.get("client") or ("",))[0]
        stream = streams.begin(client, is_movable=area is not None)
        try:
            await self._bridge.run(partial(streams.subscribe, stream, key, area))
        except BaseException:
            streams.close_stream(stream)
            raise
        return _StreamResponse(self._bridge, stream)


class _StreamResponse(EventSourceResponse):
    """An event stream whose subscriber goes with its reader."""

    def __init__(self, bridge: Bridge, stream: Stream) -> None:
        super().__init__(stream.chunks(), ping=_PING_S, sep="\n", send_timeout=_SEND_S)
        self._bridge = bridge
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            log.info("a stream of %s is closed: it was not read", self._stream.client)
        finally:
            self._bridge.streams.close_stream(self._stream)


async def _send_empty(send: Send) -> None:
    # No Response object: its list of headers costs a fifth of a put.
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
