"""`zla pub`, `sub`, `get`, `queryable` and `nodes` as processes on a real network."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import ZLA, Command, run
from tests.network import RouterProcess, client, endpoint, native_client, router, wait_for
from zenoh_la import BloomDomain, Circle, Coordinates, GeographicRange, Precision

LINZ, NEAR_LINZ, GRAZ = "48.3,14.3", "48.31,14.31", "47.07,15.44"
ROUND_LINZ = "48.3,14.3,5km"
ENCODINGS = ["base64_json", "mgrs", "bloom"]


@pytest.fixture(scope="module")
def net() -> Iterator[RouterProcess]:
    with router() as started:
        yield started


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("grid") / "grid.json"
    area = GeographicRange(46, 13, 49, 16)
    BloomDomain(area, rows=30, columns=30, false_positive_probability=0.001).to_file(path)
    return str(path)


def track(path: Path, *points: tuple[float, str]) -> str:
    path.write_text("t,lat,long\n" + "".join(f"{t},{place}\n" for t, place in points))
    return str(path)


def payloads(lines: list[str]) -> list[str]:
    return [json.loads(line)["payload"] for line in lines]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_lies_inside_comes_and_what_lies_outside_does_not(
    net: RouterProcess, grid: str, encoding: str
) -> None:
    common = ("--encoding", encoding, "--bloom-domain", grid, "--connect", net.endpoint)
    with Command("sub", "t/*", "--circle", ROUND_LINZ, "--json", "-n", "1", *common) as sub:
        sub.until("subscribed")
        for text, place in (("out", GRAZ), ("in", LINZ)):
            sent = run("pub", "t/a", text, "--at", place, *common)
            assert (sent.returncode, sent.stdout) == (0, f"t/a  {place}  {text}\n")
        assert sub.end() == 0
    assert payloads(sub.out) == ["in"]
    first = json.loads(sub.out[0])
    assert set(first) == {"key", "kind", "encoding", "location", "location_key", "timestamp",
                          "payload", "attachment"}  # fmt: skip
    assert (first["key"], first["kind"], first["encoding"]) == ("t/a", "PUT", "text/plain")
    assert first["timestamp"].startswith("20")
    flag = {"base64_json": "$zla_p_", "mgrs": "$zla_m_", "bloom": "$zla_b_e_"}[encoding]
    assert first["location_key"].startswith(flag)
    off_deg = {"base64_json": 0.0, "mgrs": 1e-5, "bloom": 0.1}[encoding]
    assert first["location"]["lat"] == pytest.approx(48.3, abs=off_deg)
    assert first["location"]["long"] == pytest.approx(14.3, abs=off_deg)


@pytest.mark.parametrize(
    "area",
    [
        ("--range", "48,14,49,15"),
        ("--wkt", "POLYGON((14 48, 15 48, 15 49, 14 49, 14 48))"),
        ("--cell", "33UVP"),
        ("--around", "5km", "--at", NEAR_LINZ),
    ],
    ids=lambda area: area[0],
)
def test_areas_of_each_kind_take_messages_of_other_encodings(
    net: RouterProcess, area: tuple[str, ...]
) -> None:
    with (
        Command("sub", "areas", *area, "-n", "2", "--json", "-e", net.endpoint) as sub,
        client(net.endpoint) as publisher,
    ):
        sub.until("subscribed")
        place = Coordinates(47.07, 15.44)
        publisher.declare_position_handler(0, lambda: place)
        publisher.put("areas", "out")
        place = Coordinates(48.3, 14.3)
        publisher.put("areas", "in")
        publisher.put("areas", "mgrs", precision=Precision.MGRS)
        assert sub.end() == 0
    assert payloads(sub.out) == ["in", "mgrs"]


def test_lines_for_people(net: RouterProcess, grid: str) -> None:
    to = ("-e", net.endpoint)
    with Command("sub", "people/**", *to) as sub, client(net.endpoint) as session:
        sub.until("subscribed")
        session.put("people/a", "plain")
        session.declare_position_handler(inf, lambda: Coordinates(48.3, 14.3))
        session.declare_bloom_domain(BloomDomain.from_file(grid))
        sub.until("plain")
        session.put("people/a", "at Linz")
        sub.until("at Linz")
        run("pub", "people/a", "--delete", "--at", LINZ, *to)
        sub.until("deleted")
        session.put("people/a", "in a cell", precision=Precision.BLOOM_FILTER)
        sub.until("in a cell")
        run("pub", "people/a", "-", *to, data=b"\x1b[2J\r\n\xff\xfe\n")
        sub.until("people/a  ", 6)
        assert sub.stop(signal.SIGINT) == 0
    assert sub.out[:3] == [
        "people/a  -  plain",
        "people/a  48.3,14.3  at Linz",
        "people/a  48.3,14.3  (deleted)",
    ]
    assert sub.out[3].startswith("people/a  $zla_b_e_")  # it has not been told the grid
    assert sub.out[4:] == ["people/a  -  \\x1b[2J\\r", "people/a  -  (2 bytes) //4="]


def test_unlocated_messages_come_to_an_area_only_if_asked_for(net: RouterProcess) -> None:
    to = ("-e", net.endpoint)
    area = ("--circle", ROUND_LINZ, "--json", "-n")
    with (
        Command("sub", "unlocated", *area, "1", *to) as strict,
        Command("sub", "unlocated", *area, "2", "--include-unlocated", *to) as open_to_all,
    ):
        strict.until("subscribed")
        open_to_all.until("subscribed")
        run("pub", "unlocated", "plain", *to)
        run("pub", "unlocated", "located", "--at", LINZ, "--attachment", "mine", *to)
        assert strict.end() == open_to_all.end() == 0
    assert payloads(strict.out) == ["located"]
    assert payloads(open_to_all.out) == ["plain", "located"]
    plain, located = map(json.loads, open_to_all.out)
    assert plain["location"] is plain["location_key"] is plain["attachment"] is None
    assert located["attachment"] == "mine"


def test_bytes_that_are_no_text_are_base64_in_json(net: RouterProcess) -> None:
    with Command("sub", "bytes", "--json", "-n", "1", "-e", net.endpoint) as sub:
        sub.until("subscribed")
        with native_client(net.endpoint) as native:
            native.put("bytes", b"\xff", attachment=b"\xfe")
        assert sub.end() == 0
    sample = json.loads(sub.out[0])
    assert (sample["payload_base64"], sample["attachment_base64"]) == ("/w==", "/g==")
    assert "payload" not in sample


def test_every_line_of_standard_input_arrives(net: RouterProcess) -> None:
    lines = [f"line {i}" for i in range(3000)]
    area = ("--circle", ROUND_LINZ, "--json")
    with Command("sub", "lines", *area, "-n", "3000", "-e", net.endpoint) as sub:
        sub.until("subscribed")
        text = "\n".join([*lines, "one too many"])
        sent = run("pub", "lines", "-", "--at", LINZ, "-q", "-n", "3000", "-e", net.endpoint,
                   data=text.encode())  # fmt: skip
        assert (sent.returncode, sent.stdout, sent.stderr) == (0, "", "")
        assert sub.end() == 0
    assert payloads(sub.out) == lines


def test_a_moving_publisher_is_heard_where_it_passes(net: RouterProcess, tmp_path: Path) -> None:
    way = track(tmp_path / "way.csv", (0, "48.0,14.3"), (60, "48.6,14.3"))
    with Command("sub", "way", "--range", "48.15,14,48.45,15", "--json", "-e", net.endpoint,
                 "-n", "3") as sub:  # fmt: skip
        sub.until("subscribed")
        sent = run("pub", "way", "here", "--track", way, "--speed", "200", "--every", "0.05",
                   "-e", net.endpoint)  # fmt: skip
        assert sub.end() == 0
    assert sent.returncode == 0
    assert [line.split()[1] for line in sent.stdout.splitlines()] == [
        f"{lat},14.3" for lat in ("48", "48.1", "48.2", "48.3", "48.4", "48.5", "48.6")
    ]
    found = [round(json.loads(line)["location"]["lat"], 6) for line in sub.out]
    assert found == [48.2, 48.3, 48.4]


def test_a_moving_subscriber_hears_here_and_then_there(net: RouterProcess, tmp_path: Path) -> None:
    way = track(tmp_path / "way.csv", (0, LINZ), (20, LINZ), (20, GRAZ), (30, GRAZ))
    ended = threading.Event()

    def publish(text: str, place: Coordinates) -> None:
        with client(net.endpoint) as session:
            session.declare_position_handler(0, lambda: place)
            while not ended.wait(0.02):
                session.put("moving", text)

    places = {"linz": Coordinates(48.3, 14.3), "graz": Coordinates(47.07, 15.44)}
    publishers = [threading.Thread(target=publish, args=item) for item in places.items()]
    for publisher in publishers:
        publisher.start()
    try:
        with Command("sub", "moving", "--around", "5km", "--track", way, "--speed", "10",
                     "--lifetime", "0.1", "-e", net.endpoint) as sub:  # fmt: skip
            assert sub.end() == 0  # with the end of the track
    finally:
        ended.set()
        for publisher in publishers:
            publisher.join()
    moves = [line for line in sub.out if line.startswith("(")]
    assert moves == [f"(now at {LINZ})", f"(now at {GRAZ})"]
    heard = [line.split()[-1] for line in sub.out if line not in moves]
    assert set(heard) == {"linz", "graz"}
    assert heard == sorted(heard, reverse=True)


def test_at_the_end_of_the_track_it_can_stay(net: RouterProcess, tmp_path: Path) -> None:
    way = track(tmp_path / "way.csv", (0, LINZ), (0.1, GRAZ))
    to = ("-e", net.endpoint)
    with Command("sub", "stays", "--around", "5km", "--track", way, "--lifetime", "0", "--stay",
                 *to) as sub:  # fmt: skip
        sub.until(f"(now at {GRAZ})")

        def heard() -> bool:
            run("pub", "stays", "still here", "--at", GRAZ, *to)
            return any("still here" in line for line in sub.out)

        wait_for(heard, "a message at the end of the track")
        assert sub.stop(signal.SIGTERM) == 0


def test_a_timeout_says_whether_anything_came(net: RouterProcess) -> None:
    to = ("-e", net.endpoint)
    assert run("sub", "silence", "--timeout", "0.2", *to).returncode == 1
    with client(net.endpoint) as session, Command("sub", "noise", "--timeout", "2", *to) as sub:
        sub.until("subscribed")
        session.put("noise", "x")
        assert sub.end() == 0
    assert sub.out == ["noise  -  x"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_get_reaches_queryables_whose_area_meets_its_own(
    net: RouterProcess, grid: str, encoding: str
) -> None:
    common = ("--encoding", encoding, "--bloom-domain", grid, "-e", net.endpoint)
    here = ("--circle", "48.31,14.31,5km", *common)
    with Command("queryable", "q/a", "--at", LINZ, "-p", "21.5", "--json", *common) as answers:
        answers.until("answers for")
        reply = run("get", "q/*?unit=C", *here, "--json", "-p", "how warm?")
        assert reply.returncode == 0, reply
        sample = json.loads(reply.stdout)
        assert (sample["key"], sample["payload"]) == ("q/a", "21.5")
        assert sample["location"]["lat"] == pytest.approx(48.3, abs=0.1)
        assert sample["location_key"] is not None
        elsewhere = run("get", "q/*", "--circle", f"{GRAZ},5km", *common)
        assert (elsewhere.returncode, elsewhere.stdout) == (1, "")
        assert "no reply to q/*" in elsewhere.stderr
        answers.until("how warm?")
        assert answers.stop(signal.SIGINT) == 0
    (asked,) = map(json.loads, answers.out)
    assert (asked["key"], asked["parameters"], asked["payload"]) == ("q/*", "unit=C", "how warm?")
    assert asked["location_keys"]


def test_gets_without_an_area_reach_all(net: RouterProcess) -> None:
    to = ("-e", net.endpoint)
    with (
        Command("queryable", "all/**", "-p", "plain", *to) as plain,
        Command("queryable", "all/b", "--range", "48,14,49,15", "-p", "in area", "--at", LINZ,
                "--complete", *to) as located,
    ):  # fmt: skip
        plain.until("answers for")
        located.until("answers for")
        reply = run("get", "all/b", "--target", "all", "--consolidation", "none", *to)
        assert reply.returncode == 0
        assert set(reply.stdout.splitlines()) == {"all/b  48.3,14.3  in area", "all/b  -  plain"}
        complete = run("get", "all/b", "--range", "48.1,14.1,48.2,14.2", "--target",
                       "all_complete", *to)  # fmt: skip
        assert complete.stdout == "all/b  48.3,14.3  in area\n"
        wild = run("get", "all/c*", *to)
        assert (wild.returncode, wild.stdout) == (2, "")
        wild = run("get", "all/c/*", *to)
        assert (wild.returncode, wild.stdout) == (1, "")
        assert "error reply: all/** is answered for one topic at a time" in wild.stderr
        as_json = run("get", "all/c/*", "--json", *to)
        assert as_json.returncode == 1
        assert "one topic at a time" in json.loads(as_json.stdout)["error"]
        assert located.stop(signal.SIGTERM) == plain.stop(signal.SIGTERM) == 0
    assert located.out == ["all/b  everywhere", "all/b  --range 48.1,14.1,48.2,14.2"]


def test_nodes_shows_routers_and_sessions_that_match_for_themselves(net: RouterProcess) -> None:
    own = endpoint()
    to = ("-e", net.endpoint)
    with (
        Command("sub", "n", "--circle", ROUND_LINZ, "-l", own, *to) as peer,
        Command("sub", "n", "--circle", ROUND_LINZ, *to) as sub,
    ):
        peer.until("subscribed")
        sub.until("subscribed")
        run("pub", "n", "x", "--at", LINZ, *to)
        sub.until("n  48.3,14.3  x")

        def found() -> Any:
            nodes = run("nodes", "--json", *to)
            assert nodes.returncode == 0
            by_mode = {status["mode"]: status for status in json.loads(nodes.stdout)}
            ready = "session" in by_mode and by_mode["router"]["nodes"]
            return by_mode if ready else None

        by_mode = wait_for(found, "a router that knows a session")
        assert by_mode["router"]["zid"] == net.zid
        assert by_mode["router"]["sessions"] == 1
        assert by_mode["router"]["interests"] == 2
        assert by_mode["router"]["counters"]["received"] >= 1
        table = run("nodes", *to).stdout
        assert sub.stop(signal.SIGTERM) == peer.stop(signal.SIGTERM) == 0
    header, *rows = [
        line.split() for line in table.splitlines() if line[:1] == " " and line.strip()
    ]
    assert header == ["nid", "zid", "mode", "sessions", "interests", "nodes", "received",
                      "delivered", "forwarded", "native", "vetoed", "stopped", "refused",
                      "gets"]  # fmt: skip
    shown = {row[2]: row for row in rows if len(row) == len(header)}
    assert shown["router"][:3] == [by_mode["router"]["nid"], net.zid, "router"]
    assert shown["session"][0] == by_mode["session"]["nid"]


def test_where_no_node_is_nodes_says_no() -> None:
    with router(stock=True) as stock:
        nodes = run("nodes", "-e", stock.endpoint)
        assert (nodes.returncode, nodes.stdout) == (1, "")
        assert "no location-aware nodes" in nodes.stderr


def test_a_peers_first_message_is_not_too_early() -> None:
    own = endpoint()
    with Command("sub", "peers", "--circle", ROUND_LINZ, "-l", own, "-n", "1") as sub:
        sub.until("subscribed")
        assert (
            run("pub", "peers", "first", "--at", LINZ, "--mode", "peer", "-e", own).returncode == 0
        )
        assert sub.end() == 0
    assert sub.out == ["peers  48.3,14.3  first"]


def test_a_configuration_file_and_a_second_endpoint(net: RouterProcess, tmp_path: Path) -> None:
    file = tmp_path / "zenoh.json5"
    file.write_text(f'{{mode: "client", connect: {{endpoints: ["{net.endpoint}"]}}, // ours\n}}')
    with Command("sub", "configured", "--config", str(file), "-n", "1") as sub:
        sub.until("subscribed")
        both = ("-e", "tcp/127.0.0.1:1", "-e", net.endpoint)
        assert run("pub", "configured", "x", *both).returncode == 0
        assert sub.end() == 0


@pytest.mark.parametrize(
    ("args", "number"),
    [
        (("sub", "stop/a", "--around", "1km", "--at", LINZ), signal.SIGINT),
        (("sub", "stop/a"), signal.SIGTERM),
        (("queryable", "stop/b", "--circle", ROUND_LINZ), signal.SIGINT),
        (("pub", "stop/c", "again", "--at", LINZ, "--every", "0.01"), signal.SIGTERM),
        (("pub", "stop/d", "-", "--at", LINZ), signal.SIGINT),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else given.name,
)
def test_signals_end_it_cleanly(net: RouterProcess, args: tuple[str, ...], number: int) -> None:
    with Command(*args, "-e", net.endpoint, stdin=subprocess.PIPE) as command:
        if "-" in args:  # it waits for the second line
            assert command.process.stdin is not None
            command.process.stdin.write("first\n")
            command.process.stdin.flush()
        command.until("stop/")
        assert command.stop(number) == 0


def test_a_get_that_waits_can_be_stopped(net: RouterProcess) -> None:
    kept: list[Any] = []
    with client(net.endpoint) as session:
        session.declare_queryable(
            "kept", kept.append, location_shape=Circle(Coordinates(48.3, 14.3), 100)
        )
        with Command("get", "kept", "--circle", ROUND_LINZ, "-e", net.endpoint) as get:
            wait_for(lambda: kept, "the query")
            assert get.stop(signal.SIGINT) == 0
        assert (get.out, get.err) == ([], [])
        kept.clear()


def test_a_reader_that_goes_away_ends_it(net: RouterProcess) -> None:
    line = " ".join(map(shlex.quote, [*ZLA, "sub", "pipe", "-e", net.endpoint]))
    with subprocess.Popen(
        ["bash", "-c", f"{line} | head -n 1; echo ${{PIPESTATUS[0]}}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as piped:
        assert piped.stderr is not None
        assert "subscribed" in piped.stderr.readline()
        run("pub", "pipe", "only one", "-e", net.endpoint)
        out, err = piped.communicate(timeout=20)  # though no second sample comes
    assert (out, err) == ("pipe  -  only one\n0\n", "")


def test_a_closed_pipe_is_no_fault(net: RouterProcess) -> None:
    line = " ".join(map(shlex.quote, [*ZLA, "pub", "pipe", "-", "-e", net.endpoint]))
    piped = subprocess.run(
        ["bash", "-c", f"yes | {line} | head -n 1; echo ${{PIPESTATUS[1]}}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (piped.stdout, piped.stderr) == ("pipe  -  y\n0\n", "")
