"""Location keys as chunks of the protocol's keys: several in one, decoded, of the right role."""

from __future__ import annotations

from typing import Any

from zenoh_la import encoders
from zenoh_la.encoders import Location
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import Point, Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.errors import LocationKeyError, ProtocolError
from zenoh_la.keys import BASE64_JSON, BLOOM, MGRS, Role, from_chunk
from zenoh_la.values.mgrs_cell import MAX_DIGITS

_BETWEEN_KEYS = "|"  # no location key can hold it, and Zenoh allows it in a chunk
MAX_KEYS = 2048
"""Of one interest or get: an area in all grid zones of the world has 1,200."""
MAX_AREAS = 16
"""Of one get, keys that are neither cells nor Bloom elements; an area needs one."""
MAX_ELEMENT_BITS = 64
"""Of one Bloom element: a filter that errs once in a billion times sets 30."""


OTHER = "other"
"""An encoding that somebody registered, or no place at all."""
ENCODINGS = (BASE64_JSON, MGRS, BLOOM, OTHER)
_ENCODING_OF: dict[type, str] = {Point: BASE64_JSON, Region: BASE64_JSON, Cell: MGRS, Bits: BLOOM}


def encoding_of(location: Location | None) -> str:
    """The name of a location's encoding, for those who count."""
    return _ENCODING_OF.get(type(location), OTHER)


def joined(chunks: list[str]) -> str:
    """Several location keys in one chunk."""
    return _BETWEEN_KEYS.join(chunks)


def located(chunk: str) -> Location:
    """The location that a chunk holds; a Bloom key's with its domain."""
    key, domain = from_chunk(chunk)
    location = encoders.decode(key)
    if domain is not None and type(location) is Bits:
        return Bits(location.value, location.length, location.is_filter, domain)
    return location


def chunks_in(chunk: str) -> list[str]:
    """The location keys of a chunk that holds several."""
    return chunk.split(_BETWEEN_KEYS)


def located_all(chunk: str) -> tuple[Location, ...]:
    """The locations of several keys of a get in one chunk."""
    chunks = dict.fromkeys(chunks_in(chunk))
    check_count(len(chunks))
    locations = []
    areas = 0
    for part in chunks:
        location = located(part)
        areas += type(location) not in (Bits, Cell)
        if areas > MAX_AREAS:
            raise ProtocolError(chunk, f"at most {MAX_AREAS} keys that are no cells")
        is_filter = isinstance(location, Bits) and location.is_filter
        if is_filter or location.role not in (None, Role.GET):
            raise LocationKeyError(part, "role", "is no key of a get")
        locations.append(location)
    return tuple(locations)


def check_count(keys: int) -> None:
    """Refuses an area of too many location keys."""
    if keys > MAX_KEYS:
        raise ProtocolError(f"{keys} location keys", f"at most {MAX_KEYS} are allowed")


def check_position(chunk: Any, location: Location) -> None:
    """A message arises at a position, not in an area."""
    is_area = location.role not in (None, Role.PUBLISHER)
    if isinstance(location, Bits):
        is_area = location.is_filter or location.value.bit_count() > MAX_ELEMENT_BITS
    elif isinstance(location, Cell):
        is_area = location.place.digits != MAX_DIGITS
    if is_area:
        raise LocationKeyError(chunk, "role", "is the key of an area, not of a publisher")
