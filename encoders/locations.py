"""Exact locations: what Base64-JSON keys hold, and what other encodings may match with."""

from __future__ import annotations

from dataclasses import dataclass

from zenoh_la.encoders.interface import Location
from zenoh_la.keys import Role
from zenoh_la.values import Circle, Coordinates, GeographicRange, Polygon

SUBSCRIBERS = frozenset({Role.SUBSCRIBER, Role.PULL_SUBSCRIBER})
_QUERY_PAIRS = frozenset({(Role.GET, Role.QUERYABLE), (Role.QUERYABLE, Role.GET)})


def roles_match(a: Role, b: Role) -> bool:
    """Whether two roles have anything to do with each other, in either order."""
    if a is Role.PUBLISHER or b is Role.PUBLISHER:
        return a in SUBSCRIBERS or b in SUBSCRIBERS
    return (a, b) in _QUERY_PAIRS


@dataclass(frozen=True, slots=True)
class Point:
    """The position of a publisher."""

    place: Coordinates
    role: Role = Role.PUBLISHER

    def matches(self, other: Location) -> bool | None:
        if type(other) is Region:
            return other.role in SUBSCRIBERS and other.place.contains(self.place)
        return False if type(other) is Point else None


@dataclass(frozen=True, slots=True)
class Region:
    """The area of a subscriber, queryable or get."""

    place: GeographicRange | Circle | Polygon
    role: Role

    def matches(self, other: Location) -> bool | None:
        if type(other) is Point:
            return self.role in SUBSCRIBERS and self.place.contains(other.place)
        if type(other) is Region:
            return roles_match(self.role, other.role) and self.place.meets(other.place)
        return None
