from __future__ import annotations

import pickle
from typing import Any, ClassVar

import pytest
from hypothesis import given

from tests.strategies import (
    areas,
    places_in_an_area,
    polygons,
    positions,
    ranges,
)
from zenoh_la import Circle, Coordinates, GeographicRange, InvalidLocationError, Polygon, Shape
from zenoh_la.values import Area, area_from
from zenoh_la.values.checks import just_below

NORTH, SOUTH = Coordinates(90, 0), Coordinates(-90, 0)


class TestGeographicRange:
    def test_the_thesis_rectangle(self) -> None:
        area = GeographicRange(45.0, 11.0, 47.0, 15.2)
        assert area.contains(Coordinates(46.52275, 14.01002))
        assert area.contains(Coordinates(45.2, 13.0))
        assert not area.contains(Coordinates(44.99, 13.0))

    def test_the_edge_belongs_to_it_and_the_next_number_does_not(self) -> None:
        area = GeographicRange(45.0, 11.0, 47.0, 15.2)
        assert area.contains(Coordinates(45.0, 11.0))
        assert area.contains(Coordinates(47.0, 15.2))
        assert not area.contains(Coordinates(just_below(45.0), 12))
        assert not area.contains(Coordinates(46, just_below(11.0)))

    def test_across_the_antimeridian(self) -> None:
        fiji = GeographicRange(-20, 176, -15, -178)
        for long in (176.0, 179.0, 180.0, -180.0, -178.0):
            assert fiji.contains(Coordinates(-17, long))
        for long in (175.9, -177.9, 0):
            assert not fiji.contains(Coordinates(-17, long))
        assert fiji.width == pytest.approx(6)
        assert fiji.meets(GeographicRange(-18, -179, -17, 0))
        assert fiji.meets(GeographicRange(-18, 0, -17, 176))
        assert not fiji.meets(GeographicRange(-18, -177, -17, 175))

    def test_the_antimeridian_has_two_names(self) -> None:
        eastern, western = GeographicRange(0, 170, 10, 180), GeographicRange(5, -180, 10, -170)
        assert eastern.contains(Coordinates(5, -180))
        assert western.contains(Coordinates(5, 180))
        assert eastern.meets(western)
        assert western.meets(eastern)
        assert not eastern.meets(GeographicRange(5, just_below(-170), 10, -170))

    def test_a_pole_has_every_longitude(self) -> None:
        cap = GeographicRange(80, 0, 90, 10)
        assert cap.contains(Coordinates(90, 123))
        assert not cap.contains(Coordinates(89.9, 123))
        assert cap.meets(GeographicRange(85, 100, 90, 110))
        assert not cap.meets(GeographicRange(85, 100, 89, 110))

    @pytest.mark.parametrize(
        ("edges", "field"),
        [
            ((2, 0, 1, 0), "min_lat"),
            ((-91, 0, 1, 0), "min_lat"),
            ((0, 0, 91, 0), "max_lat"),
            ((0, -181, 1, 0), "min_long"),
            ((0, 0, 1, float("nan")), "max_long"),
        ],
    )
    def test_it_cannot_be_invalid(self, edges: tuple[float, ...], field: str) -> None:
        with pytest.raises(InvalidLocationError) as caught:
            GeographicRange(*edges)
        assert caught.value.field == field


