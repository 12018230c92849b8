"""The bridge's surface as an OpenAPI 3.1 description."""

from __future__ import annotations

from typing import Any

from zenoh_la import __version__
from zenoh_la.rest_bridge.location import PRECISIONS
from zenoh_la.rest_bridge.problems import MEDIA_TYPE

Document = dict[str, Any]

_LAT = {"type": "number", "minimum": -90, "maximum": 90}
_LONG = {"type": "number", "minimum": -180, "maximum": 180}
_ABOUT = """Zenoh by HTTP, with places. Any path is a key expression: `PUT`, `PATCH` and `DELETE`
publish, `GET` and `POST` query, and `GET` with `Accept: text/event-stream` subscribes. What works
with the REST plug-in of zenohd works here; the location parameters are extra. A topic whose own
parameters have their names says `_zla=off`."""

_KEY: Document = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "A key expression such as `temperature/*`; its slashes need no escaping. "
    "`@/local` stands for the bridge's own Zenoh id.",
    "schema": {"type": "string", "minLength": 1, "format": "key-expression"},
    "example": "temperature/external",
}


def _parameter(name: str, schema: Document, about: str, example: Any = None) -> Document:
    made = {"name": name, "in": "query", "required": False, "schema": schema, "description": about}
    return made if example is None else {**made, "example": example}


_PRECISION = {
    "type": "string",
    "enum": list(PRECISIONS),
    "description": "The encoding of the place; `point` if it is not said.",
}
_POINT = {
    "lat": {**_LAT, "description": "In degrees.", "example": 46.52},
    "long": {**_LONG, "description": "In degrees.", "example": 14.01},
}
_CIRCLE = {
    **_POINT,
    "r": {"type": "number", "minimum": 0, "description": "The radius.", "example": 20_000},
    "unit": {"type": "string", "enum": ["m", "km", "deg"], "description": "Of `r`; metres."},
}
_RANGE = {
    "min_lat": {**_LAT, "description": "The south."},
    "min_long": {**_LONG, "description": "The west; beyond `max_long`: across the antimeridian."},
    "max_lat": {**_LAT, "description": "The north."},
    "max_long": {**_LONG, "description": "The east."},
}
_WKT = {"type": "string", "format": "wkt", "description": "A (MULTI)POLYGON, longitude first."}


def _place(properties: Document, optional: tuple[str, ...] = (), shape: str = "") -> Document:
    """The parameters of one kind of place."""
    required = [name for name in properties if name not in optional]
    if shape:
        required = ["shape", *required]
        properties = {"shape": {"type": "string", "enum": [shape]}, **properties}
    properties = {**properties, "precision": _PRECISION}
    return {"type": "object", "properties": properties, "required": required}


def _location(about: str, *places: Document, required: bool = False) -> Document:
    """Parameters that go together: OpenAPI says it by an object that is written as several."""
    return {
        "name": "location",
        "in": "query",
        "required": required,
        "style": "form",
        "explode": True,
        "schema": {"anyOf": list(places)},
        "description": about,
    }


_AREAS = (
    _place(_CIRCLE, ("unit",), "circle"),
    _place(_RANGE, (), "geographic_range"),
    _place({"wkt": _WKT}, (), "polygon"),
    _place(_POINT),
)
_POSITION = _location("Where the message arises; without, it is a plain one.", _place(_POINT))
_AREA = _location("The area that is asked for; without, the whole network.", *_AREAS)
_NEW_AREA = _location("Where the stream listens from now on.", *_AREAS, required=True)
_OWN = {
    "name": "parameters",
    "in": "query",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": True},
    "description": "Any others are the topic's own, and reach the queryable as they are.",
}
_SWITCH = _parameter(
    "_zla", {"type": "string", "enum": ["off"]}, "Such names are the topic's own parameters."
)
_QUERY = [
    _AREA,
    _parameter("_raw", {"type": "string"}, "The first reply alone, as it is."),
    _parameter("_time", {"type": "string"}, "A time range; all replies, not only the latest."),
    _SWITCH,
]


def _problem(about: str) -> Document:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": about, "content": {MEDIA_TYPE: {"schema": schema}}}


def _responses(done: Document, *codes: str) -> Document:
    texts = {
        "400": "Something in the request is wrong; `field` says what.",
        "401": "A bearer token is needed.",
        "404": "It is not there.",
        "405": "Not a method of this path.",
        "413": "The body is too long.",
        "414": "The URL is too long.",
        "429": "Too many streams of one client.",
        "503": "The network does not answer.",
        "504": "The query did not end in time.",
    }
    return {"200": done, **{code: _problem(texts[code]) for code in ("400", "401", *codes)}}


