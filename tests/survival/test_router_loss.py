"""A router that is killed, comes back or hangs: how long until its clients go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from math import inf
from time import monotonic, sleep
from typing import Any

import pytest
import zenoh

from tests.figures import Figures
from tests.network import DEADLINE_S, Inbox, RouterProcess, client, config, wait_for
from zenoh_la import Circle, Coordinates, Router

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
BLOCK = zenoh.CongestionControl.BLOCK
LEASE_S, OPEN_S = 2.0, 1.0
HANGS: dict[str, Any] = {"transport__link__tx__lease": int(LEASE_S * 1000)}
OPENS: dict[str, Any] = {"transport__unicast__open_timeout": int(OPEN_S * 1000)}


class Pair:
    """Two clients of the same routers, each of which publishes to the other."""

    def __init__(self, stack: ExitStack, *endpoints: str, **more: Any) -> None:
        self.sessions = [stack.enter_context(client(*endpoints, **more)) for _ in range(2)]
        self.inboxes = [Inbox(), Inbox()]
        for number, session in enumerate(self.sessions):
            session.declare_position_handler(inf, lambda: LINZ)
            session.declare_subscriber(f"to/{number}", self.inboxes[number], location_shape=AREA)
        self._turn = 0

    def works_within(self, timeout_s: float = DEADLINE_S) -> float:
        """After how many seconds both hear what the other publishes from now on."""
        since_s, self._turn = monotonic(), self._turn + 1
        text = f"turn {self._turn}"
        while not all(text in inbox.texts() for inbox in self.inboxes):
            assert monotonic() < since_s + timeout_s, f"not within {timeout_s:g} s"
            for number, session in enumerate(self.sessions):
                session.put(f"to/{1 - number}", text, congestion_control=BLOCK)
            sleep(0.002)
        return monotonic() - since_s

    def is_connected(self) -> bool:
        """As Zenoh sees it."""
        return all(session.info.routers_zid() for session in self.sessions)


class Routers:
    """Routers that are gone afterwards, however they end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def start(self, *connect: str, listen: str | None = None, **more: Any) -> RouterProcess:
        started = RouterProcess(listen=listen, connect=list(connect), **more)
        self._stack.callback(started.stop)
        return started.wait_until_ready()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def kills(stack: ExitStack, rounds: int) -> list[float]:
    """Each time the router both are at is killed, and a new one is the second endpoint."""
    routers = Routers(stack)
    seconds = []
    for _ in range(rounds):
        with ExitStack() as inner:
            first, second = routers.start(), routers.start()
            pair = Pair(inner, first.endpoint, second.endpoint)
            pair.works_within()
            first.kill()
            seconds.append(pair.works_within())
            second.stop()
    return seconds


def test_a_killed_router_is_replaced_by_the_second_endpoint(
    stack: ExitStack, figures: Figures
) -> None:
    (seconds,) = kills(stack, 1)
    figures.record("router killed, second endpoint: clients go on after", seconds, "s")


@pytest.mark.long
def test_within_a_second(stack: ExitStack, figures: Figures) -> None:
    seconds = kills(stack, 10)
    figures.record(
        "router killed, second endpoint, 10 times: the longest", max(seconds), "s", at_most=1
    )


def returns(stack: ExitStack, rounds: int) -> list[float]:
    """The seconds from being connected again, as Zenoh sees it, to hearing each other."""
    routers = Routers(stack)
    router = routers.start()
    pair = Pair(stack, router.endpoint)
    pair.works_within()
    seconds = []
    for _ in range(rounds):
        router.kill()
        wait_for(lambda: not pair.is_connected(), "it is gone")
        router = routers.start(listen=router.endpoint)
        wait_for(pair.is_connected, "both are connected")
        seconds.append(pair.works_within())
    return seconds


def test_a_router_that_comes_back_is_used_at_once(stack: ExitStack, figures: Figures) -> None:
    (seconds,) = returns(stack, 1)
    figures.record("one endpoint: from connected again to heard", seconds, "s")


@pytest.mark.long
def test_at_once_every_time(stack: ExitStack, figures: Figures) -> None:
    seconds = returns(stack, 10)
    figures.record("one endpoint, 10 times: from connected again to heard", max(seconds), "s",
                   at_most=0.5)  # fmt: skip


def hang(stack: ExitStack, of_routers: dict[str, Any], of_clients: dict[str, Any]) -> float:
    """After how many seconds the clients of a router that is stopped, not dead, go on."""
    routers = Routers(stack)
    first, second = routers.start(**of_routers), routers.start(**of_routers)
    pair = Pair(stack, first.endpoint, second.endpoint, **of_clients)
    pair.works_within()
    first.freeze()
    return pair.works_within(2 * DEADLINE_S)


def test_a_hung_router_is_left(stack: ExitStack, figures: Figures) -> None:
    """The router's own lease says how long its silence is believed."""
    figures.record(
        f"hung router, lease {LEASE_S:g} s, open timeout {OPEN_S:g} s: clients go on after",
        hang(stack, HANGS, OPENS), "s", at_most=LEASE_S + OPEN_S + 1,
    )  # fmt: skip


@pytest.mark.long
def test_a_hung_router_is_left_by_default(stack: ExitStack, figures: Figures) -> None:
    figures.record(
        "hung router, as `zla router` and sessions are by default (3 s, 10 s)",
        hang(stack, {}, {}), "s", at_most=3 + 10 + 1,
    )  # fmt: skip


@pytest.mark.parametrize(("given_ms", "found_ms"), [(None, 3000), (5000, 5000)])
def test_a_router_has_a_short_lease_unless_it_is_told_otherwise(
    given_ms: int | None, found_ms: int
) -> None:
    more = {} if given_ms is None else {"transport__link__tx__lease": given_ms}
    settings = config("router", listen=["tcp/127.0.0.1:0"], **more)
    with Router(settings):
        assert settings.get_json("transport/link/tx/lease") == str(found_ms)
