from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import shapely

from zenoh_la import cli

POINT = "$zla_p_eyJsYXQiOjQ2LjUyMjc1LCJsb25nIjoxNC4wMTAwMn0"


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def zla(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """Runs `zla` as the shell would."""

    def run(*args: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["zla", *args])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return Result(int(ended.value.code or 0), captured.out, captured.err)

    return run


Zla = Callable[..., Result]


@pytest.fixture
def grid(zla: Zla, tmp_path: Path) -> str:
    path = tmp_path / "grid.json"
    made = zla("key", "domain", "--range", "45,12,48,16", "--out", str(path))
    assert made.code == 0
    assert "100 cells, keys of 320 bits" in made.out
    return str(path)


def test_encode_a_position(zla: Zla, grid: str) -> None:
    result = zla("key", "encode", "--at", "46.52275,14.01002", "--bloom-domain", grid)
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert [name for name, _ in lines] == ["base64_json", "bloom", "mgrs"]
    assert lines[0][1] == POINT
    assert lines[2][1] == "$zla_m_33TVM2406852607"


def test_encode_without_a_domain_says_how_to_get_one(zla: Zla) -> None:
    result = zla("key", "encode", "--at", "-33.8,151.2")
    assert "bloom" not in result.out
    assert "zla key domain" in result.err
    refused = zla("key", "encode", "--at", "-33.8,151.2", "--encoding", "bloom")
    assert refused.code == 2
    assert "--bloom-domain" in refused.err


@pytest.mark.parametrize(
    "option",
    [
        ("--circle", "46.5,14,2000"),
        ("--circle", "46.5,14\n,2km"),
        ("--circle", "46.5,14,0.5deg"),
        ("--range", "45,13,47,15"),
        ("--range", "-10,170,10,-170"),
        ("--wkt", "POLYGON((13 45, 15 45, 15 47, 13 45))"),
        ("--cell", "33TVM25"),
    ],
)
def test_encode_an_area_and_decode_it_again(zla: Zla, option: tuple[str, str]) -> None:
    made = zla("key", "encode", *option, "--json", "--role", "queryable")
    assert made.code == 0
    keys = json.loads(made.out)
    assert keys["base64_json"][0].startswith("$zla_q_")
    for key in (key for some in keys.values() for key in some):
        as_text = zla("key", "decode", key, "--format", "wkt")
        drawn = shapely.from_wkt(as_text.out)
        assert drawn.is_valid
        feature = json.loads(zla("key", "decode", key, "--format", "geojson").out)
        assert feature["type"] == "Feature"
        same = shapely.from_geojson(json.dumps(feature["geometry"]))
        assert same.equals_exact(drawn, 1e-9)


def test_one_encoding_and_a_topic(zla: Zla) -> None:
    args = ("--at", "46,14", "--digits", "2", "--encoding", "mgrs", "--topic", "temperature/*")
    assert zla("key", "encode", *args).out == "$zla_m_33TVL2294/temperature/*\n"
    zone = zla("key", "encode", "--at", "46,14", "--digits", "zone", "--encoding", "mgrs")
    assert zone.out == "$zla_m_33T\n"


def test_a_whole_key_expression_is_understood(zla: Zla) -> None:
    for text in ("$zla_m_33TVM25/temperature/*", "@zla/zla_m_33TVM25/temperature/*"):
        feature = json.loads(zla("key", "decode", text, "--json").out)
        assert feature["properties"]["topic"] == "temperature/*"
        assert zla("key", "match", text, "zla_m_33T").code == 0


def test_a_position_outside_the_grid_still_has_its_other_keys(zla: Zla, grid: str) -> None:
    result = zla("key", "encode", "--at", "0,0", "--bloom-domain", grid)
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()] == ["base64_json", "mgrs"]
    assert "no bloom key" in result.err


