"""Circles against an independent implementation of the geodesic (geographiclib, pure Python)."""

from __future__ import annotations

import math
import random

import pytest
from geographiclib.geodesic import Geodesic
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import circles, positions
from zenoh_la import Circle, Coordinates, GeographicRange, InvalidLocationError, Polygon
from zenoh_la.values.circle_meeting import circle_hull
from zenoh_la.values.geodesy import HALF_EQUATOR_M, chord_limits

WGS84 = Geodesic.WGS84
NANOMETRES = 1e-7  # two implementations differ by some; nearer than 0.1 µm nobody can tell


def geodesic_m(a: Coordinates, b: Coordinates) -> float:
    length: float = WGS84.Inverse(a.lat, a.long, b.lat, b.long, Geodesic.DISTANCE)["s12"]
    return length


def random_pair(rng: random.Random) -> tuple[Circle, Coordinates]:
    """A circle of 1 m to the size of the Earth, and a place: two of three within a metre of it."""
    centre = Coordinates(math.degrees(math.asin(rng.uniform(-1, 1))), rng.uniform(-180, 180))
    radius_m = 10 ** rng.uniform(0, 7.3)
    away_m = radius_m + rng.choice((0.0, rng.uniform(-1, 1), rng.uniform(-1e-5, 1e-5)))
    if rng.random() < 1 / 3:
        away_m = radius_m * rng.uniform(0, 2)
    end = WGS84.Direct(centre.lat, centre.long, rng.uniform(0, 360), max(away_m, 0.0))
    return Circle(centre, radius_m), Coordinates(end["lat2"], end["lon2"])


def test_100_000_random_pairs_agree_with_the_geodesic() -> None:
    rng = random.Random(20_240_601)
    near = wrong = 0
    for _ in range(100_000):
        circle, place = random_pair(rng)
        gap = geodesic_m(circle.centre, place) - circle.radius_m
        near += abs(gap) < 1
        if abs(gap) > NANOMETRES:
            wrong += circle.contains(place) != (gap <= 0)
    assert wrong == 0
    assert near > 50_000


def test_the_chord_decides_nearly_always_and_never_otherwise() -> None:
    rng = random.Random(7)
    decided = 0
    for _ in range(20_000):
        circle, place = random_pair(rng)
        inside, outside = chord_limits(circle.radius_m)
        chord = math.dist(circle.centre.cartesian, place.cartesian) ** 2
        exact = circle.centre.distance_m(place)
        if chord < inside:
            assert exact <= circle.radius_m
        if chord > outside:
            assert exact > circle.radius_m
        decided += chord < inside or chord > outside
    assert decided > 5_000


def test_the_thesis_circle() -> None:
    circle = Circle(Coordinates(48.0, 14.0), 2 * 111_194.93)
    assert circle.contains(Coordinates(46.52275, 14.01002))
    assert not circle.contains(Coordinates(45.2, 13.0))
    assert round(circle.centre.distance_m(Coordinates(46.52275, 14.01002))) == 164_236
    assert round(circle.centre.distance_m(Coordinates(45.2, 13.0))) == 320_541


def test_over_poles_and_antimeridian() -> None:
    assert Circle(Coordinates(89.9, 0), 25_000).contains(Coordinates(89.9, 180))
    assert Circle(Coordinates(0, 179.99), 3_000).contains(Coordinates(0, -179.99))
    assert Circle(Coordinates(-90, 0), 1).contains(Coordinates(-90, 123))
    assert Circle(Coordinates(3, 4), HALF_EQUATOR_M).contains(Coordinates(-3, -176))


@pytest.mark.parametrize("radius_m", [-1, math.nan, math.inf, HALF_EQUATOR_M * 1.01, "5", None])
def test_a_circle_cannot_be_invalid(radius_m: float) -> None:
    with pytest.raises(InvalidLocationError) as caught:
        Circle(Coordinates(0, 0), radius_m)
    assert caught.value.field == "radius_m"
    with pytest.raises(InvalidLocationError, match="must be Coordinates"):
        Circle((0, 0), 5)  # type: ignore[arg-type]


@given(circles, circles)
def test_circles_meet_if_their_radii_bridge_the_distance(a: Circle, b: Circle) -> None:
    gap = geodesic_m(a.centre, b.centre) - a.radius_m - b.radius_m
    if abs(gap) > NANOMETRES:
        assert a.meets(b) == (gap < 0)


