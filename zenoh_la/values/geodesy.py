"""Distances on the WGS84 ellipsoid.

`distance_m` is the reference: pyproj's geodesic (Karney), good to some nanometres. What is
here beside it are bounds that are *provable*, so that a fast path can decide most cases
without it and never differently.
"""

from __future__ import annotations

from functools import lru_cache
from math import asin, cos, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray
from pyproj import Geod

Floats = NDArray[np.float64]

WGS84 = Geod(ellps="WGS84")
EQUATOR_RADIUS_M = WGS84.a
E2 = WGS84.es
# Every normal section of the ellipsoid has a radius of curvature between these two: the
# meridian's at the equator, and the meridian's at the poles.
MIN_CURVATURE_RADIUS_M = EQUATOR_RADIUS_M * (1 - E2)
MAX_CURVATURE_RADIUS_M = EQUATOR_RADIUS_M / sqrt(1 - E2)
RADIAN = pi / 180.0
HALF_EQUATOR_M = pi * EQUATOR_RADIUS_M
M_PER_DEGREE = 111_194.93

# Cartesian coordinates are off by some nanometres, and so is the geodesic.
ROUNDING_M = 1e-6


def distance_m(lat_a: float, long_a: float, lat_b: float, long_b: float) -> float:
    """Length of the shortest path between two places on the ellipsoid."""
    length: float = WGS84.inv(long_a, lat_a, long_b, lat_b)[2]
    return length


def distances_m(lat: float, long: float, lats: Floats, longs: Floats) -> Floats:
    """`distance_m` from one place to many."""
    lengths: Floats = WGS84.inv(longs * 0.0 + long, lats * 0.0 + lat, longs, lats)[2]
    return lengths


def cartesian(lat: float, long: float) -> tuple[float, float, float]:
    """Earth-centred coordinates in metres of a place on the ellipsoid."""
    # Hot: once per message and place. `radians` would be the same product, and a call.
    phi = lat * RADIAN
    lam = long * RADIAN
    sin_phi = sin(phi)
    n = EQUATOR_RADIUS_M / sqrt(1.0 - E2 * sin_phi * sin_phi)
    p = n * cos(phi)
    return p * cos(lam), p * sin(lam), n * (1.0 - E2) * sin_phi


@lru_cache(maxsize=256)  # few radii are in use, and circles that share the limits are smaller
def chord_limits(radius_m: float) -> tuple[float, float]:
    """Squared straight-line distances that decide "within ``radius_m``" without a geodesic.

    Returns ``(inside, outside)``: a squared chord below ``inside`` is a geodesic within the
    radius, one above ``outside`` is not; in between only the geodesic can tell.

    A path on the surface is never shorter than the chord, which gives ``outside``. No
    geodesic bends more sharply than `MIN_CURVATURE_RADIUS_M`, so its chord is at least that
    of a circular arc of this radius and the same length (Schur's comparison theorem, valid up
    to half the circle; nearer the antipode every chord is longer than the arc's diameter).
    For a radius of 1 km the undecided ring is 2 µm wide, for 200 km 8 m.
    """
    outside = (radius_m + ROUNDING_M) ** 2
    half_angle = radius_m / (2 * MIN_CURVATURE_RADIUS_M)
    if half_angle >= pi / 2:
        return -1.0, outside
    inside = 2 * MIN_CURVATURE_RADIUS_M * sin(half_angle) - ROUNDING_M
    return (inside * inside if inside > 0 else -1.0), outside


def reach_degrees(lat: float, radius_m: float) -> tuple[float, float]:
    """How far in latitude and longitude a circle can reach at most (never less than it does).

    A degree of latitude is shortest where the meridian bends most. A place that differs by an
    angle in longitude is at least ``p * sin(angle)`` away, ``p`` being the distance from the
    Earth's axis; a circle as wide as ``p`` may reach every longitude.
    """
    reach_m = radius_m + ROUNDING_M
    phi = lat * RADIAN
    sin_phi = sin(phi)
    axis_distance = EQUATOR_RADIUS_M * cos(phi) / sqrt(1.0 - E2 * sin_phi * sin_phi)
    long_reach = asin(reach_m / axis_distance) / RADIAN if reach_m < axis_distance else 180.0
    return reach_m / MIN_CURVATURE_RADIUS_M / RADIAN, long_reach
