from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import active_count
from time import monotonic, sleep

import pytest
import zenoh
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import areas, areas_about, cells, digits, positions, positions_in_range
from zenoh_la import Coordinates, LocationKey, LocationKeyError, Role, ZenohLaError, encoders
from zenoh_la.encoders import BloomDomain, Location
from zenoh_la.encoders.bloom import Bits, BloomEncoder
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.errors import ArgumentError, StorageError
from zenoh_la.storage.database import schema
from zenoh_la.storage.place_search import placed
from zenoh_la.storage.store import Store, StoredValue
from zenoh_la.values import Circle, GeographicRange, MgrsCell, Polygon

DEADLINE_S = 30.0
BASE64, MGRS = encoders.get("base64_json"), encoders.get("mgrs")
HERE = BASE64.encode_position(Coordinates(48, 14))
THERE = BASE64.encode_position(Coordinates(48, 15))


def value(
    topic: str = "a/b", key: LocationKey = HERE, time: int = 5, clock: str = "1f", **fields: object
) -> StoredValue:
    plain = StoredValue(topic, key, None, b"21.5", "text/plain", None, f"{time}/{clock}")
    return replace(plain, **fields)  # type: ignore[arg-type]


def times(store: Store, selector: str = "**") -> list[str]:
    return sorted(found.timestamp for found in store.find(selector, None))


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(":memory:") as store:
        yield store


# Putting, deleting, finding.


def test_what_is_put_is_found_unchanged(store: Store) -> None:
    kept = [
        value(),
        value(key=THERE, payload=b"", attachment=b"\0\xff", encoding="zenoh/bytes;utf-8"),
        value("é/\0", attachment=b""),
        value(key=LocationKey("$zla_b_e_1.0"), domain="0123456789abcdef"),
        value(key=LocationKey("$zla_b_e_1.0")),
    ]
    assert all(store.put(one) for one in kept)
    assert len(store) == len(kept)
    found = store.find("**", None)
    assert sorted(map(repr, found)) == sorted(map(repr, kept))


def test_zenohs_own_timestamps_are_understood(store: Store) -> None:
    stamp = zenoh.Timestamp.parse_rfc3339("2026-11-18T04:33:47.179537848Z/2f446d58911e4254")
    assert store.put(value(timestamp=str(stamp)))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("9/1f", "10/1f"),
        ("9/ff", "10/1"),
        ("10/2", "10/1f"),
        ("10/2f446d58911e4254defdf42fbb0036e7", "11/1"),
        (f"{2**63 - 1}/1", f"{2**63}/1"),  # in 2038
        (f"{2**63}/1", f"{2**64 - 1}/1"),
    ],
)
def test_the_newer_value_stays(store: Store, older: str, newer: str) -> None:
    assert store.put(value(timestamp=newer))
    assert not store.put(value(timestamp=older))
    assert times(store) == [newer]
    assert store.put(value(THERE.wire, timestamp=older))
    assert store.put(value(THERE.wire, timestamp=newer))
    assert times(store) == [newer, newer]


def test_topic_and_place_and_domain_are_kept_apart(store: Store) -> None:
    bloom = LocationKey("$zla_b_e_1.0")
    for one in (value("a"), value("b"), value(key=THERE), value(key=bloom),
                value(key=bloom, domain="x"), value(key=bloom, domain="y")):  # fmt: skip
        assert store.put(one)
    assert len(store) == 6


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("$zla_m_01CDH", "$zla_m_1CDH"),
        (BASE64.encode_position(Coordinates(5, 180)), BASE64.encode_position(Coordinates(5, -180))),
        (BASE64.encode_position(Coordinates(90, 7)), BASE64.encode_position(Coordinates(90, 8))),
        ("$zla_p_eyJsYXQiOjE2LCJsb25nIjoyMS41fQ", BASE64.encode_position(Coordinates(16, 21.5))),
    ],
)
def test_one_place_under_two_names(store: Store, one: object, same: object) -> None:
    assert store.put(value(key=LocationKey(str(one)), time=1))
    assert store.put(value(key=LocationKey(str(same)), time=2))
    assert [found.location_key.written for found in store.find("**", None)] == [str(same)]
    assert store.delete("a/b", LocationKey(str(one)), "3/1f")
    assert len(store) == 0


