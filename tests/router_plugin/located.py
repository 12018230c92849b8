"""Locations of every kind for the tests of the index and of what is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.strategies import areas, areas_about, cells, digits, positions
from zenoh_la import BloomDomain, Circle, Coordinates, GeographicRange, MgrsCell, Role, encoders
from zenoh_la.encoders import Location
from zenoh_la.encoders.bloom import Bits, BloomEncoder
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell

WORLD = GeographicRange(-90, -180, 90, 180)
BLOOM = BloomEncoder(BloomDomain(WORLD, 9, 18, 0.1))
COARSE = BloomEncoder(BloomDomain(WORLD, 4, 6, 0.1))
MGRS = encoders.get("mgrs")
TOPICS = ["a", "a/b", "a/c", "a/b/c", "a/*", "a/**", "**", "*/b", "a/b$*", "a/@v", "@v/b", "**/c"]
INTERESTED = [Role.SUBSCRIBER, Role.PULL_SUBSCRIBER, Role.QUERYABLE, Role.GET]


@dataclass(frozen=True)
class Hemisphere:
    """A third party's location: the places north of a parallel."""

    south: float
    role: Role | None = None
    place: None = None

    def matches(self, other: Location) -> bool | None:
        if isinstance(other, Hemisphere):
            return True
        if isinstance(other, Point):
            return other.place.lat >= self.south
        if isinstance(other, Cell) and not other.place.exists:
            return False
        if isinstance(other, Region | Cell):
            return other.place.bounds.max_lat >= self.south
        return None


def bits(encoder: BloomEncoder, area: Any, role: Role, known: bool) -> list[Bits]:
    read = encoder.locate if known else encoder.decode
    return [read(key) for key in encoder.encode_area(area, role)[:4]]


@st.composite
def locations(draw: st.DrawFn, near: st.SearchStrategy[Coordinates]) -> list[Location]:
    """One location or several, of one kind, often about the same places."""
    kind = draw(st.sampled_from(["region", "region", "point", "cell", "metre", "cover", "filter",
                                 "elements", "odd bits", "third party"]))  # fmt: skip
    position = draw(near)
    if kind == "point":
        return [Point(position)]
    if kind == "metre":
        return [Cell(MgrsCell.at(position))]
    if kind == "cell":
        return [Cell(draw(st.builds(MgrsCell.at, near, digits) | cells)) for _ in "ab"]
    if kind == "third party":
        return [Hemisphere(position.lat)]
    if kind == "odd bits":
        value = draw(st.sampled_from([0, 1, 2, 3, 6, -1]))
        domain = draw(st.sampled_from([None, "one", "other"]))
        return [Bits(value, draw(st.sampled_from([32, 64])), draw(st.booleans()), domain)]
    area = draw(areas_about(position) | areas)
    if kind == "region":
        return [Region(area, draw(st.sampled_from(INTERESTED)))]
    if kind == "cover":
        small = Circle(position, draw(st.sampled_from([1.0, 900.0])))
        return [encoders.decode(key) for key in MGRS.encode_area(small, Role.SUBSCRIBER)]
    role = Role.SUBSCRIBER if kind == "filter" else Role.GET
    encoder = draw(st.sampled_from([BLOOM, COARSE]))
    return [*bits(encoder, Circle(position, 1000.0), role, draw(st.booleans()))]


FEW_PLACES = [Coordinates(46.5, 14.0), Coordinates(46.5, 14.00001), Coordinates(90, 5),
              Coordinates(-90, 0), Coordinates(-17, 180), Coordinates(-17, -180),
              Coordinates(-17, 179.99999), Coordinates(84, 33)]  # fmt: skip
near = st.sampled_from(FEW_PLACES) | positions
