"""Headers: what is packed comes out again, and nothing else does any harm."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import positions
from zenoh_la import (
    BloomDomain,
    Coordinates,
    GeographicRange,
    LocationKey,
    ProtocolError,
    Role,
    encoders,
)
from zenoh_la.encoders import Location
from zenoh_la.encoders.locations import Point
from zenoh_la.keys import to_chunk
from zenoh_la.router_plugin import frames, location_bytes
from zenoh_la.router_plugin.chunks import located
from zenoh_la.router_plugin.documents import MAX_ID

DOMAIN = BloomDomain(GeographicRange(-90, -180, 90, 180), 10, 10, 0.01)
BLOOM = encoders.get("bloom", domain=DOMAIN)

ids = st.lists(st.integers(0, MAX_ID), min_size=1, max_size=20, unique=True).map(
    lambda numbers: tuple(sorted(numbers))
)
topics = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
users = st.none() | st.binary(max_size=40) | st.binary(max_size=9).map(lambda b: b + frames.MAGIC)


@st.composite
def chunks(draw: st.DrawFn) -> str:
    """A publisher's location key, as it travels."""
    place = draw(positions)
    kind = draw(st.sampled_from(["base64_json", "mgrs", "bloom", "bloom without domain"]))
    if kind.startswith("bloom"):
        key = BLOOM.encode_position(place)
        return to_chunk(key, DOMAIN.fingerprint if kind == "bloom" else None)
    return encoders.get(kind).encode_position(place).wire


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    chunk = draw(chunks())
    packed = location_bytes.pack_location(located(chunk), chunk)
    if draw(st.booleans()):
        numbers = draw(ids | st.just(()))
        return frames.pack_header(packed, draw(topics), draw(st.integers(0, MAX_ID)), numbers)
    return frames.pack_header(packed, draw(topics))


def attachment(data: bytes | None) -> zenoh.ZBytes | None:
    return None if data is None else zenoh.ZBytes(data)


@given(chunks())
def test_a_location_comes_out_again(chunk: str) -> None:
    location = located(chunk)
    packed = location_bytes.pack_location(location, chunk)
    assert location_bytes.location_of(packed) == location
    assert str(location_bytes.key_of(packed)) == f"${chunk.partition('~')[0]}"
    assert location_bytes.domain_of(packed) == (chunk.partition("~")[2] or None)
    assert len(packed) <= 40


@given(
    st.integers(-900_000_000, 900_000_000),
    st.integers(-1_800_000_000, 1_800_000_000),
    st.sampled_from([7, 6, 5, 2, 0]),
)
def test_what_a_receiver_tells_takes_nine_bytes_and_is_exact(
    lat: int, long: int, decimals: int
) -> None:
    place = Coordinates(float(f"{lat / 1e7:.{decimals}f}"), float(f"{long / 1e7:.{decimals}f}"))
    packed = location_bytes.pack_point(place)
    assert len(packed) == 9
    assert location_bytes.location_of(packed) == Point(place)
    finer = Coordinates(place.lat / 3 + 1e-9, place.long / 3)
    assert location_bytes.location_of(location_bytes.pack_point(finer)) == Point(finer)


def test_no_location_comes_out_as_none() -> None:
    assert location_bytes.pack_location(None) == location_bytes.NOWHERE
    assert location_bytes.location_of(location_bytes.NOWHERE) is None
    assert location_bytes.key_of(location_bytes.NOWHERE) is None


class _Own:
    """An encoding of a third party."""

    name = "own"

    def decode(self, key: LocationKey) -> Location:
        return _OwnPlace(key.data)


class _OwnPlace:
    role = Role.PUBLISHER
    place = None

    def __init__(self, data: str) -> None:
        self.data = data

    def matches(self, other: Location) -> bool | None:
        return None


def test_an_encoding_of_a_third_party_travels_as_text() -> None:
    encoders.register("own", _Own)  # type: ignore[arg-type]
    try:
        chunk = "zla_x_own_p_here"
        packed = location_bytes.pack_location(located(chunk), chunk)
        assert packed == b"\x04\x10zla_x_own_p_here"
        again = location_bytes.location_of(packed)
        assert isinstance(again, _OwnPlace)
        assert again.data == "here"
        assert str(location_bytes.key_of(packed)) == f"${chunk}"
    finally:
        encoders.unregister("own")


