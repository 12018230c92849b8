"""What is read off a request: its key expression, a header, its body."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

import zenoh
from starlette.types import Receive, Scope

from zenoh_la.rest_bridge.bridge import Bridge
from zenoh_la.rest_bridge.problems import Problem

_LOCAL = "@/local"
_OWN = "@zla"


def key_of(scope: Scope, bridge: Bridge) -> zenoh.KeyExpr:
    """The key expression of a path; ``@/local`` stands for the router's own Zenoh id.

    Raises:
        Problem: the URL is too long, or its path is no key expression.
    """
    raw: bytes = scope["raw_path"]
    if len(raw) + len(scope["query_string"]) > bridge.limits.url_bytes:
        raise Problem(414, f"a URL has at most {bridge.limits.url_bytes} bytes")
    text: str = scope["path"]
    if b"%" in raw:
        try:
            text = unquote_to_bytes(raw).decode()
        except UnicodeDecodeError:
            raise Problem(400, "the path is not UTF-8", "key") from None
    key = text[1:]
    if key.startswith(_LOCAL) and key[len(_LOCAL) :][:1] in ("", "/"):
        key = f"@/{bridge.local_zid}{key[len(_LOCAL) :]}"
    elif key.startswith(_OWN) and key[len(_OWN) :][:1] in ("", "/"):
        raise Problem(404, "what begins with @zla is no topic", "key")
    try:
        return zenoh.KeyExpr(key)
    except zenoh.ZError as exc:
        raise Problem(400, f"the path is no key expression: {exc}", "key") from exc


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of a name (in lower case)."""
    for found, value in scope["headers"]:
        if found == name:
            text: str = value.decode("latin-1")
            return text
    return None


async def body_of(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body.

    Raises:
        Problem: it is too long, or the client went away while it was sent.
    """
    length = header(scope, b"content-length")
    if length is not None and length.isdecimal() and int(length) > most:
        raise _too_long(most)
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the body ended too soon")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_long(most)
    return b"".join(parts)


def _too_long(most: int) -> Problem:
    return Problem(413, f"a body has at most {most} bytes")
