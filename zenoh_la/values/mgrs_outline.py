"""Outlines of MGRS cells on the longitude-latitude plane.

The `mgrs` package knows none. They are drawn generously enough to hold every place that the
package puts into a cell, its rounding included, and a little more, never less.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, radians

import numpy as np
from shapely.geometry.base import BaseGeometry

from zenoh_la.values import planar
from zenoh_la.values.geodesy import Floats
from zenoh_la.values.mgrs_grid import (
    POLAR,
    POLE_M,
    ROUNDING_M,
    places,
    zone_reach,
)
from zenoh_la.values.planar import Geometries

_POLE_CAP_DEG = 1e-5  # so near a pole, rounding may turn a place to any longitude
_POLE_TURN_DEG = 0.05


def zone_outline(zone: str) -> BaseGeometry:
    """The generous outline of a whole grid zone."""
    south, north, west, east = zone_reach(zone)
    box = planar.wrapped(planar.box(south, west, north, east))
    return _with_pole(box, 0.01, zone in "AB") if zone in POLAR else box


def cell_outlines(zone: str, corners: Sequence[tuple[int, int]], size_m: int) -> Geometries:
    """The generous outlines of square cells, cut at the edges of their zone; empty beyond them.

    Args:
        zone: the grid zone of all cells.
        corners: easting and northing of their south-west corners.
        size_m: the length of their sides.
    """
    if zone in POLAR:
        outlines = [_polar_outline(zone, *corner, size_m) for corner in corners]
    else:
        outlines = list(_utm_outlines(zone, corners, size_m))
    return np.array([planar.wrapped(outline) for outline in outlines], dtype=object)


# Pieces per edge: straight lines of the grid bend in longitude and latitude by up to 4e-7 of
# the square of their length (at 84°), so none of these is off by more than a metre.
_PIECES = {100_000: 64, 10_000: 16, 1_000: 4, 100: 1, 10: 1, 1: 1}


def _utm_outlines(zone: str, corners: Sequence[tuple[int, int]], size_m: int) -> Geometries:
    south, north, west, east = zone_reach(zone)
    pieces = _PIECES[size_m]
    margin = ROUNDING_M + 4e-7 * (size_m / pieces) ** 2
    low, high = -margin, size_m + margin
    steps = np.linspace(low, high, pieces + 1)[:-1]
    back = (high + low) - steps
    e = np.concatenate([steps, np.full(pieces, high), back, np.full(pieces, low)])
    n = np.concatenate([np.full(pieces, low), steps, np.full(pieces, high), back])
    corner_e, corner_n = np.array(corners, dtype=float).T
    lats, longs = places(zone, np.add.outer(corner_e, e).ravel(), np.add.outer(corner_n, n).ravel())
    middle = (west + east) / 2
    longs = middle + (longs - middle + 180.0) % 360.0 - 180.0
    rows = len(corners), 4 * pieces
    outlines = planar.polygons(lats.reshape(rows), longs.reshape(rows))
    return planar.clipped(outlines, south, west, north, east)


def _polar_outline(zone: str, easting: int, northing: int, size_m: int) -> BaseGeometry:
    """A UPS square, seen from the pole: at each longitude, from a near to a far distance.

    The pole is a corner of squares and never inside one, so a square lies in one quadrant.
    It is described in that quadrant's own terms: x and y from the pole, both positive, and an
    angle from the y axis.
    """
    reach, south = zone_reach(zone), zone in "AB"
    x, y = easting - POLE_M, northing - POLE_M
    x_near, x_far = sorted((abs(x), abs(x + size_m)))
    y_near, y_far = sorted((abs(y), abs(y + size_m)))
    first, last = float(np.arctan2(x_near, y_far)), float(np.arctan2(x_far, y_near))
    kinks = [np.arctan2(x_far, y_far)] + ([np.arctan2(x_near, y_near)] if x_near + y_near else [])
    angles = np.unique(np.concatenate([np.linspace(first, last, 65), kinks]))

    def distances(angle: Floats) -> tuple[Floats, Floats]:
        sine, cosine = np.maximum(np.sin(angle), 1e-300), np.maximum(np.cos(angle), 1e-300)
        near = np.maximum(x_near / sine, y_near / cosine)
        return near, np.minimum(x_far / sine, y_far / cosine)

    near, far = distances(angles)
    near_between = distances((angles[1:] + angles[:-1]) / 2)[0]
    bulge = np.abs((near[1:] + near[:-1]) / 2 - near_between).max()
    near, far = near - ROUNDING_M - 2 * bulge, far + ROUNDING_M
    at_pole = near.min() <= 1.0
    turn = radians(_POLE_TURN_DEG) if at_pole else ROUNDING_M / near.min()
    angles = np.concatenate([angles[:1] - turn, angles, angles[-1:] + turn])
    near, far = (np.concatenate([d[:1], d, d[-1:]]) for d in (np.maximum(near, 0.0), far))
    near_lats, far_lats = (_polar_latitudes(zone, d) for d in (near, far))
    away = (y < 0) if south else (y >= 0)  # UPS north runs along longitude 180, or 0 in the south
    longs = np.degrees(pi - angles if away else angles) * (1 if x >= 0 else -1)
    outline = planar.polygon(
        np.concatenate([far_lats, near_lats[::-1]]), np.concatenate([longs, longs[::-1]])
    )
    clipped: BaseGeometry = planar.clipped(
        np.array([outline]), reach.min_lat, -540.0, reach.max_lat, 540.0
    )[0]
    return _with_pole(clipped, _POLE_CAP_DEG, south) if at_pole else clipped


def _polar_latitudes(zone: str, distances: Floats) -> Floats:
    """The latitudes at grid distances from the pole."""
    lats, _ = places(zone, np.full(distances.size, float(POLE_M)), POLE_M + distances)
    return np.where(distances == 0.0, -90.0 if zone in "AB" else 90.0, lats)


def _with_pole(outline: BaseGeometry, cap_deg: float, south: bool) -> BaseGeometry:
    low, high = (-90.0, -90.0 + cap_deg) if south else (90.0 - cap_deg, 90.0)
    return planar.union([planar.wrapped(outline), planar.box(low, -180.0, high, 180.0)])
