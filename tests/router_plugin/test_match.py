from __future__ import annotations

import base64
import json
from itertools import product

import pytest
from hypothesis import given

from tests.strategies import areas, places_in_an_area, positions
from zenoh_la import (
    BloomDomain,
    Circle,
    Coordinates,
    GeographicRange,
    LocationKey,
    LocationKeyError,
    MgrsCell,
    Role,
    encoders,
    location_match,
)
from zenoh_la.router_plugin import explain_match
from zenoh_la.values import Area

BASE64, MGRS = encoders.get("base64_json"), encoders.get("mgrs")
BLOOM = encoders.get("bloom", domain=BloomDomain(GeographicRange(-90, -180, 90, 180), 9, 18, 0.1))


class TestThesisExamples:
    rectangle = GeographicRange(45.0, 11.0, 47.0, 15.2)
    circle = Circle(Coordinates(48.0, 14.0), 2 * 111_194.93)

    @pytest.mark.parametrize(
        ("lat", "long", "in_rectangle", "in_circle"),
        [(46.52275, 14.01002, True, True), (45.2, 13.0, True, False)],
    )
    def test_rectangle_and_circle(
        self, lat: float, long: float, in_rectangle: bool, in_circle: bool
    ) -> None:
        publisher = BASE64.encode_position(Coordinates(lat, long))
        for area, expected in ((self.rectangle, in_rectangle), (self.circle, in_circle)):
            (subscriber,) = BASE64.encode_area(area, Role.SUBSCRIBER)
            assert location_match(publisher, subscriber) is expected

    def test_mgrs_zone_10s_gj_matches(self) -> None:
        publisher = "$zla_m_10SGJ0683244683"
        for subscriber in ("10S", "10SGJ", "10SGJ04", "10SGJ0644", "10SGJ068446", "10SGJ06834468"):
            assert location_match(publisher, f"$zla_m_{subscriber}")

    def test_mgrs_zone_10p_does_not(self) -> None:
        assert not location_match("$zla_m_10SGJ0683244683", "$zla_m_10P")
        assert not location_match("$zla_m_10SGJ0683244683", "$zla_m_10PGJ0644")


ROLES = {
    role: BASE64.encode_position(Coordinates(46, 14))
    if role is Role.PUBLISHER
    else BASE64.encode_area(Circle(Coordinates(46, 14), 5000), role)[0]
    for role in Role
}
MATCHING_ROLES = {
    (Role.PUBLISHER, Role.SUBSCRIBER),
    (Role.PUBLISHER, Role.PULL_SUBSCRIBER),
    (Role.GET, Role.QUERYABLE),
}


@pytest.mark.parametrize(("a", "b"), list(product(Role, Role)))
def test_only_some_pairs_of_roles_match(a: Role, b: Role) -> None:
    expected = (a, b) in MATCHING_ROLES or (b, a) in MATCHING_ROLES
    assert location_match(ROLES[a], ROLES[b]) is expected
    assert explain_match(ROLES[a], ROLES[b]).matches is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("10SGJ06", "10SGJ0", None),
        ("10SGJ0644", "10SGJ0644", True),
        ("10SGJ0644", "10SGJ0645", False),
        ("10SGJ0644", "10SGJ04", True),
        ("10SGJ0644", "10SGJ64", False),
        ("10SGJ", "10SGK", False),
        ("10S", "10T", False),
        ("1NBA", "01NBA1234", True),
        ("01N", "1NBA1234", True),
        ("1N", "11N", False),
        ("Z", "ZAH0000000000", True),
        ("Z", "Y", False),
    ],
)
def test_mgrs_cells(a: str, b: str, expected: bool | None) -> None:
    pair = f"$zla_m_{a}", f"$zla_m_{b}"
    if expected is None:
        with pytest.raises(LocationKeyError):
            location_match(*pair)
        return
    assert location_match(*pair) is expected
    assert location_match(*reversed(pair)) is expected


def test_bloom_words() -> None:
    area = "$zla_b_f_5a.1"
    assert location_match(area, "$zla_b_e_12.0")
    assert location_match("$zla_b_e_12.1", area)
    assert not location_match(area, "$zla_b_e_13.0")
    assert not location_match(area, "$zla_b_e_12")
    assert not location_match(area, area)
    assert not location_match("$zla_b_e_12.0", "$zla_b_e_12.0")


@given(positions, areas)
def test_a_base64_point_is_in_a_cell_if_its_metre_is(position: Coordinates, area: Area) -> None:
    point = BASE64.encode_position(position)
    for digits in (*range(6), "zone"):
        cell = LocationKey.of_mgrs(MgrsCell.at(position, digits).text)
        assert location_match(point, cell)
        assert location_match(cell, point)
    for key in MGRS.encode_area(Circle(area.bounds.planar.inner_place(), 10), Role.SUBSCRIBER):
        metre = MGRS.encode_position(position)
        assert location_match(point, key) == location_match(metre, key)


