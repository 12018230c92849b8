"""Areas that go with a session: nothing lost or doubled by a move, nothing declared for it."""

from __future__ import annotations

import gc
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from time import monotonic, sleep
from typing import Any, Self

import pytest
import zenoh

import zenoh_la
from tests.figures import Figures
from tests.network import (
    Inbox,
    client,
    config,
    converged,
    endpoint,
    line_of_routers,
    native_client,
    peers,
    wait_for,
)
from tests.survival.processes import resident_kb
from zenoh_la import BloomDomain, Circle, Coordinates, GeographicRange, Precision, Shape
from zenoh_la.router_plugin.router import Router

LINZ = Coordinates(48.3, 14.3)
EGO: dict[str, Any] = {"location_shape": Shape.CIRCLE, "shape_data": {"r": 5000}}
DOMAIN = BloomDomain(GeographicRange(47.8, 13.8, 48.8, 14.8), 40, 40, 1e-6)
ENCODINGS = [Precision.POINT, Precision.MGRS, Precision.BLOOM_FILTER]
MOVES = {Precision.POINT: 1000, Precision.MGRS: 200, Precision.BLOOM_FILTER: 300}
BLOCK = zenoh.CongestionControl.BLOCK

each_encoding = pytest.mark.parametrize("precision", ENCODINGS, ids=lambda p: p.name.lower())


def near(random_: random.Random, least_m: float, most_m: float) -> Coordinates:
    """A place so far from Linz, more or less: a degree counts as 111 km, and as 74 km eastwards."""
    distance, angle = random_.uniform(least_m, most_m), random_.uniform(0, 6.2831)
    turned = complex(distance) * complex(0, 1) ** (angle / 1.5708)
    return Coordinates(LINZ.lat + turned.imag / 111_200, LINZ.long + turned.real / 74_000)


class Mover:
    """A session that goes where it is told, and looks where it is at every use."""

    def __init__(self, session: zenoh_la.LocationSession) -> None:
        self.session = session
        self.place: Coordinates | None = LINZ
        session.declare_bloom_domain(DOMAIN)
        session.declare_position_handler(0, lambda: self.place)

    @property
    def moves(self) -> int:
        return self.session._core.mobility.moves

    def go(self, place: Coordinates | None) -> None:
        self.place = place
        # While the session's thread asks the handler, others go on with the old position.
        wait_for(lambda: self.session.position == place, f"the session is at {place}")

    def go_about(self, moves: int, seed: int, *, within_m: float = 1000) -> None:
        """Moves so often: each one is in force at the node before the next begins."""
        random_, end_s = random.Random(seed), monotonic() + 0.1 * moves + 20
        aim = self.moves + moves
        while self.moves < aim:
            assert monotonic() < end_s, f"{aim - self.moves} of {moves} moves are left"
            before = self.moves
            self.go(near(random_, 0, within_m))
            until_s = monotonic() + 0.003  # an interest stays if its cells do
            while self.moves == before and monotonic() < until_s:
                sleep(0.0002)


class Load:
    """A publisher under way: all the time at places always, sometimes and never in the area."""

    places = {"in": (0, 2000), "edge": (4000, 8000), "out": (25_000, 30_000)}  # noqa: RUF012

    def __init__(
        self, session: zenoh_la.LocationSession, topic: str, precision: Precision, seed: int
    ) -> None:
        session.declare_bloom_domain(DOMAIN)
        session.declare_position_handler(0, lambda: self._place)
        self._publisher = session.declare_publisher(
            topic, congestion_control=BLOCK, precision=precision
        )
        self._random = random.Random(seed)
        self._place = LINZ
        self.sent: Counter[str] = Counter()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stopped.wait(0.001):
            for name, (least_m, most_m) in self.places.items():
                self._place = near(self._random, least_m, most_m)
                self._publisher.put(f"{name} {self.sent[name]}")
                self.sent[name] += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._publisher.undeclare()

    def check(self, inbox: Inbox) -> None:
        """Exactly once what was always in the area, at most once what was at its edge."""
        wait_for(lambda: f"in {self.sent['in'] - 1}" in inbox.texts()[-10:], "the last message")
        got = [text.split() for text in inbox.texts()]
        assert [int(n) for name, n in got if name == "in"] == list(range(self.sent["in"]))
        at_edge = [int(n) for name, n in got if name == "edge"]
        assert at_edge == sorted(set(at_edge))
        assert not any(name == "out" for name, _ in got)


