"""What the map is fed with, and why a message went where it went."""

from __future__ import annotations

import gzip
import json
import math
import signal
from typing import Any

import httpx
import pytest
import zenoh

import zenoh_la
from tests.network import DEADLINE_S, Inbox, client, router, wait_for
from tests.rest_bridge.events import Events, subscribed
from tests.rest_bridge.server import Rest, rest
from zenoh_la import BloomDomain, Circle, Coordinates, GeographicRange, Precision
from zenoh_la.rest_bridge.pages import land

BLOCK = zenoh.CongestionControl.BLOCK
FEED = "/@zla/live/feed"
LINZ, VIENNA = Coordinates(48.3, 14.3), Coordinates(48.2, 16.4)
AREA = Circle(LINZ, 30_000)


def messages(events: Events) -> list[list[Any]]:
    return [m for e in events.items if e.name == "MESSAGES" for m in e.data["messages"]]


def topics_wanted(events: Events) -> list[str]:
    return [i["topic"] for e in events.items if e.name == "INTERESTS" for i in e.data["set"]]


def granted(publisher: Any) -> bool:
    """Puts until its route is granted."""

    def is_granted() -> bool:
        for _ in range(100):
            publisher.put("busy")
        return publisher._sender.grant is not None

    return wait_for(is_granted, "a granted route")


def test_messages_of_a_granted_route_are_seen_too(
    http: httpx.Client, session: zenoh_la.LocationSession
) -> None:
    """A publisher that stays puts past the router, save while somebody looks."""
    session.declare_position_handler(math.inf, lambda: LINZ)
    received = Inbox()
    with (
        session.declare_subscriber("fed/*", received, location_shape=AREA),
        session.declare_publisher("fed/a", congestion_control=BLOCK) as publisher,
    ):
        assert granted(publisher)
        with subscribed(http, f"{FEED}?topic=fed/*") as events:
            wait_for(lambda: topics_wanted(events) == ["fed/*"], "the interest")
            sender: Any = publisher._sender
            wait_for(lambda: sender.grant is None, "the route taken back")
            for number in range(300):
                publisher.put(f"seen {number}")
            received.wait(300)
            wait_for(lambda: sum(m[5] for m in messages(events)) >= 300, "all of them")
            (_, topic, lat, long, encoding, _, delivered, vetoed, _) = messages(events)[-1]
            assert (topic, lat, long, encoding) == ("fed/a", 48.3, 14.3, "base64_json")
            assert (delivered, vetoed) == (1, 0)
        assert granted(publisher)  # nobody looks any more
    texts = [text for text in received.texts() if text.startswith("seen")]
    assert texts == [f"seen {number}" for number in range(300)]


def test_a_feed_ends_with_its_bridge() -> None:
    with rest() as bridge, bridge.client() as http, subscribed(http, FEED) as events:
        wait_for(lambda: any(e.name == "STATUS" for e in events.items), "a status")
        assert bridge.stop(signal.SIGINT) == 0
        assert events.is_over.wait(DEADLINE_S)
    assert bridge.err == []


def test_what_cannot_be_placed_harms_no_feed(
    bridge: Rest, http: httpx.Client, session: zenoh_la.LocationSession
) -> None:
    """A grid that the bridge does not know."""
    unknown = BloomDomain(GeographicRange(0, 0, 1, 1), 3, 3, 0.1)
    with subscribed(http, f"{FEED}?topic=odd/*") as events:
        wait_for(lambda: any(e.name == "STATUS" for e in events.items), "a feed in force")
        with client(bridge.endpoint) as other:
            other.declare_bloom_domain(unknown)
            other.put("odd/a", "x", location=Coordinates(0.5, 0.5),
                      precision=Precision.BLOOM_FILTER)  # fmt: skip
        wait_for(lambda: [m[1:4] for m in messages(events)] == [["odd/a", None, None]], "it")
        session.put("odd/b", "y", location=LINZ)
        wait_for(lambda: messages(events)[-1][1:4] == ["odd/b", 48.3, 14.3], "the next")


