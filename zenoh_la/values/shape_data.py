"""Positions and areas as applications and location keys write them: plain mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zenoh_la.errors import InvalidLocationError
from zenoh_la.values.areas import Circle, GeographicRange, Polygon, Shape
from zenoh_la.values.checks import finite
from zenoh_la.values.coordinates import Coordinates
from zenoh_la.values.geodesy import M_PER_DEGREE

_UNITS_M = {"m": 1.0, "km": 1000.0, "deg": M_PER_DEGREE}
_FIELDS = {
    Shape.GEOGRAPHIC_RANGE: {"min_lat", "min_long", "max_lat", "max_long"},
    Shape.CIRCLE: {"r", "unit", "c"},
    Shape.POLYGON: {"wkt", "points"},
}


def area_from(
    shape: Shape, data: Mapping[str, Any], own_position: Coordinates | None = None
) -> GeographicRange | Circle | Polygon:
    """The area that a shape and its data describe, as an application or a key writes them.

    Args:
        shape: which fields ``data`` has.
        data: for a range ``min_lat, min_long, max_lat, max_long``; for a circle ``r``,
            ``unit`` (``m``, ``km`` or ``deg``) and the centre ``c``; for a polygon ``wkt`` or
            ``points``.
        own_position: the centre of a circle that names none.

    >>> area_from(Shape.CIRCLE, {"r": 2, "unit": "km", "c": {"lat": 48, "long": 14}})
    Circle(centre=Coordinates(lat=48.0, long=14.0), radius_m=2000.0)
    """
    if not isinstance(shape, Shape) or shape not in _FIELDS:
        raise InvalidLocationError("shape", shape, "has no area")
    _check_fields(shape.name, data, _FIELDS[shape])
    if shape is Shape.GEOGRAPHIC_RANGE:
        return GeographicRange(*(_needed(data, n) for n in GeographicRange.__match_args__[:4]))
    if shape is Shape.CIRCLE:
        return _circle(data, own_position)
    if len(data) != 1:
        raise InvalidLocationError("wkt", data, "exactly one of wkt and points is needed")
    return Polygon.from_wkt(data["wkt"]) if "wkt" in data else Polygon.from_points(data["points"])


def position_from(data: Any) -> Coordinates:
    """The position that ``{"lat": …, "long": …}`` describes."""
    _check_fields("position", data, {"lat", "long"})
    return Coordinates(_needed(data, "lat"), _needed(data, "long"))


def _check_fields(name: str, data: Any, known: set[str]) -> None:
    if not isinstance(data, Mapping):
        raise InvalidLocationError(name, data, "must be a mapping")
    for field_name in data:
        if field_name not in known:
            raise InvalidLocationError(str(field_name)[:40], data, f"is no field of a {name}")


def _circle(data: Mapping[str, Any], own_position: Coordinates | None) -> Circle:
    unit = data.get("unit", "m")
    if not isinstance(unit, str) or unit not in _UNITS_M:
        raise InvalidLocationError("unit", unit, f"must be one of {', '.join(_UNITS_M)}")
    r = finite("r", _needed(data, "r"), 0.0)
    centre = own_position
    if "c" in data:
        try:
            centre = position_from(data["c"])
        except InvalidLocationError as exc:
            raise exc.within("c") from exc
    if centre is None:
        raise InvalidLocationError("c", data, "is missing, and there is no position of one's own")
    try:
        return Circle(centre, r * _UNITS_M[unit])
    except InvalidLocationError as exc:
        if exc.field != "radius_m":
            raise
        raise InvalidLocationError("r", data["r"], f"in {unit}: {exc.problem} m") from exc


def _needed(data: Mapping[str, Any], name: str) -> Any:
    if name not in data:
        raise InvalidLocationError(name, dict(data), "is missing")
    return data[name]
