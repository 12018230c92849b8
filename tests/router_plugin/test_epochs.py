"""What was decided holds until an interest changes that matters, and no longer."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.router_plugin.located import BLOOM, TOPICS, Hemisphere, locations, near
from zenoh_la import Circle, Coordinates, GeographicRange, MgrsCell, Polygon, Role, encoders
from zenoh_la.encoders import Location
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.router_plugin.epochs import Changes, Epoch, Epochs
from zenoh_la.router_plugin.grants import matters
from zenoh_la.router_plugin.protocol import ANY, REMOTE, Interest, Kind, Sender
from zenoh_la.router_plugin.routes import Owner, RoutingTable, Takers
from zenoh_la.values import mgrs_grid

SOMEBODY = Sender(3, ANY)
LINZ, GRAZ = Coordinates(48.3, 14.3), Coordinates(47.07, 15.44)
AT_LINZ, AT_GRAZ = Point(LINZ), Point(GRAZ)
MGRS = encoders.get("mgrs")


def interest(topic: str, *held: Location, kind: Kind = "s", origin: int = ANY) -> Interest:
    """As a node has it, but of any location at all."""
    return Interest(kind, topic, tuple(map(repr, held)), held, origin=origin)


def about(place: Coordinates, topic: str = "t", radius_m: float = 5000.0) -> Interest:
    return interest(topic, Region(Circle(place, radius_m), Role.SUBSCRIBER))


class Remembered:
    """A decision, and what a publisher was granted on the strength of it."""

    def __init__(self, table: RoutingTable, topic: str, location: Location) -> None:
        self.topic, self.location = topic, location
        self.epoch = table.epoch(topic, location)
        self.number = self.epoch.number
        self.takers = table.takers(topic, location, SOMEBODY)
        self.granted = table.hold(self.epoch)

    @property
    def holds(self) -> bool:
        return self.number == self.epoch.number

    def hear(self, table: RoutingTable, changes: Changes) -> None:
        """What `Grants.changed` does."""
        if self.granted and self.epoch in changes.voided:
            moves = changes.voided[self.epoch]
            if moves is None or any(matters(self.location, *move) for move in moves):
                self.granted = False
                table.release(self.epoch)


@st.composite
def nowhere(draw: st.DrawFn) -> MgrsCell:
    """A cell that may be written beyond the edge of its zone, or be in it."""
    zone = draw(st.sampled_from(["33T", "01C", "60X", "32V", "A", "Z"]))
    columns, rows = mgrs_grid.square_letters(zone)
    square = draw(st.sampled_from(columns)) + draw(st.sampled_from(rows))
    return MgrsCell.parse(zone + square + draw(st.sampled_from(["1234512345", "9999900000"])))


@st.composite
def publishers(draw: st.DrawFn) -> Location:
    kind = draw(st.sampled_from(["point", "metre", "element", "nowhere", "third party"]))
    place = draw(near)
    if kind == "nowhere":
        return Cell(draw(nowhere()))
    if kind == "element":
        return draw(st.sampled_from([BLOOM.locate, BLOOM.decode]))(BLOOM.encode_position(place))
    if kind == "metre":
        return Cell(MgrsCell.at(place))
    return Hemisphere(place.lat) if kind == "third party" else Point(place)


owners: st.SearchStrategy[Owner] = st.tuples(st.integers(0, 4), st.integers(0, 2)) | st.tuples(
    st.sampled_from(["n1", "n2"]), st.integers(0, 2)
)


class EpochMachine(RuleBasedStateMachine):
    """Interests come, move and go; what still holds is what would be decided now."""

    def __init__(self) -> None:
        super().__init__()
        self.table = RoutingTable()
        self.remembered: list[Remembered] = []

    def change(self, new: list[tuple[Owner, Interest]], gone: list[Owner]) -> None:
        changes = self.table.change(new, gone)
        for decision in self.remembered:
            decision.hear(self.table, changes)

    @rule(topic=st.sampled_from(TOPICS), location=publishers())
    def decide(self, topic: str, location: Location) -> None:
        self.remembered.append(Remembered(self.table, topic, location))

    @rule(owner=owners, topic=st.sampled_from(TOPICS), held=locations(near),
          origin=st.sampled_from([ANY, ANY, ANY, REMOTE]))  # fmt: skip
    def set(self, owner: Owner, topic: str, held: list[Location], origin: int) -> None:
        self.change([(owner, interest(topic, *held, origin=origin))], [])

    @rule(owner=owners, topic=st.sampled_from(TOPICS), data=st.data())
    def set_where_somebody_is(self, owner: Owner, topic: str, data: st.DataObject) -> None:
        """Also as cells of any size about keys that name no place."""
        if self.remembered:
            location = data.draw(st.sampled_from(self.remembered)).location
            held: Location = location
            if isinstance(location, Cell):
                path = location.place.path
                zone = 3 if path[0] <= "9" else 1
                sizes = [zone, *range(zone + 2, len(path) + 1, 2)]
                held = Cell(MgrsCell(path[: data.draw(st.sampled_from(sizes))]))
            elif isinstance(location, Point):
                radius_m = data.draw(st.sampled_from([0.0, 1.0, 5e3, 1e6]))
                held = Region(Circle(location.place, radius_m), Role.SUBSCRIBER)
            elif isinstance(location, Bits):
                held = Bits(location.value | 1 << 5, location.length, True, location.domain)
            self.change([(owner, interest(topic, held))], [])

    @rule(new=st.lists(st.tuples(owners, st.sampled_from(TOPICS), locations(near)), max_size=6),
          gone=st.lists(owners, max_size=4), kind=st.sampled_from(["s", "q"]))  # fmt: skip
    def several(
        self, new: list[tuple[Owner, str, list[Location]]], gone: list[Owner], kind: Kind
    ) -> None:
        self.change([(o, interest(t, *held, kind=kind)) for o, t, held in new], gone)

    @rule(owner=owners)
    def remove(self, owner: Owner) -> None:
        self.change([], [owner])

    @invariant()
    def what_holds_is_right(self) -> None:
        for decision in self.remembered:
            if decision.holds or decision.granted:
                now = self.table.takers(decision.topic, decision.location, SOMEBODY)
                assert decision.takers[:2] == now[:2], (decision.topic, decision.location)
                assert decision.takers.matched == now.matched
            if decision.holds:
                intersecting = self.table._subscribers.with_topic(decision.topic)
                assert decision.epoch.topic.interests == len(intersecting)
            if not decision.granted and decision.holds:
                pytest.fail("a grant was taken back, and the decision not void")


TestMachine = EpochMachine.TestCase
TestMachine.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=25)


class SmallEpochMachine(EpochMachine):
    """The same with hardly any room: what is forgotten is void, what is granted is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.table._epochs = Epochs(most=3, compared=12)