def test_a_bridge_that_is_a_client_sees_the_network() -> None:
    with (
        router() as joined,
        rest(connect=joined.endpoint) as bridge,
        bridge.client() as http,
        client(joined.endpoint) as session,
        session.declare_subscriber("net/*", lambda _: None, location_shape=AREA),
        subscribed(http, FEED) as events,
    ):
        wait_for(lambda: topics_wanted(events) == ["net/*"], "the interest")
        assert "subscription to all topics" in events.items[0].data["scope"]

        def told() -> set[tuple[Any, ...]]:
            session.put("net/in", "x", location=LINZ)
            session.put("net/out", "y", location=VIENNA)
            return {(m[1], m[6], m[7]) for m in messages(events)}

        wait_for(lambda: told() >= {("net/in", 1, 0), ("net/out", 0, 1)}, "both")


@pytest.mark.parametrize("precision", ["point", "mgrs", "bloom_filter"])
def test_why(http: httpx.Client, precision: str) -> None:
    area = f"shape=circle&lat=48.3&long=14.3&r=10&unit=km&precision={precision}"
    with subscribed(http, f"/asked/{precision}?{area}"):
        ask = {"topic": f"asked/{precision}", "precision": precision}
        inside = http.get("/@zla/live/why", params={**ask, "lat": 48.3, "long": 14.3}).json()
        assert (inside["delivered"], inside["vetoed"]) == (1, 0)
        outside = http.get("/@zla/live/why", params={**ask, "lat": 46, "long": 13}).json()
        assert (outside["delivered"], outside["vetoed"]) == (0, 1)
        assert outside["interests"][0]["reason"]
        other = http.get("/@zla/live/why", params={**ask, "topic": "else", "lat": 46, "long": 13})
        assert other.json()["interests"] == []
        assert other.json()["other_topics"] == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("lat=1&long=2", "topic"),
        ("topic=a", "lat"),
        ("topic=a&lat=1", "long"),
        ("topic=a&lat=91&long=0", "lat"),
        ("topic=a//b&lat=1&long=2", "topic"),
        ("topic=a&lat=1&long=2&precision=bloom_filter", "precision"),  # outside the grid
    ],
)
def test_a_wrong_question_names_its_field(http: httpx.Client, query: str, field: str) -> None:
    answer = http.get(f"/@zla/live/why?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize("query", ["topic=a//b", "topic=", "encoding=morse"])
def test_a_wrong_feed_is_refused(http: httpx.Client, query: str) -> None:
    answer = http.get(f"{FEED}?{query}")
    assert answer.status_code == 400
    assert answer.json()["field"] == query.partition("=")[0]


def test_the_page_needs_nothing_from_elsewhere(http: httpx.Client) -> None:
    for part in ("", "/map.js", "/map.css", "/dots.js", "/areas.js", "/feed.js", "/ground.js",
                 "/leaflet.css", "/leaflet-src.esm.js"):  # fmt: skip
        answer = http.get(f"/@zla/map{part}")
        assert answer.status_code == 200, part
        assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert http.get("/@zla/map/../server.py").status_code != 200
    assert http.get("/@zla/map/other.js").status_code == 404
    assert http.get("/@zla/map/land.json").json()["land"]


def test_the_token_guards_the_data_and_not_the_page() -> None:
    with rest("--token", "s3cret") as bridge, bridge.client() as http:
        assert http.get("/@zla/map").status_code == 200
        assert http.get("/@zla/live/why?topic=a&lat=1&long=2").status_code == 401
        assert http.get(FEED).status_code == 401


def test_land_is_where_it_should_be() -> None:
    document = json.loads(land.outlines())
    assert len(gzip.compress(land.outlines())) < 200_000
    assert max(len(ring) for ring in document["land"]) > 10_000  # Asia and Europe
    for ring in document["land"]:
        lat, long = sum(ring[0::2]), sum(ring[1::2])
        assert -9000 <= lat <= 9000
        assert -18000 <= long <= 18000
