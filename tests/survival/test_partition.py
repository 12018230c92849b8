"""A line of routers that is cut in two, goes on changing on both sides, and is whole again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from time import monotonic
from typing import Any, cast

import pytest
import zenoh

import zenoh_la
from tests.cable import Cable
from tests.figures import Figures
from tests.network import Inbox, client, config, endpoint, wait_for
from tests.survival.truth import differences
from zenoh_la import Circle, Coordinates, Router, Shape
from zenoh_la.router_plugin.node import Node

BLOCK = zenoh.CongestionControl.BLOCK
RETRY: dict[str, Any] = {"connect__retry": {"period_init_ms": 50, "period_max_ms": 200}}
LEASE: dict[str, Any] = {"transport__link__tx__lease": 1000}
SETTLED_S = 1.0
"""A stock Zenoh router that loses one link and then, within 0.1 s, gets a new neighbour in place of
an old one never tells that what it knows; nothing can be sent round that."""
TOPICS = ["part/a", "part/b", "part/*", "part/**"]


class Citizen:
    """A client that wants some things here, some things about itself, and changes its mind."""

    def __init__(self, at: str, random: Random) -> None:
        self.session = client(at, **RETRY)
        self._random = random
        self.place = self._any_place()
        self.inbox = Inbox()
        self.session.declare_position_handler(3600, lambda: self.place)
        self._wanted: list[Any] = []
        self._mobile = self.session.declare_subscriber(
            "part/ego", self.inbox, location_shape=Shape.CIRCLE, shape_data={"r": 2000}
        )
        for _ in range(3):
            self.want()

    def _any_place(self) -> Coordinates:
        return Coordinates(self._random.uniform(47, 49), self._random.uniform(13, 15))

    def want(self) -> None:
        area, topic = Circle(self._any_place(), 30_000), self._random.choice(TOPICS)
        session, ring = self.session, cast("Any", zenoh.handlers.RingChannel(1))
        declare: Any = self._random.choice([session.declare_subscriber, session.declare_queryable])
        self._wanted.append(declare(topic, ring, location_shape=area))

    def drop(self) -> None:
        self._wanted.pop(self._random.randrange(len(self._wanted))).undeclare()

    def move(self) -> None:
        moves = self.session._core.mobility.moves
        self.place = self._any_place()
        self.session.declare_position_handler(3600, lambda: self.place)
        assert self.session.position == self.place
        wait_for(lambda: self.session._core.mobility.moves > moves, "it has moved")


class Line:
    """Four routers, a cable between the second and the third, and citizens at each of them."""

    def __init__(self, stack: ExitStack, seed: int) -> None:
        self._stack = stack
        self._random = Random(seed)
        self._listen = [endpoint() for _ in range(4)]
        self.cable = stack.enter_context(Cable(self._listen[1]))
        self._routers = [self._start(n) for n in range(4)]
        self._citizens = [Citizen(at, self._random) for at in self._listen for _ in range(2)]
        stack.callback(self._close)

    def _close(self) -> None:
        for citizen in self._citizens:
            citizen.session.close()
        for router in self._routers:
            router.close()

    def _start(self, number: int) -> Router:
        to = [[], [self._listen[0]], [self.cable.endpoint], [self._listen[2]]][number]
        more = {**RETRY, **LEASE, "listen": [self._listen[number]], "connect": to}
        return Router(config("router", **more))

    @property
    def _sides(self) -> list[tuple[list[Node], list[zenoh_la.LocationSession]]]:
        nodes = [router._node for router in self._routers]
        sessions = [citizen.session for citizen in self._citizens]
        return [(nodes[:2], sessions[:4]), (nodes[2:], sessions[4:])]

    def wait_until_whole(self, what: str) -> float:
        """Returns after how many seconds every node knows exactly what there is."""
        since_s = monotonic()
        (near, near_by), (far, far_off) = self._sides

        def look() -> dict[str, str]:
            return differences([*near, *far], [*near_by, *far_off])

        self._wait(look, what)
        return monotonic() - since_s

    def wait_until_apart(self, what: str) -> None:
        def look() -> dict[str, str]:
            return {k: v for side in self._sides for k, v in differences(*side).items()}

        self._wait(look, what)

    @staticmethod
    def _wait(look: Any, what: str) -> None:
        try:
            wait_for(lambda: not look(), what)
        except AssertionError as exc:
            raise AssertionError(f"{exc}: {look()}") from None

    def live_on(self) -> None:
        """On both sides somebody wants, drops and moves; one leaves and another one comes."""
        for citizen in self._citizens:
            citizen.want()
            citizen.drop()
            if self._random.random() < 0.7:
                citizen.move()
        for side in (0, 4):
            number = side + self._random.randrange(4)
            self._citizens[number].session.close()
            self._citizens[number] = Citizen(self._listen[number // 2], self._random)

    def restart(self, number: int) -> None:
        """A router at one end is another one afterwards; its clients join that."""
        self._routers[number].close()
        self._routers[number] = self._start(number)

    def check_message(self) -> None:
        """From one end to the other, by place."""
        first, last = self._citizens[0], self._citizens[-1]
        first.session.declare_position_handler(0, lambda: last.place)
        first.session.put("part/ego", "end to end", congestion_control=BLOCK)
        wait_for(lambda: last.inbox.texts()[-1:] == ["end to end"], "the message")
        last.inbox.items.clear()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def partitions(stack: ExitStack, rounds: int, seed: int) -> list[float]:
    line = Line(stack, seed)
    line.wait_until_whole("at first")
    seconds = []
    for turn in range(rounds):
        what = f"seed {seed}, round {turn}"
        if turn % 2:
            line.cable.silence()
        else:
            line.cable.cut()
        line.wait_until_apart(f"{what}: each side knows itself and no more")
        apart_s = monotonic()
        line.live_on()
        line.wait_until_apart(f"{what}: each side lives on")
        if turn % 4 == 3:
            wait_for(lambda s=apart_s: monotonic() > s + SETTLED_S, "Zenoh has settled")  # type: ignore[misc]
            line.restart(turn // 4 % 2 * 3)
            line.wait_until_apart(f"{what}: one router is another one now")
        line.cable.mend()
        seconds.append(line.wait_until_whole(f"{what}: the line is whole"))
        line.check_message()
    return seconds


def test_a_line_that_was_in_two_knows_all_when_it_is_whole_again(stack: ExitStack) -> None:
    partitions(stack, rounds=4, seed=1)


@pytest.mark.long
def test_forty_partitions_leave_no_gap(stack: ExitStack, figures: Figures) -> None:
    seconds = partitions(stack, rounds=40, seed=2)
    figures.record(
        "a line of routers cut and mended, 40 times: until all know all", max(seconds), "s",
        at_most=5,
    )  # fmt: skip
