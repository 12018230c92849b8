"""Covering an area by few MGRS cells, missing no point of it."""

from __future__ import annotations

from math import floor

import numpy as np

from zenoh_la.values import Area, Circle, MgrsCell, mgrs_grid, mgrs_outline
from zenoh_la.values.circle_meeting import circle_hull
from zenoh_la.values.mgrs_cell import MAX_DIGITS
from zenoh_la.values.mgrs_grid import SQUARE_M
from zenoh_la.values.planar import Planar

# `make bench`: 4 cells cover 10.2 times the surface of the areas with 2.4 keys each, 16 cover 4.8
# times with 8.8 keys, 64 cover 1.7 times with 48.5.
DEFAULT_MAX_CELLS = 16

_ZONE_M2 = 4.5e11  # 6 by 8 degrees in middle latitudes

GridBounds = tuple[float, float, float, float]


def cover(area: Area, max_cells: int = DEFAULT_MAX_CELLS) -> tuple[MgrsCell, ...]:
    """At most ``max_cells`` cells that together hold the whole area, in order.

    More only if the area lies in more grid zones than that. From the grid zones down, the
    largest cells give way to those of their parts that the area meets, as long as these are
    not too many; the ones with the fewest parts go first.
    """
    if isinstance(area, MgrsCell):
        return (area,)
    bounds = {}
    for zone in mgrs_grid.zones_near(area.bounds):
        in_grid = mgrs_grid.grid_bounds(zone, area.bounds)
        if in_grid is not None and MgrsCell.parse(zone).meets(area):
            bounds[zone] = in_grid
    region = _region(area)
    level = [MgrsCell.parse(zone) for zone in bounds]
    done: list[MgrsCell] = []
    while level:
        smaller: list[MgrsCell] = []
        most = max_cells - len(done) - len(level) + 1
        parts = {cell: _parts(cell, area, region, bounds[cell.zone], most) for cell in level}
        waiting = len(level)
        least = sum(map(_surface, (*done, *level))) / (10 * max_cells)
        for cell in sorted(level, key=lambda cell: len(parts[cell])):
            waiting -= 1
            room = max_cells - len(done) - len(smaller) - waiting
            if 0 < len(parts[cell]) <= room and _worth_it(cell, len(parts[cell]), least):
                smaller += parts[cell]
            else:
                done.append(cell)
        level = smaller
    return tuple(sorted(done, key=lambda cell: cell.path))


def _worth_it(cell: MgrsCell, parts: int, least: float) -> bool:
    """Whether each key more saves enough: else slivers would eat them up."""
    size = cell.size_m
    saved = _surface(cell) - parts * (SQUARE_M if size is None else size / 10) ** 2
    return saved >= least * (parts - 1)


def _surface(cell: MgrsCell) -> float:
    return _ZONE_M2 if cell.size_m is None else float(cell.size_m**2)


def _region(area: Area) -> Planar | None:
    """The area, or a little more, on the plane; None if it must be asked itself."""
    return circle_hull(area) if isinstance(area, Circle) else area.planar


def _parts(
    cell: MgrsCell, area: Area, region: Planar | None, bounds: GridBounds, most: int
) -> list[MgrsCell]:
    """The next smaller cells that the area meets; empty if there are none or clearly too many."""
    if cell.digits == MAX_DIGITS or most < 1:
        return []
    near = _squares(cell, bounds) if cell.digits == "zone" else _tenths(cell, bounds)
    # An area rarely fills less than a quarter of the rectangle about it: do not even look.
    if not near or len(near) > 4 * most + 4:
        return []
    if region is None:
        return [part for part in near if part.meets(area)]
    assert near[0].size_m is not None  # not a grid zone
    outlines = mgrs_outline.cell_outlines(cell.zone, [p.corner_m for p in near], near[0].size_m)
    return [near[i] for i in np.flatnonzero(region.meets_each(outlines))]


def _squares(zone: MgrsCell, bounds: GridBounds) -> list[MgrsCell]:
    """The 100 km squares of a grid zone within a grid rectangle."""
    west, south, east, north = (floor(edge / SQUARE_M) for edge in bounds)
    squares = []
    for column in range(west, east + 1):
        for row in range(south, north + 1):
            letters = mgrs_grid.square_at(zone.path, column * SQUARE_M, row * SQUARE_M)
            if letters is not None:
                squares.append(MgrsCell.parse(zone.path + letters))
    return squares


def _tenths(cell: MgrsCell, bounds: GridBounds) -> list[MgrsCell]:
    """Of the hundred next smaller cells, those within a grid rectangle."""
    easting, northing = cell.corner_m
    assert cell.size_m is not None  # not a grid zone
    step = cell.size_m // 10
    west, south, east, north = bounds
    columns, rows = (
        range(max(floor((low - corner) / step), 0), min(floor((high - corner) / step), 9) + 1)
        for low, high, corner in ((west, east, easting), (south, north, northing))
    )
    return [cell.part(column, row) for column in columns for row in rows]
