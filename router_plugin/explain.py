"""Why two location keys match, or do not."""

from __future__ import annotations

from dataclasses import dataclass

from zenoh_la import encoders
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import Point, Region, roles_match
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.keys import LocationKey
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.values import Circle, Coordinates, MgrsCell


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of `location_match`, and the reason for it."""

    matches: bool
    reason: str


def explain_match(key_a: str | LocationKey, key_b: str | LocationKey) -> Verdict:
    """`location_match` with a reason for people.

    >>> explain_match("$zla_m_10SGJ0683244683", "$zla_m_10P").reason
    'the cells part at the grid zone: 10S and 10P'
    """
    a, b = encoders.decode(key_a), encoders.decode(key_b)
    matches = locations_match(a, b)
    if isinstance(b, Point) or (isinstance(a, Region | Bits) and isinstance(b, Cell)):
        a, b = b, a
    if isinstance(a, Bits) or isinstance(b, Bits):
        reason = _bloom(a, b, matches)
    elif isinstance(a, Cell) and isinstance(b, Cell):
        reason = _cells(a.place, b.place)
    elif isinstance(a, Point) and isinstance(b, Cell):
        reason = f"the position's cell: {_cells(MgrsCell.at(a.place), b.place)}"
    elif isinstance(a, Point | Region) and isinstance(b, Point | Region):
        reason = _base64(a, b, matches)
    elif isinstance(a, Cell) and isinstance(b, Region):
        reason = f"cell {a.place.text} and the {_kind(b)} {_share(matches)}"
    else:
        reason = "the encodings agree" if matches else "the encodings do not match each other"
    return Verdict(matches, reason)


def _base64(a: Point | Region, b: Point | Region, matches: bool) -> str:
    if not roles_match(a.role, b.role):
        return f"a {_who(a)} and a {_who(b)} never match"
    if isinstance(a, Point) and isinstance(b, Region):
        if isinstance(b.place, Circle):
            distance, radius = b.place.centre.distance_m(a.place), b.place.radius_m
            relation = "within" if matches else "beyond"
            return f"{distance:,.1f} m from the centre, {relation} the radius of {radius:,.1f} m"
        return f"the position lies {'in' if matches else 'outside'} the {_kind(b)}"
    return f"the {_kind(a)} and the {_kind(b)} {_share(matches)}"


def _who(location: Point | Region) -> str:
    return location.role.name.lower().replace("_", " ")


def _kind(location: Point | Region) -> str:
    if isinstance(location.place, Coordinates):
        return "position"
    return type(location.place).shape.name.lower().replace("_", " ")


def _share(matches: bool) -> str:
    return "share at least one point" if matches else "share no point"


def _cells(a: MgrsCell, b: MgrsCell) -> str:
    if a.meets(b):
        small, large = (a, b) if len(a.path) >= len(b.path) else (b, a)
        return f"{small.text} lies in {large.text}" if small != large else f"both are {a.text}"
    if a.zone != b.zone:
        return f"the cells part at the grid zone: {a.zone} and {b.zone}"
    head = len(a.zone) + 2
    if a.path[:head] != b.path[:head]:
        return f"the cells part at the 100 km square: {a.path[:head]} and {b.path[:head]}"
    digit = next(i for i in range(head, len(a.path)) if a.path[i] != b.path[i]) - head
    axis = "northing" if digit % 2 else "easting"
    return f"the cells part at digit {digit // 2 + 1} of the {axis}: {a.text} and {b.text}"


def _bloom(a: object, b: object, matches: bool) -> str:
    if not (isinstance(a, Bits) and isinstance(b, Bits)):
        return "Bloom keys match only Bloom keys"
    if a.is_filter is b.is_filter:
        return f"two {'filters' if a.is_filter else 'elements'} never match"
    if a.length != b.length:
        return f"keys of {a.length} and {b.length} bits are of different domains"
    element, area = (b, a) if a.is_filter else (a, b)
    bits, missing = element.value.bit_count(), (element.value & ~area.value).bit_count()
    if matches:
        return f"all {bits} bits of the element are set in the filter (it may be a false positive)"
    return f"{missing} of the element's {bits} bits are not set in the filter"
