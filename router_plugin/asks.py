"""What goes with a located get: the document that says what is asked, and how."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from zenoh_la.errors import ProtocolError
from zenoh_la.router_plugin import documents
from zenoh_la.router_plugin.documents import field, whole
from zenoh_la.router_plugin.protocol import REMEMBERED_LENGTH

BEST, ALL, ALL_COMPLETE = "best", "all", "complete"
_DEFAULT_TIMEOUT_MS = 10_000
MAX_TIMEOUT_MS = 24 * 3600 * 1000
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Ask:
    """A located get: the document that goes with it.

    Attributes:
        topic: the plain topic.
        chunk: the location keys of its area, in one chunk.
        target: ``"best"``, ``"all"`` or ``"complete"``.
        timeout_ms: the caller's; at most a day.
        any_key: whether replies may have any key.
        only: of the node that gets it, the one entry of its advert that is meant; -1 for all.
        tag: of the session that gets it.
        ids: of the queryables that are meant in that session.
    """

    topic: str = ""
    chunk: str = ""
    target: str = BEST
    timeout_ms: int = _DEFAULT_TIMEOUT_MS
    any_key: bool = False
    only: int = -1
    tag: int = 0
    ids: tuple[int, ...] = ()

    def write(self) -> bytes:
        """The document: fields that have their default are left out."""
        pairs = ((name, getattr(self, name), usual) for name, usual in _USUAL)
        return documents.write({name: value for name, value, usual in pairs if value != usual})

    @staticmethod
    def read(data: bytes) -> Ask:
        """The document that somebody sent; one who asks again and again sends the same."""
        return _read_again(data) if len(data) <= REMEMBERED_LENGTH else Ask._read(data)

    @classmethod
    def _read(cls, data: bytes) -> Ask:
        fields = documents.read(data)
        only = fields.get("only")
        ids = tuple(whole(number) for number in field(fields, "ids", list))
        ask = cls(
            field(fields, "topic", str),
            field(fields, "chunk", str),
            field(fields, "target", str, BEST),
            field(fields, "timeout_ms", int, _DEFAULT_TIMEOUT_MS),
            field(fields, "any_key", bool),
            -1 if only is None else whole(only),
            field(fields, "tag", int),
            ids,
        )
        if ask.target not in (BEST, ALL, ALL_COMPLETE):
            raise ProtocolError(ask.target, "is no target of a get")
        if not 0 < ask.timeout_ms <= MAX_TIMEOUT_MS:
            raise ProtocolError(ask.timeout_ms, f"timeout_ms must be from 1 to {MAX_TIMEOUT_MS}")
        if any(a >= b for a, b in pairwise(ids)):
            raise ProtocolError(ids, "ids must ascend")
        return ask


_USUAL = tuple((f.name, f.default) for f in dataclasses.fields(Ask))
_read_again = lru_cache(_REMEMBERED)(Ask._read)