def test_a_deletion_outlives_what_comes_late(store: Store) -> None:
    assert store.put(value(time=5))
    assert not store.delete("a/b", HERE, "4/1f")
    assert len(store) == 1
    assert store.delete("a/b", HERE, "6/1f")
    assert len(store) == 0
    assert not store.put(value(time=5))
    assert not store.put(value(time=6))
    assert not store.delete("a/b", HERE, "5/1f")
    assert store.put(value(key=THERE, time=5))
    assert store.put(value(time=7))
    assert len(store) == 2


def test_what_was_never_there_can_be_deleted_too(store: Store) -> None:
    assert store.delete("a/b", HERE, "6/1f")
    assert not store.put(value(time=5))


@given(st.permutations([(0, 3), (1, 3), (0, 5), (1, 4), (0, 6), (1, 6), (0, 2)]), st.booleans())
def test_the_order_of_arrival_does_not_matter(
    changes: list[tuple[int, int]], with_one_more: bool
) -> None:
    with Store(":memory:") as store:
        for is_deletion, time in [*changes, *([(0, 7)] if with_one_more else [])]:
            if is_deletion:
                store.delete("a/b", HERE, f"{time}/1f")
            else:
                store.put(value(time=time))
        assert times(store) == (["7/1f"] if with_one_more else [])


def test_a_deletion_without_a_domain_means_all(store: Store) -> None:
    key = LocationKey("$zla_b_e_1.0")
    for domain in ("x", "y", None):
        store.put(value(key=key, domain=domain, time=5))
    assert store.delete("a/b", key, "6/1f", domain="x")
    assert len(store) == 2
    assert store.delete("a/b", key, "6/1f")
    assert len(store) == 0
    assert not store.put(value(key=key, domain="z", time=5))
    assert store.put(value(key=key, domain="z", time=7))


def test_old_deletions_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        store.delete("a/b", HERE, "6/1f")
    with Store(path) as store:
        assert not store.put(value(time=5))
    with Store(path, tombstone_s=0) as store:
        assert store.put(value(time=5))


TOPICS = ["a", "a/b", "a/b/c", "a/bc", "a0", "a/é", "@a/b", "a/@b", "b/b", "x-y/z", "ab/c"]


@pytest.mark.parametrize(
    "selector",
    ["**", "*", "a", "a/b", "a/*", "a/**", "**/b", "*/b", "a/$*c", "a$*/*", "a/b/**", "x-$*/z",
     "@a/*", "a/@b", "a/@b/**", "**/@b", "nothing", "a/b/c/d/**", "é/**"],
)  # fmt: skip
def test_selectors(store: Store, selector: str) -> None:
    for topic in TOPICS:
        store.put(value(topic))
    wanted = {t for t in TOPICS if zenoh.KeyExpr(selector).intersects(zenoh.KeyExpr(t))}
    assert {found.topic for found in store.find(selector, None)} == wanted
    area = [Region(Circle(Coordinates(48, 14), 1), Role.GET)]
    assert {found.topic for found in store.find(selector, area)} == wanted


chunks = st.text("ab", min_size=1, max_size=2)
topics = st.lists(chunks, min_size=1, max_size=3).map("/".join)
selectors = st.lists(chunks | st.sampled_from(["*", "**", "$*a", "a$*"]), min_size=1, max_size=3)


@given(st.sets(topics), selectors.map("/".join))
def test_any_selector(names: set[str], selector: str) -> None:
    selector = str(zenoh.KeyExpr.autocanonize(selector))
    with Store(":memory:") as store:
        for name in names:
            store.put(value(name))
        wanted = {t for t in names if zenoh.KeyExpr(selector).intersects(zenoh.KeyExpr(t))}
        assert {found.topic for found in store.find(selector, None)} == wanted


# Areas, against brute force.


def lies_in(here: Location, area: Location) -> bool:
    """The rules, read off the values without any help of the store or the match."""
    if isinstance(area, Bits):
        return (
            isinstance(here, Bits)
            and (here.value, here.length) == (area.value, area.length)
            and (here.domain == area.domain or None in (here.domain, area.domain))
        )
    assert isinstance(area, Region | Cell)
    if isinstance(here, Point):
        return area.place.contains(here.place)
    return isinstance(here, Cell) and here.place.meets(area.place)


