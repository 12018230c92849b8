"""One client that does not read, or publishes as fast as it can, is no burden to the others."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from itertools import pairwise
from random import Random
from time import monotonic
from typing import Any, Self

import pytest
import zenoh

from tests.figures import Figures
from tests.network import Inbox, client, native_client, router, statuses, wait_for
from tests.survival.processes import Child
from zenoh_la import Circle, Coordinates, LocationSession

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
BLOCK = zenoh.CongestionControl.BLOCK

_LISTENER = """
import sys, zenoh
from tests.network import client
from zenoh_la import Circle, Coordinates
session = client(sys.argv[1])
ignore = zenoh.handlers.Callback(lambda sample: None, indirect=False)
area = Circle(Coordinates(48.3, 14.3), 5000)
session.declare_subscriber("flood", ignore, location_shape=area)
print("ready", flush=True)
sys.stdin.readline()
"""
_FLOODER = """
import sys, threading, zenoh
from itertools import count
from tests.network import client
from zenoh_la import Coordinates
session, turn = client(sys.argv[1]), count()
size, pause_s = int(sys.argv[2]), float(sys.argv[3])
control = getattr(zenoh.CongestionControl, sys.argv[4])
# It moves with every message: each one passes the router's match.
session.declare_position_handler(0, lambda: Coordinates(48.3 + next(turn) % 7 / 10000, 14.3))
publisher = session.declare_publisher("flood", congestion_control=control)
print("ready", flush=True)
stopped = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stopped.set()), daemon=True).start()
sent = 0
while not (stopped.wait(pause_s) if pause_s else stopped.is_set()):
    publisher.put(bytes(size))
    sent += 1