@given(chunks(), topics, st.integers(0, MAX_ID), ids | st.just(()))
def test_a_header_comes_out_again(
    chunk: str, topic: str, tag: int, numbers: tuple[int, ...]
) -> None:
    packed = location_bytes.pack_location(located(chunk), chunk)
    header = frames.unpack_header(frames.pack_header(packed, topic, tag, numbers))
    assert header == (packed, topic, tag, numbers)
    assert frames.unpack_header(frames.pack_header(packed, topic)) == (packed, topic, None, ())


@given(headers(), users)
def test_an_attachment_comes_out_again(header: bytes, user: bytes | None) -> None:
    whole = frames.attached(attachment(user), frames.ending(header))
    assert frames.split(attachment(whole)) == (header, user)
    assert frames.split_marked(attachment(whole + frames.MAGIC)) == (header, user)
    assert whole.startswith(user or b""), "a native application finds its own at the beginning"


@given(chunks(), users, st.none() | st.integers(0, 9999))
def test_a_plain_topic(chunk: str, user: bytes | None, slot: int | None) -> None:
    packed = location_bytes.pack_location(located(chunk), chunk)
    sender = (None, ()) if slot is None else (0x0BADCAFE, (slot,))
    header = frames.pack_header(packed, "", *sender)
    whole = frames.attached(attachment(user), frames.ending(header)) + frames.MAGIC
    assert frames.split_plain(attachment(whole)) == ((packed, "", *sender), user)


@given(users)
def test_an_attachment_that_is_not_ours_is_left_alone(user: bytes | None) -> None:
    assert frames.split_plain(attachment(user)) is None


def test_who_may_put_on_one_topic_cannot_seem_to_put_on_another() -> None:
    packed = location_bytes.pack_location(located("zla_m_33TVM2406852607"))
    for header in (
        frames.pack_header(packed, "another"),
        frames.pack_header(location_bytes.NOWHERE),
    ):
        assert frames.split_plain(attachment(frames.ending(header) + frames.MAGIC)) is None


def refused(read: Callable[[Any], Any], data: Any) -> bool:
    """Whether it is; anything but the documented error ends the test."""
    try:
        read(data)
    except ProtocolError as exc:
        said = str(exc)
    else:
        return False
    assert len(said) < 500
    return True


def examine(data: bytes) -> None:
    """All that reads what others sent."""
    if not refused(frames.unpack_header, data):
        header = frames.unpack_header(data)
        assert frames.pack_header(*header) == data, "two ways to write one header"
    for read in (location_bytes.location_of, location_bytes.key_of, location_bytes.domain_of):
        refused(read, data)
    refused(frames.split, attachment(data))
    frames.split_plain(attachment(data))
    frames.split_plain(attachment(data + frames.MAGIC))


@given(headers())
def test_every_beginning_of_a_header_is_refused(header: bytes) -> None:
    whole = frames.unpack_header(header)
    without_whom = len(frames.pack_header(whole.location, whole.topic))
    without_ids = len(frames.pack_header(whole.location, whole.topic, whole.tag))
    for end in range(len(header)):
        is_one = end in (without_whom, without_ids)
        assert refused(frames.unpack_header, header[:end]) != is_one
        examine(header[:end])


@given(headers(), st.data())
def test_a_changed_header_is_another_one_or_refused(header: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(header) - 1))
    change = data.draw(st.binary(max_size=3))
    examine(header[:at] + change + header[at + data.draw(st.integers(0, 2)) :])


@given(st.binary(max_size=80))
def test_any_bytes(data: bytes) -> None:
    examine(data)
    examine(bytes([len(data) % 6]) + data)
    examine(frames.ending(data))


@given(st.integers(0, MAX_ID))
def test_numbers(value: int) -> None:
    header = frames.pack_header(location_bytes.NOWHERE, "", value, (value,))
    assert frames.unpack_header(header)[2:] == (value, (value,))