def check(store: Store, places: list[tuple[LocationKey, str | None]], asked: list[Location]) -> int:
    """Stores a value at each place; what is found must be what brute force finds."""
    wanted = set()
    for key, domain in places:
        assert store.put(value(key=key, domain=domain))
        here = encoders.decode(key)
        if isinstance(here, Bits):
            here = replace(here, domain=domain)
        if any(lies_in(here, area) for area in asked):
            wanted.add((key.written, domain))
    mine = {key.written for key, _ in places}
    found = [one for one in store.find("a/b", asked) if one.location_key.written in mine]
    assert {(one.location_key.written, one.domain) for one in found} == wanted
    assert len(found) == len(wanted)
    return len(wanted)


@st.composite
def places_and_areas(draw: st.DrawFn) -> tuple[list[LocationKey], list[Location]]:
    """Publishers of both exact encodings, and areas that often hold some of them."""
    at = draw(st.lists(positions, max_size=5))
    near = draw(st.lists(st.sampled_from(at).flatmap(areas_about), max_size=2)) if at else []
    near += draw(st.lists(areas, max_size=2))
    asked: list[Location] = [Region(area, Role.GET) for area in near]
    in_cells = draw(st.lists(cells, max_size=1))
    if at:
        in_cells.append(draw(st.builds(MgrsCell.at, st.sampled_from(at), digits)))
    asked += [Cell(cell) for cell in in_cells]
    places = [encoder.encode_position(position) for encoder in (BASE64, MGRS) for position in at]
    places += [LocationKey.of_mgrs(cell.text) for cell in draw(st.lists(cells, max_size=2))]
    # A store keeps one value at a place, however many names it has.
    named = {placed(encoders.decode(key), key)[0]: key for key in places}
    return list(named.values()), asked


@given(places_and_areas())
def test_exact_areas(drawn: tuple[list[LocationKey], list[Location]]) -> None:
    places, asked = drawn
    with Store(":memory:") as store:
        check(store, [(key, None) for key in places], asked)


@settings(max_examples=50)
@given(places_and_areas())
def test_exact_areas_without_an_rtree(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[LocationKey], list[Location]]
) -> None:
    places, asked = drawn
    path = tmp_path_factory.mktemp("plain") / "a.db"
    with closing(sqlite3.connect(path)) as file:
        for statement in schema(rtree=False):
            file.execute(statement)
        file.commit()
    with Store(path) as store:
        check(store, [(key, None) for key in places], asked)


GRID = GeographicRange(40, 170, 60, -170)
DOMAIN = BloomDomain(GRID, 4, 4, 0.25)
OTHER_DOMAIN = BloomDomain(GeographicRange(0, 0, 20, 20), 4, 4, 0.25)


@given(
    st.sets(positions_in_range(GRID, 4, 4).map(DOMAIN.cell_at), max_size=5),
    st.sets(positions_in_range(GRID, 4, 4).map(DOMAIN.cell_at), max_size=5),
    st.sampled_from([None, DOMAIN.fingerprint]),
    st.sets(st.sampled_from([None, DOMAIN.fingerprint, OTHER_DOMAIN.fingerprint]), min_size=1),
)
def test_bloom_areas(
    at: set[tuple[int, int]],
    asked_cells: set[tuple[int, int]],
    asked_domain: str | None,
    domains: set[str | None],
) -> None:
    encoder = BloomEncoder(DOMAIN)
    bits = {cell: encoder._key(DOMAIN.element(cell), is_filter=False) for cell in at | asked_cells}
    asked: list[Location] = [
        replace(encoder.decode(bits[cell]), domain=asked_domain) for cell in asked_cells
    ]
    places = {(bits[cell], domain) for cell in at for domain in domains}
    with Store(":memory:") as store:
        check(store, list(places), asked)


def test_a_get_as_its_encoder_writes_it() -> None:
    area = GeographicRange(44, 175, 47, -178)
    inside, outside = Coordinates(45, 180), Coordinates(55, 172)
    for encoder in (BASE64, MGRS, BloomEncoder(DOMAIN)):
        with Store(":memory:") as store:
            asked = [encoders.decode(key) for key in encoder.encode_area(area, Role.GET)]
            places = [(encoder.encode_position(p), None) for p in (inside, outside)]
            assert check(store, list(places), asked) == 1


def test_many_elements_and_few_values() -> None:
    domain = BloomDomain(GRID, 30, 30, 0.01)
    encoder = BloomEncoder(domain)
    asked = [encoders.decode(key) for key in encoder.encode_area(GRID, Role.GET)]
    assert len(asked) > 500
    with Store(":memory:") as store:
        key = encoder.encode_position(Coordinates(50, 175))
        assert check(store, [(key, domain.fingerprint)], asked) == 1