@dataclass
class Network:
    """Two sessions, how many nodes there are, and one who can ask them all."""

    publisher: zenoh_la.LocationSession
    mover: zenoh_la.LocationSession
    nodes: int
    observer: zenoh.Session


@pytest.fixture(scope="module", params=["L", "LsL", "peers"])
def network(request: pytest.FixtureRequest) -> Iterator[Network]:
    """Both at one router; a stock router in between; peers without any."""
    with ExitStack() as stack:
        if request.param == "peers":
            one, two = (stack.enter_context(peer) for peer in peers(2))
            yield Network(one, two, 2, one._zsession)
            return
        routers = stack.enter_context(line_of_routers(request.param))
        first, last = routers[0].endpoint, routers[-1].endpoint
        one, two = (stack.enter_context(client(at)) for at in (first, last))
        observer = stack.enter_context(native_client(first))
        yield Network(one, two, request.param.count("L"), observer)


@pytest.fixture
def peer() -> Iterator[Mover]:
    with zenoh_la.open(config("peer", listen=[endpoint()])) as session:
        yield Mover(session)


@each_encoding
def test_no_move_loses_or_doubles_a_message(network: Network, precision: Precision) -> None:
    mover, inbox = Mover(network.mover), Inbox()
    with network.mover.declare_subscriber("moves", inbox, precision=precision, **EGO):
        wait_until_it_flows(network, "moves", inbox, precision)
        with Load(network.publisher, "moves", precision, seed=3) as load:
            mover.go_about(MOVES[precision], seed=7)
        load.check(inbox)
        assert len([t for t in inbox.texts() if t.startswith("edge")]) > 0


class SteadyLoad(Load):
    """A publisher that stays where it is: its node may grant it the route."""

    places = {"in": (0, 0)}  # noqa: RUF012

    def has_a_granted_route(self) -> bool:
        sender = self._publisher._sender
        return sender is not None and sender.grant is not None


def test_no_move_loses_or_doubles_what_comes_by_a_granted_route(network: Network) -> None:
    """Bursts of moves take the route back; in between it is granted again."""
    mover, inbox = Mover(network.mover), Inbox()
    with network.mover.declare_subscriber("steady", inbox, **EGO):
        wait_until_it_flows(network, "steady", inbox)
        with SteadyLoad(network.publisher, "steady", Precision.POINT, seed=5) as load:
            for burst in range(5):
                wait_for(load.has_a_granted_route, "the route is granted")
                mover.go_about(50, seed=burst)
        load.check(inbox)


def wait_until_it_flows(
    network: Network, topic: str, inbox: Inbox, precision: Precision = Precision.POINT
) -> None:
    """A peer's node first has to hear of the other's interest."""
    network.publisher.declare_bloom_domain(DOMAIN)
    network.publisher.declare_position_handler(inf, lambda: LINZ)

    def look() -> bool:
        network.publisher.put(topic, "first", precision=precision)
        return len(inbox) > 0

    wait_for(look, "the subscriber is known")
    network.publisher.put(topic, "fence", precision=precision, congestion_control=BLOCK)
    wait_for(lambda: "fence" in inbox.texts(), "the fence")
    inbox.items.clear()


