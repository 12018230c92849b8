"""Areas of interest in degrees: circles, ranges and polygons in rasters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from zenoh_la.router_plugin.index.raster import Box, Raster
from zenoh_la.values import Circle, Coordinates, GeographicRange, Polygon, geodesy

T = TypeVar("T")

RegionArea = GeographicRange | Circle | Polygon
Chord = tuple[float, float, float, float, float, Circle, T]
"""A circle's centre in metres, its `chord_limits`, itself, and whose it is."""

_FEW_PARTS = 8


class Regions(Generic[T]):
    """Areas, each under a number of its own, and whose they are."""

    __slots__ = ("_circles", "_shapes")

    def __init__(self) -> None:
        self._circles: Raster[Chord[T]] = Raster()
        self._shapes: Raster[tuple[Polygon | GeographicRange, T]] = Raster()

    def __len__(self) -> int:
        return len(self._circles) + len(self._shapes)

    def add(self, number: int, area: RegionArea, ident: T) -> None:
        if isinstance(area, Circle):
            centre, radius_m = area.centre, area.radius_m
            limits = geodesy.chord_limits(radius_m)
            value = (*centre.cartesian, *limits, area, ident)
            self._circles.add(number, (circle_box(centre.lat, centre.long, radius_m),), value)
        else:
            self._shapes.add(number, _boxes(area), (area, ident))

    def remove(self, number: int, area: RegionArea) -> None:
        (self._circles if isinstance(area, Circle) else self._shapes).remove(number)

    def holding(self, position: Coordinates, found: list[T]) -> None:
        """Adds to ``found`` whose areas contain the position."""
        if self._circles:
            x, y, z = position.cartesian
            for round_cell in self._circles.at(position.lat, position.long):
                # `Circle.contains` step by step, without the call: 0.065 instead of 0.105 µs.
                for cx, cy, cz, inside, outside, circle, ident in round_cell.values():
                    dx = x - cx
                    dy = y - cy
                    dz = z - cz
                    chord = dx * dx + dy * dy + dz * dz
                    if chord <= outside and (chord < inside or circle.contains(position)):
                        found.append(ident)
        if self._shapes:
            for cell in self._shapes.at(position.lat, position.long):
                for area, ident in cell.values():
                    if area.contains(position):
                        found.append(ident)

    def meeting(self, box: Box, meets: Callable[[RegionArea], bool], found: list[T]) -> None:
        """Adds to ``found`` whose areas ``meets`` says yes to; it must say no beyond the box."""
        for *_, circle, ident in self._circles.near(box).values():
            if meets(circle):
                found.append(ident)
        for area, ident in self._shapes.near(box).values():
            # 0.2 µs, against 5 to 9 µs if one of the two is a circle or a cell.
            if not _apart(box, area_box(area)) and meets(area):
                found.append(ident)


def _apart(a: Box, b: Box) -> bool:
    """Whether two boxes clearly share no place; those about ±180 are never so clear."""
    if a[0] > b[2] or b[0] > a[2]:
        return True
    if a[2] == b[2] == 90.0 or a[0] == b[0] == -90.0:
        return False
    return -180.0 < a[1] <= a[3] < b[1] <= b[3] < 180.0 or (
        -180.0 < b[1] <= b[3] < a[1] <= a[3] < 180.0
    )


def circle_box(lat: float, long: float, radius_m: float) -> Box:
    """`Circle.bounds` as plain numbers: 0.4 instead of 2.5 µs."""
    lat_reach, long_reach = geodesy.reach_degrees(lat, radius_m)
    south, north = lat - lat_reach, lat + lat_reach
    if south <= -90.0 or north >= 90.0 or long_reach >= 180.0:
        return max(south, -90.0), -180.0, min(north, 90.0), 180.0
    west, east = long - long_reach, long + long_reach
    return (
        south,
        west + 360.0 if west < -180.0 else west,
        north,
        east - 360.0 if east > 180.0 else east,
    )


def area_box(area: RegionArea) -> Box:
    """The bounds of an area."""
    if isinstance(area, Circle):
        return circle_box(area.centre.lat, area.centre.long, area.radius_m)
    if isinstance(area, Polygon):
        return area.planar.bounds
    return area.min_lat, area.min_long, area.max_lat, area.max_long


def _boxes(area: Polygon | GeographicRange) -> list[Box]:
    """The bounds, or those of the parts: a polygon across the antimeridian comes as two."""
    whole = area_box(area)
    if isinstance(area, GeographicRange) or not 1 < len(area.polygons) <= _FEW_PARTS:
        return [whole]
    boxes = []
    for outline, *_ in area.polygons:
        lats, longs = zip(*outline, strict=True)
        boxes.append((min(lats), min(longs), max(lats), max(longs)))
    return boxes
