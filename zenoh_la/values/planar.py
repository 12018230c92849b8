"""Areas drawn with straight lines in longitude and latitude, by shapely.

The only module that knows shapely's ``x = long, y = lat`` order. The plane is the rectangle
-180…180 by -90…90; three things make it a globe again and are dealt with here: the
meridians -180 and 180 are one, and each of its upper and lower edges is one point, a pole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import affinity
from shapely.geometry.base import BaseGeometry

from zenoh_la.errors import InvalidLocationError
from zenoh_la.values.checks import latitude, longitude
from zenoh_la.values.coordinates import Coordinates

MAX_VERTICES = 100_000
_FULL_CIRCLE = 360.0

# 0.14 µs against 2.7 µs for the public function (shapely 2.2), which is the fallback.
_covers_xy = getattr(shapely.lib, "intersects_xy_scalar", shapely.intersects_xy)

Vertex = tuple[float, float]
Ring = tuple[Vertex, ...]
Rings = tuple[Ring, ...]
"""One polygon: its outline, then its holes. Vertices are (lat, long), rings are closed."""


class Planar:
    """A closed region of the longitude-latitude plane that knows it lies on a globe."""

    def __init__(self, geometry: BaseGeometry) -> None:
        shapely.prepare(geometry)
        self.geometry = geometry
        self.min_long, self.min_lat, self.max_long, self.max_lat = geometry.bounds

    def __reduce__(self) -> tuple[type[Planar], tuple[BaseGeometry]]:
        return Planar, (self.geometry,)  # a prepared geometry is prepared again on arrival

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """``min_lat, min_long, max_lat, max_long``."""
        return self.min_lat, self.min_long, self.max_lat, self.max_long

    def contains(self, lat: float, long: float) -> bool:
        """Whether a place lies in the region, its edge included."""
        if not self.min_lat <= lat <= self.max_lat:
            return False
        if lat in (90.0, -90.0):
            return True  # at a pole, and the region reaches it
        if self.min_long <= long <= self.max_long and _covers_xy(self.geometry, long, lat):
            return True
        return long in (180.0, -180.0) and bool(_covers_xy(self.geometry, -long, lat))

    def meets(self, other: Planar) -> bool:
        """Whether the two share at least one point."""
        if self.max_lat == other.max_lat == 90.0 or self.min_lat == other.min_lat == -90.0:
            return True
        if self.geometry.intersects(other.geometry):
            return True
        if self.max_long == 180.0 and other.min_long == -180.0:
            return self._meets_across_the_antimeridian(other)
        if self.min_long == -180.0 and other.max_long == 180.0:
            return other._meets_across_the_antimeridian(self)
        return False

    def meets_each(self, geometries: NDArray[Any]) -> NDArray[np.bool_]:
        """`meets` for many geometries at once."""
        met: NDArray[np.bool_] = shapely.intersects(self.geometry, geometries)
        if abs(self.max_long) == 180.0 or abs(self.min_long) == 180.0 or self.reaches_pole:
            for i in np.flatnonzero(~met & ~shapely.is_empty(geometries)):
                met[i] = self.meets(Planar(geometries[i]))
        return met

    @property
    def reaches_pole(self) -> bool:
        return self.max_lat == 90.0 or self.min_lat == -90.0

    def _meets_across_the_antimeridian(self, eastern: Planar) -> bool:
        moved = affinity.translate(eastern.geometry, xoff=_FULL_CIRCLE)
        return bool(self.geometry.intersects(moved))

    def inner_place(self) -> Coordinates:
        """Some place well inside the region."""
        point = shapely.point_on_surface(self.geometry)
        return Coordinates(point.y, point.x)

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All edges as arrays ``lat_a, long_a, lat_b, long_b``; a single point is one edge."""
        a, b = [], []
        for part in shapely.get_parts(self.geometry):
            lines = [part] if part.geom_type != "Polygon" else [part.exterior, *part.interiors]
            for line in lines:
                xy = shapely.get_coordinates(line)
                a.append(xy[:-1] if len(xy) > 1 else xy)
                b.append(xy[1:] if len(xy) > 1 else xy)
        start, end = np.concatenate(a), np.concatenate(b)
        return start[:, 1], start[:, 0], end[:, 1], end[:, 0]


def box(min_lat: float, min_long: float, max_lat: float, max_long: float) -> BaseGeometry:
    """A rectangle; it may be a line or a point, and ``min_long > max_long`` crosses ±180."""
    if min_long > max_long:
        west = box(min_lat, min_long, max_lat, 180.0)
        east = box(min_lat, -180.0, max_lat, max_long)
        if isinstance(west, shapely.Polygon) and isinstance(east, shapely.Polygon):
            return shapely.MultiPolygon([west, east])
        return shapely.GeometryCollection([west, east])
    if min_lat == max_lat and min_long == max_long:
        return shapely.Point(min_long, min_lat)
    if min_lat == max_lat or min_long == max_long:
        return shapely.LineString([(min_long, min_lat), (max_long, max_lat)])
    return shapely.box(min_long, min_lat, max_long, max_lat)


def region(polygons: Sequence[Rings]) -> Planar:
    """The region of one or several polygons.

    Raises:
        InvalidLocationError: an edge crosses another one, a hole lies outside, and so on.
    """
    parts = [
        shapely.Polygon([(long, lat) for lat, long in outline], holes=[_xy(h) for h in holes])
        for outline, *holes in polygons
    ]
    geometry = parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)
    if not shapely.is_valid(geometry):
        reason = shapely.is_valid_reason(geometry)
        raise InvalidLocationError("polygon", _summary(polygons), f"is not valid: {reason}")
    return Planar(geometry)


