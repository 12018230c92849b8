"""docs/PROTOCOL.md is true: its keys, documents, bytes and limits are the code's."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import sys
from pathlib import Path

import pytest
import zenoh

from tests.router_plugin import foreign
from tests.router_plugin.foreign import example, hex_example, key
from zenoh_la import BloomDomain, Coordinates, GeographicRange
from zenoh_la import keys as location_keys
from zenoh_la.errors import ProtocolError
from zenoh_la.router_plugin import (
    chunks,
    documents,
    frames,
    grants,
    location_bytes,
    members,
    protocol,
    relay,
    views,
)
from zenoh_la.router_plugin.asks import Ask
from zenoh_la.router_plugin.chunks import located
from zenoh_la.router_plugin.counters import Counters
from zenoh_la.router_plugin.members import Members, Request
from zenoh_la.router_plugin.status import Status
from zenoh_la.session.routes import Routes

NID, SLOT = "7f3a0c91", 4
GET_LINZ = json.loads(example("json", "toget"))["chunk"]


def test_the_foreign_client_knows_nothing_of_zenoh_la() -> None:
    tree = ast.parse(Path(foreign.__file__).read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        + [alias.name for alias in node.names if isinstance(node, ast.Import)]
    }
    assert imported - set(sys.stdlib_module_names) == {"zenoh"}


def test_the_keys_are_the_codes() -> None:
    place = "zla_m_33UVP4808649881"
    assert {
        "hello": key("hello", "b8"),
        "ask": key("ask", NID, SLOT),
        "alive": key("alive", NID, SLOT),
        "in": key("in", NID, SLOT, place, "t/a"),
        "get": key("get", NID, SLOT, place, "t/a"),
        "to": key("to", NID, SLOT),
        "own": key("own", "b8", 1),
        "toget": key("toget", NID, SLOT),
        "one": key("one", NID),
        "many": key("many", NID, "0c55e1aa"),
        "oneget": key("oneget", NID),
        "node": key("node", NID, "b8"),
        "state": key("state", NID),
        "delta": key("delta", NID),
        "status": key("status", NID),
        "route": key("route", NID, SLOT),
        "routeat": key("routeat", NID),
    } == {
        "hello": protocol.hello("b8"),
        "ask": protocol.ask(NID, SLOT),
        "alive": protocol.alive(NID, SLOT),
        "in": protocol.ingress(NID, SLOT, place, "t/a"),
        "get": protocol.ingress_get(NID, SLOT, place, "t/a"),
        "to": protocol.to_session(NID, SLOT),
        "own": protocol.to_subscriber("b8", 1),
        "toget": protocol.get_of_session(NID, SLOT),
        "one": protocol.one(NID),
        "many": protocol.many([NID, "0c55e1aa"]),
        "oneget": protocol.one_get(NID),
        "node": protocol.presence(NID, "b8"),
        "state": protocol.state(NID),
        "delta": protocol.delta(NID),
        "status": protocol.status(NID),
        "route": protocol.route(NID, SLOT),
        "routeat": protocol.route_at(NID),
    }
    assert len(foreign.KEYS) == 17


def test_the_bytes_are_the_codes() -> None:
    packed = location_bytes.pack_location(located("zla_p_eyJsYXQiOjQ4LjMsImxvbmciOjE0LjN9"))
    header = frames.pack_header(packed, "t/a", 300, (1, 7))
    whole = frames.attached(zenoh.ZBytes(b"mine"), frames.ending(header))
    assert b"".join(hex_example("delivery")) == whole
    exact, mgrs, bloom = hex_example("locations")
    third = Coordinates(48.3, 43 / 3)
    assert exact == location_bytes.pack_point(third)
    assert foreign.read_place(exact) == ((third.lat, third.long), len(exact))
    assert foreign.read_place(packed) == ((48.3, 14.3), len(packed))
    domain = BloomDomain(GeographicRange(0, 0, 5, 5), 10, 10, 0.25)
    element = f"zla_b_e_8000.0.0.0.0.0.0.0.10000000.0~{domain.fingerprint}"
    assert mgrs == location_bytes.pack_location(located("zla_m_33UVP4808649881"))
    assert bloom == location_bytes.pack_location(located(element))
    assert foreign.read_place(bloom) == ((domain.fingerprint, 10, [15, 284]), len(bloom))
    plain = frames.ending(frames.pack_header(packed, "", int(NID, 16), (SLOT,))) + frames.MAGIC
    assert b"".join(hex_example("plain")) == plain
    assert foreign.MARK == frames.MAGIC


def test_the_keys_of_messages_are_read_so() -> None:
    first, second, third = example("keys", "publish").split()
    assert protocol.split_ingress(first, NID)[0] == (None, protocol.ANY)
    assert protocol.split_ingress(second, NID)[0] == (SLOT, protocol.ANY)
    sender, place, topic = protocol.split_ingress(third, NID)
    assert (sender, place, topic) == ((SLOT, protocol.REMOTE), protocol.IN_HEADER, "@fleet/7")
    for shown in (first, second):
        _, chunk, topic = protocol.split_ingress(shown, NID)
        chunks.check_position(chunk, located(chunk))
        assert topic == "t/a"


def as_one_line(name: str) -> str:
    """A document as it travels."""
    return json.dumps(json.loads(example("json", name)), separators=(",", ":"))


def test_the_documents_are_the_codes() -> None:
    request = Request.read(documents.read(as_one_line("ask").encode()))
    assert [i.kind for i in request.interests.values()] == ["s", "q"]
    empty = Members(NID)
    with pytest.raises(ProtocolError) as refused:
        empty.asking(SLOT, "nonsense")
    assert json.loads(example("json", "ask-error"))["error"] == str(refused.value)
    assert Ask.read(as_one_line("get").encode()) == Ask("", "", "all", 5000)
    toget = Ask("t/last", GET_LINZ, tag=191734302, ids=(2,))
    assert toget.write().decode() == as_one_line("toget")
    state, delta = (documents.read(as_one_line(name).encode()) for name in ("state", "delta"))
    assert len(views._entries(NID, state["set"])) == 2
    assert views._whose(state["at"]) == {3: (SLOT, 191734302, 2)}
    assert views._versions(delta["v"]) == (17, 18)
    assert len(views._entries(NID, delta["set"])) == 1
    assert views._versions(documents.read(as_one_line("heartbeat").encode())["v"]) == (18, 18)
    status = json.loads(example("json", "status"))
    assert list(status) == [field.name for field in dataclasses.fields(Status)]
    counters = dataclasses.fields(Counters)
    assert list(status["counters"]) == [field.name for field in counters]


def test_the_routes_are_the_codes() -> None:
    packed = location_bytes.pack_location(located("zla_p_eyJsYXQiOjQ4LjMsImxvbmciOjE0LjN9"))
    asked = documents.read(as_one_line("route").encode())
    assert grants._question(asked) == (12, "t/a", packed)
    end = frames.ending(frames.pack_header(packed, "t/a", 300), granted=True)
    answer = documents.read(as_one_line("route-answer").encode())
    assert answer["route"] == [3, 12, protocol.to_subscriber("b8d1", 5), end.hex()]
    assert protocol.is_delivery(answer["route"][2])
    for shown in (answer, documents.read(as_one_line("route-revoked").encode())):
        Routes().told(shown)
    assert f"A route holds for {grants.LEASE_S:g} s" in foreign.DOCUMENT


def test_the_limits_are_the_codes() -> None:
    table = foreign.DOCUMENT.partition("| limit | |")[2].partition("\n\n")[0]
    said = [int(number) for number in re.findall(r"\| (\d+)(?: \w+)? \|$", table, re.MULTILINE)]
    assert said == [
        location_keys.MAX_KEY_EXPRESSION_BYTES,
        location_keys.MAX_LOCATION_KEY_LENGTH,
        documents.MAX_DOCUMENT_BYTES,
        chunks.MAX_KEYS,
        chunks.MAX_AREAS,
        members.MAX_INTERESTS,
        members.MAX_SESSION_KEYS,
        members.MAX_SESSION_TEXT,
        members.MAX_WATCHES,
        members.MAX_SESSIONS,
        views._MAX_NODES,
        views._MAX_ENTRIES,
        documents.MAX_VERSION,
        chunks.MAX_ELEMENT_BITS,
        relay.MAX_LISTED,
    ]
    assert documents.MAX_ID == 4294967295
    assert "from 0 to 4294967295" in foreign.DOCUMENT
