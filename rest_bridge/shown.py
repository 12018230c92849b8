"""Samples and replies as HTTP shows them: JSON, HTML, or as they are."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from typing import Any

import zenoh
from starlette.responses import Response

from zenoh_la.session import LocatedReply, LocatedSample

Sample = zenoh.Sample | LocatedSample
Reply = zenoh.Reply | LocatedReply

_JSON = frozenset({"application/json", "text/json", "text/json5"})
_TEXT = frozenset({"text/plain", "zenoh/string"})
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?: *;[ -~]*)?", re.ASCII)
# What anybody on the network may have published must not act as a page of this server.
_AS_DATA = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"}


def dumped(document: Any) -> bytes:
    """JSON on one line; UTF-8, save for what is no text (a lone surrogate)."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":")).encode()


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def value(payload: bytes, encoding: str) -> Any:
    """A payload as JSON: itself if it is JSON, a string if it is text, else Base64."""
    if not payload:
        return None
    media_type = encoding.partition(";")[0]
    try:
        if media_type in _JSON:
            return json.loads(payload, parse_constant=_refused)
        if media_type in _TEXT:
            return payload.decode()
    except (ValueError, RecursionError):
        pass  # not what it says it is
    return b64encode(payload).decode()


def sample_object(sample: Sample) -> dict[str, Any]:
    """A sample as the plug-in shows it, with its place if it has one."""
    encoding, timestamp = str(sample.encoding), sample.timestamp
    shown = {
        "key": str(sample.key_expr),
        "value": value(sample.payload.to_bytes(), encoding),
        "encoding": encoding,
        "timestamp": None if timestamp is None else str(timestamp),
    }
    location = sample.location if isinstance(sample, LocatedSample) else None
    if location is not None:
        shown["location"] = location.to_dict()
    return shown


def _reply_object(reply: Reply) -> dict[str, Any]:
    if reply.ok is not None:
        return sample_object(reply.ok)
    payload, encoding = _error(reply)
    return {"key": "ERROR", "value": value(payload, encoding), "encoding": encoding,
            "timestamp": None}  # fmt: skip


def _error(reply: Reply) -> tuple[bytes, str]:
    error = reply.err
    assert error is not None
    return error.payload.to_bytes(), str(error.encoding)


def as_json(replies: Iterable[Reply]) -> Response:
    """All replies, as a list."""
    body = dumped([_reply_object(reply) for reply in replies])
    return Response(body, media_type="application/json")


def as_html(replies: Iterable[Reply]) -> Response:
    """All replies, for people."""
    lines = ["<dl>\n"]
    for reply in replies:
        key = "ERROR" if reply.ok is None else str(reply.ok.key_expr)
        payload = _error(reply)[0] if reply.ok is None else reply.ok.payload.to_bytes()
        text = escape(payload.decode(errors="replace"))
        lines.append(f"<dt>{escape(key)}</dt>\n<dd>{text}</dd>\n")
    lines.append("</dl>\n")
    body = "".join(lines).encode(errors="replace")
    return Response(body, headers=_AS_DATA, media_type="text/html")


def as_it_is(replies: list[Reply]) -> Response:
    """The payload of the first reply; its encoding, if it can be one, is the media type."""
    if not replies:
        return Response(media_type="application/octet-stream")
    sample = replies[0].ok
    if sample is None:
        payload, encoding = _error(replies[0])
    else:
        payload, encoding = sample.payload.to_bytes(), str(sample.encoding)
    told = encoding if _MEDIA_TYPE.fullmatch(encoding) else "application/octet-stream"
    return Response(payload, headers={**_AS_DATA, "Content-Type": told})
