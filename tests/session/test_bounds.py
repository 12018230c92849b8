"""What a session keeps is bounded, counted, and given back."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import pytest
import zenoh

import zenoh_la
from tests.network import Inbox, client, config, native_client, router, wait_for
from zenoh_la import Circle, Coordinates, LocationSession, NodeError
from zenoh_la.router_plugin import members, protocol
from zenoh_la.session import sender as sender_module
from zenoh_la.session.local import listener_key
from zenoh_la.session.losses import Losses

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
BLOCK = zenoh.CongestionControl.BLOCK


@pytest.fixture
def alone() -> Iterator[LocationSession]:
    with zenoh_la.open(config("peer")) as opened:
        opened.declare_position_handler(inf, lambda: LINZ)
        yield opened


@pytest.mark.parametrize("area", [{}, {"location_shape": AREA}], ids=["everywhere", "area"])
def test_a_pull_ends_though_samples_come_faster_than_its_callback(
    alone: LocationSession, area: dict[str, Any]
) -> None:
    called = []

    def answer_with_two(sample: Any) -> None:
        called.append(sample)
        for _ in range(2):
            alone.put("t", "more", congestion_control=BLOCK)

    pulled = alone.declare_pull_subscriber("t", answer_with_two, capacity=4, **area)
    alone.put("t", "first", congestion_control=BLOCK)
    wait_for(lambda: len(pulled.pull()) == 1, "the first")
    assert len(called) == 1
    for turn in (2, 4, 4, 4):
        assert len(pulled.pull()) == turn


@pytest.mark.parametrize("include", [False, True])
def test_include_unlocated_changes_nothing_for_the_whole_network(
    alone: LocationSession, include: bool
) -> None:
    inbox = Inbox()
    alone.declare_subscriber("t", inbox, include_unlocated=include)
    alone.put("t", "located")
    alone.put("t", "plain", precision=None)
    inbox.wait(2)
    assert inbox.texts() == ["located", "plain"]


def test_a_matching_listener_that_is_refused_leaves_nothing_behind(
    alone: LocationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = alone.declare_publisher("t")
    alone.node_status()  # it has joined
    core, inbox = alone._core, Inbox()
    number = core.numbers._made + 1
    monkeypatch.setattr(members, "MAX_WATCHES", 0)
    with pytest.raises(NodeError):
        publisher.declare_matching_listener(inbox)
    assert not core.membership._watches
    assert core.numbers._made == number
    assert list(core.numbers._free) == [number]
    alone._zsession.put(listener_key(number), b"\x01")
    fence = Inbox()
    alone._zsession.declare_subscriber("fence", fence)
    alone._zsession.put("fence", "")
    fence.wait(1)
    assert len(inbox) == 0


def test_too_many_messages_do_not_wait_for_an_answer(
    alone: LocationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "_MAX_HELD", 3)
    inbox = Inbox()
    alone.declare_subscriber("t", inbox, location_shape=AREA)
    publisher = alone.declare_publisher("t", congestion_control=BLOCK)
    publisher.put("first")
    inbox.wait(1)
    lease = held_by(publisher)._lease
    lease.question = lease.new_question(b"")  # whose answer never comes
    for number in range(5):
        publisher.put(str(number))
    inbox.wait(6)
    assert inbox.texts() == ["first", "0", "1", "2", "3", "4"]
    assert alone.losses == Losses(waiting=0, held=0, refused=0)


def test_what_waits_for_a_thread_that_is_stuck_is_bounded_and_counted(
    alone: LocationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "_MAX_HELD", 3)
    monkeypatch.setattr(sender_module, "_IN_LINE_S", 0.01)
    inbox = Inbox()
    alone.declare_subscriber("t", inbox, location_shape=AREA)
    publisher = alone.declare_publisher("t", congestion_control=BLOCK)
    held = held_by(publisher)
    held._letting_out = -1
    for number in range(8):
        publisher.put(str(number))
    assert alone.losses == Losses(waiting=0, held=2, refused=0)
    held._letting_out = None
    held._let_out()
    inbox.wait(6)
    assert inbox.texts() == ["0", "1", "2", "3", "4", "5"]


def held_by(publisher: Any) -> Any:
    return publisher._sender


def test_deliveries_that_cannot_be_right_are_counted() -> None:
    with router() as at, client(at.endpoint) as session, native_client(at.endpoint) as hostile:
        session.declare_position_handler(inf, lambda: LINZ)
        inbox = Inbox()
        session.declare_subscriber("t", inbox, location_shape=AREA)
        home = session._core.membership.home
        assert home is not None
        keys = [
            protocol.to_session(home.nid, home.slot),
            protocol.to_subscriber(str(session.zid()), 1),
        ]
        for count, key in enumerate(keys, 1):

            def is_counted(key: str = key, count: int = count) -> bool:
                if session.losses.refused < count:
                    hostile.put(key, "x", attachment=b"nonsense")
                return session.losses.refused >= count

            wait_for(is_counted, f"refused on {key}")
        session.put("t", "x")
        inbox.wait(1)
        assert inbox.texts() == ["x"]
