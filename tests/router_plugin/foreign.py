"""A client and a node written after docs/PROTOCOL.md alone: nothing of zenoh-la is in here."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import zenoh

DOCUMENT = (Path(__file__).parents[2] / "docs" / "PROTOCOL.md").read_text()
MARK = b"zlA1"

KEYS = {
    template.split("/")[2]: template
    for template in re.findall(r"^\| `(@zla/1/[^`]+)` \|", DOCUMENT, re.MULTILINE)
}
"""The keys of section 1, by their kind."""


def example(language: str, name: str) -> str:
    """The text of an example."""
    (found,) = re.findall(rf"^```{language} {name}\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    return str(found)


def hex_example(name: str) -> list[bytes]:
    """The lines of an example in hexadecimal; what they mean stands after three spaces."""
    lines = example("hex", name).splitlines()
    return [bytes.fromhex(line.partition("   ")[0]) for line in lines]


def key(kind: str, *values: object) -> str:
    """A key of section 1, its capital words replaced in their order."""
    head, *names = re.split(r"(?<=/)[A-Z]+(?=/|$)", KEYS[kind])
    assert len(names) == len(values), KEYS[kind]
    return head + "".join(f"{value}{rest}" for value, rest in zip(values, names, strict=True))


def read_number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        if data[at] < 128:
            return value, at + 1
        at, shift = at + 1, shift + 7


def write_number(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def read_place(data: bytes) -> tuple[Any, int]:
    """A location, and where it ends: a pair of degrees, or a text."""
    if data[0] == 1:
        return struct.unpack_from("<dd", data, 1), 17
    if data[0] == 2:
        return data[2 : 2 + data[1]].decode(), 2 + data[1]
    if data[0] == 5:
        lat, long = struct.unpack_from("<ii", data, 1)
        return (lat / 10_000_000, long / 10_000_000), 9
    if data[0] == 3:
        at = 2 + data[1]
        words, at = read_number(data, at)
        count, at = read_number(data, at)
        bits = []
        for _ in range(count):
            bit, at = read_number(data, at)
            bits.append(bit)
        return (data[2 : 2 + data[1]].hex(), words, bits), at
    raise AssertionError(data)


def point(lat: float, long: float) -> bytes:
    return b"\x01" + struct.pack("<dd", lat, long)


def framed(header: bytes, user: bytes | None = None) -> bytes:
    """An attachment that ends with a header, or a document."""
    if user is None:
        return header + b"\x00"
    return user + header + struct.pack("<I", len(header))[:3] + b"\x01"


def unframed(attachment: zenoh.ZBytes | None) -> tuple[bytes, bytes | None]:
    """Header, or document, and the attachment of somebody's own."""
    assert attachment is not None
    data = attachment.to_bytes()
    assert data[-1] in (0, 1, 2, 3)
    if not data[-1] & 1:
        return data[:-1], None
    start = len(data) - 4 - int.from_bytes(data[-4:-1], "little")
    return data[start:-4], data[:start]


@dataclass
class Message:
    """A message as a subscriber wants it."""

    topic: str
    place: Any
    payload: str
    attachment: bytes | None
    tag: int
    ids: list[int]
    granted: bool

    @classmethod
    def read(cls, sample: zenoh.Sample) -> Message:
        header, user = unframed(sample.attachment)
        place, at = read_place(header)
        length, at = read_number(header, at)
        topic = header[at : at + length].decode()
        at += length
        tag, ids = 0, []
        if at < len(header):
            tag, at = read_number(header, at)
        if at < len(header):
            count, at = read_number(header, at)
            for _ in range(count):
                number, at = read_number(header, at)
                ids.append(number)
        assert at == len(header)
        assert sample.attachment is not None
        granted = bool(sample.attachment.to_bytes()[-1] & 2)
        return cls(topic, place, sample.payload.to_string(), user, tag, ids, granted)


def header(place: bytes, topic: str = "") -> bytes:
    return place + write_number(len(topic.encode())) + topic.encode()


def marked(attachment: zenoh.ZBytes | None) -> tuple[Any, bytes | None]:
    """Place and attachment of a message on a plain topic."""
    assert attachment is not None
    data = attachment.to_bytes()
    assert data.endswith(MARK)
    found, user = unframed(zenoh.ZBytes(data[:-4]))
    place, at = read_place(found)
    assert found[at:] == b"\x00"
    return place, user


