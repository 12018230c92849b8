"""The MGRS grid: its zones, the letters of its squares, and its coordinates.

Which cell a position belongs to is the `mgrs` package's answer, always. It rounds to half a
millimetre (`ROUNDING_M` is more than that), and draws its zones a hair's breadth off their edges
(`zone_reach`).

Grid coordinates are metres of easting and northing: UTM in the numbered zones, UPS at the
poles, both by PROJ.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from math import ceil, radians, sin
from typing import Any, NamedTuple

import numpy as np
from pyproj import Transformer
from pyproj.enums import TransformDirection
from pyproj.transformer import TransformerFromPipeline, TransformerUnsafe

from zenoh_la.values.areas import GeographicRange
from zenoh_la.values.coordinates import Coordinates
from zenoh_la.values.geodesy import Floats

SQUARE_M = 100_000
_NEAR_DEG = 1e-4

_BANDS = "CDEFGHJKLMNPQRSTUVWX"
POLAR = {"A": (-90, -80, -180, 0), "B": (-90, -80, 0, 180)}
POLAR |= {"Y": (84, 90, -180, 0), "Z": (84, 90, 0, 180)}
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
POLE_M = 2_000_000  # false easting and northing of both poles

ROUNDING_M = 0.01


class ZoneEdges(NamedTuple):
    """The parallels and meridians between which a grid zone lies."""

    min_lat: float
    max_lat: float
    min_long: float
    max_long: float


@lru_cache(maxsize=2048)
def zone_edges(zone: str) -> ZoneEdges | None:
    """The edges of a grid zone such as ``33T`` or ``Z``; None if there is none of that name."""
    if zone in POLAR:
        return ZoneEdges(*map(float, POLAR[zone]))
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


@lru_cache(maxsize=2048)
def zone_reach(zone: str) -> ZoneEdges:
    """The closed rectangle of all places that are given to a zone, as measured.

    An edge belongs to the zone beyond it, with 4.48e-9 degrees before it in longitude (but not
    before 9°, 21° and 33° in band X) and 8e-12 in latitude. `MgrsCell.at` moves 6e-8 degrees
    south of the equator to the north of it, and 1.1e-8 west of Norway's zone into it. Bands C
    and X reach 1.003e-5 degrees into the polar zones.
    """
    edges = zone_edges(zone)
    assert edges is not None
    south, north, west, east = edges
    if zone in POLAR:
        low, high = (south, -80.00001) if zone in "AB" else (84.00001, north)
        return ZoneEdges(low, high, west - 1e-4, east + 1e-4)
    south -= {"C": 1.1e-5, "N": 6.1e-8}.get(zone[2], 1e-11)
    north -= {"X": -1.1e-5, "M": 5e-8}.get(zone[2], 4e-12)
    return ZoneEdges(south, north, west - 1.2e-8, east if east in (9, 21, 33) else east - 4e-9)


def zones_near(area: GeographicRange) -> list[str]:
    """The grid zones that may have places of an area, and some more."""
    first, last = (
        min(max(int((lat + 80) // 8), 0), len(_BANDS) - 1)
        for lat in (area.min_lat - _NEAR_DEG, area.max_lat + _NEAR_DEG)
    )
    bands = _BANDS[first : last + 1]
    west = int((area.min_long + 180) // 6)
    count = int(area.width // 6) + 4  # one more on either side: irregular zones reach over
    numbers = sorted({(west - 1 + i) % 60 + 1 for i in range(min(count, 60))})
    near = [f"{number:02}{band}" for number in numbers for band in bands]
    if area.min_lat < -80 + _NEAR_DEG:
        near += "AB"
    if area.max_lat > 84 - _NEAR_DEG:
        near += "YZ"
    return [zone for zone in near if zone not in _MISSING]


@lru_cache(maxsize=2048)
def square_letters(zone: str) -> tuple[str, str]:
    """The letters that columns and rows of 100 km squares can have in a zone."""
    if zone in POLAR:
        return _POLAR_COLUMNS[zone], _POLAR_ROWS[zone]
    return _COLUMNS[int(zone[:2]) % 3], _ROWS


def square_origin(zone: str, square: str) -> tuple[int, int]:
    """Easting and northing in metres of the south-west corner of a 100 km square."""
    columns, rows = square_letters(zone)
    column, row = columns.index(square[0]), rows.index(square[1])
    if zone in POLAR:
        first_row_m = POLE_M - len(rows) // 2 * SQUARE_M
        first_column_m = POLE_M - (len(columns) * SQUARE_M if zone in "AY" else 0)
        return first_column_m + column * SQUARE_M, first_row_m + row * SQUARE_M
    if int(zone[:2]) % 2 == 0:
        row -= 5
    lowest = _band_northing_m(zone[2]) - 350_000  # off the middle of the zone it sinks by < 150 km
    cycles = ceil((lowest - row * SQUARE_M) / _ROW_CYCLE_M)
    return (column + 1) * SQUARE_M, row * SQUARE_M + cycles * _ROW_CYCLE_M


def square_at(zone: str, easting: float, northing: float) -> str | None:
    """The letters of the 100 km square at a grid position; None beyond the lettered columns."""
    columns, rows = square_letters(zone)
    if zone in POLAR:
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


_projections: dict[str, Transformer] = {}
_projecting = threading.Lock()


def _projected(zone: str, x: Any, y: Any, *, inverse: bool = False) -> tuple[Any, Any]:
    """PROJ's answer, in any thread.

    pyproj ties an object to the thread that uses it, and frees the thread's context when Python
    forgets the thread. Zenoh's threads are forgotten after every callback and come again, to a
    context that is gone: the process crashes. So each projection is made in a thread of its own,
    whose context lives as long as the projection, and used by one thread at a time.
    """
    name = zone if zone in POLAR else f"{zone[:2]}{'S' if zone[2] < 'N' else 'N'}"
    direction = TransformDirection.INVERSE if inverse else TransformDirection.FORWARD
    with _projecting:
        if name not in _projections:
            maker = threading.Thread(target=_make_projection, args=(name,))
            maker.start()
            maker.join()
        return _projections[name].transform(x, y, direction=direction)


def _make_projection(name: str) -> None:
    south = name in "AB" or name.endswith("S")
    kind = "+proj=ups" if name in POLAR else f"+proj=utm +zone={int(name[:2])}"
    text = f"{kind}{' +south' if south else ''} +ellps=WGS84 +units=m +no_defs"
    made = TransformerFromPipeline(text.encode())()
    _projections[name] = Transformer(TransformerUnsafe(made))


def grid_positions(zone: str, lats: Floats, longs: Floats) -> tuple[Floats, Floats]:
    """Easting and northing of places, in the grid of a zone that need not be their own."""
    eastings, northings = _projected(zone, longs, lats)
    return eastings, northings


def places(zone: str, eastings: Floats, northings: Floats) -> tuple[Floats, Floats]:
    """Latitudes and longitudes of grid positions."""
    longs, lats = _projected(zone, eastings, northings, inverse=True)
    return lats, longs


def cell_middle(zone: str, easting: int, northing: int, size_m: int) -> Coordinates:
    """The place at the middle of a square cell, be it in its zone or not."""
    half_m = size_m / 2
    long, lat = _projected(zone, easting + half_m, northing + half_m, inverse=True)
    return Coordinates(lat, (long + 180.0) % 360.0 - 180.0)


def grid_bounds(zone: str, area: GeographicRange) -> tuple[float, float, float, float] | None:
    """A grid rectangle ``(west, south, east, north)`` that holds what ``area`` has of a zone.

    None if the area lies wholly outside. The rectangle is a little larger than need be.
    """
    reach = zone_reach(zone)
    south, north = max(area.min_lat, reach.min_lat), min(area.max_lat, reach.max_lat)
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
    margin = ROUNDING_M + 0.001 * max(np.ptp(e), np.ptp(n))
    return e.min() - margin, n.min() - margin, e.max() + margin, n.max() + margin


def _common_longitudes(zone: str, area: GeographicRange) -> list[tuple[float, float]]:
    _, _, west, east = zone_reach(zone)
    if zone in POLAR and (area.max_lat > 90 - 0.01 or area.min_lat < -90 + 0.01):
        return [(west, east)]  # near the pole any longitude may be this zone's
    common = []
    for turn in (-360.0, 0.0, 360.0):
        a, b = area.min_long + turn, area.min_long + area.width + turn
        if a <= east and b >= west:
            common.append((max(a, west), min(b, east)))
    return common
