"""Where the cells of the MGRS grid lie.

Which cell a position belongs to is the `mgrs` package's answer, always; it knows no outlines,
so they are drawn here. The package rounds to half a millimetre, and gives places within some
1e-9 degrees of a zone's edge (1.003e-5 at 84° north and 80° south) to the neighbour. An outline is
drawn generously enough to hold every place that the package puts into the cell, and a little
more, never less.

Grid coordinates are metres of easting and northing: UTM in the numbered zones, UPS at the
poles, both by PROJ.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from math import ceil, pi, radians, sin
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from pyproj import Proj
from shapely.geometry.base import BaseGeometry

from zenoh_la.values import planar
from zenoh_la.values.areas import GeographicRange
from zenoh_la.values.coordinates import Coordinates
from zenoh_la.values.geodesy import Floats

SQUARE_M = 100_000

_BANDS = "CDEFGHJKLMNPQRSTUVWX"
_POLAR = {"A": (-90, -80, -180, 0), "B": (-90, -80, 0, 180)}
_POLAR |= {"Y": (84, 90, -180, 0), "Z": (84, 90, 0, 180)}
# Norway's coast belongs to 32V, and Svalbard is four wide zones instead of seven.
_IRREGULAR = {"31V": (0, 3), "32V": (3, 12)}
_IRREGULAR |= {"31X": (0, 9), "33X": (9, 21), "35X": (21, 33), "37X": (33, 42)}
_MISSING = {"32X", "34X", "36X"}

_COLUMNS = ("STUVWXYZ", "ABCDEFGH", "JKLMNPQR")  # by zone number modulo 3
_ROWS = "ABCDEFGHJKLMNPQRSTUV"
_ROW_CYCLE_M = len(_ROWS) * SQUARE_M
_POLAR_COLUMNS = {"A": "JKLPQRSTUXYZ", "B": "ABCFGHJKLPQR", "Y": "RSTUXYZ", "Z": "ABCFGHJ"}
_POLAR_ROWS = {"A": "ABCDEFGHJKLMNPQRSTUVWXYZ", "Y": "ABCDEFGHJKLMNP"}
_POLAR_ROWS |= {"B": _POLAR_ROWS["A"], "Z": _POLAR_ROWS["Y"]}
_POLE_M = 2_000_000  # false easting and northing of both poles

_ROUNDING_M = 0.01
_ZONE_SLACK_DEG = 2e-5
_POLE_CAP_DEG = 1e-5  # so near a pole, rounding may turn a place to any longitude
_POLE_TURN_DEG = 0.05


class ZoneEdges(NamedTuple):
    """The parallels and meridians between which a grid zone lies."""

    min_lat: float
    max_lat: float
    min_long: float
    max_long: float


@lru_cache(maxsize=2048)
def zone_edges(zone: str) -> ZoneEdges | None:
    """The edges of a grid zone such as ``33T`` or ``Z``; None if there is none of that name."""
    if zone in _POLAR:
        return ZoneEdges(*map(float, _POLAR[zone]))
    number, band = zone[:-1], zone[-1:]
    if band not in _BANDS or not band or len(number) != 2 or not number.isdecimal():
        return None
    if zone in _MISSING or not 1 <= int(number) <= 60:
        return None
    south = -80.0 + 8 * _BANDS.index(band)
    north = 84.0 if band == "X" else south + 8
    west = -180 + 6 * (int(number) - 1)
    west, east = _IRREGULAR.get(zone, (west, west + 6))
    return ZoneEdges(south, north, float(west), float(east))


def zones_near(area: GeographicRange) -> list[str]:
    """The grid zones that may have places of an area, and some more."""
    first, last = (
        min(max(int((lat + 80) // 8), 0), len(_BANDS) - 1)
        for lat in (area.min_lat - _ZONE_SLACK_DEG, area.max_lat + _ZONE_SLACK_DEG)
    )
    bands = _BANDS[first : last + 1]
    west = int((area.min_long + 180) // 6)
    count = int(area.width // 6) + 4  # one more on either side: irregular zones reach over
    numbers = sorted({(west - 1 + i) % 60 + 1 for i in range(min(count, 60))})
    near = [f"{number:02}{band}" for number in numbers for band in bands]
    if area.min_lat < -80 + _ZONE_SLACK_DEG:
        near += "AB"
    if area.max_lat > 84 - _ZONE_SLACK_DEG:
        near += "YZ"
    return [zone for zone in near if zone not in _MISSING]


@lru_cache(maxsize=2048)
def square_letters(zone: str) -> tuple[str, str]:
    """The letters that columns and rows of 100 km squares can have in a zone."""
    if zone in _POLAR:
        return _POLAR_COLUMNS[zone], _POLAR_ROWS[zone]
    return _COLUMNS[int(zone[:2]) % 3], _ROWS


def square_origin(zone: str, square: str) -> tuple[int, int]:
    """Easting and northing in metres of the south-west corner of a 100 km square."""
    columns, rows = square_letters(zone)
    column, row = columns.index(square[0]), rows.index(square[1])
    if zone in _POLAR:
        first_row_m = _POLE_M - len(rows) // 2 * SQUARE_M
        first_column_m = _POLE_M - (len(columns) * SQUARE_M if zone in "AY" else 0)
        return first_column_m + column * SQUARE_M, first_row_m + row * SQUARE_M
    if int(zone[:2]) % 2 == 0:
        row -= 5
    lowest = _band_northing_m(zone[2]) - 350_000  # off the middle of the zone it sinks by < 150 km
    cycles = ceil((lowest - row * SQUARE_M) / _ROW_CYCLE_M)
    return (column + 1) * SQUARE_M, row * SQUARE_M + cycles * _ROW_CYCLE_M


def square_at(zone: str, easting: float, northing: float) -> str | None:
    """The letters of the 100 km square at a grid position; None beyond the lettered columns."""
    columns, rows = square_letters(zone)
    if zone in _POLAR:
        column = int((easting - square_origin(zone, columns[0] + rows[0])[0]) // SQUARE_M)
        row = int((northing - square_origin(zone, columns[0] + rows[0])[1]) // SQUARE_M)
    else:
        column = int(easting // SQUARE_M) - 1
        row = int(northing // SQUARE_M) + (5 if int(zone[:2]) % 2 == 0 else 0)
        row %= len(rows)
    if not (0 <= column < len(columns) and 0 <= row < len(rows)):
        return None
    return columns[column] + rows[row]


def _band_northing_m(band: str) -> float:
    """Northing of a band's southern edge in the middle of a zone (to some metres)."""
    lat = -80.0 + 8 * _BANDS.index(band)
    phi = radians(lat)
    meridian_m = 111_132.95 * lat - 16_038.5 * sin(2 * phi) + 16.83 * sin(4 * phi)
    return 0.9996 * meridian_m + (10_000_000 if lat < 0 else 0)


