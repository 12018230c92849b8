"""The few bytes that go with a located message: where it arose, its topic, who gets it.

They follow the user's own attachment, so that a native application that reads an attachment from
its beginning still finds its own::

    [user's attachment] [header] [length of the header: 3 bytes] [flags: 1 byte] ["zlA1"]

The last four bytes stand only where a native application may look (the plain topic): there they
tell a header from what is none. A header is::

    location | topic | tag and ids of the subscribers (only from a node to its session)

Numbers are LEB128 (7 bits a byte, the lowest first) of at most 32 bits, floats little-endian. On
a plain topic the message has its topic already, and that of the header is empty; instead of tag
and ids there may stand node and slot of the one session that is not meant.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any, NamedTuple

import zenoh

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

MAGIC = b"zlA1"
_HAS_USER = 1
_IS_GRANTED = 2
_NOWHERE, POINT, _MGRS, _BLOOM, _TEXT = range(5)
_TWO_DOUBLES = struct.Struct("<dd")
POINT_BYTES = 1 + _TWO_DOUBLES.size
_MAX_BITS = 1 << 20
_DOMAIN_BYTES = 8

NOWHERE = bytes([_NOWHERE])
"""The location of a message that has none."""


class Header(NamedTuple):
    """What a header says; ``location`` is packed, see `location_of`."""

    location: bytes
    topic: str
    tag: int
    ids: tuple[int, ...]

    def is_not_for(self, nid: str, slot: int) -> bool:
        """Of a plain message: whether it is that session's own, and it meant only others."""
        return slot in self.ids and self.tag == int(nid, 16)


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


def _number_at(data: bytes, at: int) -> tuple[int, int]:
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
    """An exact position."""
    return b"\x01" + _TWO_DOUBLES.pack(place.lat, place.long)


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
        if kind == POINT and len(packed) == POINT_BYTES:
            return Point(Coordinates(*_TWO_DOUBLES.unpack_from(packed, 1)))
        if len(packed) != _location_size(packed):
            raise ProtocolError(packed, "is shorter or longer than it says")
        if kind == _NOWHERE:
            return None
        if kind == _MGRS:
            return Cell(MgrsCell.parse(packed[2 : 2 + packed[1]].decode()))
        if kind == _BLOOM:
            return _bits(packed)
        size, at = _number_at(packed, 1)
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
    if packed[0] != POINT or not is_point(packed):
        location_of(packed)


def is_point(packed: bytes) -> bool:
    """Whether what begins as a point has so many bytes, and lies on Earth."""
    if len(packed) != POINT_BYTES:
        return False
    lat, long = _TWO_DOUBLES.unpack_from(packed, 1)
    return bool(-90.0 <= lat <= 90.0 and -180.0 <= long <= 180.0)


def _bits(packed: bytes) -> Bits:
    at = 2 + packed[1]
    domain = packed[2:at].hex() or None
    words, at = _number_at(packed, at)
    count, at = _number_at(packed, at)
    if words * WORD_BITS > _MAX_BITS:
        raise ProtocolError(packed, "too many words")
    value, last = 0, -1
    for _ in range(count):
        bit, at = _number_at(packed, at)
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
    size, at = _number_at(packed, 1)
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
        return _location_size(data)
    except IndexError as exc:
        raise ProtocolError(data, f"is no location: {exc}") from exc


def _location_size(data: bytes) -> int:
    kind = data[0]
    if kind == _NOWHERE:
        return 1
    if kind == POINT:
        return POINT_BYTES
    if kind == _MGRS:
        return 2 + data[1]
    if kind == _BLOOM:
        if data[1] not in (0, _DOMAIN_BYTES):
            raise ProtocolError(data, f"a fingerprint of {data[1]} bytes")
        _, at = _number_at(data, 2 + data[1])
        count, at = _number_at(data, at)
        if not 0 < count <= MAX_ELEMENT_BITS:
            raise ProtocolError(data, f"an element has 1 to {MAX_ELEMENT_BITS} bits")
        for _ in range(count):
            _, at = _number_at(data, at)
        return at
    if kind == _TEXT:
        size, at = _number_at(data, 1)
        return at + size
    raise ProtocolError(data, f"no location is of kind {kind}")


def pack_header(location: bytes, topic: str = "", tag: int = 0, ids: tuple[int, ...] = ()) -> bytes:
    """A header; ``tag`` and ``ids`` only for a session, no topic on a plain topic."""
    return location + pack_topic(topic) + (pack_ids(tag, ids) if ids else b"")


def pack_topic(topic: str) -> bytes:
    """The topic's part of a header."""
    text = topic.encode()
    return number(len(text)) + text


