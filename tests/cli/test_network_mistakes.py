"""What is wrong with a network command is said in one line that names the option."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

from tests.network import endpoint
from zenoh_la import BloomDomain, GeographicRange, cli
from zenoh_la.cli import network

Wrong = Callable[..., str]


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Wrong:
    """What `zla` says of a mistake."""

    def run(*args: str) -> str:
        monkeypatch.setattr(sys, "argv", ["zla", *args])
        monkeypatch.setenv("COLUMNS", "300")
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        assert ended.value.code == 2, captured
        assert captured.out == ""
        assert "Traceback" not in captured.err
        return " ".join(captured.err.replace("│", " ").split())

    return run


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    area = GeographicRange(45, 12, 48, 16)
    BloomDomain(area, rows=10, columns=10, false_positive_probability=0.25).to_file("grid.json")
    Path("broken.csv").write_text("lat,long\n48,200\n")
    Path("broken.gpx").write_text("<gpx")
    Path("track.txt").write_text("")
    Path("track.csv").write_text("lat,long\n48,14\n47,14\n0,0\n")
    Path("broken.json5").write_text("{mode: }")


AT = ("--at", "48,14")
BLOOM = ("--encoding", "bloom", "--bloom-domain", "grid.json")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("pub", "a//b", "x"), "TOPIC 'a//b': has an empty chunk"),
        (("pub", "@zla/1/x", "x"), "TOPIC '@zla/1/x'"),
        (("pub", "a" * 70_000, "x"), "bytes"),
        (("pub", "a"), "give PAYLOAD"),
        (("pub", "a", "x", "--delete"), "give PAYLOAD"),
        (("pub", "a", "x", "--at", "91,0"), "--at: lat = 91.0"),
        (("pub", "a", "x", "--at", "91"), "--at needs LAT,LONG"),
        (("pub", "a", "x", *AT, "--track", "track.csv"), "--at and --track"),
        (("pub", "a", "x", "--track", "nowhere.csv"), "'nowhere.csv' does not exist"),
        (("pub", "a", "x", "--track", "broken.csv"), "--track: no track in 'broken.csv': line 2"),
        (("pub", "a", "x", "--track", "broken.gpx"), "--track: no track in 'broken.gpx': GPX"),
        (("pub", "a", "x", "--track", "track.txt"), "neither .gpx nor .csv"),
        (("pub", "a", "x", "--track", "track.csv", "--speed", "0"), "--speed must be more than 0"),
        (("pub", "a", "x", "--speed", "2"), "--speed goes with --track"),
        (("pub", "a", "x", "--count", "0"), "'--count'"),
        (("pub", "a", "x", "--every", "-1"), "'--every'"),
        (("pub", "a", "x", *AT, "--encoding", "bloom"), "--bloom-domain FILE; `zla key domain`"),
        (("pub", "a", "x", *AT, "--encoding", "geohash"), "'--encoding'"),
        (("pub", "a", "x", "--encoding", "mgrs"), "--encoding mgrs needs a position"),
        (("pub", "a", "x", "--at", "0,0", *BLOOM), "--at: position = "),
        (("pub", "a", "x", "--track", "track.csv", *BLOOM), "--track: position = "),
        (("pub", "a", "x", "--mode", "router"), "'--mode'"),
        (("pub", "a", "x", "--connect", "nonsense"), "--connect nonsense: Endpoints must be"),
        (("pub", "a", "x", "--listen", "nonsense"), "--listen nonsense: Endpoints must be"),
        (("pub", "a", "x", "--config", "nowhere.json5"), "'--config'"),
        (("pub", "a", "x", "--config", "broken.json5"), "--config broken.json5"),
        (("sub", "a/**/**"), "TOPIC 'a/**/**'"),
        (("sub", "a", "--circle", "1,2"), "--circle needs LAT,LONG,R"),
        (("sub", "a", "--circle", "1,2,3", "--cell", "33T"), "--circle and --cell cannot"),
        (("sub", "a", "--circle", "1,2,3", "--around", "3", *AT), "--around and --circle cannot"),
        (("sub", "a", "--around", "3"), "--around needs --at LAT,LONG or --track FILE"),
        (("sub", "a", "--around", "3mi", *AT), "--around: R must be a number"),
        (("sub", "a", "--around", "3,4", *AT), "--around needs R, one number"),
        (("sub", "a", "--around", "-3", *AT), "--around: r = -3.0"),
        (("sub", "a", *AT), "--at goes with --around"),
        (("sub", "a", "--track", "track.csv"), "--track goes with --around"),
        (("sub", "a", "--stay"), "--stay goes with --track"),
        (("sub", "a", "--include-unlocated"), "--include-unlocated goes with an area"),
        (("sub", "a", "--encoding", "mgrs"), "--encoding mgrs needs an area"),
        (("sub", "a", "--circle", "0,0,5", *BLOOM), "--circle: "),
        (("sub", "a", "--wkt", "POINT(1 2)"), "--wkt: "),
        (("sub", "a", "--cell", "99Z"), "--cell: "),
        (("sub", "a", "--range", "1,2,3"), "--range needs"),
        (("sub", "a", "--timeout", "-1"), "'--timeout'"),
        (("get", "a//b?x=1"), "SELECTOR 'a//b'"),
        (("get", "a", *AT), "--at goes with --around"),
        (("get", "a", "--target", "some"), "'--target'"),
        (("get", "a", "--timeout", "0"), "'--timeout'"),
        (("queryable", ""), "TOPIC ''"),
        (("queryable", "a", "--at", "0,0", *BLOOM), "--at: position = "),
        (("queryable", "a", "--encoding", "mgrs"), "--encoding mgrs needs an area"),
        (("nodes", "--connect", "tcp/"), "--connect tcp/: Endpoints must be"),
    ],
    ids=lambda given: " ".join(given)[:60] if isinstance(given, tuple) else "",
)
def test_mistakes_are_named_before_anything_is_sent(
    wrong: Wrong, args: tuple[str, ...], said: str
) -> None:
    assert said in wrong(*args)


@pytest.mark.parametrize("mode", ["client", "peer"])
def test_a_router_that_does_not_answer(
    wrong: Wrong, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(network, "CONNECT_S", 0.5)
    dead = endpoint()
    start_s = monotonic()
    said = wrong("pub", "a", "x", "--at", "48,14", "--mode", mode, "--connect", dead)
    assert said == f"zla: --connect {dead}: no connection within 0.5 s"
    assert monotonic() - start_s < 20


def test_an_unknown_protocol_and_a_host_without_a_name(
    wrong: Wrong, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "CONNECT_S", 0.5)
    for bad in ("carrier-pigeon/here:1", "tcp/no.such.host.invalid:7447", "tcp/127.0.0.1"):
        assert wrong("sub", "a", "--connect", bad).startswith(f"zla: --connect {bad}: ")
    assert wrong("sub", "a", "--listen", "tcp/127.0.0.1").startswith("zla: --listen tcp/127.0.0.1:")
