"""Who listens and who answers, as Zenoh tells it; and located beside native applications."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import pytest
import zenoh
from zenoh.handlers import Callback, FifoChannel

import zenoh_la
from tests.network import Inbox, wait_for
from tests.session.pairs import (
    AROUND,
    AROUND_AWAY,
    AWAY,
    HERE,
    Comparison,
    Pair,
    matching,
    pairs,
    received,
)
from zenoh_la import Coordinates, LocatedSample

Network = dict[str, Pair]
LOCALITIES = {
    "unsaid": None,
    "local": zenoh.Locality.SESSION_LOCAL,
    "remote": zenoh.Locality.REMOTE,
}


@pytest.fixture(scope="module", params=["clients", "peers"])
def network(request: pytest.FixtureRequest) -> Iterator[Network]:
    with pairs(request.param) as found:
        yield found


@pytest.fixture(params=["plain", "located"])
def same(network: Network, request: pytest.FixtureRequest) -> Comparison:
    return Comparison(network["native"], network[request.param])


def _sides(pair: Pair, topic: str) -> list[tuple[str, Any, Any]]:
    """Who is told, and what it is told of."""
    return [
        (
            "publisher",
            partial(pair.a.declare_publisher, topic),
            partial(_declared, "declare_subscriber", pair, topic),
        ),
        (
            "querier",
            partial(pair.a.declare_querier, topic, **pair.area),
            partial(_declared, "declare_queryable", pair, topic),
        ),
    ]


def _declared(method: str, pair: Pair, topic: str, session: Any = None, **options: Any) -> Any:
    return getattr(session or pair.b, method)(topic, **pair.area, **options)


@pytest.mark.parametrize("side", [0, 1], ids=["publisher", "querier"])
def test_listeners_hear_of_the_first_and_the_last(same: Comparison, side: int) -> None:
    def scenario(pair: Pair) -> Any:
        _, declare, other = _sides(pair, pair.topic())[side]
        inbox, dropped = Inbox(), threading.Event()
        with (
            declare() as told,
            told.declare_matching_listener(FifoChannel(9)) as channel,
            told.declare_matching_listener() as iterated,
        ):
            called = told.declare_matching_listener(Callback(inbox, dropped.set))
            said: list[Any] = [matching(told), channel.try_recv(), type(channel.handler).__name__]
            first = other()
            said += [status.matching for status in received(channel, 1)]
            said += [next(iter(iterated)).matching, matching(told)]
            with other(pair.a):
                said.append(matching(told))
            first.undeclare()
            said += [status.matching for status in received(channel, 1)]
            said += [iterated.recv().matching, matching(told), type(told.matching_status).__name__]
            said += [[s.matching for s in inbox.wait(2)], called.handler, channel.try_recv()]
            said += [called.undeclare(), dropped.wait(20)]
        return said

    same(scenario)


@pytest.mark.parametrize("side", [0, 1], ids=["publisher", "querier"])
def test_a_late_listener_hears_what_is_so(same: Comparison, side: int) -> None:
    def scenario(pair: Pair) -> Any:
        _, declare, other = _sides(pair, pair.topic())[side]
        with other(), declare() as told:
            wait_for(lambda: matching(told), "it is matched")
            with told.declare_matching_listener() as listener:
                return [status.matching for status in received(listener, 1)]

    assert same(scenario) == [True]


@pytest.mark.parametrize("side", [0, 1], ids=["publisher", "querier"])
def test_every_origin_and_destination(same: Comparison, side: int) -> None:
    def scenario(pair: Pair) -> Any:
        said = []
        for who, origin in product("ab", LOCALITIES):
            if (who, origin) == ("a", "remote"):
                continue  # Zenoh says that it matches, and delivers nothing
            _, declare, other = _sides(pair, pair.topic())[side]
            with other(getattr(pair, who), allowed_origin=LOCALITIES[origin]), declare() as fence:
                if (who, origin) != ("b", "local"):
                    wait_for(partial(matching, fence), f"{pair.sort}: {who} {origin}")
                for destination in LOCALITIES:
                    with declare(allowed_destination=LOCALITIES[destination]) as told:
                        said.append((who, origin, destination, _settled(told)))
        return said

    same(scenario)


def _settled(told: Any) -> bool:
    """A new one may not know yet: what a listener says within a moment counts as well."""
    if matching(told):
        return True
    with told.declare_matching_listener() as listener:
        try:
            wait_for(lambda: listener.try_recv(), "", timeout_s=0.05)
        except AssertionError:
            return False
    return True


# Places


def test_areas_and_publishers_that_come_and_go(network: Network) -> None:
    pair = network["located"]
    topic, place = pair.topic(), HERE
    with pair.open() as moving:
        moving.declare_position_handler(0, lambda: place)
        with (
            moving.declare_publisher(topic) as publisher,
            publisher.declare_matching_listener() as listener,
            pair.b.declare_subscriber(topic, location_shape=AROUND_AWAY),
        ):
            assert not matching(publisher)
            here = pair.b.declare_subscriber(topic, location_shape=AROUND)
            assert received(listener, 1)[0].matching
            here.undeclare()
            assert not received(listener, 1)[0].matching
            place = AWAY
            publisher.put("the position is asked for, and the listener follows")
            assert received(listener, 1)[0].matching
            assert matching(publisher)
            place = HERE
            publisher.put("back")
            assert not received(listener, 1)[0].matching


def test_a_querier_that_goes_with_its_session(network: Network) -> None:
    pair = network["located"]
    topic, place = pair.topic(), AWAY
    with pair.open() as moving:
        moving.declare_position_handler(0, lambda: place)
        about = {"location_shape": zenoh_la.Shape.CIRCLE, "shape_data": {"r": 5000}}
        with (
            moving.declare_querier(topic, **about) as querier,
            querier.declare_matching_listener() as listener,
            pair.b.declare_queryable(topic, location_shape=AROUND) as queryable,
        ):
            assert not matching(querier)
            place = HERE
            moving.put(topic, "the position is asked for")
            assert received(listener, 1)[0].matching
            replies = querier.get()
            with received(queryable, 1)[0] as query:
                query.reply(topic, "yes")
            assert [reply.ok.location for reply in replies] == [HERE]


@pytest.fixture(scope="module")
def clients() -> Iterator[Network]:
    with pairs("clients") as found:
        yield found


def test_native_applications_beside_located_ones(clients: Network) -> None:
    native, located = clients["native"], clients["located"]
    topic = native.topic()
    subscriber = native.b.declare_subscriber(topic)
    own = located.b.declare_subscriber(topic)
    area = located.b.declare_subscriber(topic, location_shape=AROUND)
    both = located.b.declare_subscriber(topic, location_shape=AROUND, include_unlocated=True)
    located.reached(topic)
    native.reached(topic)
    located.a.put(topic, "located", attachment="mine")
    (sample,) = received(subscriber, 1)
    assert str(sample.key_expr) == topic
    assert sample.attachment.to_bytes().startswith(b"mine")
    (sample,) = received(own, 1)
    assert type(sample) is LocatedSample
    assert sample.location == HERE
    assert sample.attachment == zenoh.ZBytes("mine")
    native.a.put(topic, "plain", attachment="theirs")
    (sample,) = received(own, 1)
    assert type(sample) is zenoh.Sample
    assert sample.attachment == zenoh.ZBytes("theirs")
    first, second = received(both, 2)
    assert [first.location, second.location] == [HERE, None]
    assert second.attachment.to_string() == "theirs"
    located.a.put(topic, "the end")
    assert [s.payload.to_string() for s in received(area, 2)] == ["located", "the end"]
    for declared in (subscriber, own, area, both):
        declared.undeclare()


def test_native_and_located_gets(clients: Network) -> None:
    native, located = clients["native"], clients["located"]
    topic = native.topic()

    def answer(text: str, query: Any) -> None:
        with query:
            query.reply(topic, text, attachment="mine")

    with (
        native.b.declare_queryable(topic, partial(answer, "native")),
        located.b.declare_queryable(topic, partial(answer, "located"), location_shape=AROUND),
    ):
        located.answered(topic)
        native.answered(topic)
        every = {"target": zenoh.QueryTarget.ALL, "consolidation": zenoh.ConsolidationMode.NONE}

        def asked(session: Any, **area: Any) -> dict[str, Any]:
            return {r.ok.payload.to_string(): r.ok for r in session.get(topic, **every, **area)}

        from_native = wait_for(
            lambda: found if len(found := asked(native.a)) == 2 else {}, "both answer"
        )
        assert from_native["located"].attachment.to_bytes().startswith(b"mine")
        from_plain = asked(located.a)
        assert from_plain["located"].location == HERE
        assert from_plain["located"].attachment.to_string() == "mine"
        assert type(from_plain["native"]) is zenoh.Sample
        assert list(asked(located.a, location_shape=AROUND)) == ["located"]
        assert asked(located.a, location_shape=AROUND_AWAY) == {}
        with located.a.declare_querier(topic, **every) as querier:
            places = {r.ok.payload.to_string(): r.ok for r in querier.get()}
        assert places["located"].location == HERE


def test_replies_of_two_places_are_two(network: Network) -> None:
    pair = network["located"]
    topic, places = pair.topic(), [HERE, Coordinates(48.31, 14.31)]

    def answer(query: Any) -> None:
        with query:
            for place in (*places, HERE):
                query.reply(topic, str(place), location=place)

    with pair.b.declare_queryable(topic, answer, location_shape=AROUND):
        pair.answered(topic)
        found = [reply.ok.location for reply in pair.a.get(topic, location_shape=AROUND)]
    assert sorted(found, key=str) == sorted(places, key=str)