TestSmallMachine = SmallEpochMachine.TestCase
TestSmallMachine.settings = TestMachine.settings


Maker = Callable[[random.Random, Coordinates], Location]


def _circle(rng: random.Random, place: Coordinates) -> Location:
    return Region(Circle(place, 10 ** rng.uniform(1, 5)), Role.SUBSCRIBER)


def _range(rng: random.Random, place: Coordinates) -> Location:
    size = 10 ** rng.uniform(-3, 1)
    west, east = ((place.long + d + 180.0) % 360.0 - 180.0 for d in (-size, size))
    south, north = max(place.lat - size, -90.0), min(place.lat + size, 90.0)
    return Region(GeographicRange(south, west, north, east), Role.SUBSCRIBER)


def _polygon(rng: random.Random, place: Coordinates) -> Location:
    size = 10 ** rng.uniform(-3, 0)
    south, north = max(place.lat - size, -90.0), min(place.lat + size, 90.0)
    west, east = max(place.long - size, -180.0), min(place.long + size, 180.0)
    corners = [(south, west), (south, east), (north, place.long)]
    return Region(Polygon.from_points(corners), Role.SUBSCRIBER)


def _cell(rng: random.Random, place: Coordinates) -> Location:
    return Cell(MgrsCell.at(place, rng.choice([0, 1, 2, 3, "zone"])))


