"""The corners of polygons: checked, and read and written as points and WKT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from zenoh_la.errors import InvalidLocationError
from zenoh_la.values.checks import latitude, longitude
from zenoh_la.values.planar import Planar

MAX_VERTICES = 100_000

Vertex = tuple[float, float]
Ring = tuple[Vertex, ...]
Rings = tuple[Ring, ...]
"""One polygon: its outline, then its holes. Vertices are (lat, long), rings are closed."""


def region(polygons: Sequence[Rings]) -> Planar:
    """The region of one or several polygons.

    Raises:
        InvalidLocationError: an edge crosses another one, a hole lies outside, and so on.
    """
    parts = [
        shapely.Polygon(_xy(outline), holes=[_xy(hole) for hole in holes])
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
