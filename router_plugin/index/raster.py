"""Areas by where they lie: a raster of degrees, finer for smaller areas.

A hot path. The turn of 360 degrees is counted in ``2**24`` units (2.4 m at the equator), so
cells of every level are shifts of the same two whole numbers. Rounding to units never moves one
place past another, so an area's cells hold every place that its bounds hold. Longitudes 180 and
-180 are the same unit; the poles, where longitudes mean nothing, have tables of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

V = TypeVar("V")

Box = tuple[float, float, float, float]
"""``south, west, north, east`` in degrees; ``west > east`` crosses the antimeridian."""

_Span = tuple[int, int, int, int]
"""A box in units; its last column counts on past the turn if it crosses the antimeridian."""

_BITS = 24
_TURN = 1 << _BITS
_MASK = _TURN - 1
_ROW = _BITS + 1  # a cell's key: the level, then the row, then the column
_LEVEL = 2 * _ROW
# An area's longer side is one to two cells long: it lies in at most 3 x 3. Measured with circles
# of 1 km on 2 x 2 degrees: with cells twice as large `set` is 1.1 times as fast, but `find` half
# as fast among 100,000; with cells half as large `find` is 1.4 times as fast there and 1.2 times
# among 10,000, but `set` 0.6 times.
_FINER = 1
_LARGEST = 21  # cells of 45 degrees; areas of 90 degrees and more are in one short list


class Raster(Generic[V]):
    """Values at boxes, each under a number of its own."""

    __slots__ = ("_cells", "_everywhere", "_in_use", "_keys", "_levels", "_north", "_south")

    def __init__(self) -> None:
        self._cells: dict[int, dict[int, V]] = {}
        self._everywhere: dict[int, V] = {}
        self._north: dict[int, V] = {}
        self._south: dict[int, V] = {}
        self._keys: dict[int, tuple[int, ...]] = {}
        self._in_use: dict[int, int] = {}
        self._levels: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, number: int, boxes: Sequence[Box], value: V) -> None:
        """Puts a value at the boxes, all of them at the level of the largest."""
        spans, longest = [], 0
        for box in boxes:
            if box[2] == 90.0:
                self._north[number] = value
            if box[0] == -90.0:
                self._south[number] = value
            bottom, left, top, right = span = _span(box)
            spans.append(span)
            longest = max(longest, top - bottom, right - left)
        shift = max(longest.bit_length() - _FINER, 0)
        if shift > _LARGEST:
            self._keys[number] = ()
            self._everywhere[number] = value
            return
        keys = tuple(_keys_of(spans[0], shift))
        if len(spans) > 1:
            keys = tuple({key for span in spans for key in _keys_of(span, shift)})
        self._keys[number] = keys
        cells = self._cells
        for key in keys:
            cell = cells.get(key)
            if cell is None:
                cells[key] = {number: value}
            else:
                cell[number] = value
        self._use(shift, 1)

    def remove(self, number: int) -> None:
        """Takes back an `add`, and every cell that is empty then."""
        keys = self._keys.pop(number)
        if keys:
            cells = self._cells
            for key in keys:
                cell = cells[key]
                del cell[number]
                if not cell:
                    del cells[key]
            self._use(keys[0] >> _LEVEL, -1)
        else:
            del self._everywhere[number]
        self._north.pop(number, None)
        self._south.pop(number, None)

    def _use(self, shift: int, change: int) -> None:
        before = self._in_use.get(shift, 0)
        if before + change:
            self._in_use[shift] = before + change
        else:
            del self._in_use[shift]
        if before == 0 or before + change == 0:
            self._levels = [(shift, shift << _LEVEL) for shift in self._in_use]

    def at(self, lat: float, long: float) -> list[dict[int, V]]:
        """Tables which together have every value whose boxes hold the place, each once."""
        if lat == 90.0:
            return [self._north]
        if lat == -90.0:
            return [self._south]
        u = int((long + 180.0) / 360.0 * _TURN) & _MASK
        v = int((lat + 90.0) / 360.0 * _TURN)
        cells = self._cells
        found = [self._everywhere] if self._everywhere else []
        for shift, level in self._levels:
            cell = cells.get(level | v >> shift << _ROW | u >> shift)
            if cell is not None:
                found.append(cell)
        return found

    def near(self, box: Box) -> dict[int, V]:
        """Every value one of whose boxes shares a place with this one, and some more."""
        found = dict(self._everywhere)
        if box[2] == 90.0:
            found.update(self._north)
        if box[0] == -90.0:
            found.update(self._south)
        for cell in self._cells_in(_span(box)):
            found.update(cell)
        return found

    def _cells_in(self, span: _Span) -> Iterator[dict[int, V]]:
        """The occupied cells of a span: by asking for each, or for each one if it is wide."""
        bottom, left, top, right = span
        width, height = right - left, top - bottom
        asked = sum(((width >> s) + 2) * ((height >> s) + 2) for s, _ in self._levels)
        if asked <= 2 * len(self._cells):
            for shift, _ in self._levels:
                for key in _keys_of(span, shift):
                    cell = self._cells.get(key)
                    if cell is not None:
                        yield cell
            return
        for key, cell in self._cells.items():
            shift, row = key >> _LEVEL, key >> _ROW & _MASK
            if not bottom >> shift <= row <= top >> shift:
                continue
            column, columns = key & _MASK, _TURN >> shift
            if (column - (left >> shift)) % columns <= (right >> shift) - (left >> shift):
                yield cell


def _span(box: Box) -> _Span:
    south, west, north, east = box
    left, right = int((west + 180.0) / 360.0 * _TURN), int((east + 180.0) / 360.0 * _TURN)
    bottom, top = int((south + 90.0) / 360.0 * _TURN), int((north + 90.0) / 360.0 * _TURN)
    return bottom, left, top, right if west <= east else right + _TURN


def _keys_of(span: _Span, shift: int) -> list[int]:
    """The cells of a level that a span touches, each once."""
    bottom, left, top, right = span
    mask = _MASK >> shift
    first = left >> shift
    columns = [c & mask for c in range(first, min(right >> shift, first + mask) + 1)]
    level = shift << _LEVEL
    rows = range(level | bottom >> shift << _ROW, (level | top >> shift << _ROW) + 1, 1 << _ROW)
    return [row | column for row in rows for column in columns]
