"""Input that is what it should be, or an error that names it."""

from __future__ import annotations

from math import inf, isfinite, nextafter
from numbers import Integral, Real
from typing import Any

from zenoh_la.errors import InvalidLocationError


def finite(field: str, value: Any, low: float = -inf, high: float = inf) -> float:
    """``value`` as a float in ``[low, high]``; booleans, texts, NaN and infinities are refused."""
    number: float = value if type(value) is float else _as_float(field, value)
    if not isfinite(number):
        raise InvalidLocationError(field, number, "must be finite")
    if not low <= number <= high:
        problem = f"must be between {low:g} and {high:g}" if high < inf else f"must be ≥ {low:g}"
        raise InvalidLocationError(field, number, problem)
    return number + 0.0  # -0.0 becomes 0.0: equal values are written the same way


def _as_float(field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidLocationError(field, value, "must be a number")
    try:
        return float(value)
    except OverflowError as exc:
        raise InvalidLocationError(field, value, "is too large") from exc


# Far less than the width of an atom: products of smaller numbers underflow, and then geometry
# is no longer exact.
_NEGLIGIBLE_DEG = 1e-15


def latitude(field: str, value: Any) -> float:
    """A latitude in degrees."""
    lat = finite(field, value, -90.0, 90.0)
    return lat if abs(lat) >= _NEGLIGIBLE_DEG else 0.0


def longitude(field: str, value: Any) -> float:
    """A longitude in degrees; beyond ±180 is an error, never wrapped."""
    long = finite(field, value, -180.0, 180.0)
    return long if abs(long) >= _NEGLIGIBLE_DEG else 0.0


def just_below(degrees: float) -> float:
    """The next smaller latitude or longitude there is."""
    return -_NEGLIGIBLE_DEG if degrees == 0.0 else nextafter(degrees, -inf)


def whole(field: str, value: Any, low: int, high: int) -> int:
    """``value`` as an int in ``[low, high]``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidLocationError(field, value, "must be a whole number")
    number = int(value)
    if not low <= number <= high:
        raise InvalidLocationError(field, number, f"must be between {low} and {high}")
    return number


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json`: an object; one with a field twice is refused, as parsers read it differently."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field occurs twice")
    return fields
