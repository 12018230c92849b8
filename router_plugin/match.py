"""Do two location keys match?"""

from __future__ import annotations

from zenoh_la import encoders
from zenoh_la.encoders import Location
from zenoh_la.keys import LocationKey

__all__ = ["location_match", "locations_match"]


def location_match(key_a: str | LocationKey, key_b: str | LocationKey) -> bool:
    """Whether two location keys match, in either order, of any encodings.

    A publisher matches a subscriber whose area holds its position, edge included; a get
    matches a queryable if their areas share a point; other pairs of roles do not match. MGRS
    and Bloom keys carry no role, so whoever calls this checks the roles of those. Decoded
    keys are remembered.

    Raises:
        LocationKeyError: one of the keys is wrong; the message says which part of it.

    >>> location_match("$zla_m_10SGJ0683244683", "$zla_m_10SGJ04")
    True
    """
    return locations_match(encoders.decode(key_a), encoders.decode(key_b))


def locations_match(a: Location, b: Location) -> bool:
    """`location_match` for keys that are decoded already."""
    answer = a.matches(b)
    if answer is None:
        answer = b.matches(a)
    return answer is True
