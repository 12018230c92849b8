"""The one small interface of all encodings."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from zenoh_la.errors import InvalidLocationError
from zenoh_la.keys import BASE64_JSON, BLOOM, MGRS, LocationKey, Role
from zenoh_la.values import Area, Coordinates

Place = Coordinates | Area


class Precision(Enum):
    """Which of the three encodings a call asks for; the value is its name in the registry."""

    POINT = BASE64_JSON
    MGRS = MGRS
    BLOOM_FILTER = BLOOM


class Location(Protocol):
    """A decoded location key: what routers keep and match."""

    @property
    def role(self) -> Role | None:
        """Whose key it was; None if the encoding does not tell."""

    @property
    def place(self) -> Place | None:
        """Where it is; None if the key alone does not say (Bloom needs its domain)."""

    def matches(self, other: Location) -> bool | None:
        """Whether the two match, their roles included if both are known.

        None means "ask the other one", and if both say so they do not match. Of two locations
        that match in truth none may say no.
        """


class Encoder(Protocol):
    """Places to keys and back, in one encoding."""

    @property
    def name(self) -> str:
        """The encoding's name in the registry."""

    def encode_position(self, position: Coordinates) -> LocationKey:
        """The key of a publisher at a position."""

    def encode_area(self, area: Area, role: Role) -> tuple[LocationKey, ...]:
        """The keys of an area of interest: together they cover it, missing no point of it."""

    def decode(self, key: LocationKey) -> Location:
        """The location that a key of this encoding holds.

        Raises:
            LocationKeyError: the key's data is wrong.
        """


def check_interested(role: Role) -> None:
    """For `Encoder.encode_area`: a publisher has no area."""
    if role == Role.PUBLISHER:
        raise InvalidLocationError("role", role, "a publisher has a position, not an area")