print(sent, flush=True)
sys.stdin.readline()
"""


class Calm:
    """A publisher and a subscriber with little to say, and somebody who declares now and then."""

    def __init__(self, publisher: LocationSession, subscriber: LocationSession) -> None:
        publisher.declare_position_handler(0, lambda: LINZ)
        self._publisher = publisher.declare_publisher("calm", congestion_control=BLOCK)
        self._subscriber = subscriber
        self.inbox = Inbox()
        subscriber.declare_subscriber("calm", self.inbox, location_shape=AREA)
        self.sent = 0
        self.longest_s = 0.0
        self.longest_declaring_s = 0.0
        self._stopped = threading.Event()
        steps = (self._publish, self._declare)
        self._threads = [threading.Thread(target=step) for step in steps]

    def _publish(self) -> None:
        while not self._stopped.wait(0.005):
            since_s = monotonic()
            self.sent += 1
            self._publisher.put(str(self.sent))
            self.inbox.wait(self.sent)
            self.longest_s = max(self.longest_s, monotonic() - since_s)

    def _declare(self) -> None:
        ignore: Any = zenoh.handlers.Callback(lambda _: None, indirect=False)
        while not self._stopped.wait(0.05):
            since_s = monotonic()
            self._subscriber.declare_subscriber("other", ignore, location_shape=AREA).undeclare()
            took_s = monotonic() - since_s
            self.longest_declaring_s = max(self.longest_declaring_s, took_s)

    def check(self) -> None:
        """They cease, and everything has arrived, in order."""
        self._stop()
        assert self.inbox.texts() == [str(n) for n in range(1, self.sent + 1)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()


def start(stack: ExitStack, program: str, *arguments: object) -> Child:
    started = Child(program, *arguments)
    stack.callback(started.kill)
    assert started.says() == "ready"
    return started


def calm_beside(stack: ExitStack, at: str) -> Calm:
    sessions = [stack.enter_context(client(at)) for _ in range(2)]
    calm = stack.enter_context(Calm(*sessions))
    calm.inbox.wait(20)
    return calm


def with_one_that_does_not_read(control: str) -> tuple[Calm, float]:
    """Others beside it, and the longest pause of one who wants the very same messages."""
    with router() as at, ExitStack() as stack, native_client(at.endpoint) as observer:
        stuck = start(stack, _LISTENER, at.endpoint)
        stack.callback(lambda: stuck.process.send_signal(signal.SIGCONT))
        calm = calm_beside(stack, at.endpoint)
        flooder = start(stack, _FLOODER, at.endpoint, 20_000, 0.002, control)
        heard: list[float] = []
        same: Any = zenoh.handlers.Callback(lambda _: heard.append(monotonic()), indirect=False)
        stack.enter_context(client(at.endpoint)).declare_subscriber(
            "flood", same, location_shape=AREA
        )
        wait_for(lambda: len(heard) > 50, "it flows")
        sessions = statuses(observer).popitem()[1]["sessions"]
        stuck.process.send_signal(signal.SIGSTOP)
        if control == "BLOCK":  # Zenoh closes the link when nothing went out for 5 s

            def is_gone() -> bool:
                return bool(statuses(observer).popitem()[1]["sessions"] == sessions - 1)

            wait_for(is_gone, "the one that does not read is gone")
            before = len(heard)
            wait_for(lambda: len(heard) > before + 100, "it flows again")
        else:  # more than all buffers on the way to it can hold
            before = len(heard)
            wait_for(lambda: len(heard) > before + 1500, "30 MB more")
        flooder.go_on()
        flooder.says()
        calm.check()
        pauses = [later - earlier for earlier, later in pairwise(heard)]
        return calm, max(pauses)


def test_who_does_not_read_delays_nobody(figures: Figures) -> None:
    calm, same_s = with_one_that_does_not_read("DROP")
    figures.record("a client that does not read: longest delay of others' messages",
                   calm.longest_s, "s", at_most=2)  # fmt: skip
    figures.record("  longest pause of one who wants the very same", same_s, "s", at_most=2)
    figures.record("  longest declaration of others", calm.longest_declaring_s, "s", at_most=2)


@pytest.mark.long
def test_nor_if_the_publisher_waits_for_it(figures: Figures) -> None:
    """With BLOCK, whoever wants the same messages waits for it too, as in Zenoh: 5 s, once."""
    calm, same_s = with_one_that_does_not_read("BLOCK")
    figures.record("the same with BLOCK: longest delay of others' messages",
                   calm.longest_s, "s", at_most=1)  # fmt: skip
    figures.record("  longest pause of one who wants the very same", same_s, "s", at_most=6)
    figures.record("  longest declaration of others", calm.longest_declaring_s, "s", at_most=1)


def beside_one_at_full_speed(seconds: float) -> tuple[Calm, float]:
    """Others beside it, and how many messages a second it sent."""
    with router() as at, ExitStack() as stack:
        start(stack, _LISTENER, at.endpoint)
        calm = calm_beside(stack, at.endpoint)
        flooder = start(stack, _FLOODER, at.endpoint, 100, 0, "DROP")
        since_s, sent = monotonic(), calm.sent
        wait_for(lambda: monotonic() > since_s + seconds and calm.sent > sent + 20, "a while")
        flooder.go_on()
        speed = int(flooder.says()) / (monotonic() - since_s)
        calm.check()
        return calm, speed


def test_a_publisher_at_full_speed_starves_nobody(figures: Figures) -> None:
    calm, speed = beside_one_at_full_speed(2.0)
    figures.record(f"beside a publisher at full speed ({speed:,.0f}/s): longest delay",
                   calm.longest_s, "s", at_most=2)  # fmt: skip
    figures.record("  longest declaration of others", calm.longest_declaring_s, "s", at_most=2)


@pytest.mark.long
def test_not_for_long_either(figures: Figures) -> None:
    calm, speed = beside_one_at_full_speed(15.0)
    figures.record(f"beside a publisher at full speed ({speed:,.0f}/s), 15 s: longest delay",
                   calm.longest_s, "s", at_most=1)  # fmt: skip
    figures.record("  longest declaration of others", calm.longest_declaring_s, "s", at_most=1)


_ASKER = """
import sys, threading
from tests.network import client
from zenoh_la import MgrsCell, Precision
session = client(sys.argv[1])
zones = []
for zone in range(1, 61):
    for band in "CDEFGHJKLMNPQRSTUVWX":
        try:
            zones.append(MgrsCell.parse(f"{zone:02d}{band}"))
        except ValueError:  # there are a few that are not
            continue
print("ready", flush=True)
stopped = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stopped.set()), daemon=True).start()
asked = 0
while not stopped.is_set():
    list(session.get("wide", location_shape=zones, precision=Precision.MGRS, timeout=30))
    asked += 1
print(asked, flush=True)
sys.stdin.readline()
"""


def test_a_get_of_the_whole_world_holds_up_nobody(figures: Figures) -> None:
    """1,200 location keys, and 5,000 circles they might meet: most of a second to find out."""
    random = Random(1)
    with router() as at, ExitStack() as stack:
        answerer = stack.enter_context(client(at.endpoint))
        circles = [
            Circle(Coordinates(random.uniform(-60, 60), random.uniform(-179, 179)), 50_000)
            for _ in range(5000)
        ]
        ignore: Any = zenoh.handlers.Callback(lambda query: query.drop(), indirect=False)
        for some in range(0, 5000, 500):
            answerer.declare_queryable("wide", ignore, location_shape=circles[some : some + 500])
        calm = calm_beside(stack, at.endpoint)
        asker = start(stack, _ASKER, at.endpoint)
        since_s = monotonic()
        wait_for(lambda: monotonic() > since_s + 3.0, "a while")
        asker.go_on()
        assert int(asker.says()) > 0
        calm.check()
    figures.record("beside gets of the whole world over 5,000 circles: longest delay",
                   calm.longest_s, "s", at_most=2)  # fmt: skip
    figures.record("  longest declaration of others", calm.longest_declaring_s, "s", at_most=2)