class Taker:
    """What clients and nodes have in common: a session, and what they declared."""

    def __init__(self, endpoint: str) -> None:
        config = zenoh.Config()
        config.insert_json5("mode", '"client"')
        config.insert_json5("connect/endpoints", json.dumps([endpoint]))
        config.insert_json5("scouting/multicast/enabled", "false")
        self.session = zenoh.open(config)
        self.declared: list[Any] = []

    def call(self, at: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        """A request and its answer."""
        payload = None if document is None else json.dumps(document)
        replies = list(self.session.get(at, payload=payload, timeout=5.0))
        (answer,) = [reply.ok for reply in replies if reply.ok is not None]
        found: dict[str, Any] = json.loads(answer.payload.to_bytes())
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()


class Client(Taker):
    """A client that belongs to a router."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.messages: list[Message] = []
        self.news: list[dict[str, Any]] = []
        self.queries: list[dict[str, Any]] = []

    def register(self, zid: str | None = None) -> None:
        (router,) = self.session.info.routers_zid()
        place = self.call(key("hello", router), None if zid is None else {"zid": zid})
        self.nid, self.slot, self.tag = place["nid"], place["slot"], place["tag"]
        self.secret = place["secret"]
        add = self.declared.append
        add(self.session.declare_subscriber(key("to", self.nid, self.slot), self._on_message))
        add(self.session.declare_queryable(key("toget", self.nid, self.slot), self._on_get))
        liveliness = self.session.liveliness()
        self.token = liveliness.declare_token(key("alive", self.nid, self.slot))

    def ask(self, **document: Any) -> dict[str, Any]:
        return self.call(key("ask", self.nid, self.slot), {"secret": self.secret, **document})

    def _on_message(self, sample: zenoh.Sample) -> None:
        if sample.attachment is None:
            self.news.append(json.loads(sample.payload.to_bytes()))
        else:
            message = Message.read(sample)
            if message.tag == self.tag:
                self.messages.append(message)

    def _on_get(self, query: zenoh.Query) -> None:
        with query:
            text, user = unframed(query.attachment)
            document = json.loads(text)
            if document["tag"] == self.tag:
                self.queries.append({**document, "attachment": user})
                end = framed(header(point(48.3, 14.3)), b"sensor 7") + MARK
                query.reply(document["topic"], b"21.5", attachment=end)

    def put(self, who: object, place: str, topic: str, payload: str, **more: Any) -> None:
        self.session.put(key("in", self.nid, who, place, topic), payload, **more)

    def get(self, place: str, topic: str, **document: Any) -> list[zenoh.Reply]:
        return list(
            self.session.get(
                key("get", self.nid, self.slot, place, topic),
                target=zenoh.QueryTarget.ALL,
                consolidation=zenoh.ConsolidationMode.NONE,
                accept_replies=zenoh.ReplyKeyExpr.ANY,
                attachment=framed(json.dumps(document).encode(), b"my own") + MARK,
            )
        )

    def ask_route(self, **question: Any) -> None:
        at = key("route", self.nid, self.slot)
        document = json.dumps({"secret": self.secret, **question})
        self.session.put(at, document, congestion_control=zenoh.CongestionControl.BLOCK)

    def leave(self) -> None:
        self.token.undeclare()


class Node(Taker):
    """A node that serves only itself."""

    def __init__(self, endpoint: str, nid: str) -> None:
        super().__init__(endpoint)
        self.nid = nid
        self.version = 0
        self.entries: dict[str, Any] = {}
        self.messages: list[tuple[str, Message]] = []
        self.asked: list[dict[str, Any]] = []
        self.routes: list[dict[str, Any]] = []
        add, session = self.declared.append, self.session
        add(session.declare_queryable(key("state", nid), self._on_state))
        add(session.declare_subscriber(key("one", nid), self._on_message))
        add(session.declare_subscriber(f"@zla/1/many/**/{nid}/**", self._on_message))
        add(session.declare_queryable(key("oneget", nid), self._on_get))
        add(session.declare_subscriber(key("routeat", nid), self._on_route))
        self.publisher = session.declare_publisher(key("delta", nid))
        token = key("node", nid, session.zid())
        self.token = session.liveliness().declare_token(token)

    def _on_state(self, query: zenoh.Query) -> None:
        with query:
            state = {"v": self.version, "set": self.entries}
            query.reply(key("state", self.nid), json.dumps(state))

    def _on_message(self, sample: zenoh.Sample) -> None:
        self.messages.append((str(sample.key_expr), Message.read(sample)))

    def _on_get(self, query: zenoh.Query) -> None:
        with query:
            text, _ = unframed(query.attachment)
            self.asked.append(json.loads(text))
            end = framed(header(point(48.3, 14.3))) + MARK
            query.reply(self.asked[-1]["topic"], b"from a node", attachment=end)

    def _on_route(self, sample: zenoh.Sample) -> None:
        """It grants nothing, and says so."""
        asked = json.loads(sample.payload.to_bytes())
        if "serial" in asked:
            self.routes.append(asked)
            answer = {"tag": asked["tag"], "route": [asked["n"], asked["serial"]]}
            self.session.put(key("to", asked["nid"], asked["slot"]), json.dumps(answer))

    def change(self, entries: dict[str, Any], gone: list[int]) -> None:
        """Tells what changed."""
        self.entries.update(entries)
        for number in gone:
            del self.entries[str(number)]
        before, self.version = self.version, self.version + 1
        delta = {"v": [before, self.version], "set": entries, "gone": gone}
        self.publisher.put(json.dumps(delta))

    def heartbeat(self) -> None:
        self.publisher.put(json.dumps({"v": [self.version, self.version]}))

    def state_of(self, nid: str) -> dict[str, Any]:
        return self.call(key("state", nid))

    def put(self, nid: str, place: bytes, topic: str, payload: str) -> None:
        self.session.put(key("one", nid), payload, attachment=framed(header(place, topic)))

    def get(self, nid: str, **document: Any) -> list[zenoh.Reply]:
        return self._get(key("oneget", nid), document)

    def ask_session(self, nid: str, slot: int, **document: Any) -> list[zenoh.Reply]:
        """Straight, if the advert says who is behind an entry."""
        return self._get(key("toget", nid, slot), document)

    def _get(self, at: str, document: dict[str, Any]) -> list[zenoh.Reply]:
        return list(
            self.session.get(
                at,
                consolidation=zenoh.ConsolidationMode.NONE,
                accept_replies=zenoh.ReplyKeyExpr.ANY,
                attachment=framed(json.dumps(document).encode()),
            )
        )
