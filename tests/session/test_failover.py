"""Routers and clients that die, hang and come back: sessions go on, and all nodes agree again."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import inf
from time import sleep
from typing import Any

import pytest
import zenoh

import zenoh_la
from tests.network import (
    Inbox,
    RouterProcess,
    client,
    converged,
    native_client,
    statuses,
    wait_for,
)
from zenoh_la import Circle, Coordinates
from zenoh_la.session.matching import MatchingStatus
from zenoh_la.session.waiting import MAX_WAITING

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
BLOCK = zenoh.CongestionControl.BLOCK
QUICK = {"connect__retry": {"period_init_ms": 50, "period_max_ms": 200}}


class Routers:
    """Routers that can be started again where they were, with the same links."""

    def __init__(self) -> None:
        self._started: list[RouterProcess] = []

    def start(
        self, *connect: str, listen: str | None = None, stock: bool = False, **more: Any
    ) -> RouterProcess:
        started = RouterProcess(listen=listen, connect=list(connect), stock=stock, **QUICK, **more)
        self._started.append(started)
        return started.wait_until_ready()

    def stop(self) -> None:
        for started in reversed(self._started):
            started.stop()


@pytest.fixture
def routers() -> Iterator[Routers]:
    made = Routers()
    try:
        yield made
    finally:
        made.stop()


def quick_client(*endpoints: str, **more: Any) -> zenoh_la.LocationSession:
    """A client that does not wait for long before it tries to connect again."""
    return client(*endpoints, **QUICK, **more)


class Party:
    """A session at Linz that uses all there is, on topics of its own and of another party."""

    def __init__(self, session: zenoh_la.LocationSession, own: str, other: str) -> None:
        self.session = session
        session.declare_position_handler(inf, lambda: LINZ)
        self.own, self.other = own, other
        self.inbox, self.matching = Inbox(), Inbox()
        self.subscriber = session.declare_subscriber(
            f"{other}/pushed", self.inbox, location_shape=AREA
        )
        self.pulled = session.declare_pull_subscriber(f"{other}/pulled", location_shape=AREA)
        self.queryable = session.declare_queryable(
            f"{own}/asked", self._answer, location_shape=AREA
        )
        self.publisher = session.declare_publisher(f"{own}/pushed", congestion_control=BLOCK)
        self.publisher.declare_matching_listener(self.matching)

    def _answer(self, query: Any) -> None:
        query.reply(query.key_expr, self.own)

    @property
    def router(self) -> str | None:
        home = self.session._core.membership.home
        return None if home is None else home.router

    @property
    def has_node(self) -> bool:
        return self.session._core.membership.home is not None

    def asks(self) -> list[str]:
        replies = self.session.get(f"{self.other}/asked", location_shape=AREA, timeout=2)
        return [reply.ok.payload.to_string() for reply in replies if reply.ok is not None]

    def hears(self, other: Party, text: str) -> bool:
        """Whether a message of the other one arrives, by now: what was put before too."""
        other.publisher.put(text)
        other.session.put(f"{other.own}/pulled", text)
        sleep(0.01)
        return text in self.inbox.texts() and text in [
            sample.payload.to_string() for sample in self.pulled.pull()
        ]


@contextmanager
def parties(one: zenoh_la.LocationSession, two: zenoh_la.LocationSession) -> Iterator[list[Party]]:
    with one, two:
        yield [Party(one, "one", "two"), Party(two, "two", "one")]


def wait_until_all_works(one: Party, two: Party, what: str) -> None:
    """Both hear each other, pushed and pulled, answer each other, and know that they are heard."""
    for first, second in ((one, two), (two, one)):
        wait_until_it_works(first, second, f"{what}: {first.own}")


def wait_until_it_works(first: Party, second: Party, what: str) -> None:
    wait_for(lambda: first.hears(second, what), f"{what} hears the other")
    wait_for(lambda: first.asks() == [second.own], f"{what} is answered")
    wait_for(lambda: bool(first.publisher.matching_status), f"{what} has a listener")
    wait_for(lambda: first.matching.items[-1:] == [MatchingStatus(True)], f"{what} is told so")


class Stream:
    """Numbered messages, one after the other, until it is stopped."""

    def __init__(self, put: Callable[[str], None]) -> None:
        self._put = put
        self.sent = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stopped.wait(0.0005):
            self._put(str(self.sent))
            self.sent += 1

    def __enter__(self) -> Stream:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()


def test_a_router_killed_under_load_is_replaced_by_the_next(routers: Routers) -> None:
    middle = routers.start()
    first, second = routers.start(middle.endpoint), routers.start(middle.endpoint)
    one, two = quick_client(first.endpoint, second.endpoint), client(middle.endpoint)
    with parties(one, two) as (one_, two_), native_client(middle.endpoint) as observer:
        converged(observer, 3)
        wait_until_all_works(one_, two_, "before")
        two_.inbox.items.clear()
        with Stream(one_.publisher.put) as up, Stream(two_.publisher.put) as down:
            wait_for(lambda: len(two_.inbox) > 100, "it runs")
            first.kill()
            wait_for(lambda: one_.router == second.zid, "the next router")
            here, there = str(down.sent + 50), str(up.sent + 50)
            wait_for(lambda: here in one_.inbox.texts(), "it hears again")
            wait_for(lambda: there in two_.inbox.texts(), "it is heard again")
        last = str(up.sent - 1)
        wait_for(lambda: two_.inbox.texts()[-1] == last, "the last message")
        numbers = [int(text) for text in two_.inbox.texts()]
        assert numbers == sorted(set(numbers)), "in order, none twice"
        gaps = [later for earlier, later in pairwise(numbers) if later != earlier + 1]
        assert len(gaps) <= 1, "only what was under way when the router died is lost"
        wait_until_all_works(one_, two_, "afterwards")
        converged(observer, 2)


def test_what_is_put_in_the_gap_is_kept_and_comes_in_order(routers: Routers) -> None:
    middle = routers.start()
    first, second = routers.start(middle.endpoint), routers.start(middle.endpoint)
    with (
        quick_client(first.endpoint, second.endpoint) as session,
        client(middle.endpoint) as other,
        native_client(middle.endpoint) as observer,
    ):
        inbox, membership = Inbox(), session._core.membership
        session.declare_position_handler(inf, lambda: LINZ)
        other.declare_subscriber("t", inbox, location_shape=AREA)
        publisher = session.declare_publisher("t", congestion_control=BLOCK)
        publisher.put("before")
        inbox.wait(1)
        converged(observer, 3)
        second.freeze()
        first.kill()
        wait_for(lambda: membership.home is None, "it has no node")
        for number in range(MAX_WAITING + 500):
            publisher.put(str(number))
        assert membership.waiting.dropped == 500
        second.process.send_signal(signal.SIGCONT)
        with Stream(lambda text: publisher.put(str(MAX_WAITING + 500 + int(text)))) as more:
            wait_for(lambda: membership.home is not None, "it has a node again")
            wait_for(lambda: more.sent > 100, "more")
        total = MAX_WAITING + 500 + more.sent
        wait_for(lambda: inbox.texts()[-1] == str(total - 1), "the last message")
        dropped = membership.waiting.dropped
        assert inbox.texts() == ["before", *map(str, range(dropped, total))]


def test_a_router_restarted_at_the_same_place_is_joined_again(routers: Routers) -> None:
    router = routers.start()
    one, two = quick_client(router.endpoint), quick_client(router.endpoint)
    with parties(one, two) as (one_, two_):
        wait_until_all_works(one_, two_, "before")
        for turn in range(2):
            router.kill()
            wait_for(lambda: not one_.has_node and not two_.has_node, "no node")
            router = routers.start(listen=router.endpoint)
            wait_until_all_works(one_, two_, f"again {turn}")
            assert one_.router == two_.router == router.zid


def test_what_is_declared_in_the_gap_is_in_force_afterwards(routers: Routers) -> None:
    router = routers.start()
    with quick_client(router.endpoint) as session:
        session.declare_position_handler(inf, lambda: LINZ)
        kept = session.declare_subscriber("t", Inbox(), location_shape=AREA)
        membership = session._core.membership
        router.kill()
        wait_for(lambda: membership.home is None, "no node")
        inbox = Inbox()
        session.declare_subscriber("t", inbox, location_shape=AREA)
        kept.undeclare()
        session.put("t", "waits", congestion_control=BLOCK)
        router = routers.start(listen=router.endpoint)
        assert [sample.payload.to_string() for sample in inbox.wait(1)] == ["waits"]
        with native_client(router.endpoint) as observer:
            # On a busy machine it may have been its own node before the router had one.
            wait_for(
                lambda: (
                    [(s["sessions"], s["interests"]) for s in statuses(observer).values()]
                    == [(1, 1)]
                ),
                "one session with one interest",
            )


def test_a_location_aware_router_gives_way_to_a_stock_one_and_comes_back(routers: Routers) -> None:
    router = routers.start()
    listen = router.endpoint
    one, two = quick_client(listen), quick_client(listen)
    with parties(one, two) as (one_, two_):
        wait_until_all_works(one_, two_, "before")
        assert one.node_status() is None
        router.kill()
        router = routers.start(listen=listen, stock=True)
        wait_until_all_works(one_, two_, "each its own node")
        status = one.node_status()
        assert status is not None
        assert len(status.nodes) == 1
        router.kill()
        router = routers.start(listen=listen)
        wait_until_all_works(one_, two_, "members again")
        wait_for(lambda: one_.router == two_.router == router.zid, "members of the router")
        with native_client(listen) as observer:
            converged(observer, 1)


def test_a_stock_router_restarted_brings_nodes_together_again(routers: Routers) -> None:
    router = routers.start(stock=True)
    one, two = quick_client(router.endpoint), quick_client(router.endpoint)
    with parties(one, two) as (one_, two_):
        wait_until_all_works(one_, two_, "before")
        router.kill()
        router = routers.start(listen=router.endpoint, stock=True)
        wait_until_all_works(one_, two_, "afterwards")
        with native_client(router.endpoint) as observer:
            converged(observer, 2)


def test_a_hung_router_is_left(routers: Routers) -> None:
    """One that is stopped, not dead: its connections stay open, and nothing comes any more."""
    lease: dict[str, Any] = {
        "transport__link__tx__lease": 1000,
        "transport__unicast__open_timeout": 1000,
    }
    first, second = routers.start(**lease), routers.start(**lease)
    with quick_client(first.endpoint, second.endpoint, **lease) as session:
        inbox = Inbox()
        session.declare_position_handler(inf, lambda: LINZ)
        session.declare_subscriber("t", inbox, location_shape=AREA)
        publisher = session.declare_publisher("t", congestion_control=BLOCK)
        publisher.put("before")
        inbox.wait(1)
        first.freeze()
        membership = session._core.membership

        def is_at_second() -> bool:
            home = membership.home
            return home is not None and home.router == second.zid

        wait_for(is_at_second, "the next router")
        publisher.put("after")
        wait_for(lambda: inbox.texts()[-1] == "after", "it goes on")


def line(routers: Routers, kinds: str) -> list[RouterProcess]:
    made: list[RouterProcess] = []
    for kind in kinds:
        before = [made[-1].endpoint] if made else []
        made.append(routers.start(*before, stock=kind == "s"))
    return made


def restart(routers: Routers, made: list[RouterProcess], number: int, *, stock: bool) -> None:
    before = [made[number - 1].endpoint] if number else []
    made[number] = routers.start(*before, listen=made[number].endpoint, stock=stock)


@pytest.mark.parametrize("kinds", ["LLL", "LsL"])
def test_a_line_that_was_cut_in_the_middle_heals(routers: Routers, kinds: str) -> None:
    made = line(routers, kinds)
    nodes = kinds.count("L")
    ends = quick_client(made[0].endpoint), quick_client(made[2].endpoint)
    with parties(*ends) as (one, two), native_client(made[0].endpoint) as observer:
        wait_until_all_works(one, two, "before")
        made[1].kill()
        wait_for(lambda: len(statuses(observer)) == 1, "the line is cut")
        far = Inbox()
        two.session.declare_subscriber("one/late", far, location_shape=AREA)
        two.subscriber.undeclare()
        two.session.put("two/pushed", "into the gap")
        restart(routers, made, 1, stock=kinds[1] == "s")
        converged(observer, nodes)
        one.session.put("one/late", "declared while the line was cut")
        far.wait(1)
        one.publisher.put("undeclared while the line was cut")
        two.subscriber = two.session.declare_subscriber("one/pushed", two.inbox,
                                                        location_shape=AREA)  # fmt: skip
        wait_until_all_works(one, two, "afterwards")
        assert "undeclared while the line was cut" not in two.inbox.texts()


def restart_in_any_order(routers: Routers, rounds: int, seed: int) -> None:
    random_ = random.Random(seed)
    made = line(routers, "LLL")
    with parties(quick_client(made[0].endpoint), quick_client(made[2].endpoint)) as (one, two):
        for turn in range(rounds):
            order = random_.sample(range(3), 3)
            down = order[: random_.randint(1, 3)]
            for number in down:
                made[number].kill()
            for number in random_.sample(down, len(down)):
                restart(routers, made, number, stock=False)
            what = f"seed {seed}, round {turn}, {down} restarted"
            with native_client(made[1].endpoint) as observer:
                converged(observer, 3)
                wait_until_all_works(one, two, what)
                (sessions, interests) = zip(
                    *((s["sessions"], s["interests"]) for s in converged(observer, 3).values()),
                    strict=True,
                )
            assert (sum(sessions), set(interests)) == (2, {6}), what


def test_restarts_in_any_order_converge(routers: Routers) -> None:
    restart_in_any_order(routers, rounds=2, seed=5)


@pytest.mark.long
def test_many_restarts_in_any_order_converge(routers: Routers) -> None:
    restart_in_any_order(routers, rounds=40, seed=6)
