"""The sessions that belong to a node: who they are and what they asked for."""

from __future__ import annotations

import dataclasses
import hmac
import re
import secrets
import threading
from dataclasses import dataclass
from time import monotonic
from typing import Any

import zenoh

from zenoh_la.errors import ProtocolError
from zenoh_la.keys import check_topic
from zenoh_la.router_plugin import protocol
from zenoh_la.router_plugin.chunks import check_position, located, located_all
from zenoh_la.router_plugin.documents import decimal, field, read, whole
from zenoh_la.router_plugin.protocol import ANY, LOCAL, REMOTE, Interest, Kind

MAX_SESSIONS = 20_000
"""Of one node: each has three keys, and Zenoh numbers the keys of a link with 16 bits."""
MAX_INTERESTS = 100_000
MAX_SESSION_KEYS = 200_000
MAX_SESSION_TEXT = 32 << 20
MAX_WATCHES = 4096
"""Of one session: interests, their location keys, the characters of all their topics and keys
(so that it can tell all to its next router in one document), and watches."""
_TOKEN_DEADLINE_S = 10.0
_ZID = re.compile("[0-9a-f]{1,32}")


class NotRegisteredError(ProtocolError):
    """A request of a session that this node does not know, or no longer."""


@dataclass(slots=True)
class Watch:
    """A publisher or querier whose application wants to know whether anybody listens."""

    kind: Kind
    topic: str
    chunk: str | None
    destination: int = ANY
    matching: bool | None = None


@dataclass(slots=True)
class Member:
    """A session, at its slot.

    ``is_own`` is that of the node's own session, whose gets come from nowhere else.

    The tag goes with all that is delivered to it; whoever listens there learns it. The secret
    only goes with its requests.
    """

    slot: int
    tag: int
    secret: str
    messages: zenoh.KeyExpr
    gets: zenoh.KeyExpr
    since_s: float
    zid: str = ""
    present: bool = False
    is_own: bool = False
    interests: dict[int, Interest] = dataclasses.field(default_factory=dict)
    keys: int = 0
    text: int = 0
    watches: dict[int, Watch] = dataclasses.field(default_factory=dict)

    def take(self, request: Request) -> list[int]:
        """Changes its interests and watches as asked; returns which interests are gone.

        Raises:
            ProtocolError: there would be too many; nothing is changed then.
        """
        gone = self.interests.keys() if request.reset else request.gone & self.interests.keys()
        gone = gone - request.interests.keys()
        before = [self.interests[n] for n in {*gone, *request.interests} & self.interests.keys()]
        new = request.interests.values()
        count = len(self.interests) - len(before) + len(new)
        keys = self.keys + sum(len(i.chunks) for i in new) - sum(len(i.chunks) for i in before)
        text = self.text + sum(i.length for i in new) - sum(i.length for i in before)
        watches = {} if request.reset else self.watches.copy()
        for number in request.unwatch:
            watches.pop(number, None)
        watches.update(request.watches)
        for found, most, what in (
            (count, MAX_INTERESTS, "interests"),
            (keys, MAX_SESSION_KEYS, "location keys"),
            (text, MAX_SESSION_TEXT, "characters of topics and location keys"),
            (len(watches), MAX_WATCHES, "watches"),
        ):
            if found > most:
                raise ProtocolError(found, f"a session has at most {most} {what}")
        for number in gone:
            del self.interests[number]
        self.interests.update(request.interests)
        self.keys, self.text, self.watches = keys, text, watches
        return list(gone)

    def address(self, ids: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        """Where to put a message, and the ids to name: the key of a single subscriber says who."""
        if len(ids) > 1 or not self.zid:
            return str(self.messages), ids
        return protocol.to_subscriber(self.zid, ids[0]), ()


@dataclass(frozen=True, slots=True)
class Request:
    """What a session asks of its node, checked."""

    reset: bool
    interests: dict[int, Interest]
    gone: set[int]
    watches: dict[int, Watch]
    unwatch: set[int]
    matching: Watch | None

    @classmethod
    def read(cls, document: dict[str, Any]) -> Request:
        interests, watches = field(document, "interests", dict), field(document, "watch", dict)
        once = document.get("matching")
        return cls(
            field(document, "reset", bool),
            {decimal(number): Interest.from_plain(plain) for number, plain in interests.items()},
            {whole(number) for number in field(document, "gone", list)},
            {decimal(number): _watch(plain) for number, plain in watches.items()},
            {whole(number) for number in field(document, "unwatch", list)},
            None if once is None else _watch(once),
        )


_DESTINATIONS: tuple[list[int], ...] = ([], [ANY], [REMOTE], [LOCAL])


def _watch(plain: Any) -> Watch:
    match plain:
        case ["s" | "q" as kind, str(topic), str() | None as chunk, *rest] if rest in _DESTINATIONS:
            check_topic(topic)
            if chunk is not None and kind == "q":
                located_all(chunk)
            elif chunk is not None:
                check_position(chunk, located(chunk))
            return Watch(kind, topic, chunk, *rest)
    raise ProtocolError(plain, "is no watch [kind, topic, location keys, destination]")


def new_tag() -> int:
    """What only a session and its node know: at most four bytes as a LEB128 number."""
    return secrets.randbelow((1 << 28) - 1) + 1


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

    def new(self, zid: str = "") -> Member:
        """A slot for a session; one that tells its Zenoh id has keys for its subscribers."""
        with self._lock:
            if len(self._members) >= MAX_SESSIONS:
                raise ProtocolError(MAX_SESSIONS, "sessions is all that a node has room for")
            slot = self._free.pop() if self._free else len(self._members)
            member = self._members[slot] = Member(
                slot,
                new_tag(),
                secrets.token_hex(16),
                zenoh.KeyExpr(protocol.to_session(self._nid, slot)),
                zenoh.KeyExpr(protocol.get_of_session(self._nid, slot)),
                monotonic(),
                zid,
            )
            return member

    def get(self, slot: int) -> Member | None:
        return self._members.get(slot)

    def asking(self, slot: int, secret: Any) -> Member:
        """The member that sends a request; the secret keeps others from speaking for it."""
        member = self._members.get(slot)
        if member is not None and isinstance(secret, str):
            given = secret.encode(errors="replace")
            if hmac.compare_digest(given, member.secret.encode()):
                return member
        raise NotRegisteredError(slot, "no session is registered at this slot with this secret")

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


def zid_in(payload: zenoh.ZBytes | None) -> str:
    """The Zenoh id that a session tells with its hello; empty if it tells none."""
    try:
        zid: str = field(read(payload), "zid", str)
    except ProtocolError:
        return ""
    return zid if _ZID.fullmatch(zid) else ""
