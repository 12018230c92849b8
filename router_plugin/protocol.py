"""The keys of the protocol, and the documents that travel on them.

`docs/PROTOCOL.md` tells the whole story. A *node* has a short id ``nid`` that is new with every
start, so that a late goodbye of an earlier life means nobody. A *session* that belongs to a node
has a ``slot`` there, a small number that is used again, because Zenoh never forgets a key that
was declared: a network sees as many keys as there are sessions at one time, not as there ever
were. The ``tag`` tells one owner of a slot from the next.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from zenoh_la.encoders import Location
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import SUBSCRIBERS
from zenoh_la.errors import LocationKeyError, ProtocolError
from zenoh_la.keys import (
    MAX_KEY_EXPRESSION_BYTES,
    WIRE_ROOT,
    Role,
    check_topic,
    escaped,
    unescaped,
)
from zenoh_la.router_plugin.chunks import check_count, located
from zenoh_la.router_plugin.documents import decimal, field, read
from zenoh_la.router_plugin.match import locations_match

ROOT = f"{WIRE_ROOT}/1"
MANY = f"{ROOT}/many"
NOBODY = f"{ROOT}/own/nobody"
"""Inside a session only: what is put there is looked at by Zenoh, and that is all."""
NO_SLOT = "-"
"""Instead of a slot: a client that has not registered."""
IN_HEADER = "-"
"""Instead of a location key: the place is in the attachment, packed; the key stays the same."""

ANY, REMOTE, LOCAL = 0, 1, 2
"""Zenoh's localities: where a message may go, or may come from."""

Kind = Literal["s", "q"]
"""What an interest is for: messages (subscribers) or gets (queryables)."""

MAX_SLOT = 999_999_999
REMEMBERED_LENGTH = 1024
"""What is longer is decided anew each time: a flood of the longest keys must not fill memory."""

_NID = re.compile("[0-9a-f]{8}")
_ZID = re.compile("[0-9a-f]{1,32}")


def new_nid() -> str:
    """A node's id: eight hexadecimal digits."""
    return secrets.token_hex(4)


def hello(zid: str) -> str:
    """Where a router tells clients that it is location-aware."""
    return f"{ROOT}/hello/{zid}"


def ask(nid: str, slot: int | str) -> str:
    """Where a session asks its node to register something."""
    return f"{ROOT}/ask/{nid}/{slot}"


def alive(nid: str, slot: int | str) -> str:
    """The token that says a session is there."""
    return f"{ROOT}/alive/{nid}/{slot}"


def presence(nid: str, zid: str) -> str:
    """The token that says a node is there."""
    return f"{ROOT}/node/{nid}/{zid}"


def state(nid: str) -> str:
    """Where a node tells all it wants."""
    return f"{ROOT}/state/{nid}"


def delta(nid: str) -> str:
    """Where a node tells what changed."""
    return f"{ROOT}/delta/{nid}"


def status(nid: str) -> str:
    """Where a node tells what it is doing."""
    return f"{ROOT}/status/{nid}"


def route(nid: str, slot: int | str) -> str:
    """Where a session asks its node for the route of a publisher that stays."""
    return f"{ROOT}/route/{nid}/{slot}"


def route_at(nid: str) -> str:
    """Where a node passes that question on."""
    return f"{ROOT}/routeat/{nid}"


def one(nid: str) -> str:
    """Messages to one node."""
    return f"{ROOT}/one/{nid}"


_DELIVERIES = tuple(f"{ROOT}/{kind}/" for kind in ("to", "own", "one", "many"))


def is_delivery(key: str) -> bool:
    """Whether a message on a key goes to a session or to nodes, and to those that it names."""
    return key.startswith(_DELIVERIES) and "*" not in key


def node_of(key: str) -> str | None:
    """Whose key `one` made this one; None if it is another."""
    start = f"{ROOT}/one/"
    return key.removeprefix(start) if key.startswith(start) else None


def one_get(nid: str) -> str:
    """Gets to one node."""
    return f"{ROOT}/oneget/{nid}"


