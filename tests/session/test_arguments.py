"""Wrong arguments are errors at the call, and say which argument is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zenoh

import zenoh_la
from tests.network import config
from tests.session.pairs import AROUND, AWAY, HERE, Pair, pairs, received
from zenoh_la import (
    ArgumentError,
    BloomDomain,
    Coordinates,
    GeographicRange,
    InvalidLocationError,
    LocationSession,
    OutsideDomainError,
    PositionError,
    Precision,
    Shape,
)

NAN, INF = math.nan, math.inf
CIRCLE, RANGE, POLYGON = Shape.CIRCLE, Shape.GEOGRAPHIC_RANGE, Shape.POLYGON
MGRS, BLOOM = Precision.MGRS, Precision.BLOOM_FILTER
C = {"lat": 1.0, "long": 2.0}
BOX = {"min_lat": 0, "min_long": 0, "max_lat": 1, "max_long": 1}
DOMAIN = BloomDomain(GeographicRange(48, 14, 49, 15), 4, 4, 0.01)
ZLA_TOPICS = ["@zla", "@zla/x", "@zla/1/in/0/0/x"]
NO_TOPICS = ["", "a//b", "/a", "a/", "a$b", "a#b", "a*b", "**/**", "**/*", "a/$*$*", "\ud800"]
NO_TEXTS: list[Any] = [7, None, b"a", object()]
TOO_LONG = ["a" * 65_536, "é" * 32_768, "a/" * 40_000 + "a"]


@pytest.fixture
def session() -> Iterator[LocationSession]:
    """Alone, with nobody around."""
    with zenoh_la.open(config("peer")) as opened:
        yield opened


Declare = Callable[..., Any]


def _in_areas(session: LocationSession) -> dict[str, Declare]:
    """All that take an area."""
    return {
        "declare_subscriber": session.declare_subscriber,
        "declare_pull_subscriber": session.declare_pull_subscriber,
        "declare_queryable": session.declare_queryable,
        "declare_querier": session.declare_querier,
        "get": session.get,
    }


WRONG_AREAS: list[tuple[Any, Any, Any, type[Exception], str]] = [
    # location_shape, shape_data, precision, error, what it names
    ("circle", None, Precision.POINT, ArgumentError, "location_shape"),
    (2, None, Precision.POINT, ArgumentError, "location_shape"),
    (None, None, Precision.POINT, ArgumentError, "location_shape"),
    (zenoh_la.Circle, None, Precision.POINT, ArgumentError, "location_shape"),
    ([], None, Precision.POINT, ArgumentError, "location_shape"),
    ([AROUND, "circle"], None, Precision.POINT, ArgumentError, "location_shape"),
    ([CIRCLE], {"r": 5}, Precision.POINT, ArgumentError, "location_shape"),
    (AROUND, {"r": 5}, Precision.POINT, ArgumentError, "shape_data"),
    ([AROUND], {"r": 5}, Precision.POINT, ArgumentError, "shape_data"),
    (CIRCLE, None, Precision.POINT, ArgumentError, "shape_data"),
    (CIRCLE, [("r", 5)], Precision.POINT, ArgumentError, "shape_data"),
    (CIRCLE, "r=5", Precision.POINT, ArgumentError, "shape_data"),
    (Shape.NONE, {"r": 5}, Precision.POINT, ArgumentError, "shape_data"),
    (Shape.NONE, {}, Precision.POINT, ArgumentError, "shape_data"),
    (Shape.NONE, {"digits": 3}, Precision.POINT, ArgumentError, "shape_data"),
    (CIRCLE, {}, Precision.POINT, InvalidLocationError, "shape_data.r"),
    (CIRCLE, {"c": C}, Precision.POINT, InvalidLocationError, "shape_data.r"),
    (CIRCLE, {"r": -1, "c": C}, Precision.POINT, InvalidLocationError, "shape_data.r"),
    (CIRCLE, {"r": NAN, "c": C}, Precision.POINT, InvalidLocationError, "shape_data.r"),
    (CIRCLE, {"r": INF, "c": C}, Precision.POINT, InvalidLocationError, "shape_data.r"),
    (CIRCLE, {"r": "5", "c": C}, Precision.POINT, InvalidLocationError, "shape_data.r"),
    (CIRCLE, {"r": True, "c": C}, Precision.POINT, InvalidLocationError, "shape_data.r"),
    (CIRCLE, {"r": None}, Precision.POINT, InvalidLocationError, "shape_data.r"),
    (CIRCLE, {"r": 5, "unit": "mile"}, Precision.POINT, InvalidLocationError, "shape_data.unit"),
    (CIRCLE, {"r": 5, "c": None}, Precision.POINT, InvalidLocationError, "shape_data.c"),
    (CIRCLE, {"r": 5, "c": [1, 2]}, Precision.POINT, InvalidLocationError, "shape_data.c"),
    (CIRCLE, {"r": 5, "c": {"lat": 1}}, Precision.POINT, InvalidLocationError, "shape_data.c"),
    (CIRCLE, {"r": 5, "c": {**C, "lat": 91}}, Precision.POINT, InvalidLocationError,
     "shape_data.c.lat"),
    (CIRCLE, {"r": 5, "c": {**C, "long": 181}}, Precision.POINT, InvalidLocationError,
     "shape_data.c.long"),
    (CIRCLE, {"r": 5, "c": {**C, "lat": NAN}}, Precision.POINT, InvalidLocationError,
     "shape_data.c.lat"),
    (CIRCLE, {"r": 5, "radius": 5}, Precision.POINT, InvalidLocationError, "shape_data"),
    (RANGE, {**BOX, "min_lat": 2}, Precision.POINT, InvalidLocationError, "shape_data.min_lat"),
    (RANGE, {**BOX, "max_lat": INF}, Precision.POINT, InvalidLocationError, "shape_data.max_lat"),
    (RANGE, {**BOX, "max_long": 190}, Precision.POINT, InvalidLocationError,
     "shape_data.max_long"),
    (RANGE, {**BOX, "max_long": "1"}, Precision.POINT, InvalidLocationError,
     "shape_data.max_long"),
    (RANGE, {"min_lat": 0}, Precision.POINT, InvalidLocationError, "shape_data"),
    (RANGE, {**BOX, "r": 1}, Precision.POINT, InvalidLocationError, "shape_data"),
    (POLYGON, {}, Precision.POINT, InvalidLocationError, "shape_data"),
    (POLYGON, {"wkt": "POLYGON (("}, Precision.POINT, InvalidLocationError, "shape_data.wkt"),
    (POLYGON, {"wkt": "POINT (1 1)"}, Precision.POINT, InvalidLocationError, "shape_data.wkt"),
    (POLYGON, {"wkt": 1}, Precision.POINT, InvalidLocationError, "shape_data.wkt"),
    (POLYGON, {"points": [[0, 0], [1, 1]]}, Precision.POINT, InvalidLocationError,
     "shape_data.points"),
    (POLYGON, {"points": [[0, 0], [0, 1], [95, 1]]}, Precision.POINT, InvalidLocationError,
     "shape_data.points[2]"),
    (POLYGON, {"points": "square"}, Precision.POINT, InvalidLocationError, "shape_data.points"),
    (POLYGON, {"points": [[0, 0], [1, 1], [0, 1], [1, 0]]}, Precision.POINT,
     InvalidLocationError, "shape_data.polygon"),
    (Shape.NONE, {}, MGRS, InvalidLocationError, "shape_data"),
    (Shape.NONE, {"digits": 6}, MGRS, InvalidLocationError, "shape_data.digits"),
    (Shape.NONE, {"digits": -1}, MGRS, InvalidLocationError, "shape_data.digits"),
    (Shape.NONE, {"digits": True}, MGRS, InvalidLocationError, "shape_data.digits"),
    (Shape.NONE, {"digits": "city"}, MGRS, InvalidLocationError, "shape_data.digits"),
    (Shape.NONE, {"mgrs": "rubbish"}, MGRS, InvalidLocationError, "shape_data.mgrs"),
    (Shape.NONE, {"mgrs": 10}, MGRS, InvalidLocationError, "shape_data.mgrs"),
    (Shape.NONE, {"mgrs": "33UVP", "digits": 2}, MGRS, InvalidLocationError, "shape_data"),
    (AROUND, None, "mgrs", ArgumentError, "precision"),
    (AROUND, None, 1, ArgumentError, "precision"),
    (AROUND, None, None, ArgumentError, "precision"),
    (Shape.NONE, None, "mgrs", ArgumentError, "precision"),
    (AROUND, None, BLOOM, ArgumentError, "precision"),
    (CIRCLE, {"r": 5}, Precision.POINT, PositionError, "position"),
    (Shape.NONE, {"digits": 2}, MGRS, PositionError, "position"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "data", "precision", "error", "named"),
    WRONG_AREAS,
    ids=[f"{number}-{named}" for number, (*_, named) in enumerate(WRONG_AREAS)],
)
def test_wrong_areas(
    session: LocationSession,
    shape: Any,
    data: Any,
    precision: Any,
    error: type[Exception],
    named: str,
) -> None:
    for name, declare in _in_areas(session).items():
        with pytest.raises(error, match=re.escape(named)) as raised:
            declare("t", location_shape=shape, shape_data=data, precision=precision)
        assert isinstance(raised.value, zenoh_la.ZenohLaError), name
    node = session.node_status()
    assert node is not None
    assert node.interests == 0  # nothing of it is left


def test_bloom_areas_outside_the_domain(session: LocationSession) -> None:
    session.declare_bloom_domain(DOMAIN)
    for declare in _in_areas(session).values():
        with pytest.raises(OutsideDomainError, match="area"):
            declare("t", location_shape=zenoh_la.Circle(AWAY, 5), precision=BLOOM)


@pytest.mark.parametrize("domain", [None, "grid", GeographicRange(48, 14, 49, 15)])
def test_what_is_no_domain(session: LocationSession, domain: Any) -> None:
    with pytest.raises(ArgumentError, match="domain"):
        session.declare_bloom_domain(domain)


@pytest.mark.parametrize("lifetime", [NAN, -1, -0.5, -INF, True, False, "1", None, 1j, [1]])
def test_wrong_lifetimes(session: LocationSession, lifetime: Any) -> None:
    with pytest.raises(ArgumentError, match="lifetime"):
        session.declare_position_handler(lifetime, lambda: HERE)
    with pytest.raises(ArgumentError, match="lifetime"):
        session.set_position_lifetime(lifetime)
    assert session.position is None


@pytest.mark.parametrize("handler", [None, HERE, "here", (48.3, 14.3)])
def test_what_is_no_position_handler(session: LocationSession, handler: Any) -> None:
    with pytest.raises(ArgumentError, match="handler"):
        session.declare_position_handler(1, handler)
    session.put("t", "a plain message, as nothing was declared")


def _failing() -> Coordinates:
    raise OSError("no satellite")


@pytest.mark.parametrize(
    ("handler", "says"),
    [
        (lambda: (48.3, 14.3), "handler()"),
        (lambda: "here", "handler()"),
        (lambda: {"lat": 1, "long": 2}, "handler()"),
        (lambda: Coordinates(91, 0), "lat"),
        (_failing, "no satellite"),
    ],
)
def test_handlers_that_return_no_position(
    session: LocationSession, handler: Any, says: str
) -> None:
    session.declare_position_handler(0, handler)
    publisher = session.declare_publisher("t")
    circle: dict[str, Any] = {"location_shape": CIRCLE, "shape_data": {"r": 5}}
    for needs_one in (
        lambda: session.put("t", "x"),
        lambda: session.delete("t"),
        lambda: publisher.put("x"),
        lambda: publisher.delete(),
        lambda: session.declare_subscriber("t", **circle),
        lambda: session.declare_queryable("t", **circle),
        lambda: session.get("t", **circle),
        lambda: session.position,
    ):
        with pytest.raises(PositionError, match="position handler") as raised:
            needs_one()
        assert says in str(raised.value)


@pytest.mark.parametrize("precision", ["mgrs", 1, Shape.CIRCLE, "POINT"])
def test_wrong_precisions_of_publishers(session: LocationSession, precision: Any) -> None:
    for call in (
        lambda: session.put("t", "x", precision=precision),
        lambda: session.delete("t", precision=precision),
        lambda: session.declare_publisher("t", precision=precision),
    ):
        with pytest.raises(ArgumentError, match="precision"):
            call()


def test_bloom_positions_need_a_domain_that_holds_them(session: LocationSession) -> None:
    place = HERE
    session.declare_position_handler(0, lambda: place)
    publisher = session.declare_publisher("t", precision=BLOOM)
    puts: list[Callable[[], None]] = [
        lambda: session.put("t", "x", precision=BLOOM),
        lambda: publisher.put("x"),
    ]
    for put in puts:
        with pytest.raises(ArgumentError, match=r"precision.*declare_bloom_domain"):
            put()
    session.declare_bloom_domain(DOMAIN)
    for put in puts:
        put()
    place = AWAY
    for put in puts:
        with pytest.raises(OutsideDomainError, match="position"):
            put()


@pytest.mark.parametrize("capacity", [0, -1, True, "9", 1.5, None])
def test_wrong_capacities(session: LocationSession, capacity: Any) -> None:
    with pytest.raises(ArgumentError, match="capacity"):
        session.declare_pull_subscriber("t", capacity=capacity)


def test_what_is_no_callback_of_a_pull_subscriber(session: LocationSession) -> None:
    with pytest.raises(ArgumentError, match="handler"):
        session.declare_pull_subscriber("t", 7)  # type: ignore[arg-type]


# Topics


def _on_topics(session: LocationSession, area: dict[str, Any]) -> dict[str, Declare]:
    """All that take a topic."""
    found = {name: _with(declare, area) for name, declare in _in_areas(session).items()}
    return {
        **found,
        "put": lambda topic: session.put(topic, "x"),
        "delete": session.delete,
        "declare_publisher": session.declare_publisher,
    }


def _with(declare: Declare, area: dict[str, Any]) -> Declare:
    return lambda topic: declare(topic, **area)


@pytest.fixture(params=["plain", "located"])
def on_topics(session: LocationSession, request: pytest.FixtureRequest) -> dict[str, Declare]:
    if request.param == "plain":
        return _on_topics(session, {})
    session.declare_position_handler(INF, lambda: HERE)
    return _on_topics(session, {"location_shape": AROUND})


@pytest.mark.parametrize("topic", NO_TOPICS)
def test_what_is_no_topic_is_zenohs_own_error(on_topics: dict[str, Declare], topic: str) -> None:
    for name, call in on_topics.items():
        with pytest.raises((zenoh.ZError, UnicodeEncodeError)) as raised:
            call(topic)
        assert topic in str(raised.value) or topic == "\ud800", name


@pytest.mark.parametrize("topic", NO_TEXTS, ids=repr)
def test_what_is_no_text(on_topics: dict[str, Declare], topic: Any) -> None:
    for call in on_topics.values():
        with pytest.raises(TypeError, match=r"'key_expr'|'selector'"):
            call(topic)


@pytest.mark.parametrize("topic", TOO_LONG, ids=["ascii", "two bytes", "chunks"])
def test_what_is_too_long_is_an_error_and_no_panic(
    on_topics: dict[str, Declare], topic: str
) -> None:
    for call in on_topics.values():
        with pytest.raises(ArgumentError, match=r"key_expr|selector"):
            call(topic)


@pytest.mark.parametrize("topic", ZLA_TOPICS)
def test_the_protocols_own_topics_hold_no_place(session: LocationSession, topic: str) -> None:
    plain = session.declare_publisher(topic)  # plain Zenoh has no such rule
    plain.put("plain")
    session.declare_position_handler(INF, lambda: HERE)
    for call in _on_topics(session, {"location_shape": AROUND}).values():
        with pytest.raises(ArgumentError, match=r"key_expr.*@zla"):
            call(topic)
    with pytest.raises(ArgumentError, match=r"key_expr.*@zla"):
        plain.put("located")


@pytest.fixture(scope="module", params=["clients", "peers"])
def located(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with pairs(request.param) as found:
        yield found["located"]


VERBATIM = [
    # topic, and who listens to it
    ("@fleet/7/state", ["@fleet/7/state", "@fleet/*/state", "@fleet/**"]),
    ("a/@b/c", ["a/@b/c", "a/@b/*", "*/@b/**"]),
    ("a/@b/@c", ["a/@b/@c", "**/@b/@c"]),
    ("~a/b", ["~a/b", "*/b", "**"]),
    ("~@a/~~b", ["~@a/~~b", "~@a/*"]),
    ("@~a", ["@~a"]),
    ("a@b/~", ["a@b/~", "*/~", "a@b/**"]),
]


@pytest.mark.parametrize(("topic", "wanted"), VERBATIM, ids=[topic for topic, _ in VERBATIM])
def test_topics_with_verbatim_chunks(located: Pair, topic: str, wanted: list[str]) -> None:
    """They are found as Zenoh finds them: a verbatim chunk only by itself."""
    base = located.topic()
    topic = f"{base}/{topic}"
    others = ["**", "*", "*/*", "a/*/c", "*/7/state"]
    subscribers = {
        key: located.b.declare_subscriber(f"{base}/{key}", **located.area)
        for key in {*wanted, *others}
    }
    located.reached(topic)
    located.a.put(topic, "x")
    located.flush()
    for key, subscriber in subscribers.items():
        matches = zenoh.KeyExpr(f"{base}/{key}").intersects(topic)
        assert matches or key not in wanted
        found = received(subscriber, 1) if matches else [subscriber.try_recv()]
        assert [s and str(s.key_expr) for s in found] == [topic if matches else None], key
        subscriber.undeclare()
    _asked(located, topic, [f"{base}/{key}" for key in wanted])


def _asked(located: Pair, topic: str, selectors: list[str]) -> None:
    """A get finds a queryable of such a topic, and the reply is on it."""

    def answer(query: Any) -> None:
        with query:
            query.reply(topic, str(query.key_expr))

    with located.b.declare_queryable(topic, answer, **located.area):
        located.answered(topic)
        for selector in selectors:
            (reply,) = located.a.get(selector, **located.area)
            assert str(reply.ok.key_expr) == topic
            assert reply.ok.payload.to_string() == selector
            assert reply.ok.location == HERE
