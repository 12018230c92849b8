"""``/@zla/streams/ID``: a stream is moved by PUT and ended by DELETE."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zenoh_la.rest_bridge import location, query_string
from zenoh_la.rest_bridge.bridge import Bridge
from zenoh_la.rest_bridge.problems import Problem


async def move(request: Request) -> Response:
    """Gives a stream the area of the query string; it is in force when the answer comes."""
    bridge: Bridge = request.app.state.bridge
    if len(request.scope["query_string"]) > bridge.limits.url_bytes:
        raise Problem(414, f"a URL has at most {bridge.limits.url_bytes} bytes")
    parameters = query_string.parse(request.scope["query_string"])
    area = location.area(parameters.location, bridge.limits.polygon_vertices)
    if area is None:
        raise Problem(400, "an area is needed, as for the stream itself", "shape")
    await bridge.run(partial(bridge.streams.move, request.path_params["id"], area))
    return Response()


async def end(request: Request) -> Response:
    """Ends a stream after the events that wait."""
    bridge: Bridge = request.app.state.bridge
    bridge.streams.end(request.path_params["id"])
    return Response()


async def stream(request: Request) -> Response:
    """One of the two."""
    return await (move if request.method == "PUT" else end)(request)


ROUTES = [Route("/streams/{id}", stream, methods=["PUT", "DELETE"])]