def test_circles_that_touch_meet() -> None:
    rng = random.Random(3)
    for _ in range(2_000):
        a = Coordinates(rng.uniform(-90, 90), rng.uniform(-180, 180))
        inner, outer = 10 ** rng.uniform(0, 5), 10 ** rng.uniform(0, 5)
        azimuth = rng.uniform(0, 360)
        touch, b = (WGS84.Direct(a.lat, a.long, azimuth, d) for d in (inner, inner + outer))
        place, other = (Coordinates(end["lat2"], end["lon2"]) for end in (touch, b))
        circles = Circle(a, inner), Circle(other, outer)
        if all(circle.contains(place) for circle in circles):
            assert circles[0].meets(circles[1])


def nearest_m(centre: Coordinates, edges: list[tuple[Coordinates, Coordinates]]) -> float:
    """Distance to edges straight in longitude and latitude, by brute force and refinement."""
    best = math.inf
    for a, b in edges:
        low, high = 0.0, 1.0
        for _ in range(12):
            steps = [low + (high - low) * i / 40 for i in range(41)]
            distances = [
                centre.distance_m(
                    Coordinates(a.lat + (b.lat - a.lat) * t, a.long + (b.long - a.long) * t)
                )
                for t in steps
            ]
            i = min(range(41), key=distances.__getitem__)
            best = min(best, distances[i])
            low, high = steps[max(i - 1, 0)], steps[min(i + 1, 40)]
    return best


@pytest.mark.parametrize("seed", range(60))
def test_circle_with_polygon_is_off_by_a_metre_at_most_and_on_the_generous_side(seed: int) -> None:
    rng = random.Random(seed)
    size = 10 ** rng.uniform(-4, 1.2)
    lat, long = rng.uniform(-85 + size, 85 - size), rng.uniform(-160, 160)
    corners = [
        Coordinates(lat + size * math.sin(t), long + size * math.cos(t))
        for t in sorted(rng.uniform(0, 6.28) for _ in range(5))
    ]
    polygon = Polygon.from_points([(c.lat, c.long) for c in corners])
    centre = Coordinates(
        max(-90, min(90, lat + rng.uniform(-5, 5) * size)),
        max(-180, min(180, long + rng.uniform(-5, 5) * size)),
    )
    if polygon.contains(centre):
        assert Circle(centre, 0).meets(polygon)
        return
    reach = nearest_m(centre, list(zip(corners, corners[1:] + corners[:1], strict=True)))
    assert Circle(centre, reach + 0.001).meets(polygon)
    assert polygon.meets(Circle(centre, reach + 0.001))
    if reach > 1:
        assert not Circle(centre, reach - 1).meets(polygon)


def test_circle_with_range_across_a_pole() -> None:
    centre = Coordinates(89, 0)
    beyond = GeographicRange(80, 170, 89, -170)
    assert Circle(centre, centre.distance_m(Coordinates(89, 170)) + 0.001).meets(beyond)
    assert not Circle(centre, 200_000).meets(beyond)


def test_a_hostile_shape_takes_bounded_time() -> None:
    """A ring of 3,000 corners half a metre outside a large circle: all edges stay undecided."""
    centre = Coordinates(10, 10)
    rim = [WGS84.Direct(10, 10, i * 360 / 3000, 3_000_000.7) for i in range(3000)]
    hole = [(p["lat2"], p["lon2"]) for p in rim]
    outline = [(-80.0, -170.0), (-80.0, 170.0), (80.0, 170.0), (80.0, -170.0)]
    ring = Polygon(((tuple(outline), tuple(hole)),))
    assert not Circle(centre, 2_000_000).meets(ring)
    assert Circle(centre, 3_000_001).meets(ring)


@given(circles, st.lists(positions, max_size=5))
def test_the_hull_of_a_circle_holds_it(circle: Circle, places: list[Coordinates]) -> None:
    hull = circle_hull(circle)
    if hull is None:
        return
    rim = [WGS84.Direct(circle.centre.lat, circle.centre.long, a, circle.radius_m) for a in
           (0, 7.5, 90, 93.75, 181, 270)]  # fmt: skip
    for end in rim:
        assert hull.contains(end["lat2"], end["lon2"])
    for place in places:
        if circle.contains(place):
            assert hull.contains(place.lat, place.long)