def test_a_filter_is_an_area_too() -> None:
    encoder = BloomEncoder(DOMAIN)
    (key,) = encoder.encode_area(GRID, Role.QUERYABLE)
    with Store(":memory:") as store:
        store.put(value(key=encoder.encode_position(Coordinates(50, 175))))
        store.put(value(key=HERE))
        assert len(store.find("**", [encoders.decode(key)])) == 1


def test_cells_beyond_their_zone_are_compared_by_name(store: Store) -> None:
    # A well-formed key that names no place; whoever asks for its square gets it all the same.
    square = next(
        cell
        for column in "ABCDEFGH"
        for row in "ABCDEFGHJKLMNPQRSTUV"
        if not (cell := MgrsCell.parse(f"31U{column}{row}")).exists
    )
    key = LocationKey.of_mgrs(f"{square.text}1234512345")
    world = Region(GeographicRange(-90, -180, 90, 180), Role.GET)
    assert check(store, [(key, None)], [Cell(square)]) == 1
    assert check(store, [(LocationKey.of_mgrs(square.text), None)], [Cell(square.part(1, 1))]) == 1
    assert store.find("**", [world]) == []


@pytest.mark.parametrize(
    ("lat", "long", "area"),
    [
        (5, 180, GeographicRange(0, -180, 10, -170)),
        (5, -180, GeographicRange(0, 170, 10, 180)),
        (5, -180, Polygon.from_points([(0, 170), (0, 180), (10, 180)])),
        (5, 180, GeographicRange(0, 170, 10, -170)),
        (5, -180, GeographicRange(0, 180, 10, -170)),
        (90, 5, GeographicRange(80, 100, 90, 110)),
        (-90, 5, GeographicRange(-90, 100, -80, 110)),
        (89.9999, 5, Circle(Coordinates(89.9999, -175), 30)),
    ],
)
def test_places_with_several_names(
    store: Store, lat: float, long: float, area: GeographicRange | Polygon | Circle
) -> None:
    here = Coordinates(lat, long)
    for encoder in (BASE64, MGRS):
        assert check(store, [(encoder.encode_position(here), None)], [Region(area, Role.GET)])


class Floors:
    """Somebody's own encoding: storeys of one building, an area being all up to one."""

    name = "floors"

    def encode_position(self, position: Coordinates) -> LocationKey:
        raise NotImplementedError

    def encode_area(self, area: object, role: Role) -> tuple[LocationKey, ...]:
        raise NotImplementedError

    def decode(self, key: LocationKey) -> Location:
        return Floor(int(key.data), key.role)


class Floor:
    place = None

    def __init__(self, number: int, role: Role | None) -> None:
        self.number = number
        self.role = role

    def matches(self, other: Location) -> bool | None:
        return isinstance(other, Floor) and self.number <= other.number


def test_an_encoding_of_ones_own(store: Store) -> None:
    encoders.register("floors", Floors)
    try:
        for number in range(3):
            store.put(value(key=LocationKey(f"$zla_x_floors_p_{number}")))
        store.put(value(key=HERE))
        area = encoders.decode("$zla_x_floors_g_1")
        assert {one.location_key.data for one in store.find("**", [area])} == {"0", "1"}
    finally:
        encoders.unregister("floors")
    assert store.find("**", [Region(GeographicRange(0, 0, 1, 1), Role.GET)]) == []
    assert len(store.find("**", None)) == 4
    with pytest.raises(LocationKeyError, match="floors"):
        store.put(value(key=LocationKey("$zla_x_floors_p_9")))


def test_no_area_holds_nothing(store: Store) -> None:
    store.put(value())
    assert store.find("**", []) == []