@given(places_in_an_area())
def test_an_mgrs_publisher_is_in_every_base64_area_it_lies_in(
    pair: tuple[Area, Coordinates],
) -> None:
    area, position = pair
    publisher = MGRS.encode_position(position)
    for role in (Role.SUBSCRIBER, Role.PULL_SUBSCRIBER, Role.QUERYABLE, Role.GET):
        (key,) = BASE64.encode_area(area, role)
        assert location_match(publisher, key)
        assert location_match(key, publisher)


def test_an_mgrs_publisher_shares_its_metre_with_an_area() -> None:
    position = Coordinates(46.52275, 14.01002)
    publisher = MGRS.encode_position(position)
    centre = MgrsCell.parse(publisher.data).centre
    for metres, expected in ((0.0, True), (0.4, True), (3.0, False)):
        east = Coordinates(centre.lat, centre.long + metres / 76_600)
        (area,) = BASE64.encode_area(
            GeographicRange(east.lat - 0.01, east.long, east.lat + 0.01, east.long + 1),
            Role.SUBSCRIBER,
        )
        assert location_match(publisher, area) is expected


@given(positions, areas)
def test_bloom_matches_only_bloom(position: Coordinates, area: Area) -> None:
    element = BLOOM.encode_position(position)
    (filter_,) = BLOOM.encode_area(area, Role.SUBSCRIBER)
    others = [BASE64.encode_position(position), *BASE64.encode_area(area, Role.SUBSCRIBER)]
    others.append(MGRS.encode_position(position))
    for other, bloom in product(others, (element, filter_)):
        assert not location_match(other, bloom)
        assert not location_match(bloom, other)
        assert explain_match(bloom, other).reason == "Bloom keys match only Bloom keys"


def test_a_cell_that_names_no_place_shares_no_point() -> None:
    (world,) = BASE64.encode_area(GeographicRange(-90, -180, 90, 180), Role.SUBSCRIBER)
    assert not location_match("$zla_m_32TPU52", world)


@pytest.mark.parametrize("bad", ["", "topic", "$zla_q", "$zla_p_x", None, 5, [], b"$zla_m_10S"])
def test_bad_keys_raise_one_error(bad: str) -> None:
    for pair in ((bad, "$zla_m_10S"), ("$zla_m_10S", bad)):
        with pytest.raises(LocationKeyError):
            location_match(*pair)


@given(positions, areas)
def test_an_explanation_never_contradicts(position: Coordinates, area: Area) -> None:
    for encoder in (BASE64, MGRS, BLOOM):
        publisher = encoder.encode_position(position)
        for key in encoder.encode_area(area, Role.SUBSCRIBER)[:3]:
            verdict = explain_match(publisher, key)
            assert verdict.matches == location_match(publisher, key)
            assert verdict.reason


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ("$zla_m_10SGJ0644", "$zla_m_10SGJ04", "10SGJ0644 lies in 10SGJ04"),
        ("$zla_m_10SGJ0644", "$zla_m_10SGJ0644", "both are 10SGJ0644"),
        ("$zla_m_10SGJ", "$zla_m_10SGK", "the cells part at the 100 km square: 10SGJ and 10SGK"),
        ("$zla_m_10SGJ0644", "$zla_m_10SGJ0645",
         "the cells part at digit 2 of the northing: 10SGJ0644 and 10SGJ0645"),
        ("$zla_b_f_5a", "$zla_b_e_13", "1 of the element's 3 bits are not set in the filter"),
        ("$zla_b_f_5a", "$zla_b_e_12.1", "keys of 32 and 64 bits are of different domains"),
        ("$zla_b_f_5a", "$zla_b_f_5a", "two filters never match"),
    ],
)  # fmt: skip
def test_reasons(a: str, b: str, reason: str) -> None:
    assert explain_match(a, b).reason == reason


def test_reasons_of_places() -> None:
    publisher = ROLES[Role.PUBLISHER]
    assert explain_match(publisher, ROLES[Role.SUBSCRIBER]).reason == (
        "0.0 m from the centre, within the radius of 5,000.0 m"
    )
    far = BASE64.encode_position(Coordinates(48, 14))
    assert "beyond the radius" in explain_match(ROLES[Role.SUBSCRIBER], far).reason
    (box,) = BASE64.encode_area(GeographicRange(45, 13, 47, 15), Role.SUBSCRIBER)
    assert explain_match(publisher, box).reason == "the position lies in the geographic range"
    (asked,) = BASE64.encode_area(GeographicRange(45, 13, 47, 15), Role.GET)
    assert explain_match(asked, ROLES[Role.QUERYABLE]).reason == (
        "the geographic range and the circle share at least one point"
    )
    assert explain_match(publisher, publisher).reason == "a publisher and a publisher never match"
    cell = MGRS.encode_position(Coordinates(46, 14))
    assert explain_match(box, cell).reason.startswith("cell 33TVL")
    assert explain_match(cell, publisher).reason.startswith("the position's cell: both are")


def test_the_thesis_json_without_base64_padding() -> None:
    data = json.dumps({"lat": 16.0, "long": 21.5}, separators=(",", ":"))
    key = "$zla_p_" + base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")
    assert location_match(key, "$zla_m_34PGB") == location_match(
        MGRS.encode_position(Coordinates(16.0, 21.5)), "$zla_m_34PGB"
    )