class _Projections(threading.local):
    """PROJ objects must not be shared between threads."""

    def __init__(self) -> None:
        self.by_zone: dict[str, Proj] = {}


_projections = _Projections()


def _projection(zone: str) -> Proj:
    known = _projections.by_zone
    name = zone if zone in _POLAR else f"{zone[:2]}{'S' if zone[2] < 'N' else 'N'}"
    if name not in known:
        if zone in _POLAR:
            known[name] = Proj(proj="ups", south=zone in "AB", ellps="WGS84")
        else:
            south = name.endswith("S")
            known[name] = Proj(proj="utm", zone=int(zone[:2]), south=south, ellps="WGS84")
    return known[name]


def grid_positions(zone: str, lats: Floats, longs: Floats) -> tuple[Floats, Floats]:
    """Easting and northing of places, in the grid of a zone that need not be their own."""
    eastings, northings = _projection(zone)(longs, lats)
    return eastings, northings


def _places(zone: str, eastings: Floats, northings: Floats) -> tuple[Floats, Floats]:
    longs, lats = _projection(zone)(eastings, northings, inverse=True)
    return lats, longs


def cell_middle(zone: str, easting: int, northing: int, size_m: int) -> Coordinates:
    """The place at the middle of a square cell, be it in its zone or not."""
    long, lat = _projection(zone)(easting + size_m / 2, northing + size_m / 2, inverse=True)
    return Coordinates(lat, (long + 180.0) % 360.0 - 180.0)


