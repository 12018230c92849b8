"""A live subscriber is given another area: nothing lost or doubled, and it is in force at once."""

from __future__ import annotations

import math
import random
import re
from itertools import count
from typing import Any

import pytest
import zenoh

import zenoh_la
from tests.network import Inbox, client, config, router, wait_for
from tests.session import test_mobility as mobility
from tests.session.test_mobility import DOMAIN, LINZ, Load, Network, SteadyLoad, near
from zenoh_la import ArgumentError, Circle, Coordinates, InvalidLocationError, Precision, Shape

VIENNA = Coordinates(48.2, 16.4)
network = mobility.network
BLOCK = zenoh.CongestionControl.BLOCK


def area_near(seed: int) -> Circle:
    """A circle that holds what is within 2 km of Linz, with its edge somewhere else each time."""
    return Circle(near(random.Random(seed), 0, 1000), 5000)


@mobility.each_encoding
def test_no_update_loses_or_doubles_a_message(network: Network, precision: Precision) -> None:
    network.mover.declare_bloom_domain(DOMAIN)
    inbox = Inbox()
    with network.mover.declare_subscriber(
        "updated", inbox, location_shape=Circle(LINZ, 5000), precision=precision
    ) as subscriber:
        mobility.wait_until_it_flows(network, "updated", inbox, precision)
        with Load(network.publisher, "updated", precision, seed=3) as load:
            for number in count():
                subscriber.update_area(area_near(number))
                if number >= 200 and load.sent["in"] >= 300:
                    break
        load.check(inbox)
        assert any(text.startswith("edge") for text in inbox.texts())


def test_no_update_loses_what_comes_by_a_granted_route(network: Network) -> None:
    inbox = Inbox()
    with network.mover.declare_subscriber(
        "granted", inbox, location_shape=Circle(LINZ, 5000)
    ) as subscriber:
        mobility.wait_until_it_flows(network, "granted", inbox)
        with SteadyLoad(network.publisher, "granted", Precision.POINT, seed=5) as load:
            for burst in range(3):
                wait_for(load.has_a_granted_route, "the route is granted")
                for number in range(20):
                    subscriber.update_area(area_near(20 * burst + number))
        load.check(inbox)


def test_it_is_in_force_when_the_call_returns() -> None:
    """What lies in the new area comes, what lay in the old one comes no more."""
    with router() as at, client(at.endpoint) as session:
        inbox = Inbox()
        subscriber = session.declare_subscriber("t", inbox, location_shape=Circle(LINZ, 5000))
        expected = []
        for number in range(50):
            here, there = (LINZ, VIENNA) if number % 2 else (VIENNA, LINZ)
            subscriber.update_area(Circle(here, 5000))
            session.put("t", f"there {number}", location=there, congestion_control=BLOCK)
            session.put("t", f"here {number}", location=here, congestion_control=BLOCK)
            expected.append(f"here {number}")
            inbox.wait(len(expected))
        assert inbox.texts() == expected


def test_all_shapes_and_kinds() -> None:
    with zenoh_la.open(config("peer")) as session:
        session.declare_bloom_domain(DOMAIN)
        for pulled in (False, True):
            declare = session.declare_pull_subscriber if pulled else session.declare_subscriber
            subscriber = declare("t", location_shape=Circle(VIENNA, 10))
            changes: list[tuple[Any, ...]] = [
                (Shape.CIRCLE, {"r": 1, "unit": "km", "c": LINZ.to_dict()}),
                (Shape.GEOGRAPHIC_RANGE,
                 {"min_lat": 48, "min_long": 14, "max_lat": 49, "max_long": 15}),
                (Shape.POLYGON, {"wkt": "POLYGON ((14 48, 15 48, 15 49, 14 49, 14 48))"}),
                ([Circle(VIENNA, 5), Circle(LINZ, 5)],),
            ]  # fmt: skip
            for number, change in enumerate(changes):
                for precision in (None, Precision.POINT, Precision.MGRS):
                    subscriber.update_area(*change, precision=precision)
                    session.put("t", str(number), location=LINZ)
                    assert subscriber.recv().payload.to_string() == str(number)
            subscriber.undeclare()


