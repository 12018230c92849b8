"""Mistakes of callers are named, and nothing they send is a fault of the bridge."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from time import monotonic
from urllib.parse import quote

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.rest_bridge.server import Rest, rest

BIG_WKT = "POLYGON((" + ",".join(f"{i / 100} {i % 7}" for i in range(1500)) + ",0 0))"

MISTAKES: list[tuple[str, str, int, str | None]] = [
    # method, path, status, field
    ("PUT", "/a?lat=48", 400, "long"),
    ("PUT", "/a?long=14", 400, "lat"),
    ("PUT", "/a?lat=91&long=14", 400, "lat"),
    ("PUT", "/a?lat=48&long=181", 400, "long"),
    ("PUT", "/a?lat=&long=14", 400, "lat"),
    ("PUT", "/a?lat=nan&long=14", 400, "lat"),
    ("PUT", "/a?lat=inf&long=14", 400, "lat"),
    ("PUT", "/a?lat=1e999&long=14", 400, "lat"),
    ("PUT", "/a?lat=1_0&long=14", 400, "lat"),
    ("PUT", "/a?lat=0x10&long=14", 400, "lat"),
    ("PUT", "/a?lat=%ff&long=14", 400, "lat"),
    ("PUT", "/a?lat=1&lat=2&long=14", 400, "lat"),
    ("PUT", "/a?lat=1&long=2&r=5", 400, "r"),
    ("PATCH", "/a?shape=circle&lat=1&long=2&r=5", 400, "shape"),
    ("DELETE", "/a?wkt=POLYGON", 400, "wkt"),
    ("PUT", "/a?precision=mgrs", 400, "lat"),
    ("PUT", "/a?lat=1&long=2&precision=exact", 400, "precision"),
    ("PUT", "/a?lat=1&long=2&precision=bloom_filter", 400, "precision"),
    ("PUT", "/a?_zla=on", 400, "_zla"),
    ("GET", "/a?shape=square", 400, "shape"),
    ("GET", "/a?shape=", 400, "shape"),
    ("GET", "/a?shape=circle&lat=1&long=2", 400, "r"),
    ("GET", "/a?shape=circle&r=5", 400, "lat"),
    ("GET", "/a?shape=circle&lat=1&long=2&r=-1", 400, "r"),
    ("GET", "/a?shape=circle&lat=1&long=2&r=1e9", 400, "r"),
    ("GET", "/a?shape=circle&lat=1&long=2&r=1&unit=mile", 400, "unit"),
    ("GET", "/a?shape=circle&lat=1&long=2&r=1&min_lat=1", 400, "min_lat"),
    ("GET", "/a?r=5", 400, "r"),
    ("GET", "/a?unit=km", 400, "unit"),
    ("GET", "/a?lat=1&long=2&unit=km", 400, "unit"),
    ("GET", "/a?shape=geographic_range&min_lat=1", 400, "min_long"),
    ("GET", "/a?shape=geographic_range&min_lat=2&min_long=0&max_lat=1&max_long=0", 400, "min_lat"),
    ("GET", "/a?shape=polygon", 400, "wkt"),
    ("GET", "/a?shape=polygon&wkt=POINT(1 1)", 400, "wkt"),
    ("GET", "/a?shape=polygon&wkt=POLYGON((", 400, "wkt"),
    ("GET", "/a?shape=polygon&wkt=POLYGON((0 0,1 1,0 1,1 0,0 0))", 400, "wkt"),
    ("GET", "/a?shape=polygon&wkt=POLYGON((0 0,1 0,1 95,0 0))", 400, "wkt"),
    ("GET", f"/a?shape=polygon&wkt={BIG_WKT}", 400, "wkt"),
    ("GET", "/a?precision=mgrs", 400, "lat"),
    ("GET", "/a?%ff=1", 200, None),
    ("POST", "/a?lat=91&long=0", 400, "lat"),
    ("GET", "/", 400, "key"),
    ("GET", "/a//b", 400, "key"),
    ("GET", "/a/", 400, "key"),
    ("GET", "/a%23b", 400, "key"),
    ("GET", "/a$b", 400, "key"),
    ("GET", "/**/**", 400, "key"),
    ("GET", "/%ff", 400, "key"),
    ("PUT", "/a*b", 400, "key"),
    ("PUT", "/@zla", 404, "key"),
    ("PUT", "/@zla/1/in/0/0/x", 404, None),
    ("GET", "/@zla/nothing", 404, None),
    ("GET", f"/{'a' * 40_000}", 414, None),
    ("PUT", f"/a?lat=1&long=2&x={'a' * 40_000}", 414, None),
    ("PROPFIND", "/a", 405, None),
    ("TRACE", "/a", 405, None),
    ("PUT", "/@zla/health", 405, None),
]


@pytest.fixture(scope="module")
def bridge() -> Iterator[Rest]:
    """One that has no Bloom domain."""
    with rest("--max-body", "1000") as running:
        yield running
        assert running.process.poll() is None
    assert running.err == []


@pytest.mark.parametrize(
    ("method", "path", "status", "field"), MISTAKES, ids=[f"{m} {p[:60]}" for m, p, *_ in MISTAKES]
)
@pytest.mark.parametrize("accept", ["*/*", "text/event-stream"])
def test_the_field_is_named(
    http: httpx.Client, method: str, path: str, status: int, field: str | None, accept: str
) -> None:
    if status == 200 and accept != "*/*":
        return
    answer = http.request(method, path, headers={"Accept": accept})
    assert answer.status_code == status
    if status == 200:
        return
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem.get("field")) == (status, field)
    assert problem["detail"]
    assert (status == 405) == ("allow" in answer.headers)


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_are_bounded(http: httpx.Client, chunked: bool) -> None:
    def content(size: int) -> bytes | Iterator[bytes]:
        return (b"x" for _ in range(size)) if chunked else b"x" * size

    for method in ("PUT", "POST"):
        assert http.request(method, "/a", content=content(1000)).status_code == 200
        assert http.request(method, "/a", content=content(1001)).status_code == 413
    assert http.put("/a", content=b"x").status_code == 200


def exchange(bridge: Rest, request: bytes, more: bytes = b"") -> bytes:
    """What a server says to bytes that no client library sends."""
    host, _, port = bridge.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), 10) as talking:
        try:
            talking.sendall(request)
            for _ in range(200):
                if not more:
                    break
                talking.sendall(more)
        except OSError:
            pass  # it has heard enough
        seen, end_s = b"", monotonic() + 10
        while monotonic() < end_s:
            try:
                part = talking.recv(65536)
            except OSError:
                break
            seen += part
            if not part or b"\r\n\r\n" in seen:
                break
        return seen


def test_heads_are_bounded(bridge: Rest) -> None:
    """A head that never ends is not kept for ever."""
    assert exchange(bridge, b"GET /", b"a" * 10_000)[9:12] in (b"431", b"")
    head = b"GET /a HTTP/1.1\r\nHost: x\r\nX: "
    assert exchange(bridge, head, b"a" * 10_000)[9:12] in (b"431", b"")
    assert exchange(bridge, b"GET /a HTTP/1.1\r\nHost: x\r\n", b"X: y\r\n" * 1000)[9:12] in (
        b"431",
        b"",
    )


@pytest.mark.parametrize(
    "request_",
    [
        b"rubbish\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /a?\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PUT /a?lat=\xff&long=1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Type: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
        b"GET http://elsewhere/a HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET //a HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_is_hardly_http(bridge: Rest, http: httpx.Client, request_: bytes) -> None:
    status = exchange(bridge, request_)[9:10]
    assert status in (b"2", b"4", b""), status
    assert http.get("/@zla/health").status_code == 200


NAMES = ["lat", "long", "shape", "r", "unit", "min_lat", "min_long", "max_lat", "max_long",
         "wkt", "precision", "_zla", "_raw", "_time", "x"]  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=20),
    st.floats().map(str),
    st.integers().map(str),
    st.sampled_from(
        ["circle", "polygon", "geographic_range", "point", "mgrs", "bloom_filter", "off", "km",
         "48.3", "14.3", "POLYGON((14 48,15 48,15 49,14 48))", "MULTIPOLYGON EMPTY", "180", "-90"]
    ),
)  # fmt: skip
PAIRS = st.tuples(st.one_of(st.sampled_from(NAMES), st.text(max_size=5)), VALUES)


@st.composite
def query_strings(draw: st.DrawFn) -> str:
    parts = []
    for name, value in draw(st.lists(PAIRS, max_size=8)):
        escape = draw(st.booleans())
        parts.append(f"{quote(name)}={quote(value) if escape else quote(value, safe='&;=+%')}")
    return draw(st.sampled_from(["&", ";"])).join(parts)


@given(
    query=query_strings(),
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    key=st.one_of(st.just("a/b"), st.text(max_size=8)),
)
@settings(max_examples=400)
@example(query="lat=48.3&long=14.3&precision=mgrs", method="GET", key="a")
@example(query="shape=polygon&wkt=MULTIPOLYGON EMPTY", method="GET", key="a")
@example(query="shape=circle&lat=90&long=180&r=20000&unit=km&precision=mgrs", method="GET", key="a")
def test_whatever_the_query_string_says_is_no_fault_of_the_bridge(
    http: httpx.Client, query: str, method: str, key: str
) -> None:
    answer = http.request(method, f"/{quote(key, safe='')}?{query}", content=b"x")
    assert answer.status_code in (200, 400, 404, 405, 414), answer.text
    if answer.status_code >= 400 and answer.headers["content-type"] != "application/problem+json":
        raise AssertionError(answer.headers)


@pytest.mark.parametrize("precision", ["point", "mgrs"])
@pytest.mark.parametrize(
    "area",
    [
        "shape=geographic_range&min_lat=-90&min_long=-180&max_lat=90&max_long=180",
        "shape=circle&lat=89.99&long=0&r=20000&unit=km",
        "shape=polygon&wkt=" + BIG_WKT[:9] + ",".join(
            f"{10 * (i % 2) + i / 400} {i / 10}" for i in range(400)
        ) + ",40 -5, 0 0))",
        "lat=90&long=180",
        "lat=-90&long=-180",
    ],
    ids=["world", "pole", "comb", "north pole", "south pole"],
)  # fmt: skip
def test_areas_that_are_odd_but_right(http: httpx.Client, area: str, precision: str) -> None:
    answer = http.get(f"/a?{area}&precision={precision}")
    assert answer.status_code in (200, 400), answer.text
    assert answer.status_code == 200 or answer.json()["field"]


def test_a_problem_is_json_whatever_is_accepted(http: httpx.Client) -> None:
    answer = http.get("/a?lat=x&long=1", headers={"Accept": "text/html"})
    assert json.loads(answer.content)["field"] == "lat"
