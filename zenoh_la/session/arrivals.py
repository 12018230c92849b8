"""What is delivered to one subscriber of an area, in the application's terms. A hot path.

The place is the only part of a header that changes from message to message; the rest is read once.
What comes by a granted route was matched by no node: it is matched here, once per place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import zenoh

from zenoh_la.errors import ProtocolError
from zenoh_la.router_plugin import frames, location_bytes
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.router_plugin.protocol import REMEMBERED_LENGTH, Interest
from zenoh_la.session.samples import LocatedSample

if TYPE_CHECKING:
    from zenoh_la.session.core import Core

_MAX_REMEMBERED = 1024

V = TypeVar("V")


def _remember(known: dict[bytes, V], key: bytes, value: V) -> None:
    if len(known) >= _MAX_REMEMBERED:
        known.clear()
    if len(key) <= REMEMBERED_LENGTH:
        known[key] = value


class _Granted(NamedTuple):
    """A message of a granted route that was matched: the next one with the same bytes is as well.

    That holds as long as the interest is the one it was matched with.
    """

    interest: Interest | None
    location: bytes
    key_expr: zenoh.KeyExpr


class Arrivals:
    """Turns samples on a subscriber's own key into located ones; None if one is not for it."""

    __slots__ = ("_core", "_from_points", "_granted", "_number", "_places", "_topics")

    def __init__(self, core: Core, number: int) -> None:
        self._core = core
        self._places = core.places
        self._number = number
        self._topics: dict[bytes, zenoh.KeyExpr] = {}
        self._from_points: dict[bytes, zenoh.KeyExpr] = {}
        self._granted: dict[bytes, _Granted] = {}

    def __call__(self, sample: zenoh.Sample) -> LocatedSample | None:
        attachment = sample.attachment
        if attachment is None:
            self._core.refuse(ProtocolError(None, "a message without a header"))
            return None
        data = attachment.to_bytes()
        known = self._granted.get(data)
        if known is not None and known.interest is self._core.interest(self._number):
            return LocatedSample(sample, known.location, known.key_expr, None, self._places)
        # As a rule only the position differs from the message before.
        size = location_bytes.POINT_SIZES.get(data[0], 0) if data else 0
        key_expr = self._from_points.get(data[size:])
        if key_expr is not None and size:
            packed = data[:size]
            if location_bytes.is_point(packed):
                return LocatedSample(sample, packed, key_expr, None, self._places)
        return self._read(sample, data)

    def _read(self, sample: zenoh.Sample, data: bytes) -> LocatedSample | None:
        try:
            header, user, granted = frames.split_delivered(data)
            size = location_bytes.location_size(header)
            location, rest = header[:size], header[size:]
            location_bytes.check_location(location)
            key_expr = self._topics.get(rest)
            if key_expr is None:
                key_expr = self._topic(header, rest)
                if key_expr is None:
                    return None
            if granted and not self._matches(data, location, key_expr, user):
                return None
            if not granted and user is None and location[0] in location_bytes.POINT_SIZES:
                _remember(self._from_points, data[size:], key_expr)
        except ProtocolError as exc:
            self._core.refuse(exc)
            return None
        return LocatedSample(sample, location, key_expr, user, self._places)

    def _topic(self, header: bytes, rest: bytes) -> zenoh.KeyExpr | None:
        parsed = frames.unpack_header(header)
        if parsed.tag not in self._core.membership.tags:
            return None  # for the session that had its slot before
        key_expr = zenoh.KeyExpr(parsed.topic)
        _remember(self._topics, rest, key_expr)
        return key_expr

    def _matches(
        self, data: bytes, packed: bytes, key_expr: zenoh.KeyExpr, user: bytes | None
    ) -> bool:
        """Whether a message that no node has matched lies in the subscriber's area now."""
        interest = self._core.interest(self._number)
        if interest is None:
            return True  # being declared: the node has it already
        location = location_bytes.location_of(packed)
        if location is None or not zenoh.KeyExpr(interest.topic).intersects(key_expr):
            return False
        if any(locations_match(location, own) for own in interest.locations):
            if user is None:
                _remember(self._granted, data, _Granted(interest, packed, key_expr))
            return True
        # While it moves, what lies in the new area may come before the node's answer.
        moving = self._core.moving_to(self._number)
        return moving is not None and any(locations_match(location, n) for n in moving.locations)