# Bad input.


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"topic": "a/*"}, "wildcards"),
        ({"topic": "a//b"}, "empty chunk"),
        ({"topic": ""}, "empty chunk"),
        ({"key": "$zla_m_33UVP"}, "LocationKey"),
        ({"key": LocationKey("$zla_s_1_xx")}, "not a publisher's"),
        ({"key": LocationKey("$zla_b_f_1")}, "not a publisher's"),
        ({"domain": "abc"}, "domain = 'abc'"),
        ({"domain": "", "key": LocationKey("$zla_b_e_1")}, "domain = ''"),
        ({"payload": "text"}, "payload = 'text'"),
        ({"encoding": None}, "encoding = None"),
        ({"attachment": "text"}, "attachment"),
        ({"timestamp": "2026-11-18T04:33:47Z/1f"}, "timestamp"),
        ({"timestamp": "5"}, "timestamp"),
        ({"timestamp": f"{2**64}/1f"}, "timestamp"),
        ({"timestamp": 5}, "timestamp"),
    ],
)
def test_a_value_that_cannot_be(fields: dict[str, object], named: str) -> None:
    with pytest.raises((LocationKeyError, ArgumentError), match=named):
        value(**fields)  # type: ignore[arg-type]


def test_bad_keys_and_selectors_change_nothing(store: Store) -> None:
    unreadable = LocationKey("$zla_p_eyJ9")
    for call in (
        lambda: store.put(value(key=unreadable)),
        lambda: store.delete("a/b", unreadable, "5/1f"),
        lambda: store.delete("a/*", HERE, "5/1f"),
        lambda: store.find("a//b", None),
        lambda: store.find("a?x=1", None),
        lambda: store.find(f"{HERE}/a", None),
    ):
        with pytest.raises(LocationKeyError):
            call()
    with pytest.raises(ArgumentError, match="timestamp = 'now'"):
        store.delete("a/b", HERE, "now")
    assert len(store) == 0


# Files.


