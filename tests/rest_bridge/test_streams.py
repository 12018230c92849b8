"""Event streams: moved, ended, slow, and too many."""

from __future__ import annotations

import re
import socket
import threading
from time import monotonic

import httpx
import pytest

import zenoh_la
from tests.network import DEADLINE_S, wait_for
from tests.rest_bridge.events import subscribed
from tests.rest_bridge.server import Rest, rest

LINZ = "lat=48.3&long=14.3"
VIENNA = "lat=48.2&long=16.4"


def circle(at: str, km: float = 5) -> str:
    return f"shape=circle&{at}&r={km}&unit=km"


def metric(http: httpx.Client, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", http.get("/@zla/metrics").text, re.MULTILINE)
    assert found is not None, name
    return float(found[1])


def test_a_stream_is_moved_by_its_url(http: httpx.Client) -> None:
    with subscribed(http, f"/m/*?{circle(LINZ)}") as events:
        url = events.url
        assert re.fullmatch(r"/@zla/streams/[\w-]{22}", url)
        expected = []
        for number in range(20):
            here, there = (LINZ, VIENNA) if number % 2 else (VIENNA, LINZ)
            moved = http.put(f"{url}?{circle(here)}")
            assert (moved.status_code, moved.content) == (200, b"")
            for at, text in ((there, "there"), (here, "here")):
                told = {"Content-Type": "text/plain"}
                http.put(f"/m/a?{at}", content=f"{text} {number}", headers=told)
            expected.append(f"here {number}")
            events.wait(len(expected))
        assert events.values() == expected


def test_no_move_misses_an_event(http: httpx.Client) -> None:
    """The areas change all the time, and all of them hold the place."""
    stop = threading.Event()
    sent = 0

    def publish() -> None:
        nonlocal sent
        with httpx.Client(base_url=http.base_url) as own:
            while not stop.is_set():
                headers = {"Content-Type": "text/plain"}
                own.put(f"/mm/a?{LINZ}", content=str(sent), headers=headers)
                sent += 1

    with subscribed(http, f"/mm/*?{circle(LINZ)}") as events:
        url = events.url
        publisher = threading.Thread(target=publish)
        publisher.start()
        try:
            number = 0
            while number < 100 or sent < 200:
                km = 5 + number % 7
                assert http.put(f"{url}?{circle(LINZ, km)}").status_code == 200
                number += 1
        finally:
            stop.set()
            publisher.join()
        events.wait(sent)
        assert [int(value) for value in events.values()] == list(range(sent))


def test_precision_and_shape_may_change(http: httpx.Client) -> None:
    with subscribed(http, f"/m/*?{circle(VIENNA)}") as events:
        changes = [
            (LINZ, "point"),
            ("shape=geographic_range&min_lat=48&min_long=14&max_lat=49&max_long=15", "mgrs"),
            ("shape=polygon&wkt=POLYGON((14 48,15 48,15 49,14 48))", "bloom_filter"),
        ]
        for number, (area, precision) in enumerate(changes, 1):
            assert http.put(f"{events.url}?{area}&precision={precision}").status_code == 200
            http.put(f"/m/a?{LINZ}&precision={precision}", content="x")
            events.wait(number)


def test_a_stream_is_ended_by_its_url(http: httpx.Client) -> None:
    with subscribed(http, f"/m/*?{circle(LINZ)}") as events:
        url = events.url
        assert http.delete(url).status_code == 200
        assert events.is_over.wait(10)
    wait_for(lambda: http.delete(url).status_code == 404, "the stream is gone")
    assert http.put(f"{url}?{circle(LINZ)}").status_code == 404


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ("", 400, "shape"),
        ("_zla=off;shape=circle", 400, "shape"),
        (f"{circle(LINZ)}&r=7", 400, "r"),
        ("shape=circle&lat=95&long=1&r=1", 400, "lat"),
        ("shape=square", 400, "shape"),
    ],
)
def test_a_wrong_move_changes_nothing(
    http: httpx.Client, query: str, status: int, field: str
) -> None:
    with subscribed(http, f"/m/*?{circle(LINZ)}") as events:
        answer = http.put(f"{events.url}?{query}")
        assert (answer.status_code, answer.json()["field"]) == (status, field)
        http.put(f"/m/a?{LINZ}", content="x")
        events.wait(1)