def grid_bounds(zone: str, area: GeographicRange) -> tuple[float, float, float, float] | None:
    """A grid rectangle ``(west, south, east, north)`` that holds what ``area`` has of a zone.

    None if the area lies wholly outside. The rectangle is a little larger than need be.
    """
    edges = zone_edges(zone)
    assert edges is not None
    south = max(area.min_lat, edges.min_lat - _ZONE_SLACK_DEG)
    north = min(area.max_lat, edges.max_lat + _ZONE_SLACK_DEG)
    spans = [] if south > north else _common_longitudes(zone, area)
    if not spans:
        return None
    eastings, northings = [], []
    for west, east in spans:
        steps = np.linspace(0.0, 1.0, 65)
        longs, lats = west + (east - west) * steps, south + (north - south) * steps
        for lat, long in ((south, longs), (north, longs), (lats, west), (lats, east)):
            e, n = grid_positions(zone, lat + 0.0 * steps, long + 0.0 * steps)
            eastings.append(e)
            northings.append(n)
    e, n = np.concatenate(eastings), np.concatenate(northings)
    # Between two of 65 samples an edge bulges by at most (1/64)²/8 of what it could at all.
    margin = _ROUNDING_M + 0.001 * max(np.ptp(e), np.ptp(n))
    return e.min() - margin, n.min() - margin, e.max() + margin, n.max() + margin


def _common_longitudes(zone: str, area: GeographicRange) -> list[tuple[float, float]]:
    edges = zone_edges(zone)
    assert edges is not None
    if zone in _POLAR and (area.max_lat > 90 - 0.01 or area.min_lat < -90 + 0.01):
        return [(edges.min_long, edges.max_long)]  # near the pole any longitude may be this zone's
    west, east = edges.min_long - _ZONE_SLACK_DEG, edges.max_long + _ZONE_SLACK_DEG
    common = []
    for turn in (-360.0, 0.0, 360.0):
        a, b = area.min_long + turn, area.min_long + area.width + turn
        if a <= east and b >= west:
            common.append((max(a, west), min(b, east)))
    return common


def zone_outline(zone: str) -> BaseGeometry:
    """The generous outline of a whole grid zone."""
    edges = zone_edges(zone)
    assert edges is not None
    slack = _ZONE_SLACK_DEG
    south, north = max(edges.min_lat - slack, -90.0), min(edges.max_lat + slack, 90.0)
    if zone in _POLAR:
        slack = 1e-4
    box = planar.wrapped(shapely.box(edges.min_long - slack, south, edges.max_long + slack, north))
    return _with_pole(box, 0.01, zone in "AB") if zone in _POLAR else box


def cell_outlines(zone: str, corners: Sequence[tuple[int, int]], size_m: int) -> NDArray[Any]:
    """The generous outlines of square cells, cut at the edges of their zone; empty beyond them.

    Args:
        zone: the grid zone of all cells.
        corners: easting and northing of their south-west corners.
        size_m: the length of their sides.
    """
    if zone in _POLAR:
        outlines = [_polar_outline(zone, *corner, size_m) for corner in corners]
    else:
        outlines = list(_utm_outlines(zone, corners, size_m))
    return np.array([planar.wrapped(outline) for outline in outlines], dtype=object)


