"""``/@zla/docs`` and ``/@zla/openapi.json``: how the bridge is used."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from zenoh_la.rest_bridge.openapi import description


async def docs(_request: Request) -> Response:
    """A page that shows the description; it needs nothing from elsewhere."""
    page = files(__package__).joinpath("docs.html").read_bytes()
    return Response(page, media_type="text/html")


async def openapi(_request: Request) -> JSONResponse:
    """The description, for programs."""
    return JSONResponse(description())


ROUTES = [Route("/docs", docs), Route("/openapi.json", openapi)]
