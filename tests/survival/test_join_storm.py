"""Peers that all join at once, and at once change what they want: none has a gap afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from random import Random
from time import monotonic
from typing import Any

import pytest
import zenoh

import zenoh_la
from tests.figures import Figures
from tests.network import DEADLINE_S, config, endpoint, wait_for
from tests.survival.truth import differences
from zenoh_la import Circle, Coordinates, Shape
from zenoh_la.router_plugin.node import Node

RETRY: dict[str, Any] = {"connect__retry": {"period_init_ms": 50, "period_max_ms": 500}}
"""A peer that comes before the one it is to connect to tries again soon."""


def any_place(random: Random) -> Coordinates:
    return Coordinates(random.uniform(47, 49), random.uniform(13, 15))


class Joiner:
    """A peer that joins, declares, moves and takes back, without a pause."""

    def __init__(self, session: zenoh_la.LocationSession, seed: int) -> None:
        self.session = session
        self._random = Random(seed)
        self.place = any_place(self._random)
        self.kept: list[Any] = []

    def act(self) -> None:
        session, random = self.session, self._random
        ring: Any = zenoh.handlers.RingChannel(1)
        session.declare_position_handler(3600, lambda: self.place)
        ego: dict[str, Any] = {"location_shape": Shape.CIRCLE, "shape_data": {"r": 500}}
        self.kept.append(session.declare_subscriber("storm/ego", ring, **ego))
        passing = [
            session.declare_subscriber(f"storm/{n}", ring, location_shape=Circle(self.place, 50))
            for n in range(3)
        ]
        area = Circle(self.place, 70)
        self.kept.append(session.declare_queryable("storm/q", ring, location_shape=area))
        random.shuffle(passing)
        for one in passing[1:]:
            one.undeclare()
        self.kept.append(passing[0])
        self.place = any_place(random)
        session.declare_position_handler(3600, lambda: self.place)
        session.put("storm/moved", "")  # any use of the position moves the interests

    @property
    def node(self) -> Node:
        home = self.session._core.membership.home
        assert home is not None
        assert home.node is not None
        return home.node

    @property
    def has_moved(self) -> bool:
        """Whether its one mobile interest is where it is."""
        return self.session._core.mobility.moves == 1


def at_once(steps: list[Callable[[], None]]) -> None:
    """Runs all steps in threads that start together."""
    together = threading.Barrier(len(steps))
    failures: list[BaseException] = []

    def run(step: Callable[[], None]) -> None:
        try:
            together.wait(DEADLINE_S)
            step()
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * DEADLINE_S)
        assert not thread.is_alive(), "a peer hangs"
    assert not failures, failures


def storm(peers: int, seed: int) -> float:
    """All join; returns the seconds from the last change until every one knows all the others."""
    entrance = endpoint()
    joiners: list[Joiner] = []
    with ExitStack() as stack:

        def join(number: int) -> None:
            listen, connect = ["tcp/127.0.0.1:0"], [entrance]
            if not number:
                listen, connect = connect, []
            joining = config("peer", listen=listen, connect=connect, **RETRY)
            session = stack.enter_context(zenoh_la.open(joining))
            joiner = Joiner(session, seed * 1000 + number)
            joiners.append(joiner)
            joiner.act()

        at_once([partial(join, n) for n in range(peers)])
        wait_for(lambda: all(j.has_moved for j in joiners), "all have moved")
        since_s = monotonic()
        nodes, sessions = [j.node for j in joiners], [j.session for j in joiners]

        def is_so() -> bool:
            return not differences(nodes, sessions)

        try:
            wait_for(is_so, f"seed {seed}: all know all")
        except AssertionError as exc:
            raise AssertionError(f"{exc}: {differences(nodes, sessions)}") from None
        return monotonic() - since_s


def test_peers_that_join_at_once_know_each_other() -> None:
    for seed in range(2):
        storm(peers=8, seed=seed)


@pytest.mark.long
def test_twenty_storms_of_24_peers_leave_no_gap(figures: Figures) -> None:
    seconds = [storm(peers=24, seed=seed) for seed in range(20)]
    figures.record(
        "24 peers join at once, 20 times: until all know all", max(seconds), "s", at_most=10
    )