# Pieces per edge: straight lines of the grid bend in longitude and latitude by up to 4e-7 of
# the square of their length (at 84°), so none of these is off by more than a metre.
_PIECES = {100_000: 64, 10_000: 16, 1_000: 4, 100: 1, 10: 1, 1: 1}


def _utm_outlines(zone: str, corners: Sequence[tuple[int, int]], size_m: int) -> NDArray[Any]:
    edges = zone_edges(zone)
    assert edges is not None
    pieces = _PIECES[size_m]
    margin = _ROUNDING_M + 4e-7 * (size_m / pieces) ** 2
    low, high = -margin, size_m + margin
    steps = np.linspace(low, high, pieces + 1)[:-1]
    back = (high + low) - steps
    e = np.concatenate([steps, np.full(pieces, high), back, np.full(pieces, low)])
    n = np.concatenate([np.full(pieces, low), steps, np.full(pieces, high), back])
    corner_e, corner_n = np.array(corners, dtype=float).T
    lats, longs = _places(
        zone, np.add.outer(corner_e, e).ravel(), np.add.outer(corner_n, n).ravel()
    )
    middle = (edges.min_long + edges.max_long) / 2
    longs = middle + (longs - middle + 180.0) % 360.0 - 180.0
    slack = _ZONE_SLACK_DEG
    outlines = shapely.clip_by_rect(
        shapely.polygons(np.column_stack([longs, lats]).reshape(len(corners), 4 * pieces, 2)),
        edges.min_long - slack,
        edges.min_lat - slack,
        edges.max_long + slack,
        edges.max_lat + slack,
    )
    return np.asarray(outlines, dtype=object)


def _polar_outline(zone: str, easting: int, northing: int, size_m: int) -> BaseGeometry:
    """A UPS square, seen from the pole: at each longitude, from a near to a far distance.

    The pole is a corner of squares and never inside one, so a square lies in one quadrant.
    It is described in that quadrant's own terms: x and y from the pole, both positive, and an
    angle from the y axis.
    """
    edges = zone_edges(zone)
    assert edges is not None
    south = zone in "AB"
    x, y = easting - _POLE_M, northing - _POLE_M
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
    near, far = near - _ROUNDING_M - 2 * bulge, far + _ROUNDING_M
    at_pole = near.min() <= 1.0
    turn = radians(_POLE_TURN_DEG) if at_pole else _ROUNDING_M / near.min()
    angles = np.concatenate([angles[:1] - turn, angles, angles[-1:] + turn])
    near, far = (np.concatenate([d[:1], d, d[-1:]]) for d in (np.maximum(near, 0.0), far))
    near_lats, far_lats = (_polar_latitudes(zone, d) for d in (near, far))
    away = (y < 0) if south else (y >= 0)  # UPS north runs along longitude 180, or 0 in the south
    longs = np.degrees(pi - angles if away else angles) * (1 if x >= 0 else -1)
    outline = shapely.Polygon(
        np.column_stack(
            [np.concatenate([longs, longs[::-1]]), np.concatenate([far_lats, near_lats[::-1]])]
        )
    )
    slack = _ZONE_SLACK_DEG
    clipped = shapely.clip_by_rect(
        outline, -540.0, max(edges.min_lat - slack, -90.0), 540.0, min(edges.max_lat + slack, 90.0)
    )
    return _with_pole(clipped, _POLE_CAP_DEG, south) if at_pole else clipped


def _polar_latitudes(zone: str, distances: Floats) -> Floats:
    """The latitudes at grid distances from the pole."""
    lats, _ = _places(zone, np.full(distances.size, float(_POLE_M)), _POLE_M + distances)
    return np.where(distances == 0.0, -90.0 if zone in "AB" else 90.0, lats)


def _with_pole(outline: BaseGeometry, cap_deg: float, south: bool) -> BaseGeometry:
    low, high = (-90.0, -90.0 + cap_deg) if south else (90.0 - cap_deg, 90.0)
    return shapely.unary_union([planar.wrapped(outline), shapely.box(-180.0, low, 180.0, high)])
