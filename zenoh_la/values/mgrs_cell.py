"""A cell of the Military Grid Reference System, from a grid zone down to one square metre."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

import mgrs

from zenoh_la.errors import InvalidLocationError
from zenoh_la.values import mgrs_grid, mgrs_outline
from zenoh_la.values.areas import Area, Circle, GeographicRange, Polygon
from zenoh_la.values.checks import whole
from zenoh_la.values.coordinates import Coordinates
from zenoh_la.values.planar import Planar
from zenoh_la.values.rings import polygons_of

MAX_DIGITS = 5
Digits = int | Literal["zone"]
"""0 (a 100 km square) to 5 (one metre), or ``"zone"`` for a whole grid zone."""

_package = mgrs.MGRS()
_CELL = re.compile(
    r"(?P<zone>(?P<number>[0-9]{1,2})[C-HJ-NP-X]|[ABYZ])"
    r"(?:(?P<square>[A-HJ-NP-Z]{2})(?P<digits>(?:[0-9][0-9]){0,5}))?"
)
# Two slivers in which the package writes what it cannot read itself, because it rounds to half
# a millimetre: south of the equator band M with a square of band N, and west of 3° east in band
# V (where zone 31 ends half way) a square that zone 31 does not have there.
_EQUATOR_SLIVER_DEG = 6e-8
_NORWAY_SLIVER_DEG = 1.1e-8


@dataclass(frozen=True, slots=True)
class MgrsCell:
    """A cell of the grid, and an area.

    ``path`` is the cell's place in the hierarchy: zone, square, then easting and northing
    digits in turn. A cell contains another one if its path begins the other's.

    >>> cell = MgrsCell.parse("10SGJ0644")
    >>> cell.path, cell.contains(Coordinates.from_mgrs("10SGJ0683244683"))
    ('10SGJ0464', True)
    """

    path: str
    _planar: Planar | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or MgrsCell.parse(_written(self.path)).path != self.path:
            raise InvalidLocationError("path", self.path, "is no path of an MGRS cell")

    @classmethod
    def parse(cls, text: Any) -> MgrsCell:
        """The cell that MGRS writes so: upper case, no spaces, zones with one or two digits."""
        match = _CELL.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            problem = "must be a zone, two letters and an even number of digits, at most ten"
            raise InvalidLocationError("mgrs", text, problem)
        zone, number, square, digits = match.groups()
        if number is not None and len(number) == 1:
            zone = f"0{zone}"
        if mgrs_grid.zone_edges(zone) is None:
            raise InvalidLocationError("mgrs", text, f"there is no grid zone {zone}")
        if square is None:
            return cls._trusted(zone)
        columns, rows = mgrs_grid.square_letters(zone)
        if square[0] not in columns or square[1] not in rows:
            problem = f"{square} is no 100 km square of grid zone {zone}"
            raise InvalidLocationError("mgrs", text, problem)
        return cls._trusted(zone + square + _interleaved(digits))

    @classmethod
    def at(cls, position: Coordinates, digits: Digits = MAX_DIGITS) -> MgrsCell:
        """The cell that a position lies in.

        >>> MgrsCell.at(Coordinates(46.52275, 14.01002)).text
        '33TVM2406852607'
        """
        lat, long = position.lat, position.long
        if -_EQUATOR_SLIVER_DEG < lat < 0.0:
            lat = 0.0
        elif 56.0 - _EQUATOR_SLIVER_DEG < lat < 64.0 and -_NORWAY_SLIVER_DEG < long - 3.0 < 0.0:
            long = 3.0
        if digits == "zone":
            return cls._trusted(_package.toMGRS(lat, long, MGRSPrecision=0)[:-2])
        digits = whole("digits", digits, 0, MAX_DIGITS)
        text = _package.toMGRS(lat, long, MGRSPrecision=digits)
        head = len(text) - 2 * digits
        return cls._trusted(text[:head] + _interleaved(text[head:]))

    @classmethod
    def _trusted(cls, path: str) -> MgrsCell:
        """A cell from a path known to be right: the check would cost twice the rest."""
        cell = object.__new__(cls)
        object.__setattr__(cell, "path", path)
        object.__setattr__(cell, "_planar", None)
        return cell

    @property
    def zone(self) -> str:
        return self.path[: _zone_length(self.path)]

    @property
    def digits(self) -> Digits:
        after_zone = len(self.path) - _zone_length(self.path)
        return (after_zone - 2) // 2 if after_zone else "zone"

    @property
    def text(self) -> str:
        """The cell as MGRS writes it, zones with two digits."""
        return _written(self.path)

    @property
    def size_m(self) -> int | None:
        """Length of a side in metres; None for a grid zone."""
        return None if self.digits == "zone" else 10 ** (MAX_DIGITS - self.digits)

    @property
    def corner_m(self) -> tuple[int, int]:
        """Easting and northing of the south-west corner in the grid of its zone."""
        if self.size_m is None:
            raise InvalidLocationError("mgrs", self.text, "a grid zone has no corner in the grid")
        head = _zone_length(self.path) + 2
        easting, northing = mgrs_grid.square_origin(self.zone, self.path[head - 2 : head])
        for i, size in enumerate(10**k for k in range(4, 4 - (len(self.path) - head) // 2, -1)):
            easting += int(self.path[head + 2 * i]) * size
            northing += int(self.path[head + 2 * i + 1]) * size
        return easting, northing

    def part(self, column: int, row: int) -> MgrsCell:
        """One of the hundred next smaller cells, counted from the south-west."""
        if self.digits in ("zone", MAX_DIGITS):
            raise InvalidLocationError("mgrs", self.text, "has no hundred parts")
        return self._trusted(f"{self.path}{whole('column', column, 0, 9)}{whole('row', row, 0, 9)}")

    @property
    def planar(self) -> Planar:
        """The outline: every place that lies in the cell, and at most metres more.

        Raises:
            InvalidLocationError: there is none, see `exists`.
        """
        if not self.exists:
            problem = "names no place: beyond the edge of its grid zone"
            raise InvalidLocationError("mgrs", self.text, problem)
        return self._region

    @property
    def exists(self) -> bool:
        """Whether there is such a place: squares may lie wholly beyond the edge of their zone."""
        return not self._region.geometry.is_empty

    @property
    def _region(self) -> Planar:
        region = self._planar
        if region is None:
            if self.size_m is None:
                outline = mgrs_outline.zone_outline(self.zone)
            else:
                outline = mgrs_outline.cell_outlines(self.zone, [self.corner_m], self.size_m)[0]
            region = Planar(outline)
            object.__setattr__(self, "_planar", region)
        return region

    @property
    def bounds(self) -> GeographicRange:
        return GeographicRange(*self.planar.bounds)

    @property
    def centre(self) -> Coordinates:
        """The middle of the cell, or of what is inside its zone if an edge cuts it."""
        if self.size_m is None:
            edges = mgrs_grid.zone_edges(self.zone)
            assert edges is not None  # a cell's zone exists
            return Coordinates(
                (edges.min_lat + edges.max_lat) / 2, (edges.min_long + edges.max_long) / 2
            )
        middle = mgrs_grid.cell_middle(self.zone, *self.corner_m, self.size_m)
        # The middle of 9 % of the 100 km squares lies in another zone.
        return middle if self.contains(middle) else self.planar.inner_place()

    def outline(self) -> Polygon:
        """The cell as a polygon, for those who know no MGRS."""
        return Polygon(polygons_of(self.planar.geometry))

    def contains(self, position: Coordinates) -> bool:
        """Whether the position's own cell lies in this one."""
        return MgrsCell.at(position).path.startswith(self.path)

    def meets(self, other: Area) -> bool:
        """Whether the two share a point; of two cells, whether one contains the other."""
        if isinstance(other, MgrsCell):
            return self.path.startswith(other.path) or other.path.startswith(self.path)
        if self.digits == MAX_DIGITS:
            answer = self._metre_meets(other)
            if answer is not None:
                return answer
        if not self.exists:
            return False
        if isinstance(other, GeographicRange | Polygon):
            return self.planar.meets(other.planar)
        return other.meets(self)

    def _metre_meets(self, other: Area) -> bool | None:
        """Whether a cell of one metre meets an area, if its middle tells: 8 µs instead of 80.

        The outline reaches at most 2 m from the middle.
        """
        middle = mgrs_grid.cell_middle(self.zone, *self.corner_m, 1)
        if isinstance(other, Circle):
            if other.centre.distance_m(middle) > other.radius_m + 3.0:
                return False
        elif middle.lat < other.bounds.min_lat - 3e-5 or middle.lat > other.bounds.max_lat + 3e-5:
            return False
        return True if other.contains(middle) and self.contains(middle) else None


def _zone_length(path: str) -> int:
    return 3 if path[0] <= "9" else 1


def _interleaved(digits: str) -> str:
    half = len(digits) // 2
    path = [""] * len(digits)
    path[0::2], path[1::2] = digits[:half], digits[half:]
    return "".join(path)


def _written(path: str) -> str:
    head = _zone_length(path) + 2 if path else 0
    return path[:head] + path[head::2] + path[head + 1 :: 2]