def many(nids: list[str]) -> str:
    """Messages to several nodes, one copy per link."""
    return f"{MANY}/{'/'.join(nids)}"


def many_for(nid: str) -> str:
    """What a node subscribes to for those."""
    return f"{MANY}/**/{nid}/**"


def to_session(nid: str, slot: int) -> str:
    """Messages to a session."""
    return f"{ROOT}/to/{nid}/{slot}"


def get_of_session(nid: str, slot: int) -> str:
    """Gets to a session."""
    return f"{ROOT}/toget/{nid}/{slot}"


def to_subscriber(zid: str, number: int) -> str:
    """Messages to one subscriber of a session, whichever node that belongs to."""
    return f"{ROOT}/own/{zid}/{number}"


def ingress(nid: str, slot: int | str, chunk: str, topic: str) -> str:
    """Where a session puts a located message."""
    return _checked(f"{ROOT}/in/{nid}/{slot}/{chunk}/{escaped(topic)}", topic)


def ingress_get(nid: str, slot: int | str, chunk: str, topic: str) -> str:
    """Where a session asks an area."""
    return _checked(f"{ROOT}/get/{nid}/{slot}/{chunk}/{escaped(topic)}", topic)


def own_reply(location: bytes, topic: str) -> str:
    """Where a session hands itself a reply: one key per topic and place."""
    place = blake2b(location, digest_size=8).hexdigest()
    return _checked(f"{ROOT}/own/at/{place}/{topic}", topic)


def topic_of_reply(key: str) -> str:
    """The topic of a reply that a session handed itself."""
    return key.split("/", 5)[5]


def _checked(key: str, topic: str) -> str:
    if len(key) * 4 > MAX_KEY_EXPRESSION_BYTES and len(key.encode()) > MAX_KEY_EXPRESSION_BYTES:
        problem = f"topic and place need {len(key.encode())} bytes, {MAX_KEY_EXPRESSION_BYTES} fit"
        raise LocationKeyError(topic, "length", problem)
    return key


_DESTINATIONS = {"": ANY, "r": REMOTE, "l": LOCAL}
_DESTINATION_FLAGS = {number: flag for flag, number in _DESTINATIONS.items()}


class Sender(NamedTuple):
    """Who sent, and whether it may reach others (`REMOTE`), itself (`LOCAL`) or both."""

    slot: int | None
    destination: int

    def may_reach(self, slot: int, interest: Interest) -> bool:
        """Whether it may reach an interest of the session at a slot of this node."""
        own = slot == self.slot
        return self.destination != (REMOTE if own else LOCAL) and interest.wants_from(own)


def sender(slot: int, destination: int) -> str:
    """The chunk that tells who sends."""
    return f"{slot}{_DESTINATION_FLAGS[destination]}"


def split_ingress(key: str, nid: str) -> tuple[Sender, str, str]:
    """Sender, location chunk and topic of a key to a node.

    Zenoh delivers a put on ``@zla/1/in/*/…`` to all nodes, each of which would take it for its
    own: only the topic may have wildcards.
    """
    parts = key.split("/", 6)
    if len(parts) < 7 or parts[3] != nid:
        raise ProtocolError(key, "needs this node's id, a slot, a location key and a topic")
    _, _, _, _, who, chunk, rest = parts
    topic = unescaped(rest)
    if topic.startswith("@/"):
        raise LocationKeyError(topic, "topic", "Zenoh's admin space has no places")
    if who == NO_SLOT:
        return Sender(None, ANY), chunk, topic
    digits = who.rstrip("rl")
    destination = _DESTINATIONS.get(who[len(digits) :])
    if destination is None:
        raise ProtocolError(who, "is no slot")
    return Sender(decimal(digits, MAX_SLOT), destination), chunk, topic


def check_nid(nid: str) -> str:
    """A node's id that is one."""
    if not _NID.fullmatch(nid):
        raise ProtocolError(nid, "is no id of a node: eight hexadecimal digits")
    return nid


