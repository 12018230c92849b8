"""What people paste into a map."""

from __future__ import annotations

import json

import pytest
import shapely
from hypothesis import given
from shapely.geometry.base import BaseGeometry

from tests.strategies import (
    areas,
    cells,
    circles,
    places_in_an_area,
    positions,
    positions_in_range,
)
from zenoh_la import BloomDomain, Circle, Coordinates, GeographicRange, MgrsCell, Polygon
from zenoh_la.values import Area, geojson, wkt
from zenoh_la.values.geodesy import WGS84
from zenoh_la.values.outline import merged


def drawing(place: Coordinates | Area) -> BaseGeometry:
    drawn = shapely.from_geojson(json.dumps(geojson(place)))
    assert shapely.from_wkt(wkt(place)).equals_exact(drawn, 1e-9)
    west, south, east, north = drawn.bounds
    assert -180 <= west <= east <= 180
    assert -90 <= south <= north <= 90
    assert drawn.is_valid
    assert not drawn.is_empty
    for part in shapely.get_parts(drawn):
        if part.geom_type == "Polygon":
            assert part.exterior.is_ccw, "RFC 7946"
    return drawn


@given(areas | cells | positions)
def test_every_place_can_be_drawn(place: Coordinates | Area) -> None:
    drawing(place)


@given(circles)
def test_a_drawn_circle_holds_what_is_well_inside(circle: Circle) -> None:
    if circle.radius_m < 0.01:
        return
    drawn = drawing(circle)
    centre = circle.centre
    for azimuth in (1.0, 100.0, 250.0):
        long, lat, _ = WGS84.fwd(centre.long, centre.lat, azimuth, circle.radius_m * 0.5)
        assert drawn.covers(shapely.Point(long, lat)), (circle, lat, long)


@pytest.mark.parametrize(
    ("circle", "inside", "outside"),
    [
        (Circle(Coordinates(0, 179.9), 50_000), (0, -179.8), (0, -179)),
        (Circle(Coordinates(89.5, 10), 100_000), (89.7, -170), (88, 10)),
        (Circle(Coordinates(-88, 170), 400_000), (-89, -10), (-84, 170)),
        (Circle(Coordinates(0, 0), 15_000_000), (89, 90), (0, 179)),
        (Circle(Coordinates(20, -100), 18_000_000), (-89, 0), (-20, 80)),
    ],
)
def test_circles_over_poles_and_antimeridian(
    circle: Circle, inside: tuple[float, float], outside: tuple[float, float]
) -> None:
    drawn = drawing(circle)
    assert circle.contains(Coordinates(*inside))
    assert drawn.covers(shapely.Point(inside[1], inside[0]))
    assert not circle.contains(Coordinates(*outside))
    assert not drawn.covers(shapely.Point(outside[1], outside[0]))


def test_a_circle_that_touches_a_pole_is_drawn_whole() -> None:
    for lat in (1.0, 45.0, 80.0):
        for pole in (90.0, -90.0):
            centre = Coordinates(lat, 20)
            circle = Circle(centre, centre.distance_m(Coordinates(pole, 0)))
            for nudge in (-0.1, 0.1):
                assert drawing(circle).covers(shapely.Point(20 + nudge, lat - 0.3))


@pytest.mark.parametrize("radius_m", [19_950_000, 19_970_000, 20_003_931.5, 20_037_508])
def test_circles_about_as_large_as_the_earth(radius_m: float) -> None:
    for lat in (90.0, 89.99999968357879, 45.0, 0.0, -90.0):
        for long in (180.0, 179.99999992811559, 0.0, -77.0):
            assert drawing(Circle(Coordinates(lat, long), radius_m)).area > 0.99 * 360 * 180


@given(places_in_an_area(positions_in_range(GeographicRange(-20, 170, 20, -170), 8, 8)))
def test_bloom_cells_are_drawn_across_the_antimeridian(pair: tuple[Area, Coordinates]) -> None:
    domain = BloomDomain(GeographicRange(-20, 170, 20, -170), 8, 8, 0.25)
    area, position = pair
    drawn = drawing(merged([domain.range_of(cell) for cell in domain.cells_meeting(area)]))
    longs = {position.long, -position.long} if abs(position.long) == 180 else {position.long}
    assert any(drawn.covers(shapely.Point(long, position.lat)) for long in longs)


def test_cells_of_a_grid_are_drawn_as_one() -> None:
    two = merged([GeographicRange(0, 0, 1, 1), GeographicRange(0, 1, 1, 2)])
    assert isinstance(two, Polygon)
    assert drawing(two).area == pytest.approx(2)
    assert drawing(MgrsCell.parse("Z")).area == pytest.approx(6 * 180, rel=1e-2)
