"""Sessions end: by close, by their last reference, with the process, and under any load."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from math import inf
from time import sleep
from typing import Any

import pytest
import zenoh

import zenoh_la
from tests.network import (
    DEADLINE_S,
    Inbox,
    RouterProcess,
    client,
    config,
    endpoint,
    native_client,
    own_threads,
    router,
    statuses,
    wait_for,
)
from zenoh_la import Circle, Coordinates, Shape

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
EGO: dict[str, Any] = {"location_shape": Shape.CIRCLE, "shape_data": {"r": 5000}}
BLOCK = zenoh.CongestionControl.BLOCK


@pytest.fixture(scope="module")
def at() -> Iterator[RouterProcess]:
    with router() as started:
        yield started


def lone_peer() -> zenoh_la.LocationSession:
    return zenoh_la.open(config("peer", listen=[endpoint()]))


def use(session: zenoh_la.LocationSession) -> list[Any]:
    """Something of everything that has a thread or a channel; returns the handles."""
    turn = count()
    session.declare_position_handler(0, lambda: Coordinates(48 + next(turn) % 9 / 10, 14))
    publisher = session.declare_publisher("used")
    handles = [
        session.declare_subscriber("used", Inbox(), **EGO),
        session.declare_subscriber("used", location_shape=AREA),
        session.declare_pull_subscriber("used", location_shape=AREA),
        session.declare_queryable("used", Inbox(), location_shape=AREA),
        publisher,
        publisher.declare_matching_listener(Inbox()),
    ]
    publisher.put("x")
    list(session.get("used", location_shape=Circle(Coordinates(0, 0), 5), timeout=5))
    return handles


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - not a folder of files


@pytest.mark.parametrize("kind", ["client", "peer"])
def test_many_sessions_leave_no_thread_and_no_file(at: RouterProcess, kind: str) -> None:
    def once() -> None:
        with client(at.endpoint) if kind == "client" else lone_peer() as session:
            use(session)

    once()
    before, files = own_threads(), open_files()
    for _ in range(15):
        once()
    wait_for(lambda: not own_threads() - before, "no thread is left")
    wait_for(lambda: open_files() <= files + 3, f"{files} files; there are {open_files()}")


def test_a_session_ends_with_its_last_reference(at: RouterProcess) -> None:
    with native_client(at.endpoint) as observer:
        wait_for(lambda: sessions_at(observer) == [0], "nobody is there")
        before = own_threads()
        opened = [client(at.endpoint), lone_peer()]
        handles = [use(session) for session in opened]
        assert sessions_at(observer) == [1]
        assert own_threads() - before
        opened.clear()
        gc.collect()
        wait_for(lambda: sessions_at(observer) == [0], "its router knows")
        wait_for(lambda: not own_threads() - before, "no thread is left")
        assert len(handles) == 2


def sessions_at(observer: zenoh.Session) -> list[int]:
    return [s["sessions"] for s in statuses(observer).values() if s["mode"] == "router"]


@pytest.mark.parametrize("kind", ["client", "peer"])
def test_a_closed_session_says_so(at: RouterProcess, kind: str) -> None:
    session = client(at.endpoint) if kind == "client" else lone_peer()
    handles = use(session)
    session.close()
    session.close()
    assert session.is_closed()
    calls: list[Callable[[], Any]] = [
        lambda: session.put("t", "x"),
        lambda: handles[4].put("x"),
        lambda: session.declare_subscriber("t", location_shape=AREA),
        lambda: session.get("t", location_shape=AREA),
    ]
    for call in calls:
        with pytest.raises(zenoh.ZError):
            call()


def in_time(what: str, step: Callable[[], Any]) -> None:
    """Fails, and does not hang, if a step does not end; its errors are Zenoh's and ours."""

    def run() -> None:
        with contextlib.suppress(zenoh.ZError, zenoh_la.ZenohLaError):
            step()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    assert not thread.is_alive(), f"{what} did not end within {DEADLINE_S:g} s"