POINT = b"\x01" + bytes(16)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x00",
        POINT,
        POINT + b"\x80\x80\x80\x80\x10",  # 2**32
        POINT + b"\xff" * 100_000,
        POINT + b"\xff\xff\xff\xff\x0f",  # a topic of 4 GB
        POINT + b"\x81\x00t",  # a second way to write 1
        POINT + b"\x00\x01\x00",  # a tag and no ids
        POINT + b"\x00\x01\x02\x05\x05",  # an id twice
        POINT + b"\x00\x01\x02\x05\x04",  # not ascending
        POINT + b"\x01\xff",  # no UTF-8
        b"\x01" + b"\xff" * 16,
        b"\x02\xff" + b"A" * 10,
        b"\x03\x08" + bytes(8) + b"\x0a\xff\xff\xff\xff\x0f" + b"\x01" * 3_000_000,
        b"\x03\x00\xff\xff\x03\x41" + b"\x01" * 65,
        b"\x03\x07" + bytes(7) + b"\x0a\x01\x01\x00",
        b"\x03\x00\x0a\x00\x00",
        b"\x04\xff\xff\xff\xff\x0f" + b"A" * 1_000_000,
        b"\x05" + bytes(8),
        b"\x06" + bytes(20),
        b"\xff" * 16_000_000,
    ],
    ids=lambda header: f"{header[:24].hex()} {len(header)}",
)
def test_the_worst_headers_are_refused_in_bounded_time_and_memory(header: bytes) -> None:
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(ProtocolError) as caught:
        frames.unpack_header(header)
    spent = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(str(caught.value)) < 500
    assert peak < 1_000_000
    assert spent < 5, "a bound against hanging, not a measurement"


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x01" + b"\x00" * 6 + b"\xf8\x7f" + bytes(8),  # NaN
        b"\x01" + b"\x00" * 8 + b"\x00" * 6 + b"\xf0\x7f",  # infinite
        POINT[:16],
        POINT + b"\x00",
        b"\x05" + bytes(7),
        b"\x05" + bytes(9),
        b"\x05" + struct.pack("<ii", 900_000_001, 0),
        b"\x05" + struct.pack("<ii", 0, -1_800_000_001),
        b"\x02\x03333",
        b"\x02\x0f33TVM2406852607"[:10],
        b"\x03\x00\x01\x02\x05\x05",  # a bit twice
        b"\x03\x00\x01\x02\x06\x05",
        b"\x03\x00\x01\x01\x20",  # beyond the last word
        b"\x03\x00\x81\x80\x02\x01\x01",  # more than a million bits
        b"\x04\x03abc",
        b"\x04\x02\xff\xff",
        b"\x04\x11zla_x_nobody_p_ab",
    ],
    ids=lambda packed: packed.hex(),
)
def test_what_is_no_location(packed: bytes) -> None:
    with pytest.raises(ProtocolError):
        location_bytes.location_of(packed)
    with pytest.raises(ProtocolError):
        location_bytes.key_of(packed)
    assert frames.split_plain(attachment(frames.ending(packed + b"\x00") + frames.MAGIC)) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x00\x00\x02",  # a flag that is not for here
        b"\x00\x00\x00\x03",
        b"\x04",  # one that nobody knows
        b"\x01",  # a length that is not there
        b"\x00\x00\x01",
        b"\x05\x00\x00\x01",
        b"\xff\xff\xff\x01",
    ],
)
def test_what_is_no_attachment(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        frames.split(attachment(data))
    assert frames.split_marked(attachment(data + frames.MAGIC)) is None


def test_a_message_without_an_attachment_is_no_located_one() -> None:
    with pytest.raises(ProtocolError):
        frames.split(None)
    assert frames.split_marked(None) is None


def test_the_longest_bloom_key_is_packed_at_once() -> None:
    """Bit by bit, each step copying the number, it took ten seconds."""
    location = located("zla_b_e_" + ".".join(["0"] * 29_000 + ["80000000"]))
    start = time.process_time()
    packed = location_bytes.pack_location(location)
    assert location_bytes.location_of(packed) == location
    assert len(packed) < 16
    assert time.process_time() - start < 2, "a bound against hanging, not a measurement"