@each_encoding
def test_every_get_finds_a_queryable_that_moves(network: Network, precision: Precision) -> None:
    mover = Mover(network.mover)
    network.publisher.declare_bloom_domain(DOMAIN)
    stopped = threading.Event()
    answers: list[list[str]] = []

    def on_query(query: Any) -> None:
        query.reply("asked", "here", location=LINZ)

    def ask() -> list[str]:
        replies = network.publisher.get(
            "asked", location_shape=Circle(LINZ, 500), precision=precision, timeout=10
        )
        return [reply.result.payload.to_string() for reply in replies]

    def keep_asking() -> None:
        while not stopped.is_set():
            answers.append(ask())

    with network.mover.declare_queryable("asked", on_query, precision=precision, **EGO):
        wait_for(lambda: ask() == ["here"], "the queryable is known")
        asking = threading.Thread(target=keep_asking)
        asking.start()
        try:
            mover.go_about(MOVES[precision] // 5, seed=11)
        finally:
            stopped.set()
            asking.join()
        assert answers == [["here"]] * len(answers)
        mover.go(near(random.Random(13), 25_000, 25_000))
        wait_for(lambda: ask() == [], "the queryable has gone elsewhere")


def test_an_ego_centric_subscriber_says_where_it_is(peer: Mover) -> None:
    with peer.session.declare_subscriber("t", Inbox(), **EGO) as subscriber:
        assert type(subscriber) is zenoh_la.MobilitySubscriber
        assert subscriber.position == LINZ
        there = near(random.Random(1), 100, 200)
        peer.go(there)
        assert subscriber.position == there
    fixed = peer.session.declare_subscriber("t", Inbox(), location_shape=Circle(LINZ, 9))
    assert not isinstance(fixed, zenoh_la.MobilitySubscriber)


@pytest.mark.parametrize("refresh", ["put", "delete", "publisher", "get", "property"])
def test_any_refresh_of_the_position_moves_the_interests(peer: Mover, refresh: str) -> None:
    session = peer.session
    publisher = session.declare_publisher("t")
    refreshes: dict[str, Callable[[], Any]] = {
        "put": lambda: session.put("t", "x"),
        "delete": lambda: session.delete("t"),
        "publisher": lambda: publisher.put("x"),
        "get": lambda: list(session.get("t", **EGO)),
        "property": lambda: session.position,
    }
    session.declare_position_handler(3600, lambda: LINZ)
    session.declare_subscriber("t", Inbox(), **EGO)
    place = near(random.Random(2), 20_000, 20_000)
    session.declare_position_handler(3600, lambda: place)
    refreshes[refresh]()
    wait_for(lambda: peer.moves == 1, "the interest moves")


def version(session: zenoh_la.LocationSession) -> int:
    status = session.node_status()
    assert status is not None
    return status.version


def south_west(cell: Coordinates, metres: float) -> Coordinates:
    return Coordinates(cell.lat - metres / 111_200, cell.long - metres / 74_000)


@pytest.mark.parametrize(
    "area",
    [
        {"precision": Precision.MGRS, "shape_data": {"digits": 2}},
        {"precision": Precision.MGRS, "location_shape": Shape.CIRCLE, "shape_data": {"r": 1}},
        {"precision": Precision.BLOOM_FILTER, "location_shape": Shape.CIRCLE,
         "shape_data": {"r": 10}},
    ],
    ids=["digits", "mgrs circle", "bloom"],
)  # fmt: skip
def test_cells_are_declared_again_only_when_they_change(peer: Mover, area: dict[str, Any]) -> None:
    """The centre of a cell of each grid, a bit beside it, and another cell."""
    cell = DOMAIN.range_of(DOMAIN.cell_at(LINZ))
    centre = Coordinates((cell.min_lat + cell.max_lat) / 2, (cell.min_long + cell.max_long) / 2)
    if area["precision"] is Precision.MGRS:
        centre = zenoh_la.MgrsCell.at(LINZ, 2 if "digits" in area["shape_data"] else 5).centre
    peer.go(centre)
    peer.session.declare_subscriber("t", Inbox(), **area)
    before = version(peer.session)
    beside = south_west(centre, 0.1)
    for _ in range(5):
        for place in (beside, centre):
            peer.go(place)
            wait_until_looked(peer)
    assert (version(peer.session), peer.moves) == (before, 0)
    peer.go(south_west(centre, 3000))
    wait_for(lambda: peer.moves == 1, "the interest moves")
    assert version(peer.session) == before + 1


def wait_until_looked(mover: Mover) -> None:
    """Until the thread has compared the cells at the new position with the old ones."""
    mobility = mover.session._core.mobility
    wait_for(lambda: not mobility._is_stale and not mobility._wake.is_set(), "it looks")


def test_what_leaves_the_bloom_grid_is_nowhere() -> None:
    """Not where it was: who is not there must not hear of it."""
    one, two = peers(2)
    with one, two:
        inbox, mover = Inbox(), Mover(two)
        two.declare_subscriber("t", inbox, precision=Precision.BLOOM_FILTER, **EGO)
        network = Network(one, two, 2, one._zsession)
        wait_until_it_flows(network, "t", inbox, Precision.BLOOM_FILTER)
        mover.go(Coordinates(0, 0))
        wait_for(lambda: mover.moves == 1, "the interest moves")
        converged(one._zsession, 2)
        one.put("t", "at the old place", precision=Precision.BLOOM_FILTER)
        mover.go(LINZ)
        wait_for(lambda: mover.moves == 2, "the interest is back")
        converged(one._zsession, 2)
        one.put("t", "back", precision=Precision.BLOOM_FILTER)
        inbox.wait(1)
        assert inbox.texts() == ["back"]


def test_a_subscriber_undeclared_while_it_moves_is_gone(peer: Mover) -> None:
    """A move that is under way must not bring it back."""
    stopped = threading.Event()

    def keep_moving() -> None:
        random_ = random.Random(17)
        while not stopped.is_set():
            peer.go(near(random_, 0, 1000))

    moving = threading.Thread(target=keep_moving)
    moving.start()
    try:
        for _ in range(100):
            peer.session.declare_subscriber("t", Inbox(), **EGO).undeclare()
    finally:
        stopped.set()
        moving.join()
    wait_until_looked(peer)
    status = peer.session.node_status()
    assert status is not None
    assert status.interests == 0
    assert not peer.session._core.membership.interests


def entities(session: zenoh.Session) -> int:
    """The number of the next thing that a session declares: Zenoh counts them."""
    with session.declare_subscriber("entities", zenoh.handlers.RingChannel(1)) as probe:
        return int(probe.id.eid)


@each_encoding
def test_a_move_declares_nothing(precision: Precision) -> None:
    listen = endpoint()
    with Router(config("router", listen=[listen])) as router, client(listen) as session:
        mover = Mover(session)
        session.declare_subscriber("t", Inbox(), precision=precision, **EGO)
        session.declare_queryable("t", Inbox(), precision=precision, **EGO)
        mover.go_about(10, seed=1)
        sessions = (session._zsession, router._session)
        before = [entities(one) for one in sessions]
        mover.go_about(200, seed=2)
        assert [entities(one) - 1 for one in sessions] == before


def run_moves(moves: int, more_kb: int, figures: Figures | None = None) -> None:
    """Moves with a router in this process: no growth in declarations, memory or time."""
    listen = endpoint()
    with Router(config("router", listen=[listen])) as router, client(listen) as session:
        mover, near_by, far = Mover(session), Inbox(), Inbox()
        session.declare_subscriber("near", near_by, **EGO)
        session.declare_subscriber("far", far, **EGO)
        mover.go_about(moves // 4, seed=1)  # fills what is remembered of places
        gc.collect()
        objects, resident = len(gc.get_objects()), resident_kb()
        sessions = (session._zsession, router._session)
        declared = [entities(one) for one in sessions]
        seconds = []
        for _ in range(4):
            started = monotonic()
            mover.go_about(moves // 4, seed=1)
            seconds.append(monotonic() - started)
        gc.collect()
        more = [entities(one) - 1 - before for one, before in zip(sessions, declared, strict=True)]
        assert more == [0, 0], "new declarations, of the session and of the router"
        assert len(gc.get_objects()) - objects < 1000
        grown_kb = resident_kb() - resident
        assert grown_kb < more_kb
        session.put("near", "1")
        session.put("far", "2")
        near_by.wait(1)
        far.wait(1)
        assert (near_by.texts(), far.texts()) == (["1"], ["2"])
        assert router.status().interests == 2
    if figures is not None:
        what = f"{moves:,} moves of one session: "
        figures.record(f"{what}new declarations", sum(more), "", at_most=0)
        figures.record("  memory of session and router together", grown_kb / 1000, "MB more",
                       at_most=more_kb / 1000)  # fmt: skip
        figures.record("  time of the last quarter, of the first", seconds[-1] / seconds[0],
                       "times", at_most=2)  # fmt: skip
        figures.record("  moves a second, each in force before the next", moves / sum(seconds),
                       "/s")  # fmt: skip


def test_moves_leave_nothing_behind() -> None:
    run_moves(5000, more_kb=4096)


@pytest.mark.long
def test_two_hundred_thousand_moves_leave_nothing_behind(figures: Figures) -> None:
    """Stock Zenoh misdelivers after 65,535 declarations in one session."""
    run_moves(200_000, more_kb=8192, figures=figures)
