"""Sessions and routers that end at any moment, in the middle of whatever they do."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from random import Random
from time import monotonic, sleep
from typing import Any

import pytest
import zenoh

import zenoh_la
from tests.figures import Figures
from tests.network import (
    DEADLINE_S,
    Inbox,
    RouterProcess,
    client,
    config,
    endpoint,
    own_threads,
    wait_for,
)
from zenoh_la import Circle, Coordinates, Shape

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
EGO: dict[str, Any] = {"location_shape": Shape.CIRCLE, "shape_data": {"r": 5000}}
BLOCK = zenoh.CongestionControl.BLOCK


@pytest.fixture(autouse=True)
def _no_errors_in_callbacks(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Zenoh logs what a callback raises: nobody else would see it."""
    yield
    assert [r.getMessage() for r in caplog.records if r.name.startswith("zenoh.")] == []


@pytest.fixture(scope="module")
def at() -> Iterator[RouterProcess]:
    started = RouterProcess()
    try:
        yield started.wait_until_ready()
    finally:
        started.stop()


def work(session: zenoh_la.LocationSession, random: Random) -> list[Callable[[], Any]]:
    """What different threads of an application do, again and again."""
    session.declare_position_handler(0, lambda: Coordinates(48.3 + random.random() / 1000, 14.3))
    session.declare_subscriber("t", Inbox(), **EGO)
    publisher = session.declare_publisher("t", congestion_control=BLOCK)

    def declare_and_drop() -> None:
        with session.declare_subscriber("t", Inbox(), location_shape=AREA):
            session.declare_queryable("q", Inbox(), location_shape=AREA).undeclare()

    def listen() -> None:
        publisher.declare_matching_listener(Inbox()).undeclare()

    return [
        lambda: publisher.put("x"),
        lambda: session.put("u", "x", precision=zenoh_la.Precision.MGRS),
        declare_and_drop,
        listen,
        lambda: list(session.get("q", location_shape=AREA, timeout=1)),
    ]


def ended(step: Callable[[], Any]) -> None:
    """Again and again until the session is closed under it: the errors are Zenoh's or ours."""
    with contextlib.suppress(zenoh.ZError, zenoh_la.ZenohLaError):
        while True:
            step()


def close_at_some_moment(session: zenoh_la.LocationSession, random: Random) -> float:
    """Returns how many seconds closing took; all who worked with the session have ended."""
    steps = work(session, random)
    threads = [threading.Thread(target=ended, args=(step,), daemon=True) for step in steps]
    for thread in threads:
        thread.start()
    sleep(random.uniform(0, 0.03))  # the moment: any
    since_s = monotonic()
    closing = threading.Thread(target=session.close, daemon=True)
    closing.start()
    closing.join(DEADLINE_S)
    assert not closing.is_alive(), "close hangs"
    seconds = monotonic() - since_s
    for thread in threads:
        thread.join(DEADLINE_S)
        assert not thread.is_alive(), "one who worked with the session hangs"
    return seconds


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - not a folder of files


def close_again_and_again(at: str, rounds: int, seed: int) -> float:
    """Clients and peers in turn; returns the longest that closing took."""
    random = Random(seed)
    longest_s = 0.0
    threads, files = set[threading.Thread](), 0
    for turn in range(-3, rounds):
        if turn == 0:  # what Zenoh makes once, and keeps, is there
            threads, files = own_threads(), open_files()
        opened = zenoh_la.open(config("peer", listen=[endpoint()])) if turn % 3 == 2 else client(at)
        longest_s = max(longest_s, close_at_some_moment(opened, random))
    wait_for(lambda: own_threads() <= threads, "no thread is left")
    wait_for(lambda: open_files() <= files + 3, f"{files} files; there are {open_files()}")
    return longest_s


def test_sessions_closed_at_any_moment(at: RouterProcess, figures: Figures) -> None:
    figures.record("sessions closed at any moment, 12 times: the longest",
                   close_again_and_again(at.endpoint, 12, seed=1), "s")  # fmt: skip


@pytest.mark.long
def test_sessions_closed_at_any_moment_many_times(at: RouterProcess, figures: Figures) -> None:
    figures.record("sessions closed at any moment, 300 times: the longest",
                   close_again_and_again(at.endpoint, 300, seed=2), "s", at_most=5)  # fmt: skip


def stop_routers(rounds: int, seed: int) -> float:
    """Each is asked to stop at any moment while clients come, work and go."""
    random = Random(seed)
    longest_s = 0.0
    for _ in range(rounds):
        at = RouterProcess().wait_until_ready()
        session = client(at.endpoint)
        steps = work(session, random)
        threads = [threading.Thread(target=ended, args=(step,), daemon=True) for step in steps]
        for thread in threads:
            thread.start()
        sleep(random.uniform(0, 0.05))  # the moment: any
        since_s = monotonic()
        at.process.send_signal(random.choice([signal.SIGTERM, signal.SIGINT]))
        assert at.process.stdout is not None
        said = at.process.stdout.read()
        assert at.process.wait(DEADLINE_S) == 0, said
        longest_s = max(longest_s, monotonic() - since_s)
        for sign in ("Traceback", "panicked", "callback error", "failed"):
            assert sign not in said, said
        session.close()
        for thread in threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive(), "one who worked with the session hangs"
        at.stop()
    return longest_s


def test_routers_stopped_at_any_moment(figures: Figures) -> None:
    figures.record("routers stopped at any moment, 2 times: the longest",
                   stop_routers(2, seed=3), "s")  # fmt: skip


@pytest.mark.long
def test_routers_stopped_at_any_moment_many_times(figures: Figures) -> None:
    figures.record("routers stopped at any moment, 30 times: the longest",
                   stop_routers(30, seed=4), "s", at_most=10)  # fmt: skip
