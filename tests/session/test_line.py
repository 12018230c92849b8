"""A message's way through a line of routers, with a stock one in the middle."""

from __future__ import annotations

import math

import zenoh_la
from tests.network import (
    Inbox,
    client,
    config,
    converged,
    endpoint,
    line_of_routers,
    native_client,
    router,
    wait_for,
)
from zenoh_la import Circle, Coordinates

LINZ = Coordinates(48.3, 14.3)
GRAZ = Coordinates(47.07, 15.44)


def test_what_lies_in_the_area_arrives_and_the_rest_stops_where_it_enters() -> None:
    with (
        line_of_routers("LsL") as (first, _, last),
        client(first.endpoint) as publisher,
        client(last.endpoint) as subscriber,
        native_client(first.endpoint) as observer,
    ):
        inbox = Inbox()
        subscriber.declare_subscriber("t/**", inbox, location_shape=Circle(LINZ, 5000))
        converged(observer, 2)
        place = LINZ
        publisher.declare_position_handler(0, lambda: place)
        publisher.put("t/a", "in", attachment="mine")
        place = GRAZ
        publisher.put("t/a", "out")
        place = LINZ
        publisher.put("t/b", "in again")
        first_sample, _ = inbox.wait(2)
        assert inbox.texts() == ["in", "in again"]
        assert first_sample.location == LINZ
        assert str(first_sample.key_expr) == "t/a"
        assert first_sample.attachment.to_string() == "mine"
        counters = {s["zid"]: s["counters"] for s in converged(observer, 2).values()}
        assert counters[first.zid]["received"] == 3
        assert counters[first.zid]["forwarded"] == 2
        assert counters[first.zid]["stopped"] == 1
        assert counters[last.zid]["delivered"] == 2


def test_a_killed_clients_interests_are_gone_everywhere() -> None:
    with line_of_routers("LL") as (first, last), native_client(first.endpoint) as observer:
        subscriber = client(last.endpoint)
        subscriber.declare_subscriber("t", Inbox(), location_shape=Circle(LINZ, 5000))
        converged(observer, 2)
        subscriber.close()
        wait_for(
            lambda: all(s["interests"] == 0 for s in converged(observer, 2).values()),
            "no interests are left",
        )


def test_a_session_that_is_a_router_itself_answers_gets_from_the_next_router() -> None:
    at, next_at = endpoint(), endpoint()
    with (
        zenoh_la.open(config("router", listen=[at])) as answering,
        router(listen=next_at, connect=[at]),
        client(next_at) as asking,
    ):
        answering.declare_position_handler(math.inf, lambda: LINZ)
        area = Circle(LINZ, 1000)
        answering.declare_queryable("t", lambda query: query.reply("t", "yes"), location_shape=area)

        def answers() -> list[str]:
            replies = asking.get("t", location_shape=area)
            return [reply.ok.payload.to_string() for reply in replies if reply.ok is not None]

        wait_for(lambda: answers() == ["yes"], "an answer")
