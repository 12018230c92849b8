"""Which plain topics are watched for native subscribers: bounded, and shared out fairly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import zenoh

from tests.network import config, wait_for
from zenoh_la.router_plugin import outlets as module
from zenoh_la.router_plugin.outlets import Outlet, Outlets, Untold

HOSTILE, HONEST = 1, 2


@pytest.fixture
def changed() -> list[str]:
    return []


@pytest.fixture
def session() -> Iterator[zenoh.Session]:
    with zenoh.open(config("router")) as opened:
        yield opened


@pytest.fixture
def outlets(
    session: zenoh.Session, changed: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Outlets]:
    monkeypatch.setattr(module, "_MAX_OUTLETS", 10)
    monkeypatch.setattr(module, "_MAX_MADE", 16)
    made = Outlets(session, knows_at_once=True, on_change=changed.append)
    yield made
    made.close()


def test_one_session_cannot_take_them_from_the_others(
    outlets: Outlets, session: zenoh.Session, changed: list[str]
) -> None:
    taken = [outlets.get(f"flood/{n}", HOSTILE) for n in range(50)]
    assert [type(outlet) for outlet in taken] == [Outlet] * 10 + [Untold] * 40
    honest = outlets.get("honest", HONEST)
    assert isinstance(honest, Outlet)
    assert not honest.wanted
    with session.declare_subscriber("honest", lambda _: None):
        wait_for(lambda: honest.wanted and honest.matching, "its native subscriber is known")
    assert changed[0] == "flood/0"
    retired = taken[0]
    assert retired.wanted, "Zenoh looks for its subscribers with every message"
    assert str(retired.key_expr) == "flood/0"
    assert outlets.get("honest", HOSTILE) is honest


def test_a_retired_one_can_still_be_put_to(outlets: Outlets, session: zenoh.Session) -> None:
    retired = outlets.get("flood/0", HOSTILE)
    for n in range(1, 10):
        outlets.get(f"flood/{n}", HOSTILE)
    outlets.get("honest", HONEST)
    got: list[str] = []
    with session.declare_subscriber("flood/0", lambda s: got.append(s.payload.to_string())):
        session.put(retired.key_expr, "x")
        wait_for(lambda: got == ["x"], "it comes")


def test_shares_are_equal_in_the_end(outlets: Outlets) -> None:
    for n in range(10):
        outlets.get(f"flood/{n}", HOSTILE)
    found = [outlets.get(f"honest/{n}", HONEST) for n in range(10)]
    assert [type(outlet) for outlet in found] == [Outlet] * 5 + [Untold] * 5


def test_so_many_are_ever_made(outlets: Outlets) -> None:
    """More would be mistaken for others by Zenoh."""
    for n in range(10):
        outlets.get(f"flood/{n}", HOSTILE)
    found = [outlets.get(f"by/{who}", who) for who in range(2, 12)]
    assert [type(outlet) for outlet in found] == [Outlet] * 6 + [Untold] * 4
    assert outlets._made == 16
