"""`zla storage` as a process on a real network."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.commands import ENVIRONMENT, ZLA, Command, run
from tests.network import DEADLINE_S, RouterProcess, endpoint, router
from zenoh_la import BloomDomain, GeographicRange
from zenoh_la.cli import app
from zenoh_la.storage import Store

LINZ, WELS, GRAZ = "48.3,14.3", "48.16,14.03", "47.07,15.44"
EVERYWHERE = ("--range=-90,-180,90,180",)


@pytest.fixture(scope="module")
def net() -> Iterator[RouterProcess]:
    with router() as started:
        yield started


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("grid") / "grid.json"
    BloomDomain(GeographicRange(46, 13, 49, 16), 10, 10, 0.01).to_file(path)
    return str(path)


def publish(net: RouterProcess, topic: str, text: str, at: str, *more: str) -> None:
    done = run("pub", topic, text, "--at", at, "--connect", net.endpoint, *more)
    assert done.returncode == 0, done.stderr


def asked(net: RouterProcess, topic: str, *more: str) -> dict[str, tuple[float, float] | None]:
    """Payloads and places that `zla get` prints."""
    done = run("get", topic, "--json", "--connect", net.endpoint, *more)
    found = {}
    for line in done.stdout.splitlines():
        reply = json.loads(line)
        place = reply["location"]
        found[reply["payload"]] = place and (place["lat"], place["long"])
    assert done.returncode == (0 if found else 1), done.stderr
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_keeps_answers_and_stops(net: RouterProcess, tmp_path: Path, number: int) -> None:
    file = tmp_path / "values.db"
    areas = ("--area", "circle:48.3,14.3,2km", "--area", "cell:33TWN")
    command = ("storage", "t/**", *areas, "--db", str(file), "-e", net.endpoint)
    with Command(*command, "--every", "0.1") as storage:
        storage.until("ready")
        assert storage.out == [
            f"storage of t/** in {file}, which holds 0 values",
            "  keeps what arises in circle:48.3,14.3,2km",
            "  keeps what arises in cell:33TWN",
            "ready; Ctrl-C stops it",
        ]
        publish(net, "t/a", "linz", LINZ)
        publish(net, "t/a", "wels", WELS)
        publish(net, "t/a", "graz", GRAZ)
        storage.until("2 values; 2 stored, 0 deleted")
        assert asked(net, "t/a", *EVERYWHERE) == {"linz": (48.3, 14.3), "graz": (47.07, 15.44)}
        assert asked(net, "t/*", "--circle", "47,15.4,20km") == {"graz": (47.07, 15.44)}
        storage.until("2 gets answered with 3 values, 0 refused")
        assert storage.stop(number) == 0
    assert storage.out[-1].startswith("stopped; 2 values; 2 stored")
    with Store(file) as store:  # all is there, and the file is free
        assert sorted(value.payload for value in store.find("t/a", None)) == [b"graz", b"linz"]


def test_bloom_as_well(net: RouterProcess, grid: str, tmp_path: Path) -> None:
    area = ("--area", "range:47.9,13.5,48.7,14.8", "--bloom-domain", grid)
    command = ("storage", "b", *area, "--db", str(tmp_path / "a.db"), "-e", net.endpoint)
    by_bloom = ("--encoding", "bloom", "--bloom-domain", grid)
    with Command(*command, "--every", "0.1") as storage:
        storage.until("ready")
        publish(net, "b", "point", LINZ)
        publish(net, "b", "bloom", LINZ, *by_bloom)
        storage.until("2 values")
        near = ("--circle", f"{LINZ},1km")
        assert asked(net, "b", *near) == {"point": (48.3, 14.3)}
        assert list(asked(net, "b", *near, *by_bloom)) == ["bloom"]
        assert storage.stop(signal.SIGTERM) == 0


def read_until(terminal: int, text: bytes) -> None:
    said = b""
    while text not in said:
        readable, _, _ = select.select([terminal], [], [], DEADLINE_S)
        assert readable, f"{text!r} is missing in {said!r}"
        said += os.read(terminal, 4096)


def test_a_live_line_on_a_terminal(net: RouterProcess, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = ("storage", "l", "--area", "cell:33UVP", "--db", str(tmp_path / "a.db"))
    process = subprocess.Popen(
        [*ZLA, *command, "--connect", net.endpoint],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(theirs)
    try:
        read_until(ours, b"0 values; 0 stored")
        process.send_signal(signal.SIGINT)
        read_until(ours, b"stopped; 0 values")
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.wait(DEADLINE_S)
        os.close(ours)


@pytest.mark.parametrize(
    ("area", "problem"),
    [
        ("48,14,2km", "--area needs circle:… or range:… or wkt:… or cell:…, not '48,14,2km'"),
        ("square:1,2", "--area needs circle:…"),
        ("circle:48,14", "--area circle needs LAT,LONG,R"),
        ("circle:98,14,2km", "--area circle: "),
        ("circle:48,14,2miles", "R must be a number"),
        ("range:48,14,47,15", "--area range: "),
        ("wkt:POINT(14 48)", "--area wkt: "),
        ("cell:33TII", "--area cell: "),
        ("", "--area needs circle:…"),
    ],
)
def test_bad_areas(area: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    assert problem in mistake("--area", area, "--db", str(file))
    assert not file.exists()


def mistake(*arguments: str) -> str:
    """What is said of arguments that are wrong, before anything is opened."""
    done = CliRunner().invoke(app, ["storage", "t", *arguments, "-l", endpoint()])
    assert done.exit_code == 2
    return " ".join(done.output.replace("│", " ").split())


def one_line(*arguments: str) -> str:
    done = run("storage", "t", "--area", "cell:33UVP", *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    return line


def test_files_that_cannot_be_used(net: RouterProcess, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    network = ("--connect", net.endpoint)
    assert one_line("--db", str(other), *network) == (
        f"zla: storage '{other}': is an SQLite database of another program"
    )
    text = tmp_path / "text.db"
    text.write_text("no database at all " * 100)
    assert "file is not a database" in one_line("--db", str(text), *network)
    assert "unable to open" in one_line("--db", str(tmp_path / "no" / "folder.db"), *network)
    used = tmp_path / "used.db"
    with Store(used):
        assert one_line("--db", str(used), *network) == (
            f"zla: storage '{used}': is in use by another process"
        )


def test_what_cannot_be_reached_or_is_missing(grid: str, tmp_path: Path) -> None:
    file = str(tmp_path / "a.db")
    assert "no connection" in one_line("--db", file, "--connect", endpoint())
    far = ("--area", "circle:0,0,10", "--bloom-domain", grid, "--db", file)
    for arguments, problem in (
        (("--area", "cell:33UVP", "--db", file, "--encoding", "bloom"), "--bloom-domain FILE"),
        (far, "--area circle:0,0,10"),
        (("--db", file), "--area"),
        (("--area", "cell:33UVP"), "--db"),
    ):
        assert problem in mistake(*arguments)
