"""MGRS cells by their paths: those above a place, those below a cell, those near an area.

A cell is found under its path. Each path knows which paths in use go on from it, so the cells
below one are reached without a search, and those near an area by going down where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from zenoh_la.encoders.mgrs import Cell
from zenoh_la.router_plugin.index.regions import RegionArea, area_box
from zenoh_la.values import GeographicRange, geodesy, mgrs_grid

T = TypeVar("T")

_Rectangle = tuple[float, float, float, float]
"""``west, south, east, north`` in metres of a zone's grid."""


class _Node(NamedTuple, Generic[T]):
    """A cell in which somebody is interested; equal cells share it."""

    cell: Cell
    idents: dict[int, T]


class CellTable(Generic[T]):
    """Cells, each under a number of its own, and whose they are."""

    __slots__ = ("_below", "_lengths", "_nodes")

    def __init__(self) -> None:
        self._nodes: dict[str, _Node[T]] = {}
        self._below: dict[str, set[str]] = {}
        self._lengths: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, number: int, cell: Cell, ident: T) -> Cell:
        """Adds a cell; returns the equal one to keep, which all its interests share."""
        path = cell.place.path
        node = self._nodes.get(path)
        if node is None:
            node = self._nodes[path] = _Node(cell, {})
            self._lengths[len(path)] = self._lengths.get(len(path), 0) + 1
            if path not in self._below:
                self._link(path)
        node.idents[number] = ident
        return node.cell

    def _link(self, path: str) -> None:
        """Makes a path known to those above it, up to the first that is known itself."""
        while above := _above(path):
            known = self._below.get(above)
            if known is not None:
                known.add(path)
                return
            self._below[above] = {path}
            if above in self._nodes:
                return
            path = above

    def remove(self, number: int, cell: Cell) -> None:
        path = cell.place.path
        node = self._nodes[path]
        del node.idents[number]
        if node.idents:
            return
        del self._nodes[path]
        self._lengths[len(path)] -= 1
        if not self._lengths[len(path)]:
            del self._lengths[len(path)]
        while path not in self._below and path not in self._nodes and (above := _above(path)):
            known = self._below[above]
            known.remove(path)
            if known:
                break
            del self._below[above]
            path = above

    def above(self, path: str, found: list[T]) -> None:
        """Adds to ``found`` whose cells contain the cell of that path, or are it."""
        nodes = self._nodes
        for length in self._lengths:
            if length <= len(path):
                node = nodes.get(path[:length])
                if node is not None:
                    found.extend(node.idents.values())

    def below(self, path: str, found: list[T]) -> None:
        """Adds to ``found`` whose cells lie in the cell of that path and are smaller."""
        todo = [*self._below.get(path, ())]
        while todo:
            path = todo.pop()
            node = self._nodes.get(path)
            if node is not None:
                found.extend(node.idents.values())
            todo.extend(self._below.get(path, ()))

    def meeting(self, area: RegionArea, found: list[T]) -> None:
        """Adds to ``found`` whose cells share a point with the area."""
        for node in self._near(area):
            if node.cell.place.meets(area):
                found.extend(node.idents.values())

    def _near(self, area: RegionArea) -> Iterator[_Node[T]]:
        around = _grown(area)
        for zone in mgrs_grid.zones_near(around):
            if zone in self._nodes:
                yield self._nodes[zone]
            if zone not in self._below:
                continue
            rectangle = mgrs_grid.grid_bounds(zone, around)
            if rectangle is not None:
                yield from self._within(zone, rectangle)

    def _within(self, zone: str, rectangle: _Rectangle) -> Iterator[_Node[T]]:
        """The nodes of a zone whose squares, grown by an outline's slack, meet a rectangle."""
        west, south, east, north = rectangle
        todo = [(p, *mgrs_grid.square_origin(zone, p[-2:]), 100_000) for p in self._below[zone]]
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
                for p in self._below.get(path, ())
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
