"""Positions and areas as GeoJSON and WKT, for maps and people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from shapely.geometry.base import BaseGeometry

from zenoh_la.values import planar
from zenoh_la.values.areas import Area, Circle, GeographicRange, Polygon
from zenoh_la.values.circle_meeting import circle_rim
from zenoh_la.values.coordinates import Coordinates
from zenoh_la.values.geodesy import Floats
from zenoh_la.values.rings import polygons_of

_CIRCLE_CORNERS = 128
_SMALLEST_CIRCLE_M = 0.001
_LARGEST_CIRCLE_M = 19_960_000.0  # what it leaves out is within 45 km: too small to be seen


def geojson(place: Coordinates | Area) -> dict[str, Any]:
    """A GeoJSON geometry; circles become polygons, cut at the antimeridian if need be."""
    return planar.to_geojson(_drawn(place))


def wkt(place: Coordinates | Area) -> str:
    """The same as WKT."""
    return planar.to_wkt(_drawn(place))


def merged(ranges: Sequence[GeographicRange]) -> Polygon:
    """Several ranges as one area."""
    return Polygon(polygons_of(planar.union([r.planar.geometry for r in ranges])))


def _drawn(place: Coordinates | Area) -> BaseGeometry:
    if isinstance(place, Circle):
        if place.radius_m >= _SMALLEST_CIRCLE_M:
            return _drawn_circle(place)
        place = place.centre
    if isinstance(place, Coordinates):
        return planar.box(place.lat, place.long, place.lat, place.long)
    assert place.planar is not None  # every area but a circle has straight edges
    return place.planar.geometry


def _drawn_circle(circle: Circle) -> BaseGeometry:
    """A circle as a polygon of points on its edge, on a plane that ends at ±180 and the poles."""
    lats, longs = circle_rim(circle, circle.radius_m, _CIRCLE_CORNERS)
    poles = [pole for pole in (90.0, -90.0) if circle.contains(Coordinates(pole, 0.0))]
    if not poles:
        return planar.wrapped(planar.polygon(lats, longs))
    if len(poles) == 1 and circle.radius_m <= _LARGEST_CIRCLE_M:
        return _drawn_cap(lats, (longs + 180.0) % 360.0 - 180.0, poles[0])
    if circle.radius_m > _LARGEST_CIRCLE_M:
        return planar.box(-90.0, -180.0, 90.0, 180.0)
    # Both poles are inside: what is left out is a patch about the antipode.
    opposite = circle.centre.long + 180.0
    longs = opposite + (longs - opposite + 180.0) % 360.0 - 180.0
    return planar.rest_of_the_world(planar.wrapped(planar.repaired(planar.polygon(lats, longs))))


def _drawn_cap(lats: Floats, longs: Floats, pole: float) -> BaseGeometry:
    away = np.abs(lats - pole) > 1e-9  # at the pole itself a longitude means nothing
    lats, longs = lats[away], longs[away]
    order = np.argsort(longs)
    lats, longs = lats[order], longs[order]
    gap = longs[0] + 360.0 - longs[-1]
    lat_at_180 = lats[-1] + (lats[0] - lats[-1]) * (180.0 - longs[-1]) / gap
    lats = np.concatenate([[lat_at_180], lats, [lat_at_180, pole, pole]])
    longs = np.concatenate([[-180.0], longs, [180.0, 180.0, -180.0]])
    return planar.repaired(planar.polygon(lats, longs))
