"""Native applications on the topics of located ones: they notice nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import zenoh

from tests.network import Inbox, client, converged, native_client, wait_for
from tests.session.deployments import Network, network
from zenoh_la import Circle, Coordinates, LocationSession, Precision, Shape
from zenoh_la.session.samples import LocatedSample

LINZ = Coordinates(48.3, 14.3)
GRAZ = Coordinates(47.07, 15.44)
NEAR_LINZ = Circle(LINZ, 5000)
_BLOCK = zenoh.CongestionControl.BLOCK


@pytest.fixture(scope="module", params=["one router", "stock only", "stock in the middle"])
def deployment(request: pytest.FixtureRequest) -> Iterator[Network]:
    """On both sides of each network: a native application and a located one."""
    with network(request.param) as running:
        yield running


class Sides:
    """A located and a native session at either end."""

    def __init__(self, network: Network) -> None:
        self.near, self.far = network.endpoints[0], network.endpoints[-1]
        self.located = [client(self.near), client(self.far)]
        self.native = [native_client(self.near), native_client(self.far)]
        self._routers = network.routers

    def converge(self, topic: str = "@ready") -> None:
        """Until nodes know all areas, and everybody's plain declarations have spread."""
        own = sum(s.node_status() is not None for s in self.located)
        converged(self.native[0], self._routers + own)
        ready = [Inbox() for _ in (*self.native, *self.located)]
        sessions: list[zenoh.Session | LocationSession] = [*self.native, *self.located]
        declared = [s.declare_subscriber(topic, i) for s, i in zip(sessions, ready, strict=True)]

        def look() -> bool:
            for number, session in enumerate(sessions):
                if isinstance(session, LocationSession):
                    session.put(topic, str(number), precision=None)
                else:
                    session.put(topic, str(number))
            return all(set(inbox.texts()) == {"0", "1", "2", "3"} for inbox in ready)

        wait_for(look, "everybody reaches everybody")
        for subscriber in declared:
            subscriber.undeclare()

    def close(self) -> None:
        for located in self.located:
            located.close()
        for native in self.native:
            native.close()


@pytest.fixture
def sides(deployment: Network) -> Iterator[Sides]:
    opened = Sides(deployment)
    try:
        yield opened
    finally:
        opened.close()


def test_a_native_subscriber_gets_everything_once_and_its_own_attachment_first(
    sides: Sides,
) -> None:
    inboxes = [Inbox(), Inbox()]
    for native, inbox in zip(sides.native, inboxes, strict=True):
        native.declare_subscriber("t/*", inbox)
    for located in sides.located:
        located.declare_position_handler(0, lambda: LINZ)
        located.declare_subscriber("t/**", Inbox(), location_shape=NEAR_LINZ)
    sides.converge()
    for i, located in enumerate(sides.located):
        located.put("t/a", f"located {i}", attachment="mine", congestion_control=_BLOCK)
        located.put("t/b", f"without {i}", congestion_control=_BLOCK)
        located.put("t/a", f"plain {i}", precision=None, attachment="own")
        located.delete("t/c", attachment=f"gone {i}")
    for i, native in enumerate(sides.native):
        native.put("t/a", f"native {i}", attachment="theirs", congestion_control=_BLOCK)
    for session in sides.native:
        session.put("t/last", "native", congestion_control=_BLOCK)
    for located in sides.located:
        located.put("t/last", "located", congestion_control=_BLOCK)
        located.put("t/last", "plain", precision=None, congestion_control=_BLOCK)
    for inbox in inboxes:
        check_received(inbox)


def check_received(inbox: Inbox) -> None:
    def last() -> int:
        return sum(str(sample.key_expr) == "t/last" for sample in inbox.items)

    wait_for(lambda: last() == 6, "the last of everybody, on every way: the rest has come before")
    samples = [sample for sample in inbox.items if str(sample.key_expr) != "t/last"]
    assert all(type(sample) is zenoh.Sample for sample in samples)
    found = Counter((str(s.key_expr), s.payload.to_string()) for s in samples)
    assert found == Counter(
        [("t/a", f"{kind} {i}") for kind in ("located", "plain", "native") for i in (0, 1)]
        + [("t/b", f"without {i}") for i in (0, 1)]
        + [("t/c", "")] * 2
    )
    for sample in samples:
        text, attachment = sample.payload.to_string(), sample.attachment
        if text.startswith("located"):
            assert attachment.to_bytes().startswith(b"mine")
        elif text.startswith("plain"):
            assert attachment.to_bytes() == b"own"
        elif text.startswith("native"):
            assert attachment.to_bytes() == b"theirs"
        elif not text:
            assert sample.kind == zenoh.SampleKind.DELETE
            assert attachment.to_bytes().startswith(b"gone")