def split_presence(key: str) -> tuple[str, str]:
    """Node and Zenoh id of a presence token."""
    parts = key.split("/")
    if len(parts) != 5 or not _ZID.fullmatch(parts[4]):
        raise ProtocolError(key, "is no token of a node")
    return check_nid(parts[3]), parts[4]


def zid_told(payload: Any) -> str:
    """The Zenoh id that a session tells with its hello; empty if it tells none."""
    if not payload:
        return ""
    zid: str = field(read(payload), "zid", str)
    if zid and not _ZID.fullmatch(zid):
        raise ProtocolError(zid, "is no Zenoh id")
    return zid


def slot_in(key: str, nid: str) -> int:
    """The slot at the end of a key of a node's session."""
    parts = key.split("/")
    if len(parts) != 5 or parts[3] != nid:
        raise ProtocolError(key, "needs this node's id and a slot")
    return decimal(parts[4], MAX_SLOT)


def last_chunk(key: str) -> str:
    """What follows the last slash."""
    return key.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Interest:
    """What a subscriber wants, or a queryable can answer, and where.

    Attributes:
        kind: ``"s"`` or ``"q"``.
        topic: the plain topic, wildcards allowed.
        chunks: its location keys as they travel; none if it is nowhere at present.
        locations: the same, decoded.
        complete: of a queryable, whether it knows all there is on its topic and in its area.
        origin: from whom it wants anything: `ANY`, `REMOTE` (not its own session) or `LOCAL` (only
            its own session).
    """

    kind: Kind
    topic: str
    chunks: tuple[str, ...]
    locations: tuple[Location, ...]
    complete: bool = False
    origin: int = 0

    @classmethod
    def of(
        cls,
        kind: Kind,
        topic: str,
        chunks: tuple[str, ...],
        complete: bool = False,
        origin: int = 0,
    ) -> Interest:
        """Decodes and checks; raises `LocationKeyError` or `ProtocolError`."""
        check_topic(topic)
        check_count(len(chunks))
        locations = tuple(located(chunk) for chunk in chunks)
        for chunk, location in zip(chunks, locations, strict=True):
            _check_role(kind, chunk, location)
        return cls(kind, topic, chunks, locations, complete, origin)

    def wants_from(self, own_session: bool) -> bool:
        """Whether its origin allows a message from its own session, or from another."""
        return self.origin != (REMOTE if own_session else LOCAL)

    def matches(self, location: Location) -> bool:
        """Whether a location of a message or get matches one of its own."""
        return any(locations_match(location, own) for own in self.locations)

    @property
    def length(self) -> int:
        """Of its topic and its keys."""
        return len(self.topic) + sum(map(len, self.chunks))

    def to_plain(self) -> list[Any]:
        return [self.kind, self.topic, list(self.chunks), int(self.complete), self.origin]

    @classmethod
    def from_plain(cls, data: Any) -> Interest:
        """Reads what somebody sent: anything may be in it."""
        match data:
            case ["s" | "q" as kind, str(topic), list(chunks), int(complete), int(origin)]:
                numbers = type(complete) is int and type(origin) is int
                if (
                    numbers
                    and complete in (0, 1)
                    and origin in (ANY, REMOTE, LOCAL)
                    and (all(isinstance(chunk, str) for chunk in chunks))
                ):
                    return cls.of(kind, topic, tuple(chunks), bool(complete), origin)
        raise ProtocolError(data, "is no interest [kind, topic, [key …], complete, origin]")


def _check_role(kind: Kind, chunk: str, location: Location) -> None:
    role = location.role
    if role is not None and (role in SUBSCRIBERS if kind == "s" else role is Role.QUERYABLE):
        return
    if role is None and not (isinstance(location, Bits) and not location.is_filter):
        return  # MGRS keys do not say, and a Bloom filter is an area
    who = "subscriber" if kind == "s" else "queryable"
    raise LocationKeyError(chunk, "role", f"is no key of a {who}")
