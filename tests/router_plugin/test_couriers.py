"""News for sessions: in order for each, and one that does not take them holds up no other."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from math import inf
from time import monotonic
from typing import Any

import pytest

from tests.network import (
    DEADLINE_S,
    Inbox,
    client,
    config,
    endpoint,
    wait_for,
)
from tests.survival.processes import Child
from zenoh_la import Circle, Coordinates, Router
from zenoh_la.router_plugin import couriers as module
from zenoh_la.router_plugin.couriers import Couriers

LINZ = Coordinates(48.3, 14.3)


@pytest.fixture
def couriers() -> Iterator[Couriers]:
    made = Couriers("test")
    yield made
    made.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("test-")]


def test_each_gets_its_news_in_order(couriers: Couriers) -> None:
    got: dict[int, list[int]] = {n: [] for n in range(50)}
    for number in range(200):
        for to, taken in got.items():
            couriers.send(to, lambda taken=taken, number=number: taken.append(number))  # type: ignore[misc]
    wait_for(lambda: all(len(taken) == 200 for taken in got.values()), "all of it")
    assert all(taken == list(range(200)) for taken in got.values())
    assert couriers.dropped == 0


def test_one_that_takes_nothing_holds_up_nobody(couriers: Couriers) -> None:
    go_on, got = threading.Event(), Inbox()
    for stuck in range(10):
        couriers.send(stuck, lambda: go_on.wait(DEADLINE_S))  # type: ignore[arg-type]
    try:
        couriers.send("well", lambda: got("news"))
        got.wait(1)
    finally:
        go_on.set()


def test_what_waits_is_bounded_and_counted(
    couriers: Couriers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_NEWS", 5)
    began, go_on, got = threading.Event(), threading.Event(), Inbox()

    def wait() -> None:
        began.set()
        go_on.wait(DEADLINE_S)

    couriers.send("slow", wait)
    assert began.wait(DEADLINE_S)
    for number in range(12):
        couriers.send("slow", lambda number=number: got(number))  # type: ignore[misc]
    go_on.set()
    got.wait(5)
    assert got.items == [7, 8, 9, 10, 11]
    assert couriers.dropped == 7


def test_a_task_that_fails_is_not_the_last_one(
    couriers: Couriers, caplog: pytest.LogCaptureFixture
) -> None:
    got = Inbox()

    def fail() -> None:
        raise OSError("no way")

    couriers.send("a", fail)
    couriers.send("a", lambda: got("next"))
    got.wait(1)
    assert "no way" in caplog.text


_WATCHER = """
import sys
from tests.network import Inbox, client
from zenoh_la import Coordinates
session = client(sys.argv[1])
session.declare_position_handler(3600, lambda: Coordinates(48.3, 14.3))
inbox = Inbox()
session.declare_publisher("watched").declare_matching_listener(inbox)
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_session_that_does_not_read_keeps_no_news_from_others() -> None:
    """Its link is full and its news wait in vain: others hear at once who listens."""
    listen = endpoint()
    with Router(config("router", listen=[listen])) as home, ExitStack() as stack:
        stuck = Child(_WATCHER, listen)
        stack.callback(stuck.kill)
        assert stuck.says() == "ready"
        node = home._node
        (member,) = node._members.all()
        stuck.process.send_signal(signal.SIGSTOP)
        stack.callback(lambda: stuck.process.send_signal(signal.SIGCONT))
        session, other = (stack.enter_context(client(listen)) for _ in range(2))
        session.declare_position_handler(inf, lambda: LINZ)
        news: Any = Inbox()
        session.declare_publisher("watched").declare_matching_listener(news)
        waiting = turn = 0
        while waiting < 20:
            turn += 1
            assert turn < 100, "its news never waited"
            # More than the link holds, at the priority of the news; not in a thread of its own,
            # which would hold up this whole process and not only the link.
            for _ in range(0 if waiting else 20):
                home._session.put(member.messages, bytes(100_000))
            since_s = monotonic()
            with other.declare_subscriber("watched", Inbox(), location_shape=Circle(LINZ, 9)):
                news.wait(2 * turn - 1)
            news.wait(2 * turn)
            took_s = monotonic() - since_s
            assert took_s < 4, "the 5 s that Zenoh waits for one who does not read"
            waiting = len(node._couriers._waiting.get((node.nid, member.slot), ()))