def pack_ids(tag: int, ids: tuple[int, ...]) -> bytes:
    """The part of a header that says for whom; on a plain topic, node and slot it is not for."""
    return b"".join([number(n) for n in (tag, len(ids), *ids)])


def unpack_header(header: bytes) -> Header:
    """The header that was packed.

    Raises:
        ProtocolError: it is none.
    """
    try:
        size = _location_size(header)
        length, at = _number_at(header, size)
        topic = header[at : at + length]
        if len(topic) != length:
            raise ProtocolError(header, "ends before the topic does")
        at += length
        tag, ids = 0, []
        if at < len(header):
            tag, at = _number_at(header, at)
            count, at = _number_at(header, at)
            for _ in range(count):
                an_id, at = _number_at(header, at)
                ids.append(an_id)
            if not ids or any(a >= b for a, b in pairwise(ids)):
                raise ProtocolError(header, "ids must ascend")
        if at != len(header):
            raise ProtocolError(header, "is too long")
        return Header(header[:size], topic.decode(), tag, tuple(ids))
    except (IndexError, UnicodeDecodeError) as exc:
        raise ProtocolError(header, f"is no header: {exc}") from exc


def ending(header: bytes, *, granted: bool = False) -> bytes:
    """What follows the user's attachment, if there is none: made once per route.

    Args:
        granted: it comes straight from the publisher; whoever receives it matches it again.
    """
    return header + len(header).to_bytes(3, "little") + (b"\x02" if granted else b"\x00")


def tail(rest: bytes, location_bytes: int) -> bytes:
    """An ending without its location: a route has one for all places, ``location + tail``."""
    return rest + (location_bytes + len(rest)).to_bytes(3, "little") + b"\x00"


def as_granted(end: bytes) -> bytes:
    """The same ending for messages that come by a grant."""
    return end[:-1] + bytes((end[-1] | _IS_GRANTED,))


def attached(user: zenoh.ZBytes | None, end: bytes) -> bytes:
    """The whole attachment; ``end`` is from `ending`."""
    if user is None:
        return end
    return user.to_bytes() + end[:-1] + bytes((end[-1] | _HAS_USER,))


def given(attachment: Any) -> zenoh.ZBytes | None:
    """What an application gives as its attachment: anything that Zenoh takes for bytes."""
    if attachment is None or isinstance(attachment, zenoh.ZBytes):
        return attachment  # Zenoh makes no ZBytes of a ZBytes
    try:
        return zenoh.ZBytes(attachment)
    except TypeError as exc:
        raise TypeError(f"argument 'attachment': {exc}") from None


def split(attachment: zenoh.ZBytes | None) -> tuple[bytes, bytes | None]:
    """Header and the user's own attachment of a message on a key of the protocol."""
    if attachment is None:
        raise ProtocolError(None, "a message without a header")
    return _split(attachment.to_bytes())


def split_delivered(attachment: zenoh.ZBytes | None) -> tuple[bytes, bytes | None, bool]:
    """The same of a message on its last way, which may have come by a grant."""
    if attachment is None:
        raise ProtocolError(None, "a message without a header")
    return split_data(attachment.to_bytes())


def split_data(data: bytes) -> tuple[bytes, bytes | None, bool]:
    """The same of the bytes."""
    if len(data) >= 4 and data[-1] & _IS_GRANTED:
        return *_split(data[:-1] + bytes((data[-1] & ~_IS_GRANTED,))), True
    return *_split(data), False


def _split(data: bytes) -> tuple[bytes, bytes | None]:
    start = len(data) - 4 - int.from_bytes(data[-4:-1], "little")
    if len(data) < 4 or start < 0:
        raise ProtocolError(data, "a header longer than the attachment")
    if data[-1] == _HAS_USER:
        return data[start:-4], data[:start]
    if start or data[-1]:
        raise ProtocolError(data, "flags that do not fit")
    return data[start:-4], None


def split_marked(attachment: zenoh.ZBytes | None) -> tuple[bytes, bytes | None] | None:
    """The same where a header need not be there and is marked; None if there is none."""
    if attachment is None:
        return None
    data = attachment.to_bytes()
    if not data.endswith(MAGIC):
        return None
    try:
        return _split(data[: -len(MAGIC)])
    except ProtocolError:
        return None  # somebody's own attachment that ends like ours


def split_plain(attachment: zenoh.ZBytes | None) -> tuple[Header, bytes | None] | None:
    """Header and user's attachment of a message on a plain topic; None if it is a plain one."""
    parts = split_marked(attachment)
    if parts is None:
        return None
    try:
        header = unpack_header(parts[0])
        if header.topic or location_of(header.location) is None:
            return None  # who may put on one topic must not seem to put on another
        return header, parts[1]
    except ProtocolError:
        return None
