"""The routing table, and that a route is decided once and remembered until something changes."""

from __future__ import annotations

import pytest
import zenoh

from tests.network import (
    Inbox,
    client,
    converged,
    line_of_routers,
    native_client,
    peers,
    router,
    statuses,
    wait_for,
)
from zenoh_la import Circle, Coordinates, LocationSession, Role, encoders
from zenoh_la.encoders import Location
from zenoh_la.encoders.base64_json import Base64JsonEncoder
from zenoh_la.router_plugin.counters import Counters
from zenoh_la.router_plugin.protocol import ANY, LOCAL, REMOTE, Interest, Kind, Sender
from zenoh_la.router_plugin.relay import Plan
from zenoh_la.router_plugin.routes import Owner, RoutingTable

LINZ = Coordinates(48.3, 14.3)
GRAZ = Coordinates(47.07, 15.44)
ENCODER = Base64JsonEncoder()
AT_LINZ = encoders.decode(ENCODER.encode_position(LINZ))
AT_GRAZ = encoders.decode(ENCODER.encode_position(GRAZ))
ROLES = {"s": Role.SUBSCRIBER, "q": Role.QUERYABLE}
SOMEBODY = Sender(None, ANY)


def interest(
    topic: str, *places: Coordinates, kind: Kind = "s", radius_m: float = 5000.0, origin: int = ANY
) -> Interest:
    keys = [ENCODER.encode_area(Circle(place, radius_m), ROLES[kind]) for place in places]
    chunks = tuple(key.wire for of_place in keys for key in of_place)
    return Interest.of(kind, topic, chunks, origin=origin)


def table(**entries: Interest) -> RoutingTable:
    """``s1_2`` is interest 2 of this node's session 1, ``n7_2`` entry 2 of the node n7."""
    made = RoutingTable()
    made.change([(owner(name), entry) for name, entry in entries.items()], [])
    return made


def owner(name: str) -> Owner:
    first, number = name.split("_")
    return (int(first[1:]), int(number)) if first.startswith("s") else (first, int(number))


def vetoed(known: RoutingTable, topic: str, location: Location) -> int:
    """How many interests of the topic are elsewhere, as a route has it counted."""
    epoch, number, found = known.find(topic, location)
    plan = Plan(epoch, number, Counters())
    plan.matched = known.takers_of(found, SOMEBODY).matched
    return plan.vetoed


# Who wants a message


def test_takers_are_ids_per_session_and_each_node_once() -> None:
    known = table(
        s2_9=interest("t", LINZ),
        s1_5=interest("t", LINZ),
        s1_4=interest("t/**", LINZ, GRAZ),
        s1_6=interest("t", GRAZ),
        n7_1=interest("*", LINZ),
        n7_2=interest("t", LINZ, radius_m=9000),
        n3_1=interest("t", LINZ),
        n5_1=interest("t", GRAZ),
    )
    takers = known.takers("t", AT_LINZ, SOMEBODY)
    assert takers.mine == {1: (4, 5), 2: (9,)}
    assert list(takers.mine) == [1, 2]
    assert takers.nodes == ("n3", "n7")
    assert takers.matched == 6
    takers = known.takers("t", AT_GRAZ, SOMEBODY)
    assert takers == ({1: (4, 6)}, ("n5",), 3)
    assert (vetoed(known, "t", AT_LINZ), vetoed(known, "t", AT_GRAZ)) == (2, 5)


def test_a_veto_needs_a_topic_that_matches() -> None:
    known = table(s1_1=interest("other", GRAZ), s1_2=interest("t", LINZ, kind="q"))
    assert known.takers("t", AT_LINZ, SOMEBODY) == ({}, (), 0)
    assert vetoed(known, "t", AT_LINZ) == 0


@pytest.mark.parametrize(
    ("wanted", "put", "meets"),
    [
        ("t/*", "t/a", True),
        ("t/*", "t", False),
        ("t/**", "t", True),
        ("t/a", "t/*", True),
        ("*/a", "t/**", True),
        ("t/a$*", "t/ab", True),
        ("**", "t/@v/a", False),
        ("t/@v/*", "t/@v/a", True),
        ("t/@v/**", "t/**", False),
    ],
)
def test_wildcards_on_either_side(wanted: str, put: str, meets: bool) -> None:
    known = table(n1_1=interest(wanted, LINZ), n2_1=interest(wanted, GRAZ))
    takers = known.takers(put, AT_LINZ, SOMEBODY)
    assert takers.nodes == (("n1",) if meets else ())
    assert vetoed(known, put, AT_LINZ) == int(meets)


@pytest.mark.parametrize(
    ("origin", "destination", "own", "others"),
    [
        (ANY, ANY, True, True),
        (REMOTE, ANY, False, True),
        (LOCAL, ANY, True, False),
        (ANY, REMOTE, False, True),
        (ANY, LOCAL, True, False),
        (REMOTE, LOCAL, False, False),
    ],
)
def test_localities(origin: int, destination: int, own: bool, others: bool) -> None:
    known = table(s1_1=interest("t", LINZ, origin=origin))
    assert bool(known.takers("t", AT_LINZ, Sender(1, destination)).mine) is own
    assert bool(known.takers("t", AT_LINZ, Sender(2, destination)).mine) is others