def test_a_restart_keeps_all(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    for round_ in range(1, 4):
        with Store(path) as store:
            assert len(store) == round_ - 1
            store.put(value(f"t/{round_}", time=round_))
    with Store(str(path)) as store:
        assert times(store) == ["1/1f", "2/1f", "3/1f"]
        assert len(store.find("**", [Region(Circle(Coordinates(48, 14), 1), Role.GET)])) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


CHILD = """
import sys
from zenoh_la import LocationKey
from zenoh_la.storage.store import Store, StoredValue

store = Store(sys.argv[1])
key = LocationKey("$zla_m_33UVP")
for i in range(100):
    store.put(StoredValue(f"t/{i}", key, None, b"payload-%d." % i, "zenoh/bytes", None, "5/1f"))
if sys.argv[2] == "flush":
    store.flush()
print("put", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """A process of its own that puts a hundred values into ``a.db``, says so and waits."""
    started = []

    def start(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", CHILD, str(tmp_path / "a.db"), how]
        pipe = subprocess.PIPE
        started.append(process := subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        assert process.stdout is not None
        assert process.stdout.readline() == "put\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=DEADLINE_S)


def kill_9(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    assert process.wait(DEADLINE_S) == -signal.SIGKILL


def test_kill_9_after_a_flush(
    tmp_path: Path, child: Callable[[str], subprocess.Popen[str]]
) -> None:
    kill_9(child("flush"))
    with Store(tmp_path / "a.db") as store:
        assert len(store) == len(store.find("t/*", [encoders.decode("$zla_m_33UVP")])) == 100


def test_kill_9_after_a_while(
    tmp_path: Path, child: Callable[[str], subprocess.Popen[str]]
) -> None:
    process = child("wait")
    end_s = monotonic() + DEADLINE_S
    while b"payload-99." not in (tmp_path / "a.db-wal").read_bytes():
        assert monotonic() < end_s, "nobody commits"
        sleep(0.005)
    kill_9(process)
    with Store(tmp_path / "a.db") as store:
        assert len(store) == 100


def test_one_process_at_a_time(
    tmp_path: Path, child: Callable[[str], subprocess.Popen[str]]
) -> None:
    process = child("flush")
    with pytest.raises(StorageError, match=r"a\.db'?: is in use by another process"):
        Store(tmp_path / "a.db")
    kill_9(process)
    Store(tmp_path / "a.db").close()


FULL_DISK = """
import resource, sys, time
from zenoh_la import LocationKey
from zenoh_la.storage.place_search import placed
from zenoh_la.errors import StorageError
from zenoh_la.storage.store import Store, StoredValue

store = Store(sys.argv[1])
key = LocationKey("$zla_m_33UVP")
store.put(StoredValue("small", key, None, b"x", "zenoh/bytes", None, "5/1f"))
store.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
store.put(StoredValue("large", key, None, b"x" * 500_000, "zenoh/bytes", None, "5/1f"))
end_s = time.monotonic() + 30
try:
    while time.monotonic() < end_s:
        len(store)
except StorageError as error:
    print(error)
print(len(store))
store.close()
"""


def test_a_full_disk_is_told_to_whoever_comes_next(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)],
        capture_output=True, text=True, check=True, timeout=DEADLINE_S * 2,
    )  # fmt: skip
    told, count = run.stdout.splitlines()
    assert str(path) in told
    assert "may be lost" in told
    assert count == "1"
    with Store(path) as store:
        assert len(store) == 1


def ruin(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def filled(path: Path) -> Path:
    with Store(path) as store:
        for i in range(500):
            key = BASE64.encode_position(Coordinates(i / 10, 14))
            store.put(value(f"t/{i}", key, payload=b"x" * 100))
    return path


def use(path: Path) -> None:
    everywhere: list[Location] = [Region(GeographicRange(-90, -180, 90, 180), Role.GET)]
    with Store(path) as store:
        store.find("**", None)
        store.find("**", everywhere)


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"no database at all, " * 100)
    with pytest.raises(StorageError, match="not a database") as caught:
        Store(path)
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, ZenohLaError)
    assert path.read_bytes() == b"no database at all, " * 100


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    use(tmp_path / "a.db")


@pytest.mark.parametrize("page", [0, 1, 3, 4, 5, 8, 20])
def test_a_damaged_page(tmp_path: Path, page: int) -> None:
    path = filled(tmp_path / "a.db")
    ruin(path, page * 4096 + (100 if page == 0 else 0), b"\xa5" * 3996)
    with pytest.raises(StorageError) as caught:
        use(path)
    assert caught.value.path == str(path)


def test_a_file_cut_short(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.db")
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StorageError, match="malformed"):
        use(path)


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute(statement)
        file.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE value SET location_key = 'nonsense'",
        "UPDATE value SET timestamp = 'now'",
        "UPDATE value SET payload = 'text'",
        "UPDATE value SET encoding = CAST(x'ff' AS TEXT)",
    ],
)
def test_a_damaged_value(tmp_path: Path, statement: str) -> None:
    path = filled(tmp_path / "a.db")
    change(path, statement)
    with pytest.raises(StorageError) as caught:
        use(path)
    assert caught.value.path == str(path)


def test_a_database_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    change(path, "CREATE TABLE recipes (name)")
    with pytest.raises(StorageError, match="another program"):
        Store(path)
    change(path, "INSERT INTO recipes VALUES ('soup')")


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.db")
    change(path, "PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="has schema 99, this program knows 1"):
        Store(path)


def test_a_path_that_cannot_be(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "where.db"):
        with pytest.raises(StorageError, match="unable to open") as caught:
            Store(path)
        assert caught.value.path == str(path)


def test_after_close(tmp_path: Path) -> None:
    threads = active_count()
    store = Store(tmp_path / "a.db")
    assert active_count() == threads + 1
    store.close()
    store.close()
    assert active_count() == threads
    for call in (
        lambda: store.put(value()),
        lambda: store.delete("a", HERE, "5/1f"),
        lambda: store.find("a", None),
        lambda: len(store),
        store.flush,
    ):
        with pytest.raises(StorageError, match="is closed"):
            call()


# Several threads.


def work(store: Store, worker: int, rounds: int) -> None:
    here = [encoders.decode(MGRS.encode_position(Coordinates(48, 14)))]
    for time in range(1, rounds + 1):
        mine = value(f"own/{worker}", time=time)
        assert store.put(mine)
        assert store.find(f"own/{worker}", None) == [mine]
        for key in (HERE, THERE):  # everybody at the same places
            store.put(value("shared", key, time, f"{worker + 1:x}"))
        assert [found.location_key for found in store.find("shared", here)] == [HERE]
        assert store.delete(f"deleted/{worker}", HERE, f"{time}/1")


def test_threads_put_and_find_at_once(tmp_path: Path) -> None:
    rounds, workers = 100, 4
    with Store(tmp_path / "a.db") as store, ThreadPoolExecutor(workers) as pool:
        working = [pool.submit(work, store, worker, rounds) for worker in range(workers)]
        for future in working:
            future.result(DEADLINE_S)
    with Store(tmp_path / "a.db") as store:
        assert times(store, "shared") == [f"{rounds}/{workers:x}"] * 2
        assert times(store, "own/*") == [f"{rounds}/1f"] * workers
        assert len(store) == workers + 2
