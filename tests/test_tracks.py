from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf, nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import lats, longs, positions
from zenoh_la import Coordinates, InvalidLocationError, ZenohLaError
from zenoh_la.errors import TrackError
from zenoh_la.tracks import Track

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def gpx(body: str) -> str:
    return f'<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">{body}</gpx>'


# The value.


@st.composite
def tracks(draw: st.DrawFn) -> Track:
    steps = draw(st.lists(st.just(0.0) | st.floats(0.001, 1e6), max_size=6))
    times_s = [0.0]
    for step in steps:
        times_s.append(times_s[-1] + step)
    places = draw(st.lists(positions, min_size=len(times_s), max_size=len(times_s)))
    return Track(tuple(times_s), tuple(places))


@given(tracks())
def test_every_point_is_passed_at_its_time(track: Track) -> None:
    last_at = dict(zip(track.times_s, track.positions, strict=True))
    for time_s, position in last_at.items():
        assert track.at(time_s) == position


@given(tracks())
def test_before_the_start_and_after_the_end(track: Track) -> None:
    assert track.at(-1) == track.at(-inf) == track.positions[0]
    assert track.at(inf) == track.at(track.duration_s + 1) == track.positions[-1]


@given(positions, positions, st.floats(0, 1))
def test_between_two_points(a: Coordinates, b: Coordinates, share: float) -> None:
    there = Track((0, 1), (a, b)).at(share)
    assert min(a.lat, b.lat) <= there.lat + 1e-9
    assert there.lat <= max(a.lat, b.lat) + 1e-9
    if 90.0 not in (abs(a.lat), abs(b.lat)):
        way = abs(a.long - b.long)
        way = min(way, 360.0 - way)
        gone = abs(a.long - there.long)
        assert min(gone, 360.0 - gone) == pytest.approx(share * way, abs=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "share", "middle"),
    [
        ((10, 20), (12, 24), 0.25, (10.5, 21)),
        ((0, 170), (0, -170), 0.75, (0, -175)),
        ((0, -170), (0, 170), 0.25, (0, -175)),
        ((0, 179), (0, -179), 0.5, (0, 180)),
        ((80, 30), (90, -100), 0.5, (85, 30)),
        ((-90, 7), (-80, -100), 0.5, (-85, -100)),
    ],
)
def test_the_way_leads_across_the_antimeridian_and_to_the_poles(
    a: tuple[float, float], b: tuple[float, float], share: float, middle: tuple[float, float]
) -> None:
    assert Track((0, 1), (Coordinates(*a), Coordinates(*b))).at(share) == Coordinates(*middle)


HERE = Coordinates(1, 2)


@pytest.mark.parametrize(
    ("times_s", "places", "field"),
    [
        ((), (), "times_s"),
        ((0, 1), (HERE,), "times_s"),
        ((1,), (HERE,), "times_s[0]"),
        ((0, 2, 1), (HERE,) * 3, "times_s[2]"),
        ((0, nan), (HERE,) * 2, "times_s[1]"),
        ((0, "1"), (HERE,) * 2, "times_s[1]"),
        ((0,), ((1, 2),), "positions[0]"),
        (0, (HERE,), "times_s"),
        ((0,), HERE, "positions"),
    ],
)
def test_an_impossible_track(times_s: object, places: object, field: str) -> None:
    with pytest.raises(InvalidLocationError) as caught:
        Track(times_s, places)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_no_position_at_no_time() -> None:
    with pytest.raises(InvalidLocationError, match="seconds"):
        Track((0,), (HERE,)).at(nan)


# CSV.

A, B = Coordinates(48.5, 14.25), Coordinates(48.75, -14)


@pytest.mark.parametrize(
    ("content", "times_s"),
    [
        ("lat,long\n48.5,14.25\n48.75,-14\n", (0, 1)),
        ("lat,lon,t\n48.5,14.25,100\n48.75,-14,102.5\n", (0, 2.5)),
        ("\ufeffLatitude;LNG;Time\r\n48,5;14,25;1700000000,1\r\n48,75;-14;1700000000,3\r\n",
         (0, 0.2)),
        ("id,timestamp,longitude,latitude\n1,7,14.25,48.5\n\n1,7, -14 , 48.75", (0, 0)),
        ("lat,long,datetime\n48.5,14.25,2008-10-23T02:53:04Z\n48.75,-14,2008-10-23T04:53:10+02:00",
         (0, 6)),
        ('lat,long,t\n48.5,14.25,"2008-10-23 02:53:04,5"\n48.75,-14,2008-10-23 02:53:05', (0, 0.5)),
        ('note,lat,long\n"two\nlines, one note",48.5,14.25\n,48.75,-14\n', (0, 1)),
        ("lat,latitude,long,time,t\n48.5,x,14.25,y,0\n48.75,x,-14,y,3\n", (0, 3)),
    ],
)  # fmt: skip
def test_csv(write: Write, content: str, times_s: tuple[float, ...]) -> None:
    assert Track.from_file(write("a.csv", content)) == Track(times_s, (A, B))