def test_an_area_can_become_one_that_goes_with_the_session_and_back() -> None:
    place = LINZ
    with zenoh_la.open(config("peer")) as session:
        session.declare_position_handler(0, lambda: place)
        inbox = Inbox()
        at_once = zenoh.handlers.Callback(inbox, indirect=False)
        subscriber = session.declare_subscriber("t", at_once, location_shape=Circle(VIENNA, 10))
        subscriber.update_area(Shape.CIRCLE, {"r": 100})
        place = Coordinates(10, 10)

        def follows() -> bool:
            session.put("t", "about it", location=place)
            return len(inbox) > 0

        wait_for(follows, "the area went with the session")
        subscriber.update_area(Circle(VIENNA, 10))
        moves, place = session._core.mobility.moves, LINZ
        wait_for(lambda: session.position == LINZ, "the session has moved")
        inbox.items.clear()
        session.put("t", "away", location=LINZ)
        session.put("t", "fixed", location=VIENNA)
        inbox.wait(1)
        assert inbox.texts() == ["fixed"]
        assert session._core.mobility.moves == moves


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        ((Shape.NONE,), ArgumentError, "location_shape"),
        (("circle",), ArgumentError, "location_shape"),
        ((Shape.CIRCLE, {"r": -1, "c": LINZ.to_dict()}), InvalidLocationError, "shape_data.r"),
        ((Shape.CIRCLE, {"r": 5}), zenoh_la.PositionError, "position"),
    ],
)
def test_a_wrong_area_changes_nothing(
    change: tuple[Any, ...], error: type[Exception], named: str
) -> None:
    with zenoh_la.open(config("peer")) as session:
        subscriber = session.declare_subscriber("t", location_shape=Circle(LINZ, 10))
        with pytest.raises(error, match=re.escape(named)):
            subscriber.update_area(*change)
        with pytest.raises(ArgumentError, match="precision"):
            subscriber.update_area(Circle(LINZ, 5), precision=Precision.BLOOM_FILTER)
        session.put("t", "still", location=LINZ)
        assert subscriber.recv().payload.to_string() == "still"


def test_one_without_an_area_cannot_get_one() -> None:
    with zenoh_la.open(config("peer")) as session:
        subscriber = session.declare_subscriber("t")
        with pytest.raises(ArgumentError, match="whole network"):
            subscriber.update_area(Circle(LINZ, 5))


def test_one_that_was_undeclared_is_zenohs_error() -> None:
    with zenoh_la.open(config("peer")) as session:
        subscriber = session.declare_subscriber("t", location_shape=Circle(LINZ, 10))
        subscriber.undeclare()
        with pytest.raises(zenoh.ZError):
            subscriber.update_area(Circle(LINZ, 5))


def test_a_message_may_arise_elsewhere_than_the_session() -> None:
    with zenoh_la.open(config("peer")) as session:
        session.declare_position_handler(math.inf, lambda: VIENNA)
        subscriber = session.declare_subscriber("t", location_shape=Circle(LINZ, 10))
        session.put("t", "at home")
        session.put("t", "away", location=LINZ)
        session.delete("t", location=LINZ)
        found = [subscriber.recv(), subscriber.recv()]
        assert [sample.kind for sample in found] == [zenoh.SampleKind.PUT, zenoh.SampleKind.DELETE]
        assert [getattr(sample, "location", None) for sample in found] == [LINZ, LINZ]
        for wrong in ("here", (48.3, 14.3), Circle(LINZ, 1)):
            with pytest.raises(ArgumentError, match="location"):
                session.put("t", "x", location=wrong)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="location"):
            session.put("t", "x", location=LINZ, precision=None)
