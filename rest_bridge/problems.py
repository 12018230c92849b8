"""What went wrong, as a problem document (RFC 9457): who is to blame, and which field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

import zenoh
from starlette.responses import Response

from zenoh_la.errors import (
    ArgumentError,
    InvalidLocationError,
    LocationKeyError,
    NodeError,
    PositionError,
)

MEDIA_TYPE = "application/problem+json"
_SHOWN = 400
_FIELDS = {"key_expr": "key", "selector": "key", "location_shape": "shape", "shape_data": "shape"}


class Problem(Exception):  # noqa: N818 - RFC 9457's own word
    """A request that cannot be served.

    Attributes:
        status: 4xx if the caller can mend it, else 5xx.
        field: the part of the request that is wrong, if it is one part.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail if len(detail) <= _SHOWN else f"{detail[:_SHOWN]}…"
        self.field = field
        self.headers = dict(headers or {})

    def response(self) -> Response:
        document: dict[str, object] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.field is not None:
            document["field"] = self.field
        return Response(json.dumps(document), self.status, self.headers, MEDIA_TYPE)


def of_error(error: Exception) -> Problem:
    """The problem that an error of a session or of Zenoh is for who asked."""
    match error:
        case Problem():
            return error
        case InvalidLocationError():
            return Problem(400, str(error), error.field)
        case ArgumentError():
            field = _FIELDS.get(error.argument, error.argument)
            return Problem(400, f"{field}: {error.problem}", field)
        case LocationKeyError():
            return Problem(400, str(error), "key")
        case PositionError():
            return Problem(400, str(error), "lat")
        case NodeError():
            return Problem(503, str(error), headers={"Retry-After": "1"})
        case zenoh.ZError():
            return Problem(503, f"Zenoh: {error}")
    return Problem(500, "a fault of the bridge; its log has more")
