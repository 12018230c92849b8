from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import areas_about, positions
from zenoh_la import (
    Circle,
    Coordinates,
    GeographicRange,
    InvalidLocationError,
    MgrsCell,
    Role,
    encoders,
    location_match,
)
from zenoh_la.encoders.mgrs_cover import cover
from zenoh_la.values.geodesy import WGS84


def places_in(circle: Circle, rng: random.Random, count: int) -> list[Coordinates]:
    centre = circle.centre
    found = []
    for _ in range(count):
        away = circle.radius_m * rng.choice((1 - 1e-9, rng.random()))
        long, lat, _ = WGS84.fwd(centre.long, centre.lat, rng.uniform(0, 360), away)
        found.append(Coordinates(lat, long))
    return [place for place in found if circle.contains(place)]


@pytest.mark.parametrize("seed", range(40))
def test_a_cover_misses_no_point(seed: int) -> None:
    rng = random.Random(seed)
    lat = rng.choice((0.0, 56.0, 64.0, 72.0, 84.0, -80.0, 89.99, -89.9, rng.uniform(-90, 90)))
    long = rng.choice((0.0, 3.0, 6.0, 9.0, 12.0, 42.0, 180.0, rng.uniform(-180, 180)))
    circle = Circle(Coordinates(lat, long), 10 ** rng.uniform(0, 5.7))
    for max_cells in (1, 4, 16, 60):
        cells = cover(circle, max_cells)
        for place in places_in(circle, rng, 100):
            assert any(cell.contains(place) for cell in cells), (circle, place, max_cells)


def test_beside_the_meridian_near_a_pole() -> None:
    """Half a millimetre of rounding is a large angle there, and may be another zone."""
    rng = random.Random(8)
    encoder = encoders.get("mgrs")
    for _ in range(400):
        lat = rng.choice((-1, 1)) * (90 - 10 ** rng.uniform(-7, -1))
        nudge = rng.choice((-1, 1)) * 10 ** rng.uniform(-7, -3)
        long = rng.choice((nudge, 180 - abs(nudge), -180 + abs(nudge)))
        key = encoder.encode_position(Coordinates(lat, long))
        keys = encoder.encode_area(GeographicRange(lat, long, lat, long), Role.SUBSCRIBER)
        assert any(location_match(key, k) for k in keys), (lat, long)


@given(st.data(), positions, st.integers(1, 40))
def test_few_cells_and_none_in_another(
    data: st.DataObject, position: Coordinates, most: int
) -> None:
    area = data.draw(areas_about(position))
    cells = cover(area, most)
    zones = {cell.zone for cell in cells}
    assert len(cells) <= max(most, len(zones))
    assert any(cell.contains(position) for cell in cells)
    for a in cells:
        assert sum(a.meets(b) for b in cells) == 1, "no cell lies in another"


def test_a_small_area_becomes_small_cells() -> None:
    place = Coordinates(46.52275, 14.01002)
    assert [cell.digits for cell in cover(Circle(place, 0))] == [5]
    for radius_m, size_m in ((0.2, 1), (3, 10), (30, 100), (400, 1_000), (40_000, 100_000)):
        sizes = [cell.size_m or 10**6 for cell in cover(Circle(place, radius_m))]
        assert max(sizes) <= size_m * 10
        assert sum(s * s for s in sizes) < 60 * max(radius_m, 1) ** 2


def test_the_whole_world_is_every_zone() -> None:
    cells = cover(GeographicRange(-90, -180, 90, 180))
    assert len(cells) == 60 * 20 - 3 + 4
    assert {cell.digits for cell in cells} == {"zone"}


def test_a_cell_covers_itself() -> None:
    cell = MgrsCell.parse("33TVM24")
    assert cover(cell) == (cell,)


def test_max_cells_is_checked() -> None:
    for wrong in (0, -1, 2.5, "4", True):
        with pytest.raises(InvalidLocationError) as caught:
            encoders.get("mgrs", max_cells=wrong)
        assert caught.value.field == "max_cells"