_DONE = {"description": "Done; the body is empty."}
_WRITTEN = _responses(_DONE, "404", "413", "414", "503")
_BODY = {
    "required": False,
    "description": "The payload; its `Content-Type` is the encoding.",
    "content": {"application/octet-stream": {}},
}


def _operation(id_: str, summary: str, parameters: list[Document], **more: Any) -> Document:
    return {"operationId": id_, "summary": summary, "parameters": parameters, **more}


def _replies() -> Document:
    replies = {"type": "array", "items": {"$ref": "#/components/schemas/Sample"}}
    content = {
        "application/json": {"schema": replies},
        "text/html": {"schema": {"type": "string"}},
        "text/event-stream": {"schema": {"type": "string"}},
        "*/*": {},  # with _raw, whatever the reply is
    }
    about = "All replies; with `Accept: text/event-stream` the events from now on."
    return {"description": about, "content": content}


def _keyed() -> Document:
    asked = _responses(_replies(), "404", "413", "414", "429", "503", "504")
    write, ask = [_POSITION, _SWITCH, _OWN], [*_QUERY, _OWN]
    return {
        "parameters": [_KEY],
        "get": _operation("get", "Query, or subscribe", ask, responses=asked),
        "post": _operation("query", "Query with a body", ask, requestBody=_BODY, responses=asked),
        "put": _operation("put", "Publish", write, requestBody=_BODY, responses=_WRITTEN),
        "patch": _operation(
            "patch", "Publish, as PUT does", write, requestBody=_BODY, responses=_WRITTEN
        ),
        "delete": _operation("delete", "Publish a deletion", write, responses=_WRITTEN),
    }


def _stream() -> Document:
    about = "As told by the first event of the stream, `event: STREAM`."
    id_ = {"name": "id", "in": "path", "required": True, "description": about,
           "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"}}  # fmt: skip
    changed = _responses(_DONE, "404", "414", "503")
    return {
        "parameters": [id_],
        "put": _operation(
            "move_stream",
            "Give a stream another area, missing no event",
            [_NEW_AREA],
            responses=changed,
        ),
        "delete": _operation(
            "end_stream", "End a stream after what waits", [], responses=_responses(_DONE, "404")
        ),
    }


def _page(id_: str, summary: str, media_type: str, **more: Any) -> Document:
    done = {"description": summary, "content": {media_type: {}}}
    return {"get": {"operationId": id_, "summary": summary, "responses": {"200": done, **more}}}


def _why() -> Document:
    where = _location("Where the message would arise.", _place(_POINT), required=True)
    topic = _parameter("topic", _KEY["schema"], "The topic of the message.", "demo/hello")
    parameters = [{**topic, "required": True}, where]
    found = {"description": "Every interest in the topic.", "content": {"application/json": {}}}
    text = "Who gets a message of a topic and a place, who does not, and why"
    return {"get": _operation("why", text, parameters, responses=_responses(found, "503"))}


def _schemas() -> Document:
    place = {
        "type": "object",
        "properties": {"lat": _LAT, "long": _LONG},
        "required": ["lat", "long"],
    }
    sample = {
        "type": "object",
        "properties": {
            "key": {"type": "string", "description": "The topic; `ERROR` if it is an error."},
            "value": {"description": "Null, JSON, a string or Base64, as `encoding` says."},
            "encoding": {"type": "string"},
            "timestamp": {"type": ["string", "null"]},
            "location": {**place, "description": "Where it arose, if it is located."},
        },
        "required": ["key", "value", "encoding", "timestamp"],
    }
    problem = {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "field": {"type": "string", "description": "What of the request is wrong."},
        },
        "required": ["type", "title", "status", "detail"],
    }
    return {"Sample": sample, "Problem": problem}


def description() -> Document:
    """The whole description."""
    no_token = {"401": _problem("A bearer token is needed.")}
    return {
        "openapi": "3.1.0",
        "info": {"title": "zenoh-la REST bridge", "version": __version__, "description": _ABOUT},
        "paths": {
            "/{key}": _keyed(),
            "/@zla/streams/{id}": _stream(),
            "/@zla/health": _page(
                "health",
                "Whether the bridge is on the network",
                "application/json",
                **{"503": {"description": "It is not.", "content": {"application/json": {}}}},
            ),
            "/@zla/metrics": _page("metrics", "For Prometheus", "text/plain", **no_token),
            "/@zla/live/why": _why(),
            "/@zla/map": _page("map", "The live map", "text/html"),
            "/@zla/docs": _page("docs", "This, for people", "text/html"),
            "/@zla/openapi.json": _page("openapi", "This, for programs", "application/json"),
        },
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
