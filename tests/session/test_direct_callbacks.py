"""What a callback on Zenoh's receiving thread may do: nothing there waits for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from time import monotonic
from typing import Any

import pytest
import zenoh

from tests.network import (
    Inbox,
    RouterProcess,
    client,
    native_client,
    peers,
    router,
    statuses,
    wait_for,
)
from zenoh_la import Circle, Coordinates, LocationSession, NodeError

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
AT_ONCE_S = 3.0
"""Less than the 5 s for which an answer would be waited for in vain."""


@pytest.fixture(scope="module")
def at() -> Iterator[RouterProcess]:
    with router() as started:
        yield started


def run_in_callback(
    at: RouterProcess, session: LocationSession, step: Callable[[], Any], **area: Any
) -> tuple[Any, float]:
    """What a step returns or raises inside a direct callback of a session, and how long it took."""
    done: list[tuple[Any, float]] = []

    def callback(_: Any) -> None:
        if done:
            return
        since_s = monotonic()
        try:
            result = step()
        except Exception as exc:
            result = exc
        done.append((result, monotonic() - since_s))

    direct: Any = zenoh.handlers.Callback(callback, indirect=False)
    session.declare_subscriber("call", direct, **area)
    with client(at.endpoint) as caller:
        caller.declare_position_handler(inf, lambda: LINZ)

        def is_done() -> bool:
            caller.put("call", "", congestion_control=zenoh.CongestionControl.BLOCK)
            return bool(done)

        wait_for(is_done, "the callback ends")
    return done[0]


@pytest.mark.parametrize("where", [{}, {"location_shape": AREA}], ids=["plain", "area"])
@pytest.mark.parametrize("what", ["subscriber", "queryable", "listener"])
def test_what_would_wait_is_refused_at_once(
    at: RouterProcess, where: dict[str, Any], what: str
) -> None:
    with client(at.endpoint) as session:
        session.declare_position_handler(inf, lambda: LINZ)
        publisher = session.declare_publisher("t")
        steps: dict[str, Callable[[], Any]] = {
            "subscriber": lambda: session.declare_subscriber("t", Inbox(), location_shape=AREA),
            "queryable": lambda: session.declare_queryable("t", Inbox(), location_shape=AREA),
            "listener": lambda: publisher.declare_matching_listener(Inbox()),
        }
        result, took_s = run_in_callback(at, session, steps[what], **where)
        assert isinstance(result, NodeError)
        assert "direct callback" in str(result)
        assert took_s < AT_ONCE_S
        assert not session._core.membership._watches
        inbox = Inbox()  # outside it goes on as before
        session.declare_subscriber("t", inbox, location_shape=AREA)
        publisher.put("x")
        inbox.wait(1)


def test_what_was_declared_can_be_taken_back(at: RouterProcess) -> None:
    with client(at.endpoint) as session, native_client(at.endpoint) as observer:
        session.declare_position_handler(inf, lambda: LINZ)
        handles = [
            session.declare_subscriber("t", Inbox(), location_shape=AREA),
            session.declare_queryable("t", Inbox(), location_shape=AREA),
            session.declare_publisher("t").declare_matching_listener(Inbox()),
        ]

        def take_back() -> None:
            for handle in handles:
                handle.undeclare()

        result, took_s = run_in_callback(at, session, take_back, location_shape=AREA)
        assert result is None
        assert took_s < AT_ONCE_S

        def interests() -> int:
            return sum(int(status["interests"]) for status in statuses(observer).values())

        wait_for(lambda: interests() == 1, "only the one that calls is left")
        assert not session._core.membership._watches


def test_the_first_use_of_a_place_can_be_in_a_callback(at: RouterProcess) -> None:
    """The session has not joined its router yet: what it puts waits until another thread has."""
    inbox = Inbox()
    with client(at.endpoint) as session, client(at.endpoint) as listener:
        listener.declare_subscriber("answer", inbox, location_shape=AREA)
        session.declare_position_handler(inf, lambda: LINZ)
        result, took_s = run_in_callback(at, session, lambda: session.put("answer", "x"))
        assert result is None
        assert took_s < AT_ONCE_S
        inbox.wait(1)
        assert session.node_status() is None, "it belongs to its router"


def test_a_peer_may_declare_in_a_callback() -> None:
    """Its node is its own: the answer comes by no other thread."""
    one, two = peers(2)
    with one, two:
        two.declare_position_handler(inf, lambda: LINZ)
        one.declare_position_handler(inf, lambda: LINZ)
        inbox = Inbox()
        declared: list[Any] = []

        def declare(_: Any) -> None:
            if not declared:
                declared.append(one.declare_subscriber("t", inbox, location_shape=AREA))

        direct: Any = zenoh.handlers.Callback(declare, indirect=False)
        one.declare_subscriber("call", direct, location_shape=AREA)

        def is_heard() -> bool:
            two.put("call", "")
            two.put("t", "x")
            return len(inbox) > 0

        wait_for(is_heard, "what was declared in the callback hears")