def test_the_path_may_be_a_text_and_its_suffix_in_capitals(write: Write) -> None:
    assert Track.from_file(str(write("a.CSV", "lat,long\n1,2\n"))) == Track((0,), (HERE,))


@given(st.lists(st.tuples(lats, longs), min_size=1))
def test_csv_keeps_every_digit(
    tmp_path_factory: pytest.TempPathFactory, places: list[tuple[float, float]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "digits.csv"
    path.write_text("lat,long\n" + "".join(f"{lat!r},{long!r}\n" for lat, long in places))
    assert Track.from_file(path).positions == tuple(Coordinates(*place) for place in places)


def test_one_of_several_tracks(write: Write) -> None:
    path = write(
        "a.csv", "Trip,day,t,lat,lon\n1,1,5,1,1\n1,1,6,2,2\n2,1,0,3,3\n2,1,4,4,4\n2,2,0,5,5\n"
    )
    assert Track.from_file(path, only={"trip": "1"}).duration_s == 1
    assert Track.from_file(path, only={"trip": "2", "day": "1"}).duration_s == 4
    for only, where in (({}, "line 4"), ({"trip": "3"}, "column trip"), ({"x": "1"}, "column x")):
        with pytest.raises(TrackError) as caught:
            Track.from_file(path, only=only)
        assert caught.value.where == where


@pytest.mark.parametrize(
    ("content", "where", "problem"),
    [
        ("", "column lat or latitude", "is missing"),
        ("lat,long\n", "whole file", "no points"),
        ("lat,height\n1,2\n", "column long or lon or lng or longitude", "there are: lat, height"),
        ("lat,long,lat\n1,2,3\n", "column lat", "twice"),
        ("lat,long\n1,2\nx,2\n", "line 3, column lat", "'x' is no number"),
        ("lat,long\n1,\n", "line 2, column long", "'' is no number"),
        ("lat,long\nnan,2\n", "line 2, column lat", "no number"),
        ("lat,long\n1,1e400\n", "line 2, column long", "no number"),
        ("lat,long\n1,2\n91,2\n", "line 3", "lat = 91.0: must be between -90 and 90"),
        ("lat,long\n1,180.5\n", "line 2", "long = 180.5"),
        ("lat,long,t\n1,2\n", "line 2", "has 2 columns, the header has 3"),
        ("lat,long,t\n1,2,5\n1,2,4\n", "line 3", "backwards, by 1 s"),
        ("lat,long,t\n1,2,5\n1,2,\n", "line 3, column t", "'' is neither"),
        ("lat,long,t\n1,2,2020-13-01\n", "line 2, column t", "ISO 8601"),
        ("lat,long,t\n1,2,5\n1,2,2020-01-01\n", "line 3", "do not go together"),
        ("lat,long,t\n1,2,2020-01-01T00:00:00Z\n1,2,2020-01-02\n", "line 3", "do not go together"),
        ('lat,long\n1,"2', "line 2", "unexpected end"),
        (f"lat,long\n1,{'2' * 140_000}\n", "line 2", "field larger"),
        (b"lat,long\n1,2\n\xff,3\n", "byte 13", "UTF-8"),
    ],
)  # fmt: skip
def test_csv_without_a_track(write: Write, content: str, where: str, problem: str) -> None:
    path = write("bad.csv", content)
    with pytest.raises(TrackError) as caught:
        Track.from_file(path)
    error = caught.value
    assert (error.path, error.where) == (path, where)
    assert problem in error.problem
    assert str(error) == f"no track in {str(path)!r}: {where}: {error.problem}"
    assert isinstance(error, ZenohLaError)
    assert isinstance(error, ValueError)


# GPX.

POINTS = ('<{0} lat="48.5" lon="14.25"><time>2020-01-01T00:00:00Z</time></{0}>'
          '<{0} lat="48.75" lon="-14"><time>2020-01-01T01:00:02.5+01:00</time></{0}>')  # fmt: skip
BARE_POINTS = '<{0} lat="48.5" lon="14.25"/><{0} lat="48.75" lon="-14"/>'
OTHER = '<wpt lat="1" lon="1"/>'


@pytest.mark.parametrize(
    ("body", "times_s"),
    [
        (f"{OTHER}<trk><trkseg>{POINTS.format('trkpt')}</trkseg></trk>", (0, 2.5)),
        (f"{OTHER}<rte>{POINTS.format('rtept')}</rte>", (0, 2.5)),
        (POINTS.format("wpt"), (0, 2.5)),
        (f"<trk><trkseg>{BARE_POINTS.format('trkpt')}</trkseg></trk>", (0, 1)),
        (BARE_POINTS.format("wpt"), (0, 1)),
    ],
)
def test_gpx(write: Write, body: str, times_s: tuple[float, ...]) -> None:
    assert Track.from_file(write("a.gpx", gpx(body))) == Track(times_s, (A, B))


def test_gpx_segments_and_tracks_follow_each_other(write: Write) -> None:
    segment = '<trkseg><trkpt lat="{0}" lon="0"/><trkpt lat="{0}" lon="1"/></trkseg>'
    body = f"<trk>{segment.format(1)}{segment.format(2)}</trk><trk>{segment.format(3)}</trk>"
    track = Track.from_file(write("a.gpx", '<?xml version="1.0"?>' + gpx(body)))
    assert [position.lat for position in track.positions] == [1, 1, 2, 2, 3, 3]
    assert track.duration_s == 5


@pytest.mark.parametrize(
    ("content", "where", "problem"),
    [
        ("", "GPX", "no element found"),
        ("<gpx><trk>", "GPX", "no element found"),
        ("lat,long\n1,2\n", "GPX", "syntax error"),
        ("<html></html>", "whole file", "no points"),
        (gpx(""), "whole file", "no points"),
        (gpx('<wpt lat="1"/>'), "GPX", "longitude is mandatory"),
        (gpx('<wpt lat="x" lon="1"/>'), "GPX", "could not convert"),
        (gpx('<wpt lat="1" lon="2"/><wpt lat="nan" lon="1"/>'), "point 2", "finite"),
        (gpx('<wpt lat="1" lon="2"/><wpt lat="1" lon="181"/>'), "point 2", "long = 181.0"),
        (gpx(POINTS.format("wpt") + OTHER), "point 3", "some have none"),
        (gpx(BARE_POINTS.format("wpt") + POINTS.format("wpt")), "point 3", "some have none"),
        (gpx(POINTS.format("wpt") * 2), "point 3", "backwards, by 2.5 s"),
        (gpx("").encode("utf-16"), "byte 0", "UTF-8"),
    ],
)
def test_gpx_without_a_track(write: Write, content: str, where: str, problem: str) -> None:
    with pytest.raises(TrackError) as caught:
        Track.from_file(write("bad.gpx", content))
    assert caught.value.where == where
    assert problem in caught.value.problem


FRAGMENTS = ["<gpx>", "</gpx>", "<wpt ", 'lat="1" ', 'lon="2" ', "/>", ">", "<time>", "x", "2020",
             "</time>", "</wpt>", ' xmlns:ns1="a"', ' xmlns="b"', "&amp;", "&x;", "<!--", "\0",
             "lat,long", "lat;t;lng", "\n", ",", ";", '"', "1", "-", "1e5", "É", " "]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS)).map("".join) | st.binary())
def test_nonsense_gives_a_track_or_a_track_error(
    tmp_path_factory: pytest.TempPathFactory, content: str | bytes
) -> None:
    for name in ("nonsense.gpx", "nonsense.csv"):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with suppress(TrackError):
            assert Track.from_file(path).positions


def test_what_is_no_track_file(write: Write, tmp_path: Path) -> None:
    with pytest.raises(TrackError, match=r"a\.kml.*suffix: '\.kml' is neither"):
        Track.from_file(write("a.kml", ""))
    with pytest.raises(TrackError, match="column trip: only CSV"):
        Track.from_file(write("a.gpx", gpx(OTHER)), only={"trip": "1"})
    with pytest.raises(FileNotFoundError):
        Track.from_file(tmp_path / "none.csv")
