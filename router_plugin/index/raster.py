"""Boxes in a raster of several sizes: which of them may hold a place, or meet another box?

A box lies in those cells of a level that it touches, a place in one cell of each level. Adding
``1.5 * 2**52`` to a number rounds it to a whole one, which is nearly all that a place costs per
level. Rounding never moves one place past another, so a box's cells hold every place that the
box holds. Longitudes 180 and -180 are in the last and the first column, and a box that touches
one of these touches both; the poles, where longitudes mean nothing, have tables of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from math import frexp
from typing import Generic, TypeVar

V = TypeVar("V")

Box = tuple[float, float, float, float]
"""``south, west, north, east`` in degrees; ``west > east`` crosses the antimeridian."""

Level = tuple[float, float, dict[float, dict[int, V]]]
"""Cells a degree, the step from one row's keys to the next one's, and the cells in use."""

WHOLE = 1.5 * 2.0**52
"""Rounds what it is added to; it stays in the keys of cells."""

# An area's longer side is two to four cells long: it lies in some 9 cells. Measured with circles of
# 1 km on 2 x 2 degrees: with cells twice as large `find` is 0.7 times as fast among 100,000, the
# same among fewer, and `set` 1.4 times.
_FINER = 2
_UNITS = 24
_PER_DEGREE = 2.0**_UNITS / 360.0  # the smallest cells are 2.4 m wide at the equator
_FEW = 64  # cells of a box: their offsets are remembered
_LARGEST = 21  # cells of 45 degrees; larger areas are in one cell that every place is in


class Raster(Generic[V]):
    """Values at boxes, each under a number of its own.

    Whoever is in a hurry goes through ``levels`` himself, as `at` does for places off the poles.
    """

    __slots__ = ("_count", "_known", "_north", "_south", "levels")

    def __init__(self) -> None:
        self._count = 0
        self._north: dict[int, V] = {}
        self._south: dict[int, V] = {}
        self._known: dict[int, Level[V]] = {}
        self.levels: list[Level[V]] = []

    def __len__(self) -> int:
        return self._count

    def add(self, number: int, boxes: Sequence[Box], value: V) -> None:
        """Puts a value at the boxes, all of them at the level of the largest."""
        shift = _shift(boxes)
        level = self._known.get(shift)
        if level is None:
            level = self._begin(shift)
        cells = level[2]
        for key in _keys(boxes, level):
            cell = cells.get(key)
            if cell is None:
                cells[key] = {number: value}
            else:
                cell[number] = value
        for south, _, north, _ in boxes:
            if north == 90.0:
                self._north[number] = value
            if south == -90.0:
                self._south[number] = value
        self._count += 1

    def _begin(self, shift: int) -> Level[V]:
        columns = 2.0 ** (_UNITS - shift) if shift <= _LARGEST else 0.0
        level = self._known[shift] = (columns / 360.0, 2.0 * columns, {})
        self.levels = list(self._known.values())
        return level

    def remove(self, number: int, boxes: Sequence[Box]) -> None:
        """Takes back an `add` with these boxes, and every cell that is empty then."""
        shift = _shift(boxes)
        level = self._known[shift]
        cells = level[2]
        for key in _keys(boxes, level):
            cell = cells[key]
            del cell[number]
            if not cell:
                del cells[key]
        if not cells:
            del self._known[shift]
            self.levels = list(self._known.values())
        self._north.pop(number, None)
        self._south.pop(number, None)
        self._count -= 1

    def at(self, lat: float, long: float) -> list[dict[int, V]]:
        """Tables which together have every value whose boxes hold the place, each once."""
        if lat == 90.0:
            return [self._north]
        if lat == -90.0:
            return [self._south]
        found = []
        for scale, step, cells in self.levels:
            cell = cells.get((lat * scale + WHOLE - WHOLE) * step + (long * scale + WHOLE))
            if cell is not None:
                found.append(cell)
        return found

    def near(self, box: Box) -> dict[int, V]:
        """Every value one of whose boxes shares a place with this one, and some more."""
        found: dict[int, V] = {}
        if box[2] == 90.0:
            found.update(self._north)
        if box[0] == -90.0:
            found.update(self._south)
        for level in self.levels:
            for cell in _cells_in(box, level):
                found.update(cell)
        return found


def _cells_in(box: Box, level: Level[V]) -> list[dict[int, V]]:
    """The cells in use that a box touches: asked for one by one, or all, whichever are fewer."""
    scale, step, cells = level
    south, west, north, east = box
    width = east - west if west <= east else east - west + 360.0
    if ((north - south) * scale + 2.0) * (width * scale + 3.0) <= 2.0 * len(cells) + 6.0:
        return [cells[key] for key in _keys((box,), level) if key in cells]
    bottom, top, left = (int(side * scale + WHOLE - WHOLE) for side in (south, north, west))
    count = int(step) // 2
    right = int(east * scale + WHOLE - WHOLE) + (0 if west <= east else count)
    touched = []
    for key, cell in cells.items():
        row, column = divmod(int(key - WHOLE) + count, 2 * count)
        if bottom <= row <= top and (column - count - left) % count <= right - left:
            touched.append(cell)
    return touched


def _shift(boxes: Sequence[Box]) -> int:
    """The level of boxes: which power of two of the smallest cells."""
    longest = 0.0
    for south, west, north, east in boxes:
        width = east - west if west <= east else east - west + 360.0
        longest = max(longest, north - south, width)
    shift = frexp(longest * _PER_DEGREE)[1] - _FINER
    return min(max(shift, 0), _LARGEST + 1)


def _columns(left: int, right: int, count: int) -> set[int]:
    """The columns from one to another, of so many round the Earth; the first is the last too."""
    half = count // 2
    if not count:
        return {0}
    last = min(right, left + count - 1)
    columns = {(column + half) % count - half for column in range(left, last + 1)}
    return columns | {half} if -half in columns else columns


def _keys(boxes: Sequence[Box], level: Level[V]) -> Collection[float]:
    """The cells of a level that boxes touch, each once."""
    scale, step, _ = level
    if len(boxes) > 1:
        return {key for box in boxes for key in _keys((box,), level)}
    south, west, north, east = boxes[0]
    half = step / 4.0
    bottom = south * scale + WHOLE - WHOLE
    left = west * scale + WHOLE - WHOLE
    rows = int(north * scale + WHOLE - WHOLE - bottom) + 1
    right = east * scale + WHOLE - WHOLE
    if west <= east and -half < left and right < half:
        first = WHOLE + bottom * step + left
        columns = int(right - left) + 1
        offsets = _offsets if rows * columns <= _FEW else _offsets.__wrapped__
        return [first + further for further in offsets(rows, columns, step)]
    around = _columns(int(left), int(right if west <= east else right + 2.0 * half), int(2 * half))
    return [WHOLE + (bottom + row) * step + column for row in range(rows) for column in around]


@lru_cache(maxsize=1024)
def _offsets(rows: int, columns: int, step: float) -> tuple[float, ...]:
    """How far the keys of so many rows and columns are from the first one."""
    return tuple(row * step + column for row in range(rows) for column in range(columns))
