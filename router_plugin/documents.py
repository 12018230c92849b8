"""The JSON documents of the protocol: written, and read from anybody.

What two parsers might read differently is refused: a field twice, NaN, a number that is no 32-bit
id, ``"007"`` beside ``"7"``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from zenoh_la.errors import ProtocolError
from zenoh_la.values.checks import unique_fields

MAX_DOCUMENT_BYTES = 64 << 20
MAX_ID = (1 << 32) - 1
MAX_VERSION = (1 << 53) - 1
"""The largest number that every JSON library keeps exactly."""

_DECIMAL = re.compile("0|[1-9][0-9]{0,9}")


def write(document: Any) -> bytes:
    """A document as bytes."""
    return json.dumps(document, separators=(",", ":")).encode()


def read(payload: Any) -> dict[str, Any]:
    """A document that somebody sent: a payload of Zenoh's, or bytes."""
    if payload is not None and len(payload) > MAX_DOCUMENT_BYTES:
        raise ProtocolError(f"{len(payload)} bytes", "is too large")
    if payload is None:
        payload = b""
    data = payload if isinstance(payload, bytes) else payload.to_bytes()
    try:
        document = _reader.decode(data.decode())
    except (ValueError, RecursionError) as exc:
        raise ProtocolError(data, f"is not JSON: {exc}") from exc
    if not isinstance(document, dict):
        raise ProtocolError(data, "must be a JSON object")
    return document


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


_reader = json.JSONDecoder(object_pairs_hook=unique_fields, parse_constant=_no_constant)


def field(document: dict[str, Any], name: str, kind: type, default: Any = None) -> Any:
    """A field of a document, of the type it must have; if it is not there, the default."""
    value = document.get(name)
    if value is None:
        value = kind() if default is None else default
    if type(value) is not kind:
        raise ProtocolError(value, f"{name} must be a {kind.__name__}")
    return value


def whole(value: Any, most: int = MAX_ID) -> int:
    """A number that is not negative; a bool is none."""
    if type(value) is not int or not 0 <= value <= most:
        raise ProtocolError(value, f"must be a whole number from 0 to {most}")
    return value


def decimal(text: str, most: int = MAX_ID) -> int:
    """A number as a chunk of a key, or as the name of a field, writes it."""
    if not _DECIMAL.fullmatch(text):
        raise ProtocolError(text, "must be a decimal number without leading zeros")
    return whole(int(text), most)
