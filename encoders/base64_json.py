"""Base64-JSON: exact positions and areas, the longest keys."""

from __future__ import annotations

import binascii
import json
from typing import Any

from zenoh_la.encoders.interface import check_interested
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.errors import InvalidLocationError, LocationKeyError
from zenoh_la.keys import BASE64_JSON, MAX_LOCATION_KEY_LENGTH, LocationKey, Role
from zenoh_la.values import (
    Area,
    Circle,
    Coordinates,
    GeographicRange,
    MgrsCell,
    Polygon,
    Shape,
    area_from,
    position_from,
)
from zenoh_la.values.checks import unique_fields

MAX_DATA_LENGTH = MAX_LOCATION_KEY_LENGTH - len("$zla_ps_99_")
_SHAPES = {shape.value: shape for shape in Shape if shape is not Shape.NONE}
_TO_STANDARD = str.maketrans("-_", "+/")
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class Base64JsonEncoder:
    """Positions and areas as JSON, in URL-safe Base64 without padding.

    >>> str(Base64JsonEncoder().encode_position(Coordinates(16, 21.5)))
    '$zla_p_eyJsYXQiOjE2LjAsImxvbmciOjIxLjV9'
    """

    name = BASE64_JSON

    def encode_position(self, position: Coordinates) -> LocationKey:
        return LocationKey.of_position(_packed(position.to_dict()))

    def encode_area(self, area: Area, role: Role) -> tuple[LocationKey, ...]:
        check_interested(role)
        if isinstance(area, MgrsCell):
            area = area.outline()
        if not isinstance(area, GeographicRange | Circle | Polygon):
            raise InvalidLocationError("area", area, "has no Base64-JSON form")
        data = _packed(area.to_dict())
        if len(data) > MAX_DATA_LENGTH:
            problem = f"needs {len(data)} characters, {MAX_DATA_LENGTH} fit: simplify it"
            raise InvalidLocationError("area", f"a {type(area).__name__}", problem)
        return (LocationKey.of_area(role, area.shape.value, data),)

    def decode(self, key: LocationKey) -> Point | Region:
        fields = _unpacked(key)
        try:
            if key.shape is None:
                return Point(position_from(fields))
            shape = _SHAPES.get(key.shape)
            if shape is None:
                raise LocationKeyError(key.written, "shape", f"{key.shape} is not known")
            if "unit" in fields:
                raise InvalidLocationError("unit", fields["unit"], "keys are in metres")
            assert key.role is not None  # the grammar gives every Base64 key a role
            return Region(area_from(shape, fields), key.role)
        except InvalidLocationError as exc:
            raise LocationKeyError(key.written, f"data.{exc.field}", exc.problem) from exc


def _packed(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, separators=(",", ":")).encode("ascii")
    return binascii.b2a_base64(text, newline=False).rstrip(b"=").translate(_TO_URL_SAFE).decode()


def _unpacked(key: LocationKey) -> dict[str, Any]:
    data = key.data
    try:
        padded = data.translate(_TO_STANDARD) + "=" * (-len(data) % 4)
        fields = _reader.decode(binascii.a2b_base64(padded, strict_mode=True).decode("utf-8"))
    except binascii.Error as exc:
        raise LocationKeyError(key.written, "data", f"is not Base64: {exc}") from exc
    except UnicodeDecodeError as exc:
        raise LocationKeyError(key.written, "data", f"is not UTF-8: {exc.reason}") from exc
    except RecursionError as exc:
        raise LocationKeyError(key.written, "data", "JSON is nested too deeply") from exc
    except ValueError as exc:
        raise LocationKeyError(key.written, "data", f"is not JSON: {exc}") from exc
    if not isinstance(fields, dict):
        raise LocationKeyError(key.written, "data", "must be a JSON object")
    return fields


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


_reader = json.JSONDecoder(object_pairs_hook=unique_fields, parse_constant=_no_constant)