def test_the_keys_of_the_protocol_are_not_seen(sides: Sides) -> None:
    """Not by a subscriber, nor by a storage of everything, nor by its tokens."""
    everything, asked, tokens = Inbox(), Inbox(), Inbox()
    native = sides.native[1]
    native.declare_subscriber("**", everything)

    def answer(query: zenoh.Query) -> None:
        with query:
            asked(str(query.key_expr))
            query.reply(query.key_expr, "stored")

    native.declare_queryable("**", answer, complete=True)
    native.liveliness().declare_subscriber("**", tokens, history=True)
    one, other = sides.located
    one.declare_position_handler(0, lambda: LINZ)
    inbox = Inbox()
    other.declare_subscriber("t/*", inbox, location_shape=NEAR_LINZ)

    def located_answer(query: zenoh.Query) -> None:
        with query:
            query.reply("t/a", "located")

    other.declare_queryable("t/a", located_answer, location_shape=NEAR_LINZ)
    sides.converge()
    asked.items.clear()
    for i in range(20):
        one.put("t/a", f"{i}", congestion_control=_BLOCK)
    replies = list(one.get("t/a", location_shape=NEAR_LINZ))
    assert [reply.ok.payload.to_string() for reply in replies] == ["located"]
    one.put("t/last", "last", congestion_control=_BLOCK)
    inbox.wait(21)
    wait_for(lambda: "last" in everything.texts(), "the native subscriber's last message")
    assert {str(sample.key_expr) for sample in everything.items} == {"t/a", "t/last"}
    assert Counter(everything.texts()) == Counter([*map(str, range(20)), "last"])
    assert asked.items == []
    plain = list(sides.native[0].get("t/a", target=zenoh.QueryTarget.ALL, consolidation=_NONE))
    found = sorted(reply.ok.payload.to_string() for reply in plain if reply.ok is not None)
    assert found == ["located", "stored"]
    assert asked.items == ["t/a"]
    assert tokens.items == []


_NONE = zenoh.ConsolidationMode.NONE


def test_an_area_gets_no_plain_messages_unless_it_wants_them(sides: Sides) -> None:
    one, other = sides.located
    only, both, network_wide = Inbox(), Inbox(), Inbox()
    other.declare_subscriber("t", only, location_shape=NEAR_LINZ)
    other.declare_subscriber("t", both, location_shape=NEAR_LINZ, include_unlocated=True)
    other.declare_subscriber("t", network_wide, location_shape=Shape.NONE)
    place = LINZ
    one.declare_position_handler(0, lambda: place)
    sides.converge()
    sides.native[0].put("t", "native", attachment="theirs", congestion_control=_BLOCK)
    one.put("t", "plain", precision=None, congestion_control=_BLOCK)
    place = GRAZ
    one.put("t", "in Graz", congestion_control=_BLOCK)
    place = LINZ
    one.put("t", "in Linz", attachment="mine", congestion_control=_BLOCK)
    only.wait(1)
    both.wait(3)
    network_wide.wait(4)
    assert only.texts() == ["in Linz"]
    assert sorted(both.texts()) == ["in Linz", "native", "plain"]
    assert sorted(network_wide.texts()) == ["in Graz", "in Linz", "native", "plain"]
    for inbox in (both, network_wide):
        by_text = {sample.payload.to_string(): sample for sample in inbox.items}
        assert by_text["native"].attachment.to_string() == "theirs"
        assert by_text["in Linz"].attachment.to_string() == "mine"
        assert by_text["in Linz"].location == LINZ
        assert getattr(by_text["plain"], "location", None) is None


def test_an_mgrs_location_can_be_read_in_zenohs_own_thread(sides: Sides) -> None:
    """Where PROJ has crashed: see `zenoh_la.values.mgrs_grid`."""
    one, other = sides.located
    places: list[Coordinates | None] = []

    def take(sample: LocatedSample) -> None:
        places.append(sample.location)

    direct = zenoh.handlers.Callback(take, indirect=False)
    other.declare_subscriber("t", direct, location_shape=NEAR_LINZ)
    one.declare_position_handler(0, lambda: LINZ)
    sides.converge()
    for _ in range(50):
        one.put("t", "x", precision=Precision.MGRS, congestion_control=_BLOCK)
    wait_for(lambda: len(places) == 50, "all messages")
    assert all(place is not None and place.distance_m(LINZ) < 1 for place in places)
