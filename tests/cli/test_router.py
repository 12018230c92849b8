"""`zla router` as an operator sees it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
from pathlib import Path
from time import monotonic

import pytest

from tests.cli.commands import ENVIRONMENT, ZLA, Command, run
from tests.network import DEADLINE_S, client, endpoint
from zenoh_la import Coordinates


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_how_to_connect_and_stops_cleanly(number: int) -> None:
    own = endpoint()
    with Command("router", "--listen", own, "--every", "0.1") as router:
        router.until("ready; Ctrl-C stops it")
        assert router.out[0].startswith("location-aware router ")
        assert f"  connect with: --connect {own}" in router.out
        with client(own) as session:
            session.declare_position_handler(0, lambda: Coordinates(48.3, 14.3))
            session.put("t", "x")
            router.until("1 sessions, 0 other nodes, 0 interests; 1 received")  # in its log
        assert router.stop(number) == 0
    assert router.out[-1].startswith("stopped; ")
    assert "1 received, 0 delivered" in router.out[-1]


def test_a_taken_port_is_refused() -> None:
    own = endpoint()
    with Command("router", "--listen", own) as router:
        router.until("ready")
        second = run("router", "--listen", own)
        assert (second.returncode, second.stdout) == (2, "")
        (line,) = second.stderr.splitlines()
        assert own in line
        assert "Address already in use" in line
        assert ".rs:" not in line
        assert router.stop(signal.SIGTERM) == 0


def test_it_reads_a_configuration_file_as_zenohd_does(tmp_path: Path) -> None:
    own = endpoint()
    file = tmp_path / "zenohd.json5"
    file.write_text(f"""
    // comments, no quotes, a comma too many: JSON5
    {{
      id: "cafe0123456789",
      listen: {{ endpoints: {{ router: ["{own}"] }} }},
      scouting: {{ multicast: {{ enabled: false, }} }},
      metadata: {{ name: "ours" }},
    }}""")
    with Command("router", "--config", str(file)) as router:
        router.until("ready")
        assert router.out[0] == "location-aware router cafe0123456789"
        nodes = run("nodes", "-e", own)
        assert nodes.returncode == 0
        assert "cafe0123456789" in nodes.stdout
        assert router.stop(signal.SIGTERM) == 0


def test_a_live_line_on_a_terminal() -> None:
    own = endpoint()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*ZLA, "router", "--listen", own],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "200"},
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""

    def read_until(text: bytes) -> None:
        nonlocal seen
        end_s = monotonic() + DEADLINE_S
        while text not in seen:
            left_s = end_s - monotonic()
            assert left_s > 0, f"no {text!r} in {seen!r}"
            if select.select([ours], [], [], left_s)[0]:
                seen += os.read(ours, 65536)

    try:
        read_until(b"0 sessions, 0 other nodes")
        with client(own) as session:
            session.declare_position_handler(0, lambda: Coordinates(48.3, 14.3))
            session.put("t", "x")
            read_until(b"1 sessions, 0 other nodes, 0 interests; 1 received")
        process.send_signal(signal.SIGINT)
        read_until(b"stopped; ")
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.wait(DEADLINE_S)
        os.close(ours)
    assert b"Traceback" not in seen
    assert b"INFO" not in seen  # the live line is instead of the log
