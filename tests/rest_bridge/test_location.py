"""Places by query string: where a message arises, and which area a get or a stream is about."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import zenoh

import zenoh_la
from tests.network import Inbox, client, router
from tests.rest_bridge.events import subscribed
from tests.rest_bridge.server import rest
from zenoh_la import Circle, Coordinates, Precision

LINZ = Coordinates(48.3, 14.3)
HERE = "lat=48.3&long=14.3"
CIRCLE = f"shape=circle&{HERE}&r=5"
VIENNA = "lat=48.2&long=16.4"
RANGE = "shape=geographic_range&min_lat=48&min_long=14&max_lat=48.5&max_long=14.5"
POLYGON = "shape=polygon&wkt=POLYGON((14 48, 15 48, 15 49, 14 49, 14 48))"
PRECISIONS = ["point", "mgrs", "bloom_filter"]
AREAS = {
    "circle in m": f"{CIRCLE}000",
    "circle in km": f"{CIRCLE}&unit=km",
    "circle in deg": f"{CIRCLE}&unit=deg".replace("r=5", "r=0.05"),
    "range": RANGE,
    "polygon": POLYGON,
    "polygon of a form": POLYGON.replace(" ", "+"),
    "point": HERE,
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_message_arises_where_it_says(
    http: httpx.Client, session: zenoh_la.LocationSession, method: str, precision: str
) -> None:
    inbox, known = Inbox(), Precision[{"point": "POINT"}.get(precision, precision.upper())]
    with session.declare_subscriber(
        "l/*", inbox, location_shape=Circle(LINZ, 50), precision=known
    ) as subscriber:
        if precision == "bloom_filter":
            subscriber.update_area(Circle(LINZ, 50))
        http.request(method, f"/l/away?{VIENNA}&precision={precision}", content="x")
        http.request(method, f"/l/here?{HERE}&precision={precision}", content="x")
        (sample,) = inbox.wait(1)
        assert str(sample.key_expr) == "l/here"
        assert sample.location.distance_m(LINZ) < {"bloom_filter": 50_000}.get(precision, 1)
        kind = zenoh.SampleKind.DELETE if method == "DELETE" else zenoh.SampleKind.PUT
        assert sample.kind == kind


def test_a_message_without_a_place_is_plain(
    http: httpx.Client, session: zenoh_la.LocationSession
) -> None:
    inbox = Inbox()
    with session.declare_subscriber(
        "l/*", inbox, location_shape=Circle(LINZ, 50), include_unlocated=True
    ):
        assert list(session.get("@/*/router"))
        http.put("/l/plain?lat=1&long=2&_zla=off", content="x")
        (sample,) = inbox.wait(1)
        assert sample.location is None


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
def test_streams_of_an_area(http: httpx.Client, area: str, precision: str) -> None:
    with subscribed(http, f"/s/*?{area}&precision={precision}") as events:
        http.put(f"/s/away?{VIENNA}&precision={precision}", content="x")
        http.put("/s/plain", content="x")
        http.put(f"/s/here?{HERE}&precision={precision}", content="x")
        (event,) = events.wait(1)
        assert event.data["key"] == "s/here"
        assert set(event.data["location"]) == {"lat", "long"}
        if precision == "point":
            assert event.data["location"] == {"lat": 48.3, "long": 14.3}


def test_a_stream_of_the_whole_network_shows_places_too(http: httpx.Client) -> None:
    with subscribed(http, "/s/*") as events:
        http.put("/s/plain", content="x")
        http.put(f"/s/here?{HERE}", content="x")
        plain, here = events.wait(2)
        assert "location" not in plain.data
        assert here.data["location"] == {"lat": 48.3, "long": 14.3}


class Located:
    """A queryable of an area, that answers with where it is."""

    def __init__(self, session: zenoh_la.LocationSession, precision: Precision) -> None:
        self.parameters: list[str] = []
        self.queryable = session.declare_queryable(
            "g/*", self._answer, location_shape=Circle(LINZ, 50), precision=precision
        )

    def _answer(self, query: Any) -> None:
        with query:
            self.parameters.append(str(query.parameters))
            query.reply("g/a", "there", encoding="text/plain", location=LINZ)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_gets_of_an_area(
    http: httpx.Client,
    session: zenoh_la.LocationSession,
    area: str,
    precision: str,
    method: str,
) -> None:
    known = Precision[{"point": "POINT"}.get(precision, precision.upper())]
    located = Located(session, known)
    with located.queryable:
        path = f"/g/a?x=1;{area}&precision={precision};y=%20"
        (reply,) = http.request(method, path).json()
        assert (reply["key"], reply["value"]) == ("g/a", "there")
        assert set(reply["location"]) == {"lat", "long"}
        assert located.parameters == ["x=1;y=%20"]
        assert http.get(f"/g/a?{VIENNA}&precision={precision}").json() == []


def test_areas_across_a_network() -> None:
    """Two bridges at two ends see each other's places, and only those."""
    with (
        router() as first,
        router(connect=[first.endpoint]) as second,
        rest(connect=first.endpoint) as one,
        rest(connect=second.endpoint) as other,
        one.client() as here,
        other.client() as there,
        client(second.endpoint) as session,
        subscribed(here, f"/n/*?{CIRCLE}000") as events,
    ):
        inbox = Inbox()
        session.declare_subscriber("n/*", inbox, location_shape=Circle(LINZ, 1000))
        for _ in range(200):  # the far router has yet to hear of the stream
            there.put(f"/n/away?{VIENNA}", content="x")
            there.put(f"/n/near?{HERE}", content="x")
            if events.samples():
                break
        assert {event.data["key"] for event in events.wait(1)} == {"n/near"}
        assert {str(sample.key_expr) for sample in inbox.wait(1)} == {"n/near"}