@pytest.mark.parametrize("kind", ["client", "peer"])
def test_closed_while_others_publish_and_declare(at: RouterProcess, kind: str) -> None:
    session = client(at.endpoint) if kind == "client" else lone_peer()
    session.declare_position_handler(inf, lambda: LINZ)
    session.declare_subscriber("t", Inbox(), location_shape=AREA)
    publisher = session.declare_publisher("t", congestion_control=BLOCK)
    ended: list[BaseException] = []
    steps: list[Callable[[], Any]] = [
        lambda: session.put("t", "x"),
        lambda: publisher.put("x"),
        lambda: session.declare_subscriber("t", Inbox(), location_shape=AREA).undeclare(),
        lambda: list(session.get("t", location_shape=AREA)),
    ]
    rounds = [0] * len(steps)

    def keep_on(number: int) -> None:
        try:
            while True:
                steps[number]()
                rounds[number] += 1
                sleep(0.001)  # at full speed they would only wait for each other
        except (zenoh.ZError, zenoh_la.ZenohLaError) as exc:
            ended.append(exc)

    working = [threading.Thread(target=keep_on, args=(n,), daemon=True) for n in range(len(steps))]
    for thread in working:
        thread.start()
    wait_for(lambda: min(rounds) > 20, f"all are at work: {rounds}")
    in_time("close", session.close)
    for thread in working:
        in_time("a user of the session", thread.join)
    assert len(ended) == len(steps)


def test_closed_while_a_get_is_under_way(at: RouterProcess) -> None:
    with client(at.endpoint) as slow:
        asked: list[Any] = []
        slow.declare_queryable("slow", asked.append, location_shape=AREA)
        session = client(at.endpoint)
        replies = session.get("slow", location_shape=AREA, timeout=3600)
        wait_for(lambda: asked, "the get is under way")
        in_time("close", session.close)
        in_time("the get", lambda: list(replies))
        asked.clear()


def is_held(lock: Any) -> bool:
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


def close_while_its_router_hangs(messages: int) -> None:
    before = own_threads()
    with router() as hung:
        session = client(hung.endpoint)
        use(session)
        publisher = session.declare_publisher("t")
        hung.freeze()
        for _ in range(messages):
            publisher.put(bytes(1000))
        asking, asked = threading.Event(), session._core.membership._order

        def declare() -> None:
            asking.set()
            session.declare_subscriber("t", location_shape=AREA)

        waits = threading.Thread(target=lambda: in_time("who declares", declare), daemon=True)
        waits.start()
        assert asking.wait(DEADLINE_S)
        wait_for(lambda: is_held(asked), "it waits for the router")
        in_time("close", session.close)
        in_time("who declares", waits.join)
        wait_for(lambda: not own_threads() - before, "no thread is left")


def test_closed_while_its_router_hangs() -> None:
    """Whatever waits for the router's answer ends with the session."""
    close_while_its_router_hangs(messages=0)


@pytest.mark.long
def test_closed_while_its_router_hangs_and_nothing_can_be_sent() -> None:
    """Zenoh itself gives up after 10 s."""
    close_while_its_router_hangs(messages=2000)


_ENDS = """
import sys
from tests.network import client
import zenoh, zenoh_la
from zenoh_la import Circle, Coordinates, Shape
session = client(sys.argv[1])
session.declare_position_handler(0, lambda: Coordinates(48.3, 14.3))
direct = zenoh.handlers.Callback(lambda sample: None, indirect=False)
handles = [
    session.declare_subscriber("t", location_shape=Shape.CIRCLE, shape_data={{"r": 5}}),
    session.declare_subscriber("t", direct, location_shape=Circle(Coordinates(48.3, 14.3), 5)),
    session.declare_pull_subscriber("t", location_shape=Circle(Coordinates(48.3, 14.3), 5)),
]
session.put("t", "x")
{end}
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [("", 0), ("raise SystemExit(3)", 3), ("1 / 0", 1), ("session.close()", 0)],
    ids=["ends", "exits", "fails", "closes"],
)
def test_a_process_that_does_not_close_its_session_ends(
    at: RouterProcess, end: str, code: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ENDS.format(end=end), at.endpoint],
        timeout=DEADLINE_S,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("ZeroDivisionError" in done.stderr) == (end == "1 / 0")
    assert "panicked" not in done.stderr


def test_a_slow_or_failing_callback_holds_up_nobody_else(at: RouterProcess) -> None:
    """As in Zenoh: until 256 samples wait for the slow one."""
    go_on = threading.Event()

    def slow(_: Any) -> None:
        assert go_on.wait(DEADLINE_S)

    def failing(_: Any) -> None:
        raise OSError("a user's mistake")

    with client(at.endpoint) as session, client(at.endpoint) as other:
        inbox, others = Inbox(), Inbox()
        try:
            session.declare_position_handler(inf, lambda: LINZ)
            for handler in (slow, failing, inbox):
                session.declare_subscriber("t", handler, location_shape=AREA)
                session.declare_subscriber("t", handler, **EGO)
            other.declare_subscriber("t", others, location_shape=AREA)
            for number in range(200):
                session.put("t", str(number), congestion_control=BLOCK)
            inbox.wait(400)
            others.wait(200)
            assert others.texts() == [str(number) for number in range(200)]
            session.declare_subscriber("u", inbox, location_shape=AREA)
        finally:
            go_on.set()
