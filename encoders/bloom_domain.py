"""The grid on which Bloom filters are built: the same for all parties."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

from pybloom_live import BloomFilter

from zenoh_la.errors import InvalidLocationError, OutsideDomainError
from zenoh_la.keys import MAX_LOCATION_KEY_LENGTH
from zenoh_la.values import Area, Coordinates, GeographicRange
from zenoh_la.values.checks import finite, just_below, unique_fields, whole

WORD_BITS = 32
_FORMAT = "zenoh-la Bloom domain 1"
_FIELDS = ("min_lat", "min_long", "max_lat", "max_long", "rows", "columns")
_P = "false_positive_probability"

Cell = tuple[int, int]
"""Column and row, counted from the south-west."""


@dataclass(frozen=True, slots=True)
class BloomDomain:
    """A grid of rows and columns over a range, and how often a filter may err.

    Cells hold their southern and western edges; those of the last row and column hold their
    northern and eastern edges too.

    >>> domain = BloomDomain(GeographicRange(0, 0, 5, 5), rows=10, columns=10,
    ...                      false_positive_probability=0.25)
    >>> domain.bits, domain.cell_at(Coordinates(2.2, 3.7))
    (320, (7, 4))
    """

    bounds: GeographicRange
    rows: int
    columns: int
    false_positive_probability: float
    _lats: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _longs: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _before_180: int = field(init=False, repr=False, compare=False)
    bits: int = field(init=False, repr=False, compare=False)
    fingerprint: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.bounds, GeographicRange):
            raise InvalidLocationError("bounds", self.bounds, "must be a GeographicRange")
        rows = whole("rows", self.rows, 1, 100_000)
        columns = whole("columns", self.columns, 1, 100_000)
        p = finite(_P, self.false_positive_probability, 1e-9, 0.99)
        put = object.__setattr__
        put(self, "rows", rows)
        put(self, "columns", columns)
        put(self, _P, p)
        b = self.bounds
        put(self, "_lats", _edges("rows", b.min_lat, b.max_lat, rows))
        # Past the antimeridian an edge goes by its own name again (exactly: x - 360 does not
        # round there), so positions are compared with edges as they are, never moved.
        longs = _edges("columns", b.min_long, b.min_long + b.width, columns)
        before_180 = columns + 1 if not b.crosses_antimeridian else bisect_right(longs[:-1], 180.0)
        put(self, "_before_180", before_180)
        named = (x - 360.0 if x > 180.0 else x for x in longs[:-1])
        put(self, "_longs", (*named, b.max_long))
        if rows * columns > 1_000_000:
            raise InvalidLocationError("rows * columns", rows * columns, "at most a million cells")
        used = len(_library_filter(rows * columns, p).bitarray)
        put(self, "bits", ceil(used / WORD_BITS) * WORD_BITS)
        longest = self.bits // WORD_BITS * 9 + len("$zla_b_f_")
        if longest > MAX_LOCATION_KEY_LENGTH:
            problem = f"keys of up to {longest} characters, {MAX_LOCATION_KEY_LENGTH} are allowed"
            raise InvalidLocationError("rows * columns", rows * columns, problem)
        put(self, "fingerprint", self._fingerprint())

    def _fingerprint(self) -> str:
        """Sixteen hexadecimal digits that differ if grid, probability or hashing differ.

        The bits of two cells are part of it: a machine whose library hashes otherwise would
        lose messages in silence, so it must be found out when it reads the domain's file.
        """
        grid = " ".join(repr(value) for value in self._to_plain().values())
        ends = ((0, 0), (self.columns - 1, self.rows - 1))
        bits = (",".join(map(str, self.element(cell))) for cell in ends)
        return hashlib.sha256(";".join((grid, *bits)).encode()).hexdigest()[:16]

    def cell_at(self, position: Coordinates) -> Cell:
        """The cell that holds a position.

        Raises:
            OutsideDomainError: none does.
        """
        if not self.bounds.contains(position):
            problem = f"lies outside the Bloom domain {self.bounds}"
            raise OutsideDomainError("position", position, problem)
        row = min(bisect_right(self._lats, position.lat) - 1, self.rows - 1)
        long = position.long
        if position.lat in (90.0, -90.0):
            return 0, row  # one place with every longitude: one cell
        if long == 180.0 and self.bounds.min_long == -180.0:
            long = -180.0  # one meridian with two names
        if long >= self.bounds.min_long:
            column = bisect_right(self._longs, long, 0, self._before_180) - 1
        else:
            column = bisect_right(self._longs, long, self._before_180) - 1
        return min(column, self.columns - 1), row

    def range_of(self, cell: Cell) -> GeographicRange:
        """A cell with all its edges."""
        column, row = cell
        west, east = self._longs[column], self._longs[column + 1]
        if west == 180.0 > east:
            west = -180.0  # it begins at the antimeridian, which has two names
        return GeographicRange(self._lats[row], west, self._lats[row + 1], east)

    def _positions_of(self, cell: Cell) -> GeographicRange:
        """The closed range that holds exactly the positions of a cell."""
        column, row = cell
        closed = self.range_of(cell)
        north, east = closed.max_lat, closed.max_long
        full_circle = self._longs[0] == -180.0 and self._longs[-1] == 180.0
        if column < self.columns - 1 or full_circle:
            east = just_below(east)
        if row < self.rows - 1:
            north = just_below(north)
        return GeographicRange(closed.min_lat, closed.min_long, north, east)

    def cells_meeting(self, area: Area) -> list[Cell]:
        """Every cell that shares a point with an area: the smallest set that covers it.

        Raises:
            OutsideDomainError: there is none.
        """
        cells = [cell for cell in self._cells_near(area.bounds) if self._meets(cell, area)]
        poles = (Coordinates(90.0, 0.0), Coordinates(-90.0, 0.0))
        cells += [self.cell_at(p) for p in poles if area.contains(p) and self.bounds.contains(p)]
        if not cells:
            problem = f"lies outside the Bloom domain {self.bounds}"
            raise OutsideDomainError("area", area, problem)
        return sorted(set(cells))

    def _meets(self, cell: Cell, area: Area) -> bool:
        # Most cells of a large area have their south-western corner in it, which is 50 times as
        # quick to see.
        corner = Coordinates(self._lats[cell[1]], self._longs[cell[0]])
        return area.contains(corner) or area.meets(self._positions_of(cell))

    def _cells_near(self, near: GeographicRange) -> Iterator[Cell]:
        """Cells that an area within ``near`` may meet, and some more."""
        first, last = (
            min(bisect_right(self._lats, lat), self.rows) - 1
            for lat in (near.min_lat, near.max_lat)
        )
        rows = range(max(first, 0), last + 1)
        for column in range(self.columns):
            strip = self._positions_of((column, 0))
            if near.meets(GeographicRange(-90.0, strip.min_long, 90.0, strip.max_long)):
                yield from ((column, row) for row in rows)

    def element(self, cell: Cell) -> tuple[int, ...]:
        """The numbers of the bits that are set for one cell, the lowest first."""
        column, row = cell
        one = _library_filter(self.rows * self.columns, self.false_positive_probability)
        one.add(f"{column}-{row}")
        return tuple(one.bitarray.search(1))

    def _to_plain(self) -> dict[str, Any]:
        grid = {"rows": self.rows, "columns": self.columns, _P: self.false_positive_probability}
        return {**self.bounds.to_dict(), **grid}

    def to_json(self) -> str:
        """The text of a domain file."""
        fields = {"format": _FORMAT, **self._to_plain(), "fingerprint": self.fingerprint}
        return json.dumps(fields, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> BloomDomain:
        """The domain that a domain file describes.

        ``format`` and ``fingerprint`` may be left out of a file written by hand; if there is a
        fingerprint it must fit.
        """
        if not isinstance(text, str | bytes):
            raise InvalidLocationError("domain", text, "must be a text")
        try:
            fields = json.loads(text, object_pairs_hook=unique_fields)
        except (ValueError, RecursionError) as exc:
            raise InvalidLocationError("domain", text, f"is not JSON: {exc}") from exc
        if not isinstance(fields, Mapping):
            raise InvalidLocationError("domain", fields, "must be a JSON object")
        known = {*_FIELDS, _P, "format", "fingerprint"}
        for name in fields:
            if name not in known:
                raise InvalidLocationError(name, fields[name], "is no field of a Bloom domain")
        for name in (*_FIELDS, _P):
            if name not in fields:
                raise InvalidLocationError(name, None, "is missing in the Bloom domain")
        if fields.get("format", _FORMAT) != _FORMAT:
            raise InvalidLocationError("format", fields["format"], f"must be {_FORMAT!r}")
        *edges, rows, columns = (fields[name] for name in _FIELDS)
        domain = cls(GeographicRange(*edges), rows, columns, fields[_P])
        written = fields.get("fingerprint", domain.fingerprint)
        if written != domain.fingerprint:
            problem = f"this machine makes it {domain.fingerprint}: file changed, or other hashing"
            raise InvalidLocationError("fingerprint", written, problem)
        return domain

    def to_file(self, path: str | Path) -> None:
        """Writes the file that all parties share."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def from_file(cls, path: str | Path) -> BloomDomain:
        """Reads the file that all parties share."""
        return cls.from_json(Path(path).read_bytes())


def _library_filter(capacity: int, error_rate: float) -> Any:
    return BloomFilter(capacity=capacity, error_rate=error_rate)


def _edges(name: str, low: float, high: float, count: int) -> tuple[float, ...]:
    edges = (*(low + (high - low) * i / count for i in range(count)), high)
    if any(a >= b for a, b in pairwise(edges)):
        raise InvalidLocationError(name, count, f"too many between {low} and {high} degrees")
    return edges
