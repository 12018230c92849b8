"""Locations in a few bytes, as they travel once they have been decoded.

Numbers are LEB128 (7 bits a byte, the lowest first) of at most 32 bits, floats little-endian.
"""

from __future__ import annotations

import struct

from zenoh_la import encoders
from zenoh_la.encoders import Location
from zenoh_la.encoders.base64_json import Base64JsonEncoder
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.bloom_domain import WORD_BITS
from zenoh_la.encoders.locations import Point
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.errors import ProtocolError, ZenohLaError
from zenoh_la.keys import LocationKey
from zenoh_la.router_plugin.chunks import MAX_ELEMENT_BITS
from zenoh_la.router_plugin.documents import MAX_ID
from zenoh_la.router_plugin.index.filters import set_bits
from zenoh_la.values import Coordinates, MgrsCell

_NOWHERE, _POINT, _MGRS, _BLOOM, _TEXT, _GRID_POINT = range(6)
_TWO_DOUBLES = struct.Struct("<Bdd")
_TWO_INTEGERS = struct.Struct("<Bii")
_PER_DEGREE = 1e7  # a hundredth of a metre, and more than receivers tell
POINT_SIZES = {_POINT: _TWO_DOUBLES.size, _GRID_POINT: _TWO_INTEGERS.size}
"""How many bytes an exact position takes, by its first byte."""

_MAX_BITS = 1 << 20
_DOMAIN_BYTES = 8

NOWHERE = bytes([_NOWHERE])
"""The location of a message that has none."""


def number(value: int) -> bytes:
    """A LEB128 number."""
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """The LEB128 number that stands there, and where the next thing stands."""
    value = shift = 0
    while shift < 32:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > MAX_ID or (not byte and shift):
                break
            return value, at
        shift += 7
    raise ProtocolError(data, "a number of more than 32 bits, or with a zero too many")


def pack_point(place: Coordinates) -> bytes:
    """An exact position; one with up to seven decimals, as receivers tell, in half the bytes."""
    lat, long = round(place.lat * _PER_DEGREE), round(place.long * _PER_DEGREE)
    if lat / _PER_DEGREE == place.lat and long / _PER_DEGREE == place.long:
        return _TWO_INTEGERS.pack(_GRID_POINT, lat, long)
    return _TWO_DOUBLES.pack(_POINT, place.lat, place.long)


def _degrees(packed: bytes) -> tuple[float, float]:
    """Latitude and longitude of a packed point, wherever that is."""
    if packed[0] == _GRID_POINT:
        _, lat, long = _TWO_INTEGERS.unpack(packed)
        return lat / _PER_DEGREE, long / _PER_DEGREE
    _, *degrees = _TWO_DOUBLES.unpack(packed)
    return degrees[0], degrees[1]


def pack_location(location: Location | None, chunk: str = "") -> bytes:
    """A decoded location in a few bytes; ``chunk`` is for encodings of third parties."""
    if location is None:
        return NOWHERE
    if type(location) is Point:
        return pack_point(location.place)
    if type(location) is Cell:
        text = location.place.text.encode()
        return bytes((_MGRS, len(text))) + text
    if type(location) is Bits:
        domain = bytes.fromhex(location.domain) if location.domain else b""
        bits = set_bits(location.value)
        parts = [bytes((_BLOOM, len(domain))), domain]
        parts += [number(n) for n in (location.length // WORD_BITS, len(bits), *bits)]
        return b"".join(parts)
    text = chunk.encode()
    return bytes((_TEXT,)) + number(len(text)) + text


def location_of(packed: bytes) -> Location | None:
    """The location that was packed; None if there is none."""
    try:
        kind = packed[0]
        if kind in POINT_SIZES:
            return Point(Coordinates(*_degrees(packed)))
        if len(packed) != _size(packed):
            raise ProtocolError(packed, "is shorter or longer than it says")
        if kind == _NOWHERE:
            return None
        if kind == _MGRS:
            return Cell(MgrsCell.parse(packed[2 : 2 + packed[1]].decode()))
        if kind == _BLOOM:
            return _bits(packed)
        size, at = number_at(packed, 1)
        return encoders.decode(packed[at : at + size].decode())
    except ProtocolError:
        raise
    except (IndexError, ValueError, struct.error, ZenohLaError) as exc:
        raise ProtocolError(packed, f"is no location: {exc}") from exc


def check_location(packed: bytes) -> None:
    """Refuses what is no location; of a point without making one.

    Raises:
        ProtocolError: it is none.
    """
    if packed[0] not in POINT_SIZES or not is_point(packed):
        location_of(packed)


def is_point(packed: bytes) -> bool:
    """Whether what begins as a point has so many bytes, and lies on Earth."""
    if len(packed) != POINT_SIZES[packed[0]]:
        return False
    lat, long = _degrees(packed)
    return bool(-90.0 <= lat <= 90.0 and -180.0 <= long <= 180.0)


def _bits(packed: bytes) -> Bits:
    at = 2 + packed[1]
    domain = packed[2:at].hex() or None
    words, at = number_at(packed, at)
    count, at = number_at(packed, at)
    if words * WORD_BITS > _MAX_BITS:
        raise ProtocolError(packed, "too many words")
    value, last = 0, -1
    for _ in range(count):
        bit, at = number_at(packed, at)
        if not last < bit < words * WORD_BITS:
            raise ProtocolError(packed, "bits must ascend, and be of the words there are")
        value |= 1 << bit
        last = bit
    return Bits(value, words * WORD_BITS, is_filter=False, domain=domain)


def key_of(packed: bytes) -> LocationKey | None:
    """The location key, in written form, of a packed location."""
    location = location_of(packed)
    if location is None:
        return None
    if type(location) is Point:
        return Base64JsonEncoder().encode_position(location.place)
    if type(location) is Cell:
        return LocationKey.of_mgrs(location.place.text)
    if type(location) is Bits:
        mask = (1 << WORD_BITS) - 1
        words = [location.value >> i & mask for i in range(0, location.length, WORD_BITS)]
        return LocationKey.of_bloom(".".join(f"{w:x}" for w in words), is_filter=False)
    size, at = number_at(packed, 1)
    return LocationKey(packed[at : at + size].decode())


def domain_of(packed: bytes) -> str | None:
    """The fingerprint of the Bloom domain that a packed location names."""
    location = location_of(packed)
    return location.domain if type(location) is Bits else None


def location_size(data: bytes) -> int:
    """How many bytes the location takes that stands at the beginning.

    Raises:
        ProtocolError: there is none.
    """
    try:
        return _size(data)
    except IndexError as exc:
        raise ProtocolError(data, f"is no location: {exc}") from exc


def _size(data: bytes) -> int:
    kind = data[0]
    if kind == _NOWHERE:
        return 1
    if kind in POINT_SIZES:
        return POINT_SIZES[kind]
    if kind == _MGRS:
        return 2 + data[1]
    if kind == _BLOOM:
        if data[1] not in (0, _DOMAIN_BYTES):
            raise ProtocolError(data, f"a fingerprint of {data[1]} bytes")
        _, at = number_at(data, 2 + data[1])
        count, at = number_at(data, at)
        if not 0 < count <= MAX_ELEMENT_BITS:
            raise ProtocolError(data, f"an element has 1 to {MAX_ELEMENT_BITS} bits")
        for _ in range(count):
            _, at = number_at(data, at)
        return at
    if kind == _TEXT:
        size, at = number_at(data, 1)
        return at + size
    raise ProtocolError(data, f"no location is of kind {kind}")
