"""Where a session is: when its handler is asked, and what happens if that is slow or fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from itertools import count
from math import inf
from time import monotonic

import pytest

import zenoh_la
from tests.network import DEADLINE_S, Inbox, config, endpoint, wait_for
from zenoh_la import Circle, Coordinates, PositionError, Shape

LINZ = Coordinates(48.3, 14.3)
GRAZ = Coordinates(47.07, 15.44)
EGO = {"location_shape": Shape.CIRCLE, "shape_data": {"r": 5000}}


@pytest.fixture
def session() -> Iterator[zenoh_la.LocationSession]:
    """A peer on its own: its own node."""
    with zenoh_la.open(config("peer", listen=[endpoint()])) as opened:
        yield opened


class Handler:
    """Counts how often it is asked; says where it is told to be, or fails."""

    def __init__(self, place: Coordinates | None = LINZ) -> None:
        self.place = place
        self.error: Exception | None = None
        self.asked = 0

    def __call__(self) -> Coordinates | None:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.place


def located(session: zenoh_la.LocationSession) -> Inbox:
    """All messages of the topic, wherever they arise."""
    inbox = Inbox()
    session.declare_subscriber("t", inbox)
    return inbox


def test_the_handler_is_asked_when_a_position_is_needed(session: zenoh_la.LocationSession) -> None:
    handler, inbox = Handler(), located(session)
    session.declare_position_handler(inf, handler)
    session.put("t", "plain", precision=None)
    assert handler.asked == 0
    session.put("t", "located")
    session.put("t", "located too")
    assert handler.asked == 1
    plain, *others = inbox.wait(3)
    assert getattr(plain, "location", None) is None
    assert [sample.location for sample in others] == [LINZ, LINZ]


def test_a_lifetime_of_zero_asks_at_every_put(session: zenoh_la.LocationSession) -> None:
    handler, inbox = Handler(), located(session)
    session.declare_position_handler(0, handler)
    for number in range(50):
        handler.place = Coordinates(number, 2 * number)
        session.put("t", str(number))
    assert handler.asked == 50
    samples = inbox.wait(50)
    assert [s.location for s in samples] == [Coordinates(n, 2 * n) for n in range(50)]


def test_a_finite_lifetime_asks_again_when_it_ends(session: zenoh_la.LocationSession) -> None:
    handler = Handler()
    session.declare_position_handler(0.05, handler)
    assert session.position == LINZ
    handler.place = GRAZ
    wait_for(lambda: session.position == GRAZ, "the new position")
    assert handler.asked >= 2
    session.declare_position_handler(3600, handler)
    asked = handler.asked
    for _ in range(10):
        session.put("t", "x")
    assert handler.asked == asked + 1


def test_no_position_means_a_plain_message_and_an_area_nowhere(
    session: zenoh_la.LocationSession,
) -> None:
    handler, everything, near = Handler(None), located(session), Inbox()
    session.declare_position_handler(0, handler)
    session.declare_subscriber("t", near, **EGO)  # type: ignore[arg-type]
    session.put("t", "plain")
    (sample,) = everything.wait(1)
    assert getattr(sample, "location", None) is None
    handler.place = LINZ
    session.put("t", "located, and the area moves here")
    assert everything.wait(2)[1].location == LINZ
    until_received(session, near, "now in the area")
    handler.place = None
    assert session.position is None
    status = session.node_status()
    assert status is not None
    wait_for(lambda: not has_area(session), "the area is nowhere")
    handler.place = LINZ
    until_received(session, near, "and back")


def has_area(session: zenoh_la.LocationSession) -> bool:
    home = session._core.membership.home
    assert home is not None
    assert home.node is not None
    return any(interest.chunks for _, interest in home.node.interests())


def until_received(session: zenoh_la.LocationSession, inbox: Inbox, text: str) -> None:
    """Puts a message again and again until it arrives: the area follows in its own time."""

    def arrived() -> bool:
        session.put("t", text)
        return text in inbox.texts()

    wait_for(arrived, text)


def test_a_slow_handler_holds_up_nobody_who_has_a_position(
    session: zenoh_la.LocationSession,
) -> None:
    asked, go_on = threading.Event(), threading.Event()
    first = iter([LINZ])

    def slow() -> Coordinates:
        place = next(first, None)
        if place is not None:
            return place
        asked.set()
        assert go_on.wait(DEADLINE_S)
        return GRAZ

    inbox = located(session)
    session.declare_position_handler(0, slow)
    session.put("t", "first")
    waits = threading.Thread(target=session.put, args=("t", "waits"))
    waits.start()
    try:
        assert asked.wait(DEADLINE_S)
        for number in range(20):
            session.put("t", str(number))
        assert [s.location for s in inbox.wait(21)] == [LINZ] * 21
        assert inbox.texts() == ["first", *map(str, range(20))]
    finally:
        go_on.set()
        waits.join(DEADLINE_S)
    assert inbox.wait(22)[-1].location == GRAZ


def test_the_first_position_is_waited_for_by_all(session: zenoh_la.LocationSession) -> None:
    asked, go_on = threading.Event(), threading.Event()
    calls = count()

    def slow() -> Coordinates:
        next(calls)
        asked.set()
        assert go_on.wait(DEADLINE_S)
        return LINZ

    inbox = located(session)
    session.declare_position_handler(inf, slow)
    threads = [threading.Thread(target=session.put, args=("t", str(n))) for n in range(5)]
    for thread in threads:
        thread.start()
    assert asked.wait(DEADLINE_S)
    assert len(inbox) == 0
    go_on.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert [s.location for s in inbox.wait(5)] == [LINZ] * 5
    assert next(calls) == 1


@pytest.mark.parametrize(
    "bad", [lambda: 1 / 0, lambda: "Linz", lambda: (48.3, 14.3)], ids=["raises", "text", "pair"]
)
def test_the_first_failure_is_an_error(
    session: zenoh_la.LocationSession, bad: Callable[[], Coordinates]
) -> None:
    session.declare_position_handler(0, bad)
    with pytest.raises(PositionError, match="the position handler failed"):
        session.put("t", "x")
    with pytest.raises(PositionError, match="the position handler failed"):
        session.declare_subscriber("t", Inbox(), **EGO)  # type: ignore[arg-type]


def test_a_later_failure_keeps_the_old_position_and_is_reported_once(
    session: zenoh_la.LocationSession, caplog: pytest.LogCaptureFixture
) -> None:
    handler, inbox = Handler(), located(session)
    session.declare_position_handler(0, handler)
    session.put("t", "good")
    handler.error = OSError("no satellites")
    with caplog.at_level(logging.WARNING, "zenoh_la"):
        session.put("t", "bad")
        session.put("t", "bad")
        assert [s.location for s in inbox.wait(3)] == [LINZ] * 3
        assert [r.levelname for r in caplog.records] == ["WARNING"]
        assert "no satellites" in caplog.text
        handler.error, handler.place = None, GRAZ
        session.put("t", "good again")
        handler.error = OSError("a tunnel")
        session.put("t", "bad again")
    assert [s.location for s in inbox.wait(5)[3:]] == [GRAZ, GRAZ]
    assert "a tunnel" in caplog.text


def test_a_handler_that_needs_a_position_itself_is_told_so(
    session: zenoh_la.LocationSession,
) -> None:
    session.declare_position_handler(0, lambda: session.position)
    with pytest.raises(PositionError, match="itself needs a position"):
        session.put("t", "x")


def test_a_late_answer_of_a_replaced_handler_changes_nothing(
    session: zenoh_la.LocationSession,
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def old() -> Coordinates:
        asked.set()
        assert go_on.wait(DEADLINE_S)
        return GRAZ

    session.declare_position_handler(inf, old)
    waits = threading.Thread(target=lambda: session.position)
    waits.start()
    try:
        assert asked.wait(DEADLINE_S)
        session.declare_position_handler(inf, lambda: LINZ)
        assert session.position == LINZ
    finally:
        go_on.set()
        waits.join(DEADLINE_S)
    assert session.position == LINZ


def test_a_new_lifetime_makes_live_subscribers_mobile(session: zenoh_la.LocationSession) -> None:
    handler, inbox = Handler(), Inbox()
    session.declare_position_handler(inf, handler)
    session.declare_subscriber("t", inbox, **EGO)  # type: ignore[arg-type]
    handler.place = GRAZ
    assert session.position == LINZ
    session.set_position_lifetime(0.02)
    wait_for(lambda: session._core.mobility.moves == 1, "the subscriber moves")
    session.set_position_lifetime(inf)
    asked = wait_for(lambda: handler.asked, "the handler is asked")
    session.put("t", "here")
    (sample,) = inbox.wait(1)
    assert sample.location == GRAZ
    session.set_position_lifetime(3600)
    session.put("t", "here")
    inbox.wait(2)
    assert handler.asked <= asked + 1


def test_the_thread_asks_at_most_ten_times_a_second(session: zenoh_la.LocationSession) -> None:
    """Also if the position changes each time, and wakes it."""
    by_thread: list[float] = []
    turn = count()

    def handler() -> Coordinates:
        if threading.current_thread().name == "zenoh-la-mobility":
            by_thread.append(monotonic())
        return Coordinates(48 + next(turn) % 100 / 100, 14)

    session.declare_position_handler(0, handler)
    session.declare_subscriber("t", Inbox(), **EGO)  # type: ignore[arg-type]

    def enough() -> bool:
        session.put("t", "x")
        return len(by_thread) >= 8

    wait_for(enough, "the thread asks")
    assert by_thread[7] - by_thread[0] > 0.5  # 0.7, less what a busy machine may have delayed


def test_a_subscriber_in_a_fixed_area_needs_no_position(session: zenoh_la.LocationSession) -> None:
    handler = Handler()
    session.declare_position_handler(0.01, handler)
    with session.declare_subscriber("t", Inbox(), location_shape=Circle(LINZ, 10)):
        session.put("t", "x", precision=None)
    assert handler.asked == 0
