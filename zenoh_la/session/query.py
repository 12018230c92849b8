"""A query that reaches a queryable of an area."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import zenoh

from zenoh_la.encoders import Location, Precision
from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import Region
from zenoh_la.errors import ArgumentError
from zenoh_la.keys import LocationKey, Role, from_chunk, to_chunk
from zenoh_la.router_plugin import frames, location_bytes
from zenoh_la.router_plugin.asks import Ask
from zenoh_la.router_plugin.chunks import chunks_in, located, located_all
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.session.core import Core
from zenoh_la.values import Coordinates

_ANY_KEY = "_anyke"
"""The parameter with which Zenoh says that replies may have any key."""


def _as_subscriber(area: Location) -> Location:
    """The area of a get as one that positions can be matched with."""
    return Region(area.place, Role.SUBSCRIBER) if isinstance(area, Region) else area


class LocatedQuery:
    """A query with the area it asks for; else all that `zenoh.Query` has."""

    def __init__(self, query: zenoh.Query, core: Core, precision: Precision) -> None:
        header, user = frames.split(query.attachment)
        self._query = query
        self._core = core
        self._precision = precision
        self._ask = Ask.read(header)
        self._key_expr = zenoh.KeyExpr(self._ask.topic)
        self._user = user

    def _check(self) -> None:
        """Raises Zenoh's own error if it was dropped."""
        _ = self._query.key_expr

    @property
    def key_expr(self) -> zenoh.KeyExpr:
        self._check()
        return self._key_expr

    @property
    def selector(self) -> zenoh.Selector:
        return zenoh.Selector(self.key_expr, self.parameters)

    @property
    def parameters(self) -> zenoh.Parameters:
        found = self._query.parameters
        if not self._ask.any_key:
            found.remove(_ANY_KEY)  # the protocol's own gets say so, the caller did not
        return found

    @property
    def payload(self) -> zenoh.ZBytes | None:
        return self._query.payload

    @property
    def encoding(self) -> zenoh.Encoding | None:
        return self._query.encoding

    @property
    def attachment(self) -> zenoh.ZBytes | None:
        self._check()
        return None if self._user is None else zenoh.ZBytes(self._user)

    @property
    def source_info(self) -> zenoh.SourceInfo | None:
        return self._query.source_info

    @property
    def timestamp_stack(self) -> Any:
        return self._query.timestamp_stack

    @cached_property
    def areas(self) -> tuple[Location, ...] | None:
        """The places it asks for, decoded; None for everywhere."""
        return located_all(self._ask.chunk) if self._ask.chunk else None

    @property
    def location_keys(self) -> tuple[LocationKey, ...]:
        """The same as location keys, in written form."""
        if not self._ask.chunk:
            return ()
        return tuple(from_chunk(chunk)[0] for chunk in chunks_in(self._ask.chunk))

    def asks_for(self, place: Coordinates) -> bool:
        """Whether a position is in the area it asks for.

        A get by Bloom elements is answered by the position's cell of the session's own domain.
        """
        if self.areas is None:
            return True
        for area in self.areas:
            precision = Precision.BLOOM_FILTER if isinstance(area, Bits) else Precision.POINT
            chunk = self._core.places.position_chunk(place, precision)
            position = located(chunk)
            if position == area or locations_match(position, _as_subscriber(area)):
                return True
        return False

    def accepts_replies(self) -> zenoh.ReplyKeyExpr:
        self._check()
        if self._ask.any_key:
            return zenoh.ReplyKeyExpr.ANY
        return zenoh.ReplyKeyExpr.MATCHING_QUERY

    def reply(
        self,
        key_expr: Any,
        payload: Any,
        *,
        encoding: Any = None,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        attachment: Any = None,
        timestamp: zenoh.Timestamp | None = None,
        location: Coordinates | LocationKey | None = None,
        bloom_domain: str | None = None,
    ) -> None:
        """Like `zenoh.Query.reply`.

        Args:
            location: where the answer is true; by default the session's own position.
            bloom_domain: of a Bloom key, the fingerprint of its grid.
        """
        self._query.reply(
            self._checked(key_expr),
            payload,
            encoding=encoding,
            congestion_control=congestion_control,
            priority=priority,
            express=express,
            attachment=self._located(attachment, location, bloom_domain),
            timestamp=timestamp,
        )

    def reply_del(
        self,
        key_expr: Any,
        *,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        attachment: Any = None,
        timestamp: zenoh.Timestamp | None = None,
        location: Coordinates | LocationKey | None = None,
        bloom_domain: str | None = None,
    ) -> None:
        """Like `zenoh.Query.reply_del`; ``location`` and ``bloom_domain`` as for `reply`."""
        self._query.reply_del(
            self._checked(key_expr),
            congestion_control=congestion_control,
            priority=priority,
            express=express,
            attachment=self._located(attachment, location, bloom_domain),
            timestamp=timestamp,
        )

    def reply_err(self, payload: Any, *, encoding: Any = None) -> None:
        self._query.reply_err(payload, encoding=encoding)

    def _checked(self, key_expr: Any) -> Any:
        if not self._ask.any_key and not self.key_expr.intersects(key_expr):
            raise zenoh.ZError(
                f"Attempted to reply on `{key_expr}`, which does not intersect with query "
                f"`{self.key_expr}`, despite query only allowing replies on matching key "
                "expressions"
            )
        return key_expr

    def _located(
        self,
        attachment: Any,
        location: Coordinates | LocationKey | None,
        bloom_domain: str | None,
    ) -> Any:
        if location is None:
            location = self._core.position.current()
        if location is None:
            return attachment
        if isinstance(location, Coordinates):
            packed = self._core.places.packed(location, self._precision)
        elif isinstance(location, LocationKey):
            chunk = to_chunk(location, bloom_domain)
            packed = location_bytes.pack_location(located(chunk), chunk)
        else:
            raise ArgumentError("location", location, "must be Coordinates or a LocationKey")
        end = frames.ending(frames.pack_header(packed))
        return frames.attached(frames.given(attachment), end) + frames.MAGIC

    def drop(self) -> None:
        self._query.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_args: Any, **_kwargs: Any) -> None:
        self._query.__exit__(*_args, **_kwargs)

    def __repr__(self) -> str:
        return f'Query {{ selector: "{self.selector}" }}'  # Zenoh's error if it was dropped
