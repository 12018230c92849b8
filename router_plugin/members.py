"""The sessions that belong to a node: who they are and what they asked for."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import zenoh

from zenoh_la.errors import ProtocolError
from zenoh_la.keys import check_topic
from zenoh_la.router_plugin import protocol
from zenoh_la.router_plugin.protocol import Interest, Kind

MAX_INTERESTS = 100_000
"""Of one session."""
_TOKEN_DEADLINE_S = 10.0
_MAX_ID = (1 << 32) - 1


@dataclass(slots=True)
class Watch:
    """A publisher or querier whose application wants to know whether anybody listens."""

    kind: Kind
    topic: str
    chunk: str | None
    matching: bool | None = None


@dataclass(slots=True)
class Member:
    """A session, at its slot."""

    slot: int
    tag: int
    messages: zenoh.KeyExpr
    gets: zenoh.KeyExpr
    since_s: float
    present: bool = False
    interests: dict[int, Interest] = field(default_factory=dict)
    watches: dict[int, Watch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """What a session asks of its node, checked."""

    reset: bool
    interests: dict[int, Interest]
    gone: list[int]
    watches: dict[int, Watch]
    unwatch: list[int]

    @classmethod
    def read(cls, document: dict[str, Any]) -> Request:
        interests = {
            _id(number): Interest.from_plain(plain)
            for number, plain in protocol.field(document, "interests", dict).items()
        }
        watches = {
            _id(number): _watch(plain)
            for number, plain in protocol.field(document, "watch", dict).items()
        }
        return cls(
            protocol.field(document, "reset", bool),
            interests,
            [_id(number) for number in protocol.field(document, "gone", list)],
            watches,
            [_id(number) for number in protocol.field(document, "unwatch", list)],
        )


def _id(number: Any) -> int:
    if isinstance(number, str) and number.isdecimal() and len(number) < 11:
        number = int(number)
    if type(number) is not int or not 0 <= number <= _MAX_ID:
        raise ProtocolError(number, "is no id")
    return number


def _watch(plain: Any) -> Watch:
    match plain:
        case ["s" | "q" as kind, str(topic), str() | None as chunk]:
            check_topic(topic)
            if chunk is not None:
                protocol.located_all(chunk)
            return Watch(kind, topic, chunk)
    raise ProtocolError(plain, "is no watch [kind, topic, location keys]")


class Members:
    """Slots, given out and taken back."""

    def __init__(self, nid: str) -> None:
        self._nid = nid
        self._lock = threading.Lock()
        self._members: dict[int, Member] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._members)

    def all(self) -> list[Member]:
        with self._lock:
            return list(self._members.values())

    def new(self) -> Member:
        with self._lock:
            slot = self._free.pop() if self._free else len(self._members)
            member = self._members[slot] = Member(
                slot,
                secrets.randbelow(1 << 28) + 1,
                zenoh.KeyExpr(protocol.to_session(self._nid, slot)),
                zenoh.KeyExpr(protocol.get_of_session(self._nid, slot)),
                monotonic(),
            )
            return member

    def get(self, slot: int) -> Member | None:
        return self._members.get(slot)

    def asking(self, slot: str, tag: Any) -> Member:
        """The member that sends a request; the tag keeps others from speaking for it."""
        member = self._members.get(int(slot)) if slot.isdecimal() and len(slot) < 10 else None
        if member is None or member.tag != tag:
            raise ProtocolError(slot, "no session is registered at this slot with this tag")
        return member

    def remove(self, slot: int) -> Member | None:
        with self._lock:
            member = self._members.pop(slot, None)
            if member is not None:
                self._free.append(slot)
            return member

    def never_came(self) -> list[Member]:
        """Those that got a slot long ago and never showed themselves."""
        limit = monotonic() - _TOKEN_DEADLINE_S
        return [m for m in self.all() if not m.present and m.since_s < limit]
