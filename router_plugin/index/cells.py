"""MGRS cells by their paths: those above a place, those below a cell, those near an area.

A cell is found under its path. Each path knows which paths in use go on from it, so the cells
below one are reached without a search, and those near an area by going down where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from zenoh_la.encoders.mgrs import Cell
from zenoh_la.router_plugin.index.regions import RegionArea, area_box
from zenoh_la.values import GeographicRange, geodesy, mgrs_grid

T = TypeVar("T")

_Rectangle = tuple[float, float, float, float]
"""``west, south, east, north`` in metres of a zone's grid."""
_PARTS = [f"{n:02}" for n in range(100)]


class _Node(Generic[T]):
    """A cell in which somebody is interested; equal cells share it.

    Most cells are one interest's: a dictionary for each would take 184 bytes more.
    """

    __slots__ = ("cell", "ident", "more", "number")

    def __init__(self, cell: Cell, number: int, ident: T) -> None:
        self.cell = cell
        self.number, self.ident = number, ident
        self.more: dict[int, T] | None = None

    def add(self, number: int, ident: T) -> None:
        if self.more is None:
            self.more = {}
        self.more[number] = ident

    def remove(self, number: int) -> bool:
        """False if that was the last one."""
        if not self.more:
            return False
        if number == self.number:
            self.number, self.ident = self.more.popitem()
        else:
            del self.more[number]
        if not self.more:
            self.more = None
        return True

    def find(self, found: list[T]) -> None:
        found.append(self.ident)
        if self.more is not None:
            found.extend(self.more.values())


class CellTable(Generic[T]):
    """Cells, each under a number of its own, and whose they are."""

    __slots__ = ("_below", "_lengths", "_nodes", "_squares")

    def __init__(self) -> None:
        self._nodes: dict[str, _Node[T]] = {}
        # Which of a square's hundred parts are in use, a bit each: sets took 2 kB a square.
        self._below: dict[str, int] = {}
        self._squares: dict[str, set[str]] = {}
        self._lengths: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, number: int, cell: Cell, ident: T) -> Cell:
        """Adds a cell; returns the equal one to keep, which all its interests share."""
        path = cell.place.path
        node = self._nodes.get(path)
        if node is not None:
            node.add(number, ident)
            return node.cell
        self._nodes[path] = _Node(cell, number, ident)
        self._lengths[len(path)] = self._lengths.get(len(path), 0) + 1
        if path not in self._below and path not in self._squares:
            self._link(path)
        return cell

    def _link(self, path: str) -> None:
        """Makes a path known to those above it, up to the first that is known itself."""
        while above := _above(path):
            last = path[-2:]
            if last.isdigit():
                known = self._below.get(above, 0)
                self._below[above] = known | 1 << int(last)
                if known:
                    return
            else:
                squares = self._squares.setdefault(above, set())
                squares.add(path)
                if len(squares) > 1:
                    return
            if above in self._nodes:
                return
            path = above

    def remove(self, number: int, cell: Cell) -> None:
        path = cell.place.path
        if self._nodes[path].remove(number):
            return
        del self._nodes[path]
        self._lengths[len(path)] -= 1
        if not self._lengths[len(path)]:
            del self._lengths[len(path)]
        while not self._in_use(path) and (above := _above(path)):
            last = path[-2:]
            if last.isdigit():
                left = self._below[above] & ~(1 << int(last))
                if left:
                    self._below[above] = left
                    break
                del self._below[above]
            else:
                self._squares[above].remove(path)
                if self._squares[above]:
                    break
                del self._squares[above]
            path = above

    def _in_use(self, path: str) -> bool:
        return path in self._below or path in self._nodes or path in self._squares

    def _parts(self, path: str) -> Iterable[str]:
        """The paths in use that go on from this one."""
        bits = self._below.get(path)
        if bits is None:
            return self._squares.get(path, ())
        return [path + part for n, part in enumerate(_PARTS) if bits >> n & 1]

    def above(self, path: str, found: list[T]) -> None:
        """Adds to ``found`` whose cells contain the cell of that path, or are it."""
        nodes = self._nodes
        for length in self._lengths:
            if length <= len(path):
                node = nodes.get(path[:length])
                if node is not None:
                    node.find(found)

    def below(self, path: str, found: list[T]) -> None:
        """Adds to ``found`` whose cells lie in the cell of that path and are smaller."""
        todo = [*self._parts(path)]
        while todo:
            path = todo.pop()
            node = self._nodes.get(path)
            if node is not None:
                node.find(found)
            todo.extend(self._parts(path))

    def meeting(self, area: RegionArea, found: list[T]) -> None:
        """Adds to ``found`` whose cells share a point with the area."""
        for node in self._near(area):
            if node.cell.place.meets(area):
                node.find(found)

    def _near(self, area: RegionArea) -> Iterator[_Node[T]]:
        around = _grown(area)
        for zone in mgrs_grid.zones_near(around):
            if zone in self._nodes:
                yield self._nodes[zone]
            if zone not in self._squares:
                continue
            rectangle = mgrs_grid.grid_bounds(zone, around)
            if rectangle is not None:
                yield from self._within(zone, rectangle)

    def _within(self, zone: str, rectangle: _Rectangle) -> Iterator[_Node[T]]:
        """The nodes of a zone whose squares, grown by an outline's slack, meet a rectangle."""
        west, south, east, north = rectangle
        todo = [(p, *mgrs_grid.square_origin(zone, p[-2:]), 100_000) for p in self._squares[zone]]
        while todo:
            path, easting, northing, size = todo.pop()
            # Outlines are drawn generously: by a metre in UTM, near a pole by up to 123 m at
            # the far end of a square of 100 km.
            slack = 10.0 + 0.01 * size
            if not (easting - slack <= east and easting + size + slack >= west):
                continue
            if not (northing - slack <= north and northing + size + slack >= south):
                continue
            node = self._nodes.get(path)
            if node is not None:
                yield node
            part = size // 10
            todo += [
                (p, easting + int(p[-2]) * part, northing + int(p[-1]) * part, part)
                for p in self._parts(path)
            ]


def _above(path: str) -> str:
    """The path of the next larger cell; empty for a grid zone."""
    zone_length = 3 if path[0] <= "9" else 1
    return path[:-2] if len(path) > zone_length else ""


_GROWN_M = 100.0


def _grown(area: RegionArea) -> GeographicRange:
    """The bounds and all places within 100 m of them.

    Circles meet cells generously, half a metre too early, so a cell just beyond the bounds
    must be asked too.
    """
    south, west, north, east = area_box(area)
    lat_reach = geodesy.reach_degrees(0.0, _GROWN_M)[0]
    south, north = max(south - lat_reach, -90.0), min(north + lat_reach, 90.0)
    long_reach = geodesy.reach_degrees(max(-south, north), _GROWN_M)[1]
    width = east - west + (360.0 if west > east else 0.0)
    if width + 2 * long_reach >= 360.0:
        return GeographicRange(south, -180.0, north, 180.0)
    west, east = west - long_reach, east + long_reach
    return GeographicRange(
        south,
        west + 360.0 if west < -180.0 else west,
        north,
        east - 360.0 if east > 180.0 else east,
    )
