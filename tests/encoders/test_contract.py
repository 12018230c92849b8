"""One contract for all encodings."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, sin

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import (
    areas,
    areas_about,
    places_in_an_area,
    positions,
    positions_in_range,
)
from zenoh_la import (
    BloomDomain,
    Circle,
    Coordinates,
    GeographicRange,
    InvalidLocationError,
    LocationKey,
    Polygon,
    Role,
    encoders,
    location_match,
)
from zenoh_la.encoders import Encoder
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.values import Area

WORLD = BloomDomain(GeographicRange(-90, -180, 90, 180), 18, 36, 0.05)
PACIFIC = BloomDomain(GeographicRange(-40, 150, 40, -150), 7, 11, 0.25)


@dataclass(frozen=True)
class Contender:
    """An encoder, and the positions that it has keys for."""

    encoder: Encoder
    positions: st.SearchStrategy[Coordinates] = positions


CONTENDERS = {
    "base64_json": Contender(encoders.get("base64_json")),
    "mgrs": Contender(encoders.get("mgrs")),
    "mgrs in one cell": Contender(encoders.get("mgrs", max_cells=1)),
    "bloom": Contender(encoders.get("bloom", domain=WORLD)),
    "bloom across the antimeridian": Contender(
        encoders.get("bloom", domain=PACIFIC), positions_in_range(PACIFIC.bounds, 7, 11)
    ),
}
BASE64 = CONTENDERS["base64_json"].encoder
every_encoder = pytest.mark.parametrize("contender", CONTENDERS.values(), ids=list(CONTENDERS))
interested = st.sampled_from([Role.SUBSCRIBER, Role.PULL_SUBSCRIBER, Role.QUERYABLE])


def decoded(encoder: Encoder, key: LocationKey) -> list[Coordinates | Area]:
    if isinstance(encoder, BloomEncoder):
        return [encoder.domain.range_of(cell) for cell in encoder.cells(key)]
    place = encoder.decode(key).place
    assert place is not None
    return [place]


def holds(place: Coordinates | Area, position: Coordinates) -> bool:
    return place == position if isinstance(place, Coordinates) else place.contains(position)


@every_encoder
@given(st.data(), interested)
def test_zenoh_accepts_every_key(contender: Contender, data: st.DataObject, role: Role) -> None:
    area, position = data.draw(places_in_an_area(contender.positions))
    encoder = contender.encoder
    for key in (encoder.encode_position(position), *encoder.encode_area(area, role)):
        assert str(zenoh.KeyExpr(key.wire)) == key.wire
        assert LocationKey(key.wire) == key
        assert encoder.decode(key) == encoders.decode(key.written)


@every_encoder
@given(st.data())
def test_a_decoded_position_holds_the_original(contender: Contender, data: st.DataObject) -> None:
    position = data.draw(contender.positions)
    key = contender.encoder.encode_position(position)
    assert any(holds(place, position) for place in decoded(contender.encoder, key))


@every_encoder
@given(st.data(), interested)
def test_a_decoded_area_holds_the_original(
    contender: Contender, data: st.DataObject, role: Role
) -> None:
    area, position = data.draw(places_in_an_area(contender.positions))
    keys = contender.encoder.encode_area(area, role)
    places = [place for key in keys for place in decoded(contender.encoder, key)]
    assert any(holds(place, position) for place in places)


def assert_found(encoder: Encoder, area: Area, position: Coordinates) -> None:
    assert area.contains(position)
    publisher = encoder.encode_position(position)
    subscriber = encoder.encode_area(area, Role.SUBSCRIBER)
    assert any(location_match(publisher, key) for key in subscriber)
    assert any(location_match(key, publisher) for key in subscriber)


@every_encoder
@given(st.data())
def test_no_false_negatives_ever(contender: Contender, data: st.DataObject) -> None:
    area, position = data.draw(places_in_an_area(contender.positions))
    assert_found(contender.encoder, area, position)


@pytest.mark.parametrize(
    ("area", "position"),
    [
        (Circle(Coordinates(90, 0), 1), Coordinates(90, 123)),
        (Circle(Coordinates(-90, 0), 1), Coordinates(-90, -123)),
        (Circle(Coordinates(89.99999, 17), 0.001), Coordinates(89.99999, 17)),
        (GeographicRange(-10, 170, 10, 180), Coordinates(0, -180)),
        (GeographicRange(-10, -180, 10, -170), Coordinates(0, 180)),
        (Circle(Coordinates(84.00001, 5), 0), Coordinates(84.00001, 5)),
        (Circle(Coordinates(-80.00001, 5), 0), Coordinates(-80.00001, 5)),
        (GeographicRange(50, 5, 50, 5.9999999999), Coordinates(50, 5.9999999999)),
        (GeographicRange(0, 179, 10, 179.9999999999), Coordinates(5, 179.9999999999)),
        (GeographicRange(-90, -180, 90, 180), Coordinates(12, 34)),
        (GeographicRange(60, 2, 61, 3), Coordinates(60.5, 3)),
        (GeographicRange(73, 8, 74, 9), Coordinates(73.5, 9)),
        (GeographicRange(-5e-8, 9, 0, 9), Coordinates(-5e-8, 9)),
        (GeographicRange(50, 3, 56, 4), Coordinates(56, 3.5)),
        (Circle(Coordinates(10, 20), 20_037_508), Coordinates(-10, -160)),
        (GeographicRange(17, 42, 17, 42), Coordinates(17, 42)),
    ],
)
@pytest.mark.parametrize("name", ["base64_json", "mgrs", "mgrs in one cell", "bloom"])
def test_poles_edges_tiny_and_huge_areas(name: str, area: Area, position: Coordinates) -> None:
    assert_found(CONTENDERS[name].encoder, area, position)


@every_encoder
@given(st.data())
def test_no_get_misses_a_queryable(contender: Contender, data: st.DataObject) -> None:
    area, position = data.draw(places_in_an_area(contender.positions))
    gets = contender.encoder.encode_area(area, Role.GET)
    other = data.draw(areas_about(position))
    queryables = contender.encoder.encode_area(other, Role.QUERYABLE)
    assert any(location_match(g, q) for g in gets for q in queryables)


@given(positions, areas)
def test_base64_gives_the_geometric_answer(position: Coordinates, area: Area) -> None:
    (subscriber,) = BASE64.encode_area(area, Role.SUBSCRIBER)
    assert location_match(BASE64.encode_position(position), subscriber) == area.contains(position)


@given(areas, areas)
def test_base64_queries_give_the_geometric_answer(area: Area, other: Area) -> None:
    (get,) = BASE64.encode_area(area, Role.GET)
    (queryable,) = BASE64.encode_area(other, Role.QUERYABLE)
    assert location_match(get, queryable) == area.meets(other)


@every_encoder
def test_a_publisher_has_no_area(contender: Contender) -> None:
    with pytest.raises(InvalidLocationError, match="a publisher has a position"):
        contender.encoder.encode_area(Circle(Coordinates(0, 180), 5), Role.PUBLISHER)


def test_a_polygon_too_long_for_a_key_is_refused_with_its_length() -> None:
    ring = [(sin(i / 1000) * 10, cos(i / 1000) * 10) for i in range(6283)]
    area = Polygon.from_points(ring)
    with pytest.raises(InvalidLocationError, match="simplify"):
        BASE64.encode_area(area, Role.SUBSCRIBER)
    for name in ("mgrs", "bloom"):
        assert CONTENDERS[name].encoder.encode_area(area, Role.SUBSCRIBER)