def test_an_interest_moves_changes_its_kind_and_goes() -> None:
    known = table(s1_1=interest("t", LINZ))
    known.change([((1, 1), interest("t", GRAZ))], [])
    assert vetoed(known, "t", AT_LINZ) == 1
    assert known.takers("t", AT_GRAZ, SOMEBODY).mine == {1: (1,)}
    known.change([((1, 1), interest("t", GRAZ, kind="q"))], [])
    assert vetoed(known, "t", AT_GRAZ) == 0
    assert not known.takers("t", AT_GRAZ, SOMEBODY).mine
    assert len(known) == 1
    known.change([], [(1, 1), (1, 2)])
    assert len(known) == 0
    assert known.items() == []


def test_answerers_are_the_queryables_that_the_area_meets() -> None:
    known = table(
        s1_1=interest("t/*", LINZ, kind="q"),
        s2_1=interest("t/*", GRAZ, kind="q"),
        n1_3=interest("t/a", LINZ, GRAZ, kind="q"),
        n1_4=interest("t/b", LINZ, kind="q"),
        s1_2=interest("t/a", LINZ),
    )
    (key,) = ENCODER.encode_area(Circle(LINZ, 100), Role.GET)
    about_linz = [encoders.decode(key), encoders.decode(key)]
    assert set(known.answerers("t/a", about_linz, SOMEBODY)) == {(1, 1), ("n1", 3)}
    assert set(known.answerers("t/*", about_linz, SOMEBODY)) == {(1, 1), ("n1", 3), ("n1", 4)}
    assert set(known.answerers("t/a", about_linz, Sender(1, REMOTE))) == {("n1", 3)}


# In real networks


class Publisher:
    """A publisher that stays where it is until it is told to go."""

    def __init__(self, session: LocationSession) -> None:
        self.session = session
        self.place = LINZ
        session.declare_position_handler(0, lambda: self.place)

    def put(self, topic: str, times: int) -> None:
        for _ in range(times):
            self.session.put(topic, "x", congestion_control=zenoh.CongestionControl.BLOCK)


def decided(observer: zenoh.Session, zid: str, received: int) -> int:
    """How many routes a router has decided, once it has received so many messages."""

    def look() -> int | None:
        for status in statuses(observer).values():
            if status["zid"] == zid and status["counters"]["received"] >= received:
                assert status["counters"]["received"] == received
                found: int = status["counters"]["decided"]
                return found + 1  # 0 is an answer too
        return None

    return (wait_for(look, f"{received} messages at the router") or 0) - 1


def test_a_publisher_that_stays_has_its_route_decided_once() -> None:
    with (
        router() as only,
        client(only.endpoint) as session,
        client(only.endpoint) as other,
        native_client(only.endpoint) as observer,
    ):
        publisher, inbox, late = Publisher(session), Inbox(), Inbox()
        area = Circle(LINZ, 5000)
        first = other.declare_subscriber("t/*", inbox, location_shape=area)
        publisher.put("t/a", 100)
        assert decided(observer, only.zid, 100) == 1
        other.declare_subscriber("other/topic", Inbox(), location_shape=area)
        publisher.put("t/a", 10)
        assert decided(observer, only.zid, 110) == 1
        # An interest that comes, one that goes, and a position.
        other.declare_subscriber("t/**", late, location_shape=area)
        publisher.put("t/a", 10)
        assert decided(observer, only.zid, 120) == 2
        late.wait(10)
        inbox.wait(120)
        first.undeclare()
        publisher.put("t/a", 10)
        assert decided(observer, only.zid, 130) == 3
        publisher.place = GRAZ
        publisher.put("t/a", 10)
        assert decided(observer, only.zid, 140) == 4
        publisher.place = LINZ
        publisher.put("t/a", 10)
        assert decided(observer, only.zid, 150) == 4
        late.wait(30)
        assert [len(inbox), len(late)] == [120, 30]


def test_an_advert_of_another_node_has_it_decided_again() -> None:
    with (
        line_of_routers("LL") as (near, far),
        client(near.endpoint) as session,
        client(far.endpoint) as other,
        native_client(near.endpoint) as observer,
    ):
        publisher, inbox = Publisher(session), Inbox()
        publisher.put("t/a", 20)
        assert decided(observer, near.zid, 20) == 1
        subscriber = other.declare_subscriber("t/a", inbox, location_shape=Circle(LINZ, 5000))
        converged(observer, 2)
        publisher.put("t/a", 20)
        assert decided(observer, near.zid, 40) == 2
        inbox.wait(20)
        # The egress node remembers as well.
        assert decided(observer, far.zid, 0) == 1
        subscriber.undeclare()
        converged(observer, 2)
        publisher.put("t/a", 20)
        assert decided(observer, near.zid, 60) == 3
        assert decided(observer, far.zid, 0) == 1
        assert len(inbox) == 20


def test_so_does_a_session_that_is_its_own_node() -> None:
    one, two = peers(2)
    with one, two:
        publisher, inbox = Publisher(one), Inbox()
        two.declare_subscriber("t/a", inbox, location_shape=Circle(LINZ, 5000))
        publisher.put("t/a", 1)
        node = one.node_status()
        assert node is not None
        wait_for(lambda: (s := one.node_status()) and s.interests == 1, "the other's advert")
        publisher.put("t/a", 1)
        inbox.wait(1)
        before = one.node_status()
        publisher.put("t/a", 100)
        inbox.wait(101)
        after = one.node_status()
        assert before is not None
        assert after is not None
        assert after.counters.received == before.counters.received + 100
        assert after.counters.decided == before.counters.decided
