"""Areas of interest: a geographic range, a circle, a polygon.

All are closed sets (the edge belongs to them) and frozen values that cannot be invalid.
An MGRS cell, in `zenoh_la.values.mgrs_cell`, is an area too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Protocol

from zenoh_la.errors import InvalidLocationError
from zenoh_la.values import geodesy, planar, rings
from zenoh_la.values.checks import finite, latitude, longitude
from zenoh_la.values.circle_meeting import circle_meets
from zenoh_la.values.coordinates import Coordinates
from zenoh_la.values.planar import Planar
from zenoh_la.values.rings import Rings


class Shape(Enum):
    """What kind of area; the value is its number in a location key."""

    NONE = 0
    GEOGRAPHIC_RANGE = 1
    CIRCLE = 2
    POLYGON = 3


class Area(Protocol):
    """A closed region of the globe."""

    @property
    def bounds(self) -> GeographicRange:
        """A range that holds the whole area (it may be larger than need be, never smaller)."""

    @property
    def planar(self) -> Planar | None:
        """The area on the longitude-latitude plane, if its edges are straight there."""

    def contains(self, position: Coordinates) -> bool:
        """Whether a position lies in the area, its edge included."""

    def meets(self, other: Area) -> bool:
        """Whether two areas share at least one point."""


@dataclass(frozen=True, slots=True)
class GeographicRange:
    """All places between two parallels and two meridians.

    ``min_long > max_long`` means a range across the antimeridian:

    >>> fiji = GeographicRange(-20, 176, -15, -178)
    >>> fiji.contains(Coordinates(-17, 179)), fiji.contains(Coordinates(-17, 0))
    (True, False)
    """

    shape: ClassVar[Shape] = Shape.GEOGRAPHIC_RANGE

    min_lat: float
    min_long: float
    max_lat: float
    max_long: float
    _planar: Planar | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, check in (("lat", latitude), ("long", longitude)):
            for end in ("min_", "max_"):
                object.__setattr__(self, end + name, check(end + name, getattr(self, end + name)))
        if self.min_lat > self.max_lat:
            problem = f"must not exceed max_lat = {self.max_lat}"
            raise InvalidLocationError("min_lat", self.min_lat, problem)

    @property
    def bounds(self) -> GeographicRange:
        return self

    @property
    def crosses_antimeridian(self) -> bool:
        return self.min_long > self.max_long

    @property
    def width(self) -> float:
        """Extent in degrees of longitude."""
        return self.max_long - self.min_long + (360.0 if self.crosses_antimeridian else 0.0)

    @property
    def planar(self) -> Planar:
        region = self._planar
        if region is None:
            region = Planar(planar.box(self.min_lat, self.min_long, self.max_lat, self.max_long))
            object.__setattr__(self, "_planar", region)
        return region

    def contains(self, position: Coordinates) -> bool:
        lat, long = position.lat, position.long
        if not self.min_lat <= lat <= self.max_lat:
            return False
        if self.min_long <= self.max_long:
            if self.min_long <= long <= self.max_long:
                return True
        elif long >= self.min_long or long <= self.max_long:
            return True
        if lat in (90.0, -90.0):
            return True
        return (long == 180.0 and self.min_long == -180.0) or (
            long == -180.0 and self.max_long == 180.0
        )

    def meets(self, other: Area) -> bool:
        if not isinstance(other, GeographicRange):
            return other.meets(self)
        if self.min_lat > other.max_lat or other.min_lat > self.max_lat:
            return False
        if self.max_lat == other.max_lat == 90.0 or self.min_lat == other.min_lat == -90.0:
            return True
        return any(
            a_west <= b_east and b_west <= a_east
            for a_west, a_east in self._arcs()
            for b_west, b_east in other._arcs()
        )

    def _arcs(self) -> list[tuple[float, float]]:
        """The longitudes as intervals, the antimeridian as both of its names."""
        if self.crosses_antimeridian:
            return [(self.min_long, 180.0), (-180.0, self.max_long)]
        arcs = [(self.min_long, self.max_long)]
        if self.max_long == 180.0:
            arcs.append((-180.0, -180.0))
        if self.min_long == -180.0:
            arcs.append((180.0, 180.0))
        return arcs

    def to_dict(self) -> dict[str, Any]:
        """``{"min_lat": …, "min_long": …, "max_lat": …, "max_long": …}``, as in a key."""
        return {n: getattr(self, n) for n in ("min_lat", "min_long", "max_lat", "max_long")}


@dataclass(frozen=True, slots=True)
class Circle:
    """All places within a geodesic distance of a centre.

    >>> warning = Circle(Coordinates(48, 14), 2_000)
    >>> warning.contains(Coordinates(48.01, 14.01))
    True
    """

    shape: ClassVar[Shape] = Shape.CIRCLE
    planar: ClassVar[None] = None

    centre: Coordinates
    radius_m: float
    _inside: float = field(default=0.0, init=False, repr=False, compare=False)
    _outside: float = field(default=0.0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.centre, Coordinates):
            raise InvalidLocationError("centre", self.centre, "must be Coordinates")
        radius_m = finite("radius_m", self.radius_m, 0.0, geodesy.HALF_EQUATOR_M)
        object.__setattr__(self, "radius_m", radius_m)
        inside, outside = geodesy.chord_limits(radius_m)
        object.__setattr__(self, "_inside", inside)
        object.__setattr__(self, "_outside", outside)

    @property
    def bounds(self) -> GeographicRange:
        lat, long = self.centre.lat, self.centre.long
        lat_reach, long_reach = geodesy.reach_degrees(lat, self.radius_m)
        south, north = lat - lat_reach, lat + lat_reach
        if south <= -90.0 or north >= 90.0 or long_reach >= 180.0:
            return GeographicRange(max(south, -90.0), -180.0, min(north, 90.0), 180.0)
        west, east = long - long_reach, long + long_reach
        return GeographicRange(
            south,
            west + 360.0 if west < -180.0 else west,
            north,
            east - 360.0 if east > 180.0 else east,
        )

    @property
    def chord_limits(self) -> tuple[float, float]:
        """`geodesy.chord_limits` of the radius."""
        return self._inside, self._outside

    def contains(self, position: Coordinates) -> bool:
        # Hot: one of these per message and candidate. The chord decides nearly always.
        x, y, z = position._cartesian or position.cartesian
        cx, cy, cz = self.centre._cartesian or self.centre.cartesian
        x -= cx
        y -= cy
        z -= cz
        chord = x * x + y * y + z * z
        if chord > self._outside:
            return False
        if chord < self._inside:
            return True
        return self.centre.distance_m(position) <= self.radius_m

    def meets(self, other: Area) -> bool:
        if isinstance(other, Circle):
            reach_m = self.radius_m + other.radius_m + geodesy.ROUNDING_M
            return self.centre.distance_m(other.centre) <= reach_m
        if other.planar is None:
            return other.meets(self)
        return self.bounds.meets(other.bounds) and circle_meets(self, other.planar)

    def to_dict(self) -> dict[str, Any]:
        """``{"r": …, "c": {…}}`` with the radius in metres, as in a location key."""
        return {"r": self.radius_m, "c": self.centre.to_dict()}


@dataclass(frozen=True, slots=True)
class Polygon:
    """One or several polygons, with holes; edges are straight in longitude and latitude.

    Vertices are ``(lat, long)``. A polygon across the antimeridian is given as two, one on
    either side, as in GeoJSON.

    >>> lake = Polygon.from_points([[45, 11], [47, 11], [46, 15.2]])
    >>> lake.contains(Coordinates(46, 12)), lake.contains(Coordinates(45, 15))
    (True, False)
    """

    shape: ClassVar[Shape] = Shape.POLYGON

    polygons: tuple[Rings, ...]
    planar: Planar = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.polygons, Sequence) or not all(
            isinstance(polygon, Sequence) for polygon in self.polygons
        ):
            raise InvalidLocationError("polygons", self.polygons, "must be polygons of rings")
        checked = tuple(
            tuple(rings.ring(f"polygons[{i}][{j}]", ring) for j, ring in enumerate(polygon))
            for i, polygon in enumerate(self.polygons)
        )
        if not checked or not all(checked):
            raise InvalidLocationError("polygons", self.polygons, "at least one, with an outline")
        vertices = sum(len(ring) for polygon in checked for ring in polygon)
        if vertices > rings.MAX_VERTICES:
            problem = f"at most {rings.MAX_VERTICES} vertices"
            raise InvalidLocationError("polygons", f"{vertices} vertices", problem)
        object.__setattr__(self, "polygons", checked)
        object.__setattr__(self, "planar", rings.region(checked))

    @classmethod
    def from_points(cls, points: Any) -> Polygon:
        """One polygon without holes from ``[lat, long]`` pairs, closed or not."""
        return cls(((rings.ring("points", points),),))

    @classmethod
    def from_wkt(cls, wkt: str) -> Polygon:
        """From WKT, whose order is longitude first: ``POLYGON((11 45, 11 47, 15.2 46, 11 45))``."""
        return cls(rings.read_wkt(wkt))

    def to_wkt(self) -> str:
        """WKT that reads back as an equal polygon."""
        return rings.write_wkt(self.polygons)

    @property
    def bounds(self) -> GeographicRange:
        return GeographicRange(*self.planar.bounds)

    def contains(self, position: Coordinates) -> bool:
        return self.planar.contains(position.lat, position.long)

    def meets(self, other: Area) -> bool:
        if isinstance(other, GeographicRange | Polygon):
            return self.planar.meets(other.planar)
        return other.meets(self)

    def to_dict(self) -> dict[str, Any]:
        """``{"points": …}`` if one ring says it all, else ``{"wkt": …}``, as in a key."""
        if len(self.polygons) == len(self.polygons[0]) == 1:
            return {"points": [list(vertex) for vertex in self.polygons[0][0][:-1]]}
        return {"wkt": self.to_wkt()}