def _filter(rng: random.Random, place: Coordinates) -> Location:
    return BLOOM.locate(BLOOM.encode_area(Circle(place, 1e4), Role.SUBSCRIBER)[0])


def _point(_: random.Random, place: Coordinates) -> Location:
    return Point(place)


def _metre(_: random.Random, place: Coordinates) -> Location:
    return Cell(MgrsCell.at(place))


def _element(_: random.Random, place: Coordinates) -> Location:
    return BLOOM.locate(BLOOM.encode_position(place))


CENTRES = {
    "Austria": Coordinates(47.5, 14.0),
    "the antimeridian": Coordinates(-17.0, 180.0),
    "the North Pole": Coordinates(89.9, 20.0),
    "the South Pole": Coordinates(-90.0, 0.0),
    "beside UPS": Coordinates(84.0, 179.9),
}
ENCODINGS: dict[str, tuple[list[Maker], list[Maker]]] = {
    "Base64": ([_circle, _range, _polygon], [_point]),
    "MGRS": ([_cell], [_metre]),
    "Base64 and MGRS": ([_circle, _range, _polygon, _cell], [_point, _metre]),
    "Bloom": ([_filter], [_element]),
}


@pytest.mark.parametrize("where", CENTRES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_crowd_that_moves_leaves_what_holds_right(encoding: str, where: str) -> None:
    rng = random.Random(f"{encoding} {where}")
    interested, publishing = ENCODINGS[encoding]

    def place() -> Coordinates:
        spread, centre = 10 ** rng.uniform(-3, 0.7), CENTRES[where]
        lat = max(-90.0, min(90.0, centre.lat + rng.uniform(-spread, spread)))
        long = (centre.long + rng.uniform(-spread, spread) + 180.0) % 360.0 - 180.0
        return Coordinates(lat, 180.0 if abs(long) > 179.999 else long)

    table = RoutingTable()
    decisions = [rng.choice(publishing)(rng, place()) for _ in range(60)]
    remembered = [Remembered(table, "t", location) for location in decisions]
    kept = granted = 0
    for step in range(150):
        owner: Owner = (rng.randrange(5), rng.randrange(4))
        moved = interest("t", *(rng.choice(interested)(rng, place()) for _ in "ab"))
        changes = table.change([] if step % 7 == 0 else [(owner, moved)], [owner][: step % 7 == 0])
        for decision in remembered:
            decision.hear(table, changes)
        now = [table.takers("t", location, SOMEBODY) for location in decisions]
        for i, decision in enumerate(remembered):
            if decision.holds or decision.granted:
                kept, granted = kept + decision.holds, granted + decision.granted
                assert decision.takers == now[i], (step, decisions[i])
            else:
                remembered[i] = Remembered(table, "t", decisions[i])
    assert granted >= kept > 150, "an epoch that always goes up remembers nothing"


def numbers(table: RoutingTable, *at: tuple[str, Location]) -> list[int]:
    return [table.epoch(topic, location).number for topic, location in at]


def test_an_epoch_goes_up_when_an_interest_in_its_topic_changes_and_only_then() -> None:
    table = RoutingTable()
    table.change([((1, 1), about(LINZ, "t/*"))], [])
    watched = [("t/a", AT_LINZ), ("t/**", AT_LINZ), ("u", AT_LINZ), ("t/a", AT_GRAZ)]
    assert table.epoch("t/a", AT_LINZ) is table.epoch("t/a", Point(Coordinates(48.3001, 14.3)))

    def went_up(new: list[tuple[Owner, Interest]], gone: list[Owner]) -> list[bool]:
        before = numbers(table, *watched)
        table.change(new, gone)
        return [b < a for b, a in zip(before, numbers(table, *watched), strict=True)]

    assert went_up([((2, 1), about(LINZ, "t/b"))], []) == [False, True, False, False]
    assert went_up([((1, 1), about(GRAZ, "t/*"))], []) == [True, True, False, True]
    assert went_up([((1, 1), about(GRAZ, "t/*"))], []) == [False] * 4, "nothing changed"
    assert went_up([(("n1", 1), about(GRAZ, "**"))], []) == [False, False, False, True]
    assert went_up([(("n1", 1), about(LINZ, "**"))], []) == [True, True, True, True]
    assert went_up([(("n1", 1), about(LINZ, "u"))], []) == [True, True, True, False]
    assert went_up([], [("n1", 1)]) == [False, False, True, False]
    assert went_up([], [("n1", 1)]) == [False] * 4
    assert went_up([((3, 1), interest("t/a", AT_LINZ, kind="q"))], []) == [False] * 4


def test_a_grant_ends_when_the_interest_stays_and_wants_others() -> None:
    table = RoutingTable()
    here = Region(Circle(LINZ, 5000), Role.SUBSCRIBER)
    table.change([((3, 1), interest("t", here))], [])
    decision = Remembered(table, "t", AT_LINZ)
    larger = Region(Circle(LINZ, 6000), Role.SUBSCRIBER)
    decision.hear(table, table.change([((3, 1), interest("t", larger))], []))
    assert decision.granted, "it is still in it"
    decision.hear(table, table.change([((3, 1), interest("t", larger, origin=REMOTE))], []))
    assert not decision.granted
    assert table.takers("t", AT_LINZ, SOMEBODY).mine == {}


@given(st.lists(st.tuples(owners, st.sampled_from(["t", "t/*", "**", "u"])), max_size=12))
def test_vetoes_are_counted_without_a_decision(changes: list[tuple[Owner, str]]) -> None:
    """Interests elsewhere come and go: the route stands, and the number of vetoes is right."""
    table = RoutingTable()
    epoch = table.epoch("t", AT_LINZ)
    held: dict[Owner, str] = {}
    for owner, topic in changes:
        if held.get(owner) == topic:
            del held[owner]
            table.change([], [owner])
        else:
            held[owner] = topic
            table.change([(owner, about(GRAZ, topic))], [])
        assert epoch.topic.interests == sum(topic in ("t", "**") for topic in held.values())
    assert epoch.number == 0


def fill(table: RoutingTable, count: int) -> list[Epoch]:
    return [table.epoch(f"topic/{i}", AT_LINZ) for i in range(count)]


def test_what_is_no_longer_followed_is_void_and_what_is_granted_stays() -> None:
    """A table that has seen too many topics forgets them; nothing decided before may live on."""
    table = RoutingTable()
    first, granted = table.epoch("first", AT_LINZ), table.epoch("granted", AT_LINZ)
    assert table.hold(granted)
    fill(table, 20_000)
    assert first.number == 1
    assert not table.hold(first), "nobody would tell"
    assert (granted.number, table.epoch("granted", AT_LINZ)) == (0, granted)
    changes = table.change([((1, 1), about(LINZ, "granted"))], [])
    assert granted in changes.voided
    table.release(granted)
    fill(table, 40_000)
    assert not granted.followed


def test_the_longest_topics_are_not_followed() -> None:
    table = RoutingTable()
    epoch = table.epoch("t/" + "x" * 2000, AT_LINZ)
    assert not table.hold(epoch)
    assert table.epoch("t/" + "x" * 2000, AT_LINZ) is not epoch


def test_too_many_changes_void_everything_and_say_so() -> None:
    table = RoutingTable()
    known = fill(table, 2000)
    held = [epoch for epoch in known if table.hold(epoch)]
    new: list[tuple[Owner, Interest]] = [((0, i), about(GRAZ, f"other/{i}")) for i in range(100)]
    changes = table.change(new, [])
    assert held == known
    assert changes.voided == dict.fromkeys(known)
    assert {epoch.number for epoch in known} == {1}
    assert table.takers("other/7", AT_GRAZ, SOMEBODY) == Takers({0: (7,)}, (), 1)


def test_all_of_a_topic_at_once() -> None:
    table = RoutingTable()
    one, two = table.epoch("t", AT_LINZ), table.epoch("t", AT_GRAZ)
    other, wild = table.epoch("u", AT_LINZ), table.epoch("*", AT_LINZ)
    changes = table.about("t")
    assert changes.topics == {"t"}
    assert changes.voided == {one: None, two: None, wild: None}
    assert {epoch.number for epoch in (one, two, other, wild)} == {0}