class TestPolygon:
    def test_wkt_and_points_say_the_same(self) -> None:
        by_wkt = Polygon.from_wkt("POLYGON((11 45, 15.2 45, 15.2 47, 11 45))")
        assert by_wkt == Polygon.from_points([[45, 11], [45, 15.2], [47, 15.2]])
        assert by_wkt == Polygon.from_points([[45, 11], [45, 15.2], [47, 15.2], [45, 11]])

    def test_holes_and_several_parts(self) -> None:
        area = Polygon.from_wkt(
            "MULTIPOLYGON(((0 0, 10 0, 10 10, 0 10, 0 0), (4 4, 6 4, 6 6, 4 6, 4 4)),"
            "((20 0, 30 0, 25 5, 20 0)))"
        )
        assert area.contains(Coordinates(1, 1))
        assert not area.contains(Coordinates(5, 5))
        assert area.contains(Coordinates(4, 5)), "the edge of a hole belongs to the area"
        assert area.contains(Coordinates(1, 25))
        assert not area.contains(Coordinates(1, 15))
        assert not area.meets(Circle(Coordinates(5, 5), 50_000))
        assert area.meets(Circle(Coordinates(5, 5), 150_000))

    def test_antimeridian_and_poles(self) -> None:
        chukotka = Polygon.from_points([[60, 170], [60, 180], [70, 180]])
        assert chukotka.contains(Coordinates(65, -180))
        assert chukotka.meets(GeographicRange(64, -180, 66, -170))
        assert chukotka.meets(Polygon.from_points([[60, -180], [61, -170], [62, -180]]))
        assert not chukotka.meets(Polygon.from_points([[60, -179], [61, -170], [62, -179]]))
        cap = Polygon.from_points([[80, 0], [80, 20], [90, 20], [90, 0]])
        assert cap.contains(Coordinates(90, -77))
        assert cap.meets(Circle(NORTH, 1))

    @pytest.mark.parametrize(
        "wkt",
        [
            "",
            "POINT(1 2)",
            "POLYGON EMPTY",
            "MULTIPOLYGON(EMPTY)",
            "POLYGON Z((0 0 1, 1 0 1, 1 1 1, 0 0 1))",
            "POLYGON((0 0 1, 1 0 1, 1 1 1, 0 0 1))",
            "POLYGON((0 0, 1 0, 1 1))",
            "POLYGON((0 0, 1 0, 0 0))",
            "POLYGON((0 0, 2 2, 2 0, 0 2, 0 0))",
            "POLYGON((0 0, 1 0, 1 91, 0 0))",
            "POLYGON((0 0, 181 0, 1 1, 0 0))",
            "POLYGON((0 0, nan 0, 1 1, 0 0))",
            "POLYGON((0 0, 1e999 0, 1 1, 0 0))",
            "POLYGON((0 0, 1 0, 1 1, 0 0)",
            "POLYGON((0 0, 1 0, 1 1, 0 0)) x",
            "POLYGON" + "(" * 10_000,
            "GEOMETRYCOLLECTION(" * 10_000,
            "POLYGON((0 0, \ud800 0, 1 1, 0 0))",
            "POLYGON((0 0, \x00 0, 1 1, 0 0))",
            "POLYGON((" + ",".join(f"{i} 0" for i in range(150_000)) + "))",
        ],
    )
    def test_bad_wkt_is_an_error(self, wkt: str) -> None:
        with pytest.raises(InvalidLocationError):
            Polygon.from_wkt(wkt)

    @pytest.mark.parametrize(
        ("points", "field"),
        [
            ("no", "points"),
            (5, "points"),
            ([], "points"),
            ([[0, 0], [1, 1]], "points"),
            ([[0, 0], [1, 1], [2]], "points[2]"),
            ([[0, 0], [1, 1], 3], "points[2]"),
            ([[0, 0], [1, 181], [2, 2]], "points[1][1]"),
            ([[0, 0], [1, 1], [2, 2]], "polygon"),
        ],
    )
    def test_bad_points_name_the_point(self, points: Any, field: str) -> None:
        with pytest.raises(InvalidLocationError) as caught:
            Polygon.from_points(points)
        assert caught.value.field == field

    def test_a_polygon_of_a_million_vertices_is_refused(self) -> None:
        def endless() -> Any:
            while True:
                yield [0.0, 0.0]

        with pytest.raises(InvalidLocationError, match="at most 100000"):
            Polygon.from_points(endless())

    @given(polygons())
    def test_wkt_and_pickle_keep_every_digit(self, area: Polygon) -> None:
        assert Polygon.from_wkt(area.to_wkt()) == area
        assert pickle.loads(pickle.dumps(area)).contains(Coordinates(*area.polygons[0][0][0]))

    def test_two_that_meet_only_on_the_antimeridian(self) -> None:
        a = Polygon.from_wkt(
            "MULTIPOLYGON(((170 0,180 0,180 1,170 0)),((-180 10,-170 10,-180 11,-180 10)))"
        )
        b = Polygon.from_wkt(
            "MULTIPOLYGON(((170 10.5,180 10.4,180 10.6,170 10.5)),"
            "((-180 20,-170 20,-180 21,-180 20)))"
        )
        assert a.meets(b)
        assert b.meets(a)

    def test_what_is_no_polygon_at_all(self) -> None:
        for wrong in (5, [5], None, (), [()], "text"):
            with pytest.raises(InvalidLocationError):
                Polygon(wrong)  # type: ignore[arg-type]