def test_nobody_finds_a_stream_by_guessing(http: httpx.Client) -> None:
    for guess in ("0", "A" * 22, "x/y"):
        assert http.put(f"/@zla/streams/{guess}?{circle(LINZ)}").status_code == 404
        assert http.delete(f"/@zla/streams/{guess}").status_code == 404
    assert http.get(f"/@zla/streams/{'A' * 22}").status_code == 405


def test_a_stream_ends_with_its_reader(
    http: httpx.Client, session: zenoh_la.LocationSession
) -> None:
    before = metric(http, "zla_streams")
    with subscribed(http, f"/m/*?{circle(LINZ)}"), subscribed(http, "/m/*"):
        wait_for(lambda: metric(http, "zla_streams") == before + 2, "two more streams")
        assert metric(http, 'zla_interests{encoding="base64_json"}') >= 1
    wait_for(lambda: metric(http, "zla_streams") == before, "they are gone")
    wait_for(
        lambda: metric(http, 'zla_interests{encoding="base64_json"}') == 0, "and their interests"
    )


class Deaf:
    """A reader that asks for a stream and then reads nothing."""

    def __init__(self, bridge: Rest, path: str) -> None:
        host, _, port = bridge.url.removeprefix("http://").partition(":")
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 128 << 10)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect((host, int(port)))
        request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
        self.socket.sendall(request.encode())
        assert self.socket.recv(15) == b"HTTP/1.1 200 OK"

    def read_until(self, text: bytes) -> bytes:
        end_s = monotonic() + 20
        seen = b""
        while text not in seen:
            assert monotonic() < end_s, f"{len(seen)} bytes"
            part = self.socket.recv(65536)
            assert part, f"it ended after {len(seen)} bytes: {seen[-80:]!r}"
            seen += part
        return seen


def test_a_slow_reader_is_told_and_holds_up_nobody(http: httpx.Client, bridge: Rest) -> None:
    body, count = b"x" * 50_000, 200  # 10 MB: the sockets take half of that
    deaf = Deaf(bridge, f"/slow/*?{circle(LINZ)}")
    with deaf.socket, subscribed(http, f"/slow/*?{circle(LINZ)}") as events:
        _ = events.url
        before = metric(http, "zla_events_dropped_total")
        for number in range(count):
            events.wait(number - 10)  # its reader reads
            told = {"Content-Type": "text/plain"}
            answer = http.put(f"/slow/a?{LINZ}", content=body, headers=told)
            assert answer.status_code == 200
        events.wait(count)  # each of them
        assert not any(event.name == "DROPPED" for event in events.items)
        deaf.read_until(b"event: DROPPED")
        text = deaf.read_until(b"\n\n").decode()
        assert '"count":' in text or "PUT" in text
        wait_for(lambda: metric(http, "zla_events_dropped_total") > before, "they are counted")
        assert metric(http, "zla_events_dropped_total") < count


def test_a_client_has_only_so_many_streams() -> None:
    with rest("--max-streams", "2") as bridge, bridge.client() as http:
        with subscribed(http, "/a"), subscribed(http, "/a"):
            answer = http.get("/a", headers={"Accept": "text/event-stream"})
            assert answer.status_code == 429
            assert answer.headers["content-type"] == "application/problem+json"
            assert http.put("/a", content="x").status_code == 200
        wait_for(lambda: metric(http, "zla_streams") == 0, "the streams are closed")
        with subscribed(http, "/a"):
            pass


def test_streams_end_when_the_bridge_stops() -> None:
    with (
        rest() as bridge,
        bridge.client() as http,
        subscribed(http, "/a") as plain,
        subscribed(http, f"/a?{circle(LINZ)}") as located,
    ):
        assert bridge.stop(15) == 0
        assert plain.is_over.wait(DEADLINE_S)
        assert located.is_over.wait(DEADLINE_S)
    assert bridge.err == []
