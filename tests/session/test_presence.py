"""Who is there: sessions and nodes that vanish, come back, or are mistaken for others."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from math import inf

import pytest
import zenoh

import zenoh_la
from tests.network import (
    DEADLINE_S,
    Inbox,
    client,
    config,
    converged,
    endpoint,
    line_of_routers,
    native_client,
    router,
    statuses,
    wait_for,
)
from zenoh_la import Circle, Coordinates, Precision
from zenoh_la.keys import Role
from zenoh_la.router_plugin import documents, protocol
from zenoh_la.router_plugin.router import Router

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
BLOCK = zenoh.CongestionControl.BLOCK

_CLIENT = """
import sys
from tests.network import Inbox, client
from zenoh_la import Circle, Coordinates
with client(sys.argv[1]) as session:
    for topic in "abc":
        area = Circle(Coordinates(48.3, 14.3), 9)
        session.declare_subscriber(topic, Inbox(), location_shape=area)
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_killed_clients_interests_are_gone_from_all_nodes() -> None:
    with (
        line_of_routers("LsL") as made,
        native_client(made[0].endpoint) as observer,
        subprocess.Popen(
            [sys.executable, "-c", _CLIENT, made[2].endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as child,
    ):
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            assert {s["interests"] for s in converged(observer, 2).values()} == {3}
        finally:
            child.kill()
        assert child.wait(DEADLINE_S) == -signal.SIGKILL
        wait_for(lambda: {s["interests"] for s in statuses(observer).values()} == {0}, "all gone")
        assert sum(s["sessions"] for s in converged(observer, 2).values()) == 0


@pytest.fixture
def forgetful() -> Iterator[tuple[Router, zenoh_la.LocationSession, Inbox]]:
    """A router in this process, and a session with one interest there."""
    listen = endpoint()
    with Router(config("router", listen=[listen])) as home, client(listen) as session:
        inbox = Inbox()
        session.declare_position_handler(inf, lambda: LINZ)
        session.declare_subscriber("t", inbox, location_shape=AREA)
        yield home, session, inbox


def test_a_session_that_its_router_has_lost_joins_anew_at_its_next_request(
    forgetful: tuple[Router, zenoh_la.LocationSession, Inbox],
) -> None:
    home, session, inbox = forgetful
    (member,) = home._node._members.all()
    home._node._change([], [(member.slot, number) for number in member.interests])
    home._node._members.remove(member.slot)
    other = Inbox()
    session.declare_subscriber("t", other, location_shape=AREA)
    session.put("t", "x")
    inbox.wait(1)
    other.wait(1)
    status = home.status()
    assert (status.sessions, status.interests) == (1, 2)


def test_a_session_that_its_router_dismissed_by_mistake_comes_again(
    forgetful: tuple[Router, zenoh_la.LocationSession, Inbox],
) -> None:
    home, session, inbox = forgetful
    (member,) = home._node._members.all()
    home._node._dismiss(member)
    wait_for(lambda: home.status().interests == 1, "it is back")
    (again,) = home._node._members.all()
    assert again.tag != member.tag
    session.put("t", "x")
    inbox.wait(1)


def test_a_slot_is_used_again_and_its_old_owner_has_no_say() -> None:
    """What the old owner still asks is refused, and its goodbye was heard before."""
    with (
        router() as at,
        client(at.endpoint) as first,
        native_client(at.endpoint) as observer,
    ):
        first.declare_subscriber("t", Inbox(), location_shape=AREA)
        old = first._core.membership.home
        assert old is not None
        first.close()
        wait_for(lambda: [s["sessions"] for s in statuses(observer).values()] == [0], "it is gone")
        with client(at.endpoint) as second:
            inbox = Inbox()
            second.declare_position_handler(inf, lambda: LINZ)
            second.declare_subscriber("t", inbox, location_shape=AREA)
            new = second._core.membership.home
            assert new is not None
            assert (new.nid, new.slot) == (old.nid, old.slot)
            answers = [
                documents.read(reply.ok.payload)
                for reply in observer.get(
                    protocol.ask(old.nid, old.slot),
                    payload=documents.write({"secret": old.secret, "reset": True}),
                )
                if reply.ok is not None
            ]
            assert [answer["registered"] for answer in answers] == [False]
            second.put("t", "x")
            inbox.wait(1)


def test_a_node_whose_token_was_lost_is_known_by_its_heartbeat() -> None:
    """And one that only late messages tell of is not."""
    with router() as at, native_client(at.endpoint) as node, client(at.endpoint) as session:
        session.declare_position_handler(inf, lambda: LINZ)
        keys = session._core.places.area_chunks(AREA, Role.SUBSCRIBER, Precision.POINT)
        nid, gone = protocol.new_nid(), protocol.new_nid()
        state = documents.write({"v": 1, "set": {"0": ["s", "t", list(keys), 0]}})
        inbox = Inbox()
        node.declare_subscriber(protocol.one(nid), inbox)
        node.declare_queryable(
            protocol.state(nid), lambda query: query.reply(query.key_expr, state)
        )

        def known() -> dict[str, int]:
            for one in (nid, gone):
                node.put(protocol.delta(one), documents.write({"v": [1, 1]}))
            (status,) = statuses(node).values()
            found: dict[str, int] = status["nodes"]
            return found

        wait_for(lambda: known() == {nid: 1}, "the node is known")
        session.put("t", "x", congestion_control=BLOCK)
        inbox.wait(1)
        wait_for(
            lambda: [s["nodes"] for s in statuses(node).values()] == [{}],
            "it is forgotten when it is not heard of",
        )