def test_decode_for_people(zla: Zla) -> None:
    result = zla("key", "decode", POINT)
    assert result.code == 0
    assert "encoding base64_json" in " ".join(result.out.split())
    assert '"coordinates": [14.01002, 46.52275]' in result.out
    cell = zla("key", "decode", "zla_m_33TVM25")
    assert "size_m" in cell.out
    assert "10000" in cell.out


def test_decode_bloom(zla: Zla, grid: str) -> None:
    args = ("--at", "46.52275,14.01002", "--encoding", "bloom", "--bloom-domain", grid)
    key = zla("key", "encode", *args).out.strip()
    blind = zla("key", "decode", key)
    assert blind.code == 0
    assert "element" in blind.out
    assert "--bloom-domain" in blind.err
    for machine in ("wkt", "geojson"):
        assert zla("key", "decode", key, "--format", machine).code == 2
    seen = json.loads(zla("key", "decode", key, "--json", "--bloom-domain", grid).out)
    cell = shapely.from_geojson(json.dumps(seen["geometry"]))
    assert cell.covers(shapely.Point(14.01002, 46.52275))


def test_match_answers_by_exit_code_and_says_why(zla: Zla) -> None:
    yes = zla("key", "match", POINT, "$zla_m_33TVM25")
    assert (yes.code, yes.out) == (0, "yes: the position's cell: 33TVM2406852607 lies in 33TVM25\n")
    no = zla("key", "match", "$zla_m_32T", POINT)
    assert no.code == 1
    assert no.out == "no: the position's cell: the cells part at the grid zone: 33T and 32T\n"
    as_json = zla("key", "match", "zla_m_32T", POINT, "--json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["match"] is False


def test_match_names_bloom_cells(zla: Zla, grid: str) -> None:
    common = ("--encoding", "bloom", "--bloom-domain", grid)
    element = zla("key", "encode", "--at", "46.52275,14.01002", *common).out.strip()
    area = zla("key", "encode", "--circle", "46.5,14,20km", *common).out.strip()
    result = zla("key", "match", element, area, "--bloom-domain", grid)
    assert result.code == 0
    assert "element: cells 5-5" in result.out
    cells = json.loads(zla("key", "match", element, area, "--bloom-domain", grid, "--json").out)
    assert cells["cells"][0] == ["5-5"]


def test_match_with_the_wrong_domain_says_nothing_else(zla: Zla, grid: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.json")
    zla("key", "domain", "--range", "0,0,5,5", "--rows", "5", "--columns", "5", "--out", other)
    common = ("--encoding", "bloom", "--bloom-domain", grid)
    element = zla("key", "encode", "--at", "46.52275,14.01002", *common).out.strip()
    result = zla("key", "match", element, element, "--bloom-domain", other)
    assert (result.code, result.out) == (2, "")
    assert "320 bits" in result.err


def test_a_shared_domain_is_not_overwritten_by_accident(zla: Zla, grid: str) -> None:
    before = Path(grid).read_text()
    again = ("key", "domain", "--range", "45,12,48,16", "--out", grid)
    assert zla(*again).code == 0
    other = ("key", "domain", "--range", "45,12,48,17", "--out", grid)
    refused = zla(*other)
    assert refused.code == 2
    assert "--force" in refused.err
    assert Path(grid).read_text() == before
    assert zla(*other, "--force").code == 0
    assert Path(grid).read_text() != before
    Path(grid).write_bytes(b"\xff\xfe")
    assert "--force" in zla(*other).err
    assert zla(*other[:-1], "/dev/null").code == 0


def test_a_fault_of_ours_is_not_a_no(zla: Zla, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zenoh_la.cli.key.explain_match", lambda *_: 1 / 0)
    result = zla("key", "match", "zla_m_33T", "zla_m_33T")
    assert result.code == 70
    assert "ZeroDivisionError" in result.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("encode",), "give one of --at"),
        (("encode", "--at", "1,2", "--circle", "1,2,3"), "give one of --at"),
        (
            ("encode", "--wkt", "POLYGON((0 0,1 0,1 1,0 0))", "--circle", "1,2,3"),
            "cannot go together",
        ),
        (("encode", "--at", "1"), "LAT,LONG"),
        (("encode", "--at", "1,x"), "LONG must be a number"),
        (("encode", "--at", "91,2"), "lat = 91.0"),
        (("encode", "--circle", "1,2,-3"), "r = -3.0"),
        (("encode", "--circle", "1,2,3mi"), "R must be a number"),
        (("encode", "--range", "5,0,1,1"), "min_lat"),
        (("encode", "--wkt", "POINT(1 2)"), "POLYGON or MULTIPOLYGON"),
        (("encode", "--cell", "99Z"), "mgrs = '99Z'"),
        (("encode", "--circle", "1,2,3", "--digits", "3"), "--digits goes with --at"),
        (("encode", "--at", "1,2", "--digits", "7"), "0 to 5 or zone"),
        (("encode", "--at", "1,2", "--encoding", "geohash"), "no encoding is called 'geohash'"),
        (("encode", "--at", "1,2", "--bloom-domain", "/nonexistent"), "does not exist"),
        (("encode", "--at", "1,2", "--topic", "a//b"), "empty chunk"),
        (("encode", "--at", "1,2", "--digits", ""), "0 to 5 or zone"),
        (("encode", "--at", "1,2", "--digits", "12"), "0 to 5 or zone"),
        (("encode", "--at", "1,2", "--role", "get"), "--role goes with an area"),
        (("encode", "--at", "1,2", "--encoding", ""), "no encoding is called"),
        (("encode", "--at", "1,2", "--topic", ""), "empty chunk"),
        (("encode", "--at", "1,2", "--encoding", "bloom"), "zla key domain"),
        (("decode", ""), "single quotes"),
        (("decode",), "single quotes"),
        (("match", "$zla_m_10S"), "single quotes"),
        (("decode", "zla_m_32TPU52"), "names no place"),
        (("decode", "zla_m_33T/a//b"), "empty chunk"),
        (("decode", "zla_m_33T", "--json", "--format", "wkt"), "goes without --format"),
        (("decode", "$zla_p_abc"), "bad location key"),
        (("match", "$zla_m_10S", "nonsense"), "prefix"),
        (("domain", "--range", "0,0,1,1", "--rows", "0"), "rows = 0"),
        (("domain", "--range", "0,0,1,1", "--out", "/nonexistent/grid.json"), "No such file"),
    ],
)
def test_mistakes_are_named_with_exit_code_2(zla: Zla, args: tuple[str, ...], said: str) -> None:
    result = zla("key", *args)
    assert result.code == 2
    assert said in " ".join(result.err.replace("│", " ").split())
    assert "Traceback" not in result.err