class TestAreaFrom:
    centre: ClassVar = {"lat": 48.0, "long": 14.0}

    def test_units(self) -> None:
        for r, unit, metres in ((2.0, "deg", 222_389.86), (2, "km", 2_000), (2, "m", 2)):
            area = area_from(Shape.CIRCLE, {"r": r, "unit": unit, "c": self.centre})
            assert area == Circle(Coordinates(48, 14), metres)
        assert area_from(Shape.CIRCLE, {"r": 2, "c": self.centre}) == Circle(Coordinates(48, 14), 2)

    def test_a_circle_without_a_centre_is_about_oneself(self) -> None:
        here = Coordinates(1, 2)
        assert area_from(Shape.CIRCLE, {"r": 5}, here) == Circle(here, 5)

    @given(areas)
    def test_an_area_survives_its_dict(self, area: GeographicRange | Circle | Polygon) -> None:
        assert area_from(area.shape, area.to_dict()) == area

    @pytest.mark.parametrize(
        ("shape", "data", "field"),
        [
            (Shape.NONE, {}, "shape"),
            ([], {}, "shape"),
            (Shape.CIRCLE, None, "CIRCLE"),
            (Shape.CIRCLE, {"r": 1, "x" * 40_000: 1}, "x" * 40),
            (Shape.CIRCLE, {"c": {"lat": 0, "long": 0}}, "r"),
            (Shape.CIRCLE, {"r": 5}, "c"),
            (Shape.CIRCLE, {"r": -1, "c": {"lat": 0, "long": 0}}, "r"),
            (Shape.CIRCLE, {"r": 181, "unit": "deg", "c": {"lat": 0, "long": 0}}, "r"),
            (Shape.CIRCLE, {"r": 1, "unit": "mi", "c": {"lat": 0, "long": 0}}, "unit"),
            (Shape.CIRCLE, {"r": 1, "unit": [], "c": {"lat": 0, "long": 0}}, "unit"),
            (Shape.CIRCLE, {"r": 1, "c": {"lat": 0}}, "c.long"),
            (Shape.CIRCLE, {"r": 1, "c": {"lat": 95, "long": 0}}, "c.lat"),
            (Shape.CIRCLE, {"r": 1, "c": {"lat": 5, "long": 0, "alt": 3}}, "c.alt"),
            (Shape.CIRCLE, {"r": 1, "radius": 1}, "radius"),
            (Shape.GEOGRAPHIC_RANGE, {"min_lat": 0, "min_long": 0, "max_lat": 1}, "max_long"),
            (Shape.POLYGON, {}, "wkt"),
            (Shape.POLYGON, {"wkt": "POLYGON((0 0,1 0,1 1,0 0))", "points": []}, "wkt"),
            (Shape.POLYGON, {"wkt": 5}, "wkt"),
            (Shape.POLYGON, {"points": 5}, "points"),
        ],
    )
    def test_the_wrong_field_is_named(self, shape: Shape, data: Any, field: str) -> None:
        with pytest.raises(InvalidLocationError) as caught:
            area_from(shape, data)
        assert caught.value.field == field
        assert str(caught.value).startswith(f"{field} = ")


@given(areas, areas)
def test_meeting_goes_both_ways(a: Area, b: Area) -> None:
    assert a.meets(b) == b.meets(a)


@given(areas)
def test_an_area_meets_itself_and_its_bounds(area: Area) -> None:
    assert area.meets(area)
    assert area.meets(area.bounds)


@given(places_in_an_area())
def test_bounds_hold_the_whole_area(pair: tuple[Area, Coordinates]) -> None:
    area, position = pair
    assert area.bounds.contains(position)


@given(places_in_an_area(), areas)
def test_a_common_point_means_that_they_meet(pair: tuple[Area, Coordinates], other: Area) -> None:
    area, position = pair
    if other.contains(position):
        assert area.meets(other)
    assert area.meets(Circle(position, 0))
    assert area.meets(GeographicRange(position.lat, position.long, position.lat, position.long))


@given(ranges, positions)
def test_a_range_and_its_outline_agree(area: GeographicRange, position: Coordinates) -> None:
    assert area.contains(position) == area.planar.contains(position.lat, position.long)


@given(ranges, ranges)
def test_ranges_meet_as_their_outlines_do(a: GeographicRange, b: GeographicRange) -> None:
    assert a.meets(b) == a.planar.meets(b.planar)