def _xy(ring: Ring) -> list[tuple[float, float]]:
    return [(long, lat) for lat, long in ring]


def _summary(polygons: Sequence[Rings]) -> str:
    vertices = sum(len(ring) for rings in polygons for ring in rings)
    return f"{len(polygons)} polygon(s), {vertices} vertices"


def ring(field: str, points: Any) -> Ring:
    """A closed ring of checked vertices from ``[lat, long]`` pairs, closed or not."""
    if isinstance(points, str | bytes) or not isinstance(points, Iterable):
        raise InvalidLocationError(field, points, "must be a list of [lat, long] pairs")
    vertices = []
    for i, point in enumerate(points):
        if i >= MAX_VERTICES:
            raise InvalidLocationError(field, f"{i} and more", f"at most {MAX_VERTICES} vertices")
        try:
            lat, long = point
        except (TypeError, ValueError) as exc:
            raise InvalidLocationError(f"{field}[{i}]", point, "must be [lat, long]") from exc
        vertices.append((latitude(f"{field}[{i}][0]", lat), longitude(f"{field}[{i}][1]", long)))
    if vertices and vertices[0] != vertices[-1]:
        vertices.append(vertices[0])
    if len(vertices) < 4:
        raise InvalidLocationError(field, points, "a polygon has at least three corners")
    return tuple(vertices)


# GEOS recurses without a limit on nested collections: only these two forms ever reach it.
_WKT = re.compile(r"\s*(MULTI)?POLYGON\s*\([\s0-9+.,()E-]*\)\s*", re.ASCII | re.IGNORECASE)
_MAX_WKT_DEPTH = 3


def read_wkt(wkt: Any) -> tuple[Rings, ...]:
    """The polygons of a WKT POLYGON or MULTIPOLYGON, as (lat, long) vertices."""
    if not isinstance(wkt, str):
        raise InvalidLocationError("wkt", wkt, "must be a text")
    if not _WKT.fullmatch(wkt):
        raise InvalidLocationError("wkt", wkt, "must be a POLYGON or MULTIPOLYGON, 2D, not empty")
    if wkt.count(",") > MAX_VERTICES:
        raise InvalidLocationError("wkt", wkt, f"at most {MAX_VERTICES} vertices")
    if _depth(wkt) > _MAX_WKT_DEPTH:
        raise InvalidLocationError("wkt", wkt, "brackets are nested too deeply")
    try:
        with np.errstate(all="ignore"):  # 1e999 becomes infinite, which is checked below
            geometry = shapely.from_wkt(wkt)
    except shapely.errors.GEOSException as exc:
        raise InvalidLocationError("wkt", wkt, f"cannot be read: {exc}") from exc
    if geometry.has_z or geometry.has_m:
        raise InvalidLocationError("wkt", wkt, "heights and measures have no meaning here")
    return polygons_of(geometry, "wkt polygon ")


def polygons_of(geometry: BaseGeometry, field: str = "polygon ") -> tuple[Rings, ...]:
    """The polygons of a shapely geometry, as checked (lat, long) vertices."""
    polygons = []
    for i, part in enumerate(shapely.get_parts(geometry)):
        if part.is_empty:
            raise InvalidLocationError(f"{field}{i}", "", "is empty")
        rings = [part.exterior, *part.interiors]
        polygons.append(
            tuple(
                ring(f"{field}{i} ring {j}", shapely.get_coordinates(r)[:, ::-1].tolist())
                for j, r in enumerate(rings)
            )
        )
    return tuple(polygons)


def _depth(wkt: str) -> int:
    depth = deepest = 0
    for bracket in re.findall(r"[()]", wkt):
        depth += 1 if bracket == "(" else -1
        deepest = max(deepest, depth)
    return deepest


def write_wkt(polygons: Sequence[Rings]) -> str:
    """WKT with every digit that matters: what is written is read back unchanged."""
    bodies = [
        "(" + ",".join("(" + ",".join(map(_written, ring)) + ")" for ring in rings) + ")"
        for rings in polygons
    ]
    if len(bodies) == 1:
        return f"POLYGON{bodies[0]}"
    return f"MULTIPOLYGON({','.join(bodies)})"


def _written(vertex: Vertex) -> str:
    lat, long = vertex
    return f"{long!r} {lat!r}"


def wrapped(geometry: BaseGeometry) -> BaseGeometry:
    """A region drawn past ±180 brought back into the plane, cut at the antimeridian."""
    west, _, east, _ = geometry.bounds
    if west >= -180.0 and east <= 180.0:
        return geometry
    pieces = []
    for turn in range(-2, 3):
        left = turn * _FULL_CIRCLE - 180.0
        if west < left + _FULL_CIRCLE and east > left:
            piece = shapely.clip_by_rect(geometry, left, -90.0, left + _FULL_CIRCLE, 90.0)
            pieces.append(affinity.translate(piece, xoff=-turn * _FULL_CIRCLE))
    return polygonal(shapely.unary_union(pieces))


def polygonal(geometry: BaseGeometry) -> BaseGeometry:
    """Only what has a surface: clipping leaves lines and points behind."""
    parts = chain.from_iterable(
        part.geoms if part.geom_type == "MultiPolygon" else [part]
        for part in shapely.get_parts(geometry)
    )
    polygons = [part for part in parts if part.geom_type == "Polygon" and not part.is_empty]
    return polygons[0] if len(polygons) == 1 else shapely.MultiPolygon(polygons)