def test_a_domain_file_that_was_changed_is_refused(zla: Zla, grid: str) -> None:
    path = Path(grid)
    path.write_text(path.read_text().replace('"rows": 10', '"rows": 20'))
    result = zla("key", "encode", "--at", "46,14", "--bloom-domain", grid)
    assert result.code == 2
    assert "fingerprint" in result.err


def test_a_domain_on_standard_output(zla: Zla) -> None:
    result = zla("key", "domain", "--range", "0,0,5,5", "--rows", "4", "--columns", "5")
    assert json.loads(result.out)["columns"] == 5


def test_demo_and_version(zla: Zla, grid: str) -> None:
    assert "sensor A" in zla("demo", "keys", "--bloom-domain", grid).out
    demo = zla("demo", "keys")
    assert demo.code == 0
    for word in ("base64_json", "mgrs", "bloom", "sensor A", "yes", "no"):
        assert word in demo.out
    assert zla("--version").out.startswith("zla 0.")
    assert "Usage" in zla("--help").out


def test_the_real_command() -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("zla"), "key", "match", "zla_m_10SGJ0644", "zla_m_10P"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout) == (
        1,
        "no: the cells part at the grid zone: 10S and 10P\n",
    )
    module = subprocess.run(
        [sys.executable, "-m", "zenoh_la", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert module.stdout.startswith("zla ")
