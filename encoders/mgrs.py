"""MGRS: the shortest keys; areas become a few cells of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zenoh_la.encoders.interface import Location, check_interested
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs_cover import DEFAULT_MAX_CELLS, cover
from zenoh_la.errors import InvalidLocationError, LocationKeyError
from zenoh_la.keys import MGRS, LocationKey, Role
from zenoh_la.values import Area, Coordinates, MgrsCell
from zenoh_la.values.checks import whole


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: of a publisher, one metre wide; of an interest, as wide as it asked for."""

    place: MgrsCell
    role: ClassVar[Role | None] = None

    def matches(self, other: Location) -> bool | None:
        if type(other) is Cell:
            mine, its = self.place.path, other.place.path
            return mine.startswith(its) or its.startswith(mine)
        if type(other) is Point:
            return self.place.contains(other.place)
        if type(other) is Region:
            return self.place.meets(other.place)
        return None


class MgrsEncoder:
    """Positions as 1 m cells, areas as few and large enough cells to cover them.

    >>> str(MgrsEncoder().encode_position(Coordinates(46.52275, 14.01002)))
    '$zla_m_33TVM2406852607'

    Args:
        max_cells: how many cells, and so location keys, an area may become.
    """

    name = MGRS

    def __init__(self, max_cells: int = DEFAULT_MAX_CELLS) -> None:
        self.max_cells = whole("max_cells", max_cells, 1, 10_000)

    def encode_position(self, position: Coordinates) -> LocationKey:
        return LocationKey.of_mgrs(MgrsCell.at(position).text)

    def encode_area(self, area: Area, role: Role) -> tuple[LocationKey, ...]:
        check_interested(role)
        return tuple(LocationKey.of_mgrs(cell.text) for cell in cover(area, self.max_cells))

    def decode(self, key: LocationKey) -> Cell:
        try:
            return Cell(MgrsCell.parse(key.data))
        except InvalidLocationError as exc:
            raise LocationKeyError(key.written, "data", exc.problem) from exc
