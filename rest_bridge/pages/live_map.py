"""``/@zla/map``: the live map. All it needs is here, or in packages that pip installed."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zenoh_la.rest_bridge.pages import land

_LEAFLET = "XStatic-Leaflet"
_LEAFLET_FOLDER = "xstatic/pkg/leaflet/data"
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_OWN = frozenset({"map.css", "map.js", "areas.js", "dots.js", "feed.js", "ground.js"})
_LIBRARY = frozenset({"leaflet.css", "leaflet-src.esm.js"})
_HEADERS = {
    # What anybody on the network published is shown here, and must never act.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


@cache
def _file(name: str) -> bytes:
    if name in _LIBRARY:
        folder = distribution(_LEAFLET).locate_file(_LEAFLET_FOLDER)
        return (Path(str(folder)) / name).read_bytes()
    return files(__package__).joinpath("assets", name).read_bytes()


def _response(name: str) -> Response:
    media_type = _MEDIA_TYPES[name[name.rindex(".") :]]
    return Response(_file(name), headers=_HEADERS, media_type=media_type)


async def page(_request: Request) -> Response:
    """The page itself."""
    return _response("map.html")


async def asset(request: Request) -> Response:
    """A part of the page."""
    name = request.path_params["name"]
    if name not in _OWN and name not in _LIBRARY:
        raise HTTPException(404, "the map has no such part")
    return _response(name)


@cache
def _land() -> bytes:
    return gzip.compress(land.outlines(), mtime=0)


async def outlines(request: Request) -> Response:
    """Land, lakes and borders."""
    bridge = request.app.state.bridge
    data: bytes = await bridge.run(_land)
    headers = {**_HEADERS, "Content-Encoding": "gzip"}
    return Response(data, headers=headers, media_type="application/json")


ROUTES = [
    Route("/map", page),
    Route("/map/land.json", outlines),
    Route("/map/{name}", asset),
]
