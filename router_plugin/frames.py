"""The few bytes that go with a located message: where it arose, its topic, who gets it.

They follow the user's own attachment, so that a native application that reads an attachment from
its beginning still finds its own::

    [user's attachment] [header] [length of the header: 3 bytes] [flags: 1 byte] ["zlA1"]

The length stands there only if the user gave an attachment; else all is header. The last four
bytes stand only where a native application may look (the plain topic): there they tell a header
from what is none. A header is::

    location | topic | tag, and ids of the subscribers (only from a node to its session)

Numbers are LEB128 (7 bits a byte, the lowest first) of at most 32 bits, floats little-endian. On
a plain topic the message has its topic already, and that of the header is empty; instead of tag
and ids there may stand node and slot of the one session that is not meant. A subscriber's own key
says for whom a message is, and the header has only the tag.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import zenoh

from zenoh_la.errors import ProtocolError
from zenoh_la.router_plugin import location_bytes

MAGIC = b"zlA1"
_HAS_USER = 1
_IS_GRANTED = 2


class Header(NamedTuple):
    """What a header says; ``location`` is packed, see `location_bytes.location_of`."""

    location: bytes
    topic: str
    tag: int | None
    ids: tuple[int, ...]

    def is_not_for(self, nid: str, slot: int) -> bool:
        """Of a plain message: whether it is that session's own, and it meant only others."""
        return slot in self.ids and self.tag == int(nid, 16)


def pack_header(
    location: bytes, topic: str = "", tag: int | None = None, ids: tuple[int, ...] = ()
) -> bytes:
    """A header; ``tag`` and ``ids`` only for a session, no topic on a plain topic."""
    return location + pack_topic(topic) + (b"" if tag is None else pack_whom(tag, ids))


def pack_topic(topic: str) -> bytes:
    """The topic's part of a header."""
    text = topic.encode()
    return location_bytes.number(len(text)) + text


def pack_whom(tag: int, ids: tuple[int, ...] = ()) -> bytes:
    """The part of a header that says for whom; on a plain topic, node and slot it is not for."""
    numbers = (tag, len(ids), *ids) if ids else (tag,)
    return b"".join([location_bytes.number(n) for n in numbers])


def unpack_header(header: bytes) -> Header:
    """The header that was packed.

    Raises:
        ProtocolError: it is none.
    """
    try:
        size = location_bytes.location_size(header)
        length, at = location_bytes.number_at(header, size)
        topic = header[at : at + length]
        if len(topic) != length:
            raise ProtocolError(header, "ends before the topic does")
        at += length
        tag: int | None = None
        ids: list[int] = []
        if at < len(header):
            tag, at = location_bytes.number_at(header, at)
        if at < len(header):
            count, at = location_bytes.number_at(header, at)
            for _ in range(count):
                an_id, at = location_bytes.number_at(header, at)
                ids.append(an_id)
            if not ids or any(a >= b for a, b in pairwise(ids)):
                raise ProtocolError(header, "ids must ascend")
        if at != len(header):
            raise ProtocolError(header, "is too long")
        return Header(header[:size], topic.decode(), tag, tuple(ids))
    except (IndexError, UnicodeDecodeError) as exc:
        raise ProtocolError(header, f"is no header: {exc}") from exc


def ending(header: bytes, *, granted: bool = False) -> bytes:
    """The whole attachment, if the user gave none: made once per route.

    Of a header without its location it is the same for all places: ``location + ending(rest)``.

    Args:
        granted: it comes straight from the publisher; whoever receives it matches it again.
    """
    return header + (b"\x02" if granted else b"\x00")


def as_granted(end: bytes) -> bytes:
    """The same ending for messages that come by a grant."""
    return end[:-1] + bytes((end[-1] | _IS_GRANTED,))


def attached(user: zenoh.ZBytes | None, end: bytes) -> bytes:
    """The whole attachment; ``end`` is from `ending`."""
    if user is None:
        return end
    size = (len(end) - 1).to_bytes(3, "little")
    return b"".join((user.to_bytes(), end[:-1], size, bytes((end[-1] | _HAS_USER,))))


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
    return _split(attachment.to_bytes(), 0)


def split_delivered(data: bytes) -> tuple[bytes, bytes | None, bool]:
    """The same of a message on its last way, which may have come by a grant."""
    granted = data[-1] & _IS_GRANTED if data else 0
    return *_split(data, granted), bool(granted)


def _split(data: bytes, other_flags: int) -> tuple[bytes, bytes | None]:
    flags = data[-1] ^ other_flags if data else -1
    if not flags:
        return data[:-1], None
    if flags != _HAS_USER:
        raise ProtocolError(data, "flags that do not fit")
    start = len(data) - 4 - int.from_bytes(data[-4:-1], "little")
    if start < 0:
        raise ProtocolError(data, "a header longer than the attachment")
    return data[start:-4], data[:start]


def split_marked(attachment: zenoh.ZBytes | None) -> tuple[bytes, bytes | None] | None:
    """The same where a header need not be there and is marked; None if there is none."""
    if attachment is None:
        return None
    data = attachment.to_bytes()
    if not data.endswith(MAGIC):
        return None
    try:
        return _split(data[: -len(MAGIC)], 0)
    except ProtocolError:
        return None  # somebody's own attachment that ends like ours


def split_plain(attachment: zenoh.ZBytes | None) -> tuple[Header, bytes | None] | None:
    """Header and user's attachment of a message on a plain topic; None if it is a plain one."""
    parts = split_marked(attachment)
    if parts is None:
        return None
    try:
        header = unpack_header(parts[0])
        if header.topic or location_bytes.location_of(header.location) is None:
            return None  # who may put on one topic must not seem to put on another
        if header.tag is not None and not header.ids:
            return None
        return header, parts[1]
    except ProtocolError:
        return None
