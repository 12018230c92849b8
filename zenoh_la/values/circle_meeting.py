"""Circles on the longitude-latitude plane: do they meet an area with straight edges?

Such edges are no geodesics, so their distance from the circle's centre has no formula. They
are halved until a bound decides: never "no" where they meet, and "yes" at most half a metre
too early.
"""

from __future__ import annotations

from math import cos, hypot, radians
from typing import TYPE_CHECKING

import numpy as np

from zenoh_la.values import geodesy, planar

if TYPE_CHECKING:
    from zenoh_la.values.areas import Circle
    from zenoh_la.values.geodesy import Floats
    from zenoh_la.values.planar import Planar

_GENEROUS_M = 0.5
_MAX_PIECES = 200_000
"""Beyond this many undecided pieces the answer is yes: hostile shapes stay cheap, and safe."""


def circle_meets(circle: Circle, region: Planar) -> bool:
    """Whether the two share a point; generous by at most half a metre.

    By more only if an edge runs along the circle for thousands of kilometres within metres:
    then the pieces become too many.
    """
    centre, reach_m = circle.centre, circle.radius_m + geodesy.ROUNDING_M
    if _far_away(circle, region):
        return False
    if region.contains(centre.lat, centre.long):
        return True
    # The centre is outside, so a shared point means that an edge is within reach.
    lat_a, long_a, lat_b, long_b = region.edges
    lat_reach = geodesy.reach_degrees(centre.lat, reach_m)[0]
    near = (np.minimum(lat_a, lat_b) <= centre.lat + lat_reach) & (
        np.maximum(lat_a, lat_b) >= centre.lat - lat_reach
    )
    pieces = [lat_a[near], long_a[near], lat_b[near], long_b[near]]
    ends = [_distances(circle, *pieces[:2]), _distances(circle, *pieces[2:])]
    while pieces[0].size:
        lat_a, long_a, lat_b, long_b = pieces
        lat_m, long_m = (lat_a + lat_b) / 2, (long_a + long_b) / 2
        d_m = _distances(circle, lat_m, long_m)
        nearest = np.minimum(np.minimum(*ends), d_m)
        if (nearest <= reach_m).any():
            return True
        floor = _least_distance(pieces, ends, d_m)
        undecided = floor <= reach_m
        if (nearest[undecided] - floor[undecided] <= _GENEROUS_M).any():
            return True
        if np.count_nonzero(undecided) > _MAX_PIECES:
            return True
        first = [lat_a, long_a, lat_m, long_m, ends[0], d_m]
        second = [lat_m, long_m, lat_b, long_b, d_m, ends[1]]
        halves = [
            np.concatenate([a[undecided], b[undecided]]) for a, b in zip(first, second, strict=True)
        ]
        pieces, ends = halves[:4], halves[4:]
    return False


def _far_away(circle: Circle, region: Planar) -> bool:
    """A quick no: the middle of the region's bounds is further than all of them reach."""
    south, west, north, east = region.bounds
    equatorward = 0.0 if south <= 0.0 <= north else min(abs(south), abs(north))
    half_m = (
        geodesy.MAX_CURVATURE_RADIUS_M
        / 2
        * hypot(radians(north - south), radians(east - west) * cos(radians(equatorward)))
    )
    middle = (south + north) / 2, (west + east) / 2
    away_m = geodesy.distance_m(circle.centre.lat, circle.centre.long, *middle)
    return away_m - half_m > circle.radius_m + 1.0


def circle_rim(circle: Circle, radius_m: float, corners: int) -> tuple[Floats, Floats]:
    """Latitudes and longitudes at a distance from a circle's centre, in all directions.

    Longitudes are counted on past ±180 from the centre's.
    """
    centre = circle.centre
    here = np.zeros(corners)
    azimuths = np.linspace(0.0, 360.0, corners, endpoint=False)
    longs, lats, _ = geodesy.WGS84.fwd(
        here + centre.long, here + centre.lat, azimuths, here + radius_m
    )
    return np.asarray(lats), centre.long + (longs - centre.long + 180.0) % 360.0 - 180.0


_HULL_CORNERS = 48
_MAX_HULL_M = 500_000.0


def circle_hull(circle: Circle) -> Planar | None:
    """A polygon about a circle, wider by some thousandths of its radius; None near a pole.

    For those who ask about many areas and prefer one quick, generous answer each.
    """
    bounds = circle.bounds
    if (
        circle.radius_m > _MAX_HULL_M
        or bounds.width > 90.0
        or not -89.0 < bounds.min_lat <= bounds.max_lat < 89.0
    ):
        return None
    wider_m = circle.radius_m / np.cos(np.pi / _HULL_CORNERS) * 1.001 + 0.01
    lats, longs = circle_rim(circle, wider_m, _HULL_CORNERS)
    pieces = [lats, longs, np.roll(lats, -1), np.roll(longs, -1)]
    ends = [_distances(circle, *pieces[:2]), _distances(circle, *pieces[2:])]
    middles = _distances(circle, (pieces[0] + pieces[2]) / 2, (pieces[1] + pieces[3]) / 2)
    if (_least_distance(pieces, ends, middles) < circle.radius_m).any():
        return None  # an edge might cut into the circle
    return planar.Planar(planar.wrapped(planar.polygon(lats, longs)))


def _distances(circle: Circle, lats: Floats, longs: Floats) -> Floats:
    return geodesy.distances_m(circle.centre.lat, circle.centre.long, lats, longs)


def _least_distance(pieces: list[Floats], ends: list[Floats], d_m: Floats) -> Floats:
    """A bound from below on each piece's distance from the centre.

    The better of two. From the middle, no point of the piece is further than half its length.
    And along ``lat = at, long = bt`` the distance ``f`` bends upwards by at most
    ``speed² / distance`` (the surface is nowhere saddle-shaped) plus the covariant
    acceleration ``≤ (2|b| + 0.011|a|) * speed`` (0.011 for the flattening), so it dips below
    its ends by at most an eighth of that.
    """
    lat_a, long_a, lat_b, long_b = pieces
    a, b = np.radians(np.abs(lat_b - lat_a)), np.radians(np.abs(long_b - long_a))
    equatorward = np.where(lat_a * lat_b <= 0, 0.0, np.minimum(np.abs(lat_a), np.abs(lat_b)))
    axis_m = geodesy.MAX_CURVATURE_RADIUS_M * np.cos(np.radians(equatorward))
    speed = np.hypot(a * geodesy.MAX_CURVATURE_RADIUS_M, b * axis_m)
    from_middle: Floats = d_m - speed / 2
    bend = speed**2 / np.maximum(from_middle, 1e-3) + (2 * b + 0.011 * a) * speed
    from_ends = np.where(from_middle > 0, np.minimum(*ends) - bend / 8, -np.inf)
    return np.maximum(from_middle, from_ends)
