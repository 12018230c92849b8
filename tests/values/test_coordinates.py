from __future__ import annotations

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from tests.strategies import positions
from zenoh_la import Coordinates, InvalidLocationError, ZenohLaError


@pytest.mark.parametrize(
    ("lat", "long", "field"),
    [
        (90.0000001, 0, "lat"),
        (-91, 0, "lat"),
        (0, 180.0000001, "long"),
        (0, -181, "long"),
        (math.nan, 0, "lat"),
        (0, math.nan, "long"),
        (math.inf, 0, "lat"),
        (0, -math.inf, "long"),
        ("45", 0, "lat"),
        (None, 0, "lat"),
        (True, 0, "lat"),
        (0, 1j, "long"),
        (10**400, 0, "lat"),
        (Decimal(4), 0, "lat"),
    ],
)
def test_a_position_cannot_be_invalid(lat: object, long: object, field: str) -> None:
    with pytest.raises(InvalidLocationError) as caught:
        Coordinates(lat, long)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert field in str(caught.value)
    assert isinstance(caught.value, ZenohLaError)
    assert isinstance(caught.value, ValueError)


def test_an_error_can_always_be_printed() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for wrong in ([10**5000], deep, 10**5000, "x" * 10**6):
        with pytest.raises(InvalidLocationError) as caught:
            Coordinates(wrong, 0)  # type: ignore[arg-type]
        assert len(str(caught.value)) < 300


def test_numbers_of_any_kind_become_floats() -> None:
    position = Coordinates(np.float32(1.5), Fraction(5, 2))  # type: ignore[arg-type]
    assert position == Coordinates(1.5, 2.5)
    assert type(position.lat) is float
    assert type(position.long) is float


def test_it_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Coordinates(1, 2).lat = 3  # type: ignore[misc]


def test_minus_zero_is_zero() -> None:
    assert repr(Coordinates(-0.0, -0.0)) == repr(Coordinates(0.0, 0.0))


@given(positions)
def test_it_survives_pickling_and_a_dict(position: Coordinates) -> None:
    assert position.cartesian  # computed before, so that the cache is pickled too
    assert pickle.loads(pickle.dumps(position)) == position
    assert Coordinates(**position.to_dict()) == position


def test_the_centre_of_an_mgrs_cell() -> None:
    assert Coordinates.from_mgrs("10SGJ0683244683").distance_m(Coordinates(37.4419, -119.6629)) > 0
    fine = Coordinates.from_mgrs("33TVM2406852607")
    assert fine.distance_m(Coordinates(46.52275, 14.01002)) < 1
    assert Coordinates.from_mgrs("Z") == Coordinates(87, 90)
