"""What the REST plug-in of zenohd does, this does: paths, methods, codes, JSON, HTML and events."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import zenoh

import zenoh_la
from tests.network import Inbox, wait_for
from tests.rest_bridge.conftest import fence
from tests.rest_bridge.events import subscribed
from tests.rest_bridge.server import Rest


class Answerer:
    """A queryable that answers with what it is told to, and keeps what it was asked."""

    def __init__(self, session: zenoh_la.LocationSession, key: str) -> None:
        self.replies: list[tuple[str, Any, str | None]] = []
        self.errors: list[tuple[Any, str | None]] = []
        self.asked: list[dict[str, Any]] = []
        self._queryable = session.declare_queryable(key, self._answer)

    def _answer(self, query: zenoh.Query) -> None:
        with query:
            payload = query.payload
            self.asked.append({
                "parameters": str(query.parameters),
                "payload": None if payload is None else payload.to_bytes(),
                "encoding": None if query.encoding is None else str(query.encoding),
            })  # fmt: skip
            for key, value, encoding in self.replies:
                query.reply(key, value, encoding=encoding)
            for value, encoding in self.errors:
                query.reply_err(value, encoding=encoding)

    def close(self) -> None:
        self._queryable.undeclare()


@pytest.fixture
def answerer(session: zenoh_la.LocationSession) -> Iterator[Answerer]:
    made = Answerer(session, "q/**")
    fence(session)
    yield made
    made.close()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_publishing(http: httpx.Client, session: zenoh_la.LocationSession, method: str) -> None:
    inbox = Inbox()
    with session.declare_subscriber("p/*", inbox):
        fence(session)
        answer = http.request(method, "/p/x", content=b"21", headers={"Content-Type": "text/plain"})
        assert (answer.status_code, answer.content) == (200, b"")
        (sample,) = inbox.wait(1)
        assert str(sample.key_expr) == "p/x"
        if method == "DELETE":
            assert sample.kind == zenoh.SampleKind.DELETE
        else:
            assert (sample.payload.to_bytes(), str(sample.encoding)) == (b"21", "text/plain")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/p/%C3%A9", "p/é"),
        ("/p/é", "p/é"),
        ("/p%2Fy", "p/y"),
        ("/p/a+b", "p/a+b"),
        ("/p/a=b,c.d-e_f", "p/a=b,c.d-e_f"),
        ("/p/%20", "p/ "),
        ("/p/@verbatim/z", "p/@verbatim/z"),
    ],
)
def test_any_path_is_a_key(
    http: httpx.Client, session: zenoh_la.LocationSession, path: str, key: str
) -> None:
    inbox = Inbox()
    with session.declare_subscriber(key, inbox):
        fence(session)
        assert http.put(path, content="x").status_code == 200
        assert [str(sample.key_expr) for sample in inbox.wait(1)] == [key]


def test_a_payload_of_any_size_below_the_limit(
    http: httpx.Client, session: zenoh_la.LocationSession
) -> None:
    inbox = Inbox()
    with session.declare_subscriber("p/big", inbox):
        fence(session)
        for body in (b"", b"\x00\xff" * 1_000_000):
            assert http.put("/p/big", content=body).status_code == 200
        assert [s.payload.to_bytes() for s in inbox.wait(2)] == [b"", b"\x00\xff" * 1_000_000]
        chunks = (b"part" for _ in range(3))
        assert http.put("/p/big", content=chunks).status_code == 200
        assert inbox.wait(3)[2].payload.to_bytes() == b"partpartpart"


VALUES: list[tuple[bytes, str | None, Any]] = [
    (b"", "text/plain", None),
    (b"", None, None),
    (b"21 \xc2\xb0C", "text/plain", "21 °C"),
    (b"21", "text/plain;charset=utf-8", "21"),
    (b"a", "zenoh/string", "a"),
    (b"\xff", "text/plain", base64.b64encode(b"\xff").decode()),
    (b'{"a": [1, null, "x"]}', "application/json", {"a": [1, None, "x"]}),
    (b"12.5", "text/json", 12.5),
    (b"rubbish", "application/json", base64.b64encode(b"rubbish").decode()),
    (b"NaN", "application/json", base64.b64encode(b"NaN").decode()),
    (b"[" * 100_000, "application/json", base64.b64encode(b"[" * 100_000).decode()),
    (b'"\\ud800"', "application/json", "\ud800"),
    (b"bytes", None, base64.b64encode(b"bytes").decode()),
    (b"<b>", "text/html", base64.b64encode(b"<b>").decode()),
]


@pytest.mark.parametrize(("payload", "encoding", "value"), VALUES, ids=range(len(VALUES)))
def test_json(
    http: httpx.Client, answerer: Answerer, payload: bytes, encoding: str | None, value: Any
) -> None:
    answerer.replies = [("q/a", payload, encoding)]
    answer = http.get("/q/*")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    (shown,) = json.loads(answer.content)
    assert shown.pop("timestamp") is None or "/" in answer.text
    told = encoding or "zenoh/bytes"
    assert shown == {"key": "q/a", "value": value, "encoding": told}


def test_no_reply_and_several(http: httpx.Client, answerer: Answerer) -> None:
    assert http.get("/q/a").json() == []
    answerer.replies = [("q/a", "1", "text/plain"), ("q/b", "2", "text/plain")]
    assert sorted((r["key"], r["value"]) for r in http.get("/q/*").json()) == [
        ("q/a", "1"),
        ("q/b", "2"),
    ]


def test_an_error_reply(http: httpx.Client, answerer: Answerer) -> None:
    answerer.errors = [("no such sensor", "text/plain")]
    assert http.get("/q/a").json() == [
        {"key": "ERROR", "value": "no such sensor", "encoding": "text/plain", "timestamp": None}
    ]
    assert "<dt>ERROR</dt>" in http.get("/q/a", headers={"Accept": "text/html"}).text
    assert http.get("/q/a?_raw").text == "no such sensor"


def test_html_is_escaped(http: httpx.Client, answerer: Answerer) -> None:
    answerer.replies = [("q/<i>", "<script>alert('1')</script>", "text/html")]
    answer = http.get("/q/*", headers={"Accept": "text/html;q=0.9, application/json"})
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.text == (
        "<dl>\n<dt>q/&lt;i&gt;</dt>\n"
        "<dd>&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;</dd>\n</dl>\n"
    )


def test_raw(http: httpx.Client, answerer: Answerer) -> None:
    answerer.replies = [("q/a", b"\x00\x01", "image/png"), ("q/b", b"more", None)]
    answer = http.get("/q/a?_raw")
    assert (answer.content, answer.headers["content-type"]) == (b"\x00\x01", "image/png")
    assert "sandbox" in answer.headers["content-security-policy"]
    answerer.replies = [("q/a", b"x", "evil\r\nSet-Cookie: a=b")]
    answer = http.get("/q/a?x=1;_raw=true")
    assert answer.content == b"x"
    assert "set-cookie" not in answer.headers
    answerer.replies = []
    answer = http.get("/q/a?_raw")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ("x=1;y=2", "x=1;y=2"),
        ("x=1&y=2", "x=1&y=2"),
        ("a=%20b;c=%2B+", "a=%20b;c=%2B+"),
        ("_time=[now(-1h)..]", "_time=[now(-1h)..]"),
        ("flag", "flag"),
        ("x=1;_raw", "x=1;_raw"),
        ("lat=7;_zla=off;r=oak", "lat=7;r=oak"),
        ("_zla=off;shape=oval", "shape=oval"),
        ("shape=oval&_zla=off", "shape=oval"),
    ],
)
def test_parameters_are_passed_on_unchanged(
    http: httpx.Client, answerer: Answerer, query: str, seen: str
) -> None:
    http.get(f"/q/a?{query}")
    assert answerer.asked[-1]["parameters"] == seen


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_body_is_the_payload_of_the_query(
    http: httpx.Client, answerer: Answerer, method: str
) -> None:
    http.request(method, "/q/a", content=b"ask", headers={"Content-Type": "text/plain"})
    assert answerer.asked[-1]["payload"] == b"ask"
    assert answerer.asked[-1]["encoding"] == "text/plain"
    http.request(method, "/q/a")
    assert answerer.asked[-1]["payload"] is None


def test_time_switches_consolidation_off(
    http: httpx.Client, session: zenoh_la.LocationSession
) -> None:
    def answer(query: zenoh.Query) -> None:
        with query:
            for number in range(3):
                query.reply("c/a", str(number), timestamp=session.new_timestamp())

    with session.declare_queryable("c/a", answer):
        fence(session)
        assert len(http.get("/c/a").json()) == 1
        assert len(http.get("/c/a?_time=[..]").json()) == 3


def test_local_is_the_bridge_itself(http: httpx.Client, bridge: Rest) -> None:
    (shown,) = http.get("/@/local/router").json()
    zid = shown["value"]["zid"]
    assert shown["key"] == f"@/{zid}/router"
    assert http.get(f"/@/{zid}/router").json()[0]["key"] == shown["key"]
    assert http.get("/@/localhost").json() == []


def test_events(http: httpx.Client, session: zenoh_la.LocationSession) -> None:
    with subscribed(http, "/e/*") as events:
        session.put("e/a", '{"t": 1}', encoding="application/json")
        session.delete("e/b")
        session.put("other", "x")
        session.put("e/c", "Zeile 1\nZeile 2", encoding="text/plain")
        found = events.wait(3)
    assert [(event.name, event.data["key"]) for event in found] == [
        ("PUT", "e/a"),
        ("DELETE", "e/b"),
        ("PUT", "e/c"),
    ]
    assert [event.data["value"] for event in found] == [{"t": 1}, None, "Zeile 1\nZeile 2"]
    assert set(found[0].data) == {"key", "value", "encoding", "timestamp"}
    assert events.items == found  # nothing that a client of the plug-in would not know
    assert events.response.headers["content-type"].startswith("text/event-stream")


def test_events_by_post_and_only_if_asked_for_first(http: httpx.Client) -> None:
    answer = http.get("/e/a", headers={"Accept": "application/json, text/event-stream"})
    assert answer.json() == []


def test_head_is_get_without_a_body(http: httpx.Client, answerer: Answerer) -> None:
    answerer.replies = [("q/a", "x", None)]
    answer = http.head("/q/a", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.content) == (200, b"")
    wait_for(lambda: answerer.asked, "the query")


def test_the_root_is_no_key_but_for_people(http: httpx.Client) -> None:
    assert http.get("/").status_code == 400
    answer = http.get("/", headers={"Accept": "text/html"})
    assert answer.has_redirect_location
    assert answer.headers["location"] == "/@zla/docs"
