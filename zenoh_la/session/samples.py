"""Located samples, replies and queries: what Zenoh delivers, in the application's terms."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import zenoh

from zenoh_la.keys import LocationKey
from zenoh_la.router_plugin import frames, location_bytes, protocol
from zenoh_la.session.places import Places
from zenoh_la.values import Coordinates


class LocatedSample:
    """A sample with the place it arose at; else all that `zenoh.Sample` has.

    ``key_expr`` is the plain topic and ``attachment`` the publisher's own. ``location`` is where
    it arose (of an MGRS or Bloom cell its centre) and ``location_key`` its key in written form.
    Both are None if it is a plain message.
    """

    def __init__(
        self,
        sample: zenoh.Sample,
        location: bytes,
        key_expr: zenoh.KeyExpr,
        attachment: bytes | None,
        places: Places,
    ) -> None:
        self._sample = sample
        self._packed = location
        self.key_expr = key_expr
        self._attachment = attachment
        self._places = places

    @cached_property
    def location(self) -> Coordinates | None:
        return self._places.coordinates(self._packed)

    @cached_property
    def location_key(self) -> LocationKey | None:
        return location_bytes.key_of(self._packed)

    @property
    def packed_location(self) -> bytes:
        """Its place in a few bytes, as it travelled."""
        return self._packed

    @property
    def bloom_domain(self) -> str | None:
        """The fingerprint of the grid, if it was located by a Bloom element."""
        return location_bytes.domain_of(self._packed)

    @cached_property
    def attachment(self) -> zenoh.ZBytes | None:
        return None if self._attachment is None else zenoh.ZBytes(self._attachment)

    @property
    def payload(self) -> zenoh.ZBytes:
        return self._sample.payload

    @property
    def kind(self) -> zenoh.SampleKind:
        return self._sample.kind

    @property
    def encoding(self) -> zenoh.Encoding:
        return self._sample.encoding

    @property
    def timestamp(self) -> zenoh.Timestamp | None:
        return self._sample.timestamp

    @property
    def congestion_control(self) -> zenoh.CongestionControl:
        return self._sample.congestion_control

    @property
    def priority(self) -> zenoh.Priority:
        return self._sample.priority

    @property
    def express(self) -> bool:
        return self._sample.express

    @property
    def source_info(self) -> zenoh.SourceInfo | None:
        return self._sample.source_info

    @property
    def timestamp_stack(self) -> Any:
        return self._sample.timestamp_stack

    def __repr__(self) -> str:
        return f"LocatedSample({self.key_expr}, {self.location}, {len(self.payload)} bytes)"


def as_seen(sample: zenoh.Sample, places: Places) -> zenoh.Sample | LocatedSample:
    """A sample of the plain topic: as it is, or located if it carries a place."""
    parts = frames.split_plain(sample.attachment)
    if parts is None:
        return sample
    header, user = parts
    return LocatedSample(sample, header.location, sample.key_expr, user, places)


def of_own(sample: zenoh.Sample, places: Places) -> LocatedSample:
    """The sample of a reply that this session handed itself."""
    topic = zenoh.KeyExpr(protocol.topic_of_reply(str(sample.key_expr)))
    parts = frames.split_plain(sample.attachment)
    if parts is not None:
        return LocatedSample(sample, parts[0].location, topic, parts[1], places)
    user = None if sample.attachment is None else sample.attachment.to_bytes()
    return LocatedSample(sample, location_bytes.NOWHERE, topic, user, places)


class LocatedReply:
    """A reply to a located get; like `zenoh.Reply`, with a located sample."""

    def __init__(
        self,
        reply: zenoh.Reply,
        sample: zenoh.Sample | LocatedSample | None,
        replier_id: zenoh.EntityGlobalId | None = None,
    ) -> None:
        self._reply = reply
        self._ok = sample
        self._replier_id = replier_id

    @property
    def ok(self) -> zenoh.Sample | LocatedSample | None:
        return self._ok

    @property
    def err(self) -> zenoh.ReplyError | None:
        return self._reply.err

    @property
    def result(self) -> zenoh.Sample | LocatedSample | zenoh.ReplyError:
        return self._reply.result if self._ok is None else self._ok

    @property
    def replier_id(self) -> zenoh.EntityGlobalId | None:
        """Who answered; None for a located get, as Zenoh has no way to pass that on."""
        return self._replier_id

    def __repr__(self) -> str:
        return f"LocatedReply({self.result!r})"
