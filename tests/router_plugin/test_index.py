from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import zenoh
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.router_plugin.located import (
    BLOOM,
    COARSE,
    TOPICS,
    WORLD,
    Hemisphere,
    bits,
    locations,
    near,
)
from tests.strategies import areas, areas_about, cells, positions
from zenoh_la import (
    Circle,
    Coordinates,
    GeographicRange,
    MgrsCell,
    Polygon,
    Role,
)
from zenoh_la.encoders import Location
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.router_plugin.index import InterestIndex
from zenoh_la.router_plugin.match import locations_match


class Oracle:
    """The same index, by asking everyone."""

    def __init__(self) -> None:
        self.interests: dict[int, tuple[str, tuple[Location, ...]]] = {}

    def with_topic(self, topic: str) -> list[int]:
        key = zenoh.KeyExpr(topic)
        held = self.interests.items()
        return [ident for ident, (t, _) in held if key.intersects(zenoh.KeyExpr(t))]

    def find(self, topic: str, location: Location) -> list[int]:
        return [
            ident
            for ident in self.with_topic(topic)
            if any(locations_match(location, other) for other in self.interests[ident][1])
        ]


def assert_agree(
    index: InterestIndex[int], oracle: Oracle, topic: str, location: Location
) -> list[int]:
    found = index.find(topic, location)
    assert sorted(found) == sorted(oracle.find(topic, location)), (topic, location)
    return found


class IndexMachine(RuleBasedStateMachine):
    """Interests come, move and go; the oracle always agrees."""

    def __init__(self) -> None:
        super().__init__()
        self.index: InterestIndex[int] = InterestIndex()
        self.oracle = Oracle()

    @rule(
        first=st.integers(0, 12),
        topic=st.sampled_from(TOPICS),
        some=st.lists(locations(near), min_size=1, max_size=8),
    )
    def set_some(self, first: int, topic: str, some: list[list[Location]]) -> None:
        for ident, held in enumerate(some, first):
            self.index.set(ident, topic, held)
            self.oracle.interests[ident] = topic, tuple(held)

    @rule(ident=st.integers(0, 20))
    def remove(self, ident: int) -> None:
        assert self.index.remove(ident) is (self.oracle.interests.pop(ident, None) is not None)

    @rule(topic=st.sampled_from(TOPICS), asked=locations(near))
    def find(self, topic: str, asked: list[Location]) -> None:
        for location in asked[:3]:
            assert_agree(self.index, self.oracle, topic, location)

    @rule(topic=st.sampled_from(TOPICS), place=near)
    def find_a_publisher(self, topic: str, place: Coordinates) -> None:
        assert_agree(self.index, self.oracle, topic, Point(place))
        assert_agree(self.index, self.oracle, topic, Cell(MgrsCell.at(place)))

    @rule(topic=st.sampled_from(TOPICS))
    def topics(self, topic: str) -> None:
        assert sorted(self.index.with_topic(topic)) == sorted(self.oracle.with_topic(topic))
        assert self.index.count(topic) == len(self.oracle.with_topic(topic))

    @invariant()
    def same_size(self) -> None:
        assert len(self.index) == len(self.oracle.interests)

    def teardown(self) -> None:
        for ident in list(self.oracle.interests):
            assert ident in self.index
            assert self.index.remove(ident)
        assert weight(self.index) == 0


