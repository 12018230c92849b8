"""From the location arguments of a call to location keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from zenoh_la.encoders import BloomDomain, Encoder, Precision
from zenoh_la.encoders.base64_json import Base64JsonEncoder
from zenoh_la.encoders.bloom import Bits, BloomEncoder
from zenoh_la.encoders.locations import Point
from zenoh_la.encoders.mgrs import Cell, MgrsEncoder
from zenoh_la.errors import ArgumentError, InvalidLocationError
from zenoh_la.keys import LocationKey, Role, to_chunk
from zenoh_la.router_plugin import location_bytes
from zenoh_la.router_plugin.chunks import located
from zenoh_la.values import (
    Area,
    Circle,
    Coordinates,
    GeographicRange,
    MgrsCell,
    Polygon,
    Shape,
    area_from,
)

_SOMEWHERE = Coordinates(0.0, 0.0)
_AREAS = (Circle, GeographicRange, MgrsCell, Polygon)

Wanted = Shape | Area | Sequence[Area]
"""What ``location_shape`` may be: a shape that has data, an area, or several areas."""


def checked_precision(precision: Any) -> Precision | None:
    """A precision that is one, or None."""
    if precision is None or isinstance(precision, Precision):
        return precision
    raise ArgumentError("precision", precision, "must be a Precision, or None for a plain message")


@dataclass(frozen=True, slots=True)
class Where:
    """The area of a call: one or several that stay, or one that goes with the position."""

    shape: Any
    data: Any
    precision: Precision

    @classmethod
    def of(cls, location_shape: Any, shape_data: Any, precision: Any) -> Where | None:
        """What the arguments mean; None for the whole network.

        Raises:
            ArgumentError, InvalidLocationError: an argument is wrong; it is named.
        """
        checked = checked_precision(precision)
        if isinstance(location_shape, Sequence) and not isinstance(location_shape, str):
            location_shape = _checked_areas(location_shape)
        if isinstance(location_shape, (*_AREAS, tuple)):
            if shape_data is not None:
                raise ArgumentError("shape_data", shape_data, "an area needs no data beside it")
        elif not isinstance(location_shape, Shape):
            raise ArgumentError(
                "location_shape", location_shape, "must be a Shape, an area or several"
            )
        elif location_shape is Shape.NONE and shape_data is None:
            return None
        elif not isinstance(shape_data, Mapping):
            raise ArgumentError("shape_data", shape_data, f"{location_shape} needs a mapping")
        if checked is None:
            raise ArgumentError("precision", None, "an area needs one")
        where = cls(location_shape, shape_data, checked)
        where.areas(_SOMEWHERE)  # what is wrong is wrong wherever the session is
        return where

    @property
    def is_ego_centric(self) -> bool:
        """Whether it moves with the session."""
        if not isinstance(self.shape, Shape):
            return False
        if self.shape is Shape.NONE:
            return "digits" in self.data
        return self.shape is Shape.CIRCLE and "c" not in self.data

    def areas(self, position: Coordinates | None) -> tuple[Area, ...]:
        """The area, at a position; the areas if there are several."""
        if not isinstance(self.shape, Shape):
            return self.shape if isinstance(self.shape, tuple) else (self.shape,)
        try:
            if self.shape is not Shape.NONE:
                return (area_from(self.shape, self.data, position),)
            return (self._cell(position),)
        except InvalidLocationError as exc:
            raise exc.within("shape_data") from exc

    def _cell(self, position: Coordinates | None) -> MgrsCell:
        if self.precision is not Precision.MGRS:
            problem = "without a shape needs Precision.MGRS and digits or mgrs"
            raise ArgumentError("shape_data", self.data, problem)
        match dict(self.data):
            case {"digits": digits, **rest} if not rest:
                if position is None:
                    raise InvalidLocationError("digits", digits, "there is no position")
                return MgrsCell.at(position, digits)
            case {"mgrs": text, **rest} if not rest:
                return MgrsCell.parse(text)
        raise InvalidLocationError("fields", self.data, "needs either digits or mgrs")


def _checked_areas(given: Sequence[Any]) -> tuple[Area, ...]:
    if not given:
        raise ArgumentError("location_shape", given, "needs at least one area")
    for area in given:
        if not isinstance(area, _AREAS):
            raise ArgumentError("location_shape", area, "is no area; only areas can be several")
    return tuple(given)


class Places:
    """A session's encoders and Bloom domains."""

    def __init__(self) -> None:
        self._encoders: dict[Precision, Encoder] = {
            Precision.POINT: Base64JsonEncoder(),
            Precision.MGRS: MgrsEncoder(),
            Precision.BLOOM_FILTER: BloomEncoder(),
        }
        self.domains: dict[str, BloomEncoder] = {}
        self.domain: BloomDomain | None = None

    def declare_domain(self, domain: Any) -> None:
        if not isinstance(domain, BloomDomain):
            raise ArgumentError("domain", domain, "must be a BloomDomain")
        encoder = BloomEncoder(domain)
        self.domains[domain.fingerprint] = encoder
        self._encoders[Precision.BLOOM_FILTER] = encoder
        self.domain = domain

    def _fingerprint(self, precision: Precision) -> str | None:
        if precision is not Precision.BLOOM_FILTER:
            return None
        if self.domain is None:
            problem = "Bloom keys need a grid: call declare_bloom_domain first"
            raise ArgumentError("precision", precision, problem)
        return self.domain.fingerprint

    def position_chunk(self, position: Coordinates, precision: Precision) -> str:
        """The location key of a position, as it travels."""
        domain = self._fingerprint(precision)
        return to_chunk(self._encoders[precision].encode_position(position), domain)

    def packed(self, position: Coordinates, precision: Precision) -> bytes:
        """The same in a few bytes; exact positions, which may change all the time, at once."""
        if precision is Precision.POINT:
            return location_bytes.pack_point(position)
        chunk = self.position_chunk(position, precision)
        return location_bytes.pack_location(located(chunk), chunk)

    def area_chunks(self, area: Area, role: Role, precision: Precision) -> tuple[str, ...]:
        """The location keys of an area, as they travel."""
        domain = self._fingerprint(precision)
        keys = self._encoders[precision].encode_area(area, role)
        return tuple(to_chunk(key, domain) for key in keys)

    def chunks(self, where: Where, role: Role, position: Coordinates | None) -> tuple[str, ...]:
        """The keys of a call's area; none if it goes with a position and there is none."""
        self._fingerprint(where.precision)
        if where.is_ego_centric and position is None:
            return ()
        areas = where.areas(position)
        found = (self.area_chunks(area, role, where.precision) for area in areas)
        return tuple(dict.fromkeys(chain.from_iterable(found)))

    def coordinates(self, packed: bytes) -> Coordinates | None:
        """Where a packed location is: of a cell its centre, None if nobody here can tell."""
        location = location_bytes.location_of(packed)
        if type(location) is Point:
            return location.place
        if type(location) is Cell:
            return location.place.centre
        if type(location) is Bits:
            key = location_bytes.key_of(packed)
            encoder = self.domains.get(location.domain or "")
            return None if encoder is None or key is None else _centre(encoder, key)
        place = None if location is None else location.place
        return place if isinstance(place, Coordinates) else None


def _centre(encoder: BloomEncoder, key: LocationKey) -> Coordinates | None:
    cells = encoder.cells(key)
    if not cells:
        return None
    cell = encoder.domain.range_of(cells[0])
    long = cell.min_long + cell.width / 2
    return Coordinates((cell.min_lat + cell.max_lat) / 2, long - 360 if long > 180 else long)