TestMachine = IndexMachine.TestCase
TestMachine.settings = settings(max_examples=settings().max_examples // 3, stateful_step_count=20)


def weight(thing: Any) -> int:
    """How many things the index holds in all its tables, remembered topics included."""
    if isinstance(thing, dict):
        return sum(1 + weight(value) for value in thing.values())
    if isinstance(thing, list | set | tuple):
        return sum(1 + weight(value) for value in thing)
    if not type(thing).__module__.startswith("zenoh_la.router_plugin.index"):
        return 0
    names = getattr(type(thing), "__slots__", None) or vars(thing)
    return sum(weight(getattr(thing, name)) for name in names)


Maker = Callable[[random.Random, float, float], Location]


def _area(rng: random.Random, lat: float, long: float) -> Circle | GeographicRange | Polygon:
    """Some area about a place, up to 200 km wide."""
    size = 10 ** rng.uniform(-4, 0)

    def east(degrees: float) -> float:
        return (long + degrees + 180.0) % 360.0 - 180.0

    kind = rng.randrange(4)
    if kind == 0:
        return Circle(Coordinates(lat, east(rng.uniform(-size, size))), size * 1e5)
    south, north = max(lat - size, -90.0), min(lat + size, 90.0)
    if kind == 1:
        return GeographicRange(south, east(-size), north, east(size))
    if kind == 2 and east(-size) > east(size):  # as GeoJSON has it: a part on either side
        halves = (east(-size), 180.0), (-180.0, east(size))
        return Polygon(
            tuple((((south, w), (south, e), (north, e), (north, w)),) for w, e in halves)
        )
    west = min(east(-size), 179.9)
    return Polygon.from_points([(south, west), (south, min(west + size, 180.0)), (north, west)])


def _region(rng: random.Random, lat: float, long: float, roles: list[Role]) -> Location:
    return Region(_area(rng, lat, long), rng.choice(roles))


def _point(rng: random.Random, lat: float, long: float) -> Location:
    return Point(Coordinates(lat, long))


def _metre(rng: random.Random, lat: float, long: float) -> Location:
    return Cell(MgrsCell.at(Coordinates(lat, long)))


def _cell(rng: random.Random, lat: float, long: float) -> Location:
    digits = rng.choice([0, 1, 1, 2, 2, 3, 4, "zone"])
    return Cell(MgrsCell.at(Coordinates(lat, long), digits))  # type: ignore[arg-type]


def _filter(rng: random.Random, lat: float, long: float) -> Location:
    circle = Circle(Coordinates(lat, long), 10 ** rng.uniform(2, 7))
    return bits(rng.choice([BLOOM, COARSE]), circle, Role.SUBSCRIBER, rng.random() < 0.7)[0]


def _element(rng: random.Random, lat: float, long: float) -> Location:
    encoder = rng.choice([BLOOM, COARSE])
    key = encoder.encode_position(Coordinates(lat, long))
    return (encoder.locate if rng.random() < 0.7 else encoder.decode)(key)


_subscriber = partial(_region, roles=[Role.SUBSCRIBER, Role.PULL_SUBSCRIBER])
_queryable = partial(_region, roles=[Role.QUERYABLE])
_get = partial(_region, roles=[Role.GET])
PAIRS: dict[str, tuple[list[Maker], list[Maker]]] = {
    "positions in areas": ([_subscriber], [_point]),
    "positions in cells": ([_cell], [_point]),
    "cells of a metre in areas": ([_subscriber], [_metre]),
    "cells with cells": ([_cell], [_metre, _cell]),
    "elements with filters": ([_filter], [_element]),
    "gets with queryables": ([_queryable], [_get]),
    "gets with queryables as cells": ([_cell, _queryable], [_get]),
    "cells as gets": ([_cell, _queryable], [_cell]),
    "everything": (
        [_subscriber, _queryable, _cell, _filter, lambda r, lat, long: Hemisphere(lat)],
        [_point, _metre, _get, _cell, _element, lambda r, lat, long: Hemisphere(lat)],
    ),
}
PLACES = {
    "Austria": Coordinates(47.5, 14.0),
    "the antimeridian": Coordinates(-17.0, 180.0),
    "the North Pole": Coordinates(89.9, 20.0),
    "the South Pole": Coordinates(-90.0, 0.0),
    "zones 31V and 32V": Coordinates(60.0, 3.0),
    "beside UPS": Coordinates(84.0, 179.9),
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("pair", PAIRS)
def test_a_crowd_agrees_with_asking_everyone(pair: str, where: str) -> None:
    rng = random.Random(f"{pair} {where}")
    interested, asking = PAIRS[pair]
    index: InterestIndex[int] = InterestIndex()
    oracle = Oracle()
    seen: list[tuple[float, float]] = []

    def place() -> tuple[float, float]:
        if seen and rng.random() < 0.3:
            return rng.choice(seen)
        spread, centre = 10 ** rng.uniform(-4, 0.3), PLACES[where]
        lat = max(-90.0, min(90.0, centre.lat + rng.uniform(-spread, spread)))
        long = (centre.long + rng.uniform(-spread, spread) + 180.0) % 360.0 - 180.0
        seen.append((lat, long))
        return lat, rng.choice([long, long, 180.0 if abs(long) > 179.0 else long])

    met = 0
    for _ in range(3):  # adds, then moves and removes, and asks in between
        for _ in range(40):
            ident = rng.randrange(60)
            if rng.random() < 0.15:
                assert index.remove(ident) is (oracle.interests.pop(ident, None) is not None)
                continue
            held = [rng.choice(interested)(rng, *place()) for _ in range(rng.choice([1, 1, 3]))]
            index.set(ident, "a/b", held)
            oracle.interests[ident] = "a/b", tuple(held)
        for _ in range(20):
            met += len(assert_agree(index, oracle, "a/*", rng.choice(asking)(rng, *place())))
    assert met > 0


@given(positions, st.integers(0, 6), st.data())
def test_an_area_about_a_place_is_always_found(
    position: Coordinates, shift: int, data: st.DataObject
) -> None:
    """However large or small: every level of the raster, its edges, poles, the antimeridian."""
    index: InterestIndex[int] = InterestIndex()
    held = [data.draw(areas_about(position)) for _ in range(8)]
    for ident, area in enumerate(held):
        index.set(ident, "a", [Region(area, Role.SUBSCRIBER)])
    exact = [ident for ident, area in enumerate(held) if area.contains(position)]
    assert sorted(index.find("a", Point(position))) == exact
    oracle = Oracle()
    oracle.interests = {i: ("a", (Region(a, Role.SUBSCRIBER),)) for i, a in enumerate(held)}
    assert_agree(index, oracle, "a", Cell(MgrsCell.at(position)))
    assert_agree(index, oracle, "a", Cell(MgrsCell.at(position, shift if shift < 6 else "zone")))


@given(st.lists(areas | near.flatmap(areas_about), min_size=9, max_size=9))
def test_queries_of_any_size(held: list[GeographicRange | Circle | Polygon]) -> None:
    index: InterestIndex[int] = InterestIndex()
    oracle = Oracle()
    for ident, area in enumerate(held[:-1]):
        index.set(ident, "a", [Region(area, Role.QUERYABLE)])
        oracle.interests[ident] = "a", (Region(area, Role.QUERYABLE),)
    assert_agree(index, oracle, "a", Region(held[-1], Role.GET))


@given(st.lists(cells, min_size=8, max_size=8), areas)
def test_any_area_with_any_cells(
    held: list[MgrsCell], area: GeographicRange | Circle | Polygon
) -> None:
    index: InterestIndex[int] = InterestIndex()
    oracle = Oracle()
    for ident, cell in enumerate(held):
        index.set(ident, "a", [Cell(cell)])
        oracle.interests[ident] = "a", (Cell(cell),)
    for asked in (area, held[0].bounds, Circle(held[0].centre, 2000.0)):
        assert_agree(index, oracle, "a", Region(asked, Role.GET))


def agreeing(held: list[Location], asked: list[Location]) -> list[int]:
    """How many are found, of interests with one location each, for each that is asked."""
    index: InterestIndex[int] = InterestIndex()
    oracle = Oracle()
    for ident, location in enumerate(held):
        index.set(ident, "a", [location])
        oracle.interests[ident] = "a", (location,)
    return [len(assert_agree(index, oracle, "a", location)) for location in asked]


def test_a_cell_is_found_once_by_itself_and_from_above() -> None:
    paths = ["33T", "33TVM", "33TVM25", "33TVM2452", "33TVM240526", "33TVM99", "32T", "32TPU"]
    held: list[Location] = [Cell(MgrsCell.parse(text)) for text in paths]
    assert agreeing(held, held) == [6, 6, 5, 5, 5, 3, 2, 2]


def test_equal_lengths_of_different_domains_do_not_match() -> None:
    domains = ["one", "other", None]
    held: list[Location] = [Bits(v, 32, True, d) for v in (5, 7, 13) for d in domains]
    asked: list[Location] = [Bits(v, 32, False, d) for v in (5, 2, 8, 16) for d in domains]
    assert agreeing(held, asked) == [6, 6, 9, 2, 2, 3, 2, 2, 3, 0, 0, 0]
    assert agreeing(held, [Bits(5, 64, False, "one"), Bits(5, 32, True, "one")]) == [0, 0]


def test_a_metre_that_names_no_place_is_in_no_area() -> None:
    """Its middle is a place, but of another zone."""
    held: list[Location] = [Region(WORLD, Role.SUBSCRIBER)] * 4
    held += [Region(Circle(Coordinates(48, 12), 1e6), Role.SUBSCRIBER)] * 4
    asked: list[Location] = [
        Cell(MgrsCell.parse(text)) for text in ("32TPU5000020000", "33TVM2406852607", "32TPU52")
    ]
    assert agreeing(held, asked) == [0, 8, 0]


def crowd(index: InterestIndex[int], first: int, count: int, topic: str = "a/b") -> None:
    rng = random.Random(first)
    makers = PAIRS["everything"][0]
    for ident in range(first, first + count):
        lat, long = rng.uniform(-90, 90), rng.uniform(-180, 180)
        index.set(ident, topic, [make(rng, lat, long) for make in rng.sample(makers, 2)])


def test_what_is_removed_leaves_nothing_behind() -> None:
    index: InterestIndex[int] = InterestIndex()
    crowd(index, 0, 40)
    index.find("a/b", Point(Coordinates(0, 0)))
    before = weight(index)
    for topic in ("a/b", "a/**", "x"):
        crowd(index, 1000, 200, topic)  # added, then moved from topic to topic
        index.find(topic, Point(Coordinates(0, 0)))
    assert weight(index) > before
    for ident in range(1000, 1200):
        assert index.remove(ident)
    index.find("a/b", Point(Coordinates(0, 0)))
    assert weight(index) <= before
    for ident in range(40):
        assert index.remove(ident)
    assert weight(index) == 0
    assert len(index) == 0
    assert not index.remove(0)
    assert 0 not in index


def test_moving_for_ever_takes_no_room() -> None:
    index: InterestIndex[int] = InterestIndex()
    crowd(index, 0, 40)
    before = weight(index)
    rng = random.Random(5)
    for _ in range(300):
        index.set(50, "a/b", [_subscriber(rng, rng.uniform(-80, 80), rng.uniform(-179, 179))])
        index.set(51, "a/b", [_cell(rng, rng.uniform(-80, 80), rng.uniform(-179, 179))])
        index.set(52, "a/b", [_filter(rng, rng.uniform(-80, 80), rng.uniform(-179, 179))])
    for ident in (50, 51, 52):
        index.remove(ident)
    assert weight(index) == before


def test_topics_nobody_holds_are_not_remembered_for_ever() -> None:
    index: InterestIndex[int] = InterestIndex()
    index.set(0, "a", [Point(Coordinates(0, 0))])
    for i in range(70_000):
        index.count(f"hostile/{i}")
    index.count("long/" + "x" * 10_000)
    assert weight(index) < 67_000
    index.remove(0)
    assert weight(index) == 0


@pytest.mark.parametrize("bad", ["", "a//b", "/a", "a?", "a/**/**"])
def test_a_bad_topic_changes_nothing(bad: str) -> None:
    index: InterestIndex[int] = InterestIndex()
    publisher = Point(Coordinates(46.5, 14))
    index.set(1, "a", [Region(WORLD, Role.SUBSCRIBER)])
    with pytest.raises(zenoh.ZError):
        index.set(1, bad, [Region(WORLD, Role.SUBSCRIBER)])
    with pytest.raises(zenoh.ZError):
        index.find(bad, publisher)
    assert index.find("a", publisher) == [1]


def test_an_interest_of_nowhere_counts_but_is_not_found() -> None:
    index: InterestIndex[str] = InterestIndex()
    index.set("nowhere", "a", [])
    assert index.count("*") == 1
    assert index.with_topic("a") == ["nowhere"]
    assert index.find("a", Point(Coordinates(0, 0))) == []


def test_new_topics_are_noticed_by_those_asked_before() -> None:
    index: InterestIndex[str] = InterestIndex()
    publisher, world = Point(Coordinates(0, 0)), [Region(WORLD, Role.SUBSCRIBER)]
    for topic in ("a/b", "a/*", "x/@v/y"):
        assert index.find(topic, publisher) == []
    for topic in ("a/b", "**", "x/@v/y", "a/c"):
        index.set(topic, topic, world)
    assert sorted(index.find("a/b", publisher)) == ["**", "a/b"]
    assert sorted(index.find("a/*", publisher)) == ["**", "a/b", "a/c"]
    assert index.find("x/@v/y", publisher) == ["x/@v/y"]  # ** stands for no verbatim chunk
    for topic in ("**", "a/b"):
        index.remove(topic)
    assert index.find("a/b", publisher) == []
    assert index.find("a/*", publisher) == ["a/c"]
