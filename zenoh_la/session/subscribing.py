"""The methods of a session that subscribe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.errors import ArgumentError
from zenoh_la.keys import Role
from zenoh_la.session import subscriber
from zenoh_la.session.base import SessionBase
from zenoh_la.session.core import topic_of
from zenoh_la.session.places import Wanted, Where
from zenoh_la.session.subscriber import PULL_CAPACITY, PullSubscriber, Subscriber
from zenoh_la.values import Shape


class Subscribing(SessionBase):
    """Subscribers of the whole network or of an area, pushed or pulled."""

    def declare_subscriber(
        self,
        key_expr: Any,
        handler: Any = None,
        *,
        allowed_origin: zenoh.Locality | None = None,
        location_shape: Wanted = Shape.NONE,
        shape_data: Mapping[str, Any] | None = None,
        precision: Precision = Precision.POINT,
        include_unlocated: bool = False,
    ) -> Subscriber[Any]:
        """Like `zenoh.Session.declare_subscriber`; with an area, only what arises there.

        Args:
            location_shape: a `Shape`, an area such as `Circle(…)`, or a list of areas.
            shape_data: the data of the shape; a circle without ``c`` is about the session.
            precision: the encoding of the area.
            include_unlocated: with an area, plain messages of the topic as well; without one they
                come in any case.
        """
        where = Where.of(location_shape, shape_data, precision)
        if where is None:
            return subscriber.declare_plain(self._core, key_expr, handler, allowed_origin)
        self._check_open()
        return subscriber.declare_in_area(
            self._core,
            topic_of(key_expr),
            handler,
            where,
            Role.SUBSCRIBER,
            allowed_origin,
            include_unlocated=include_unlocated,
        )

    def declare_pull_subscriber(
        self,
        key_expr: Any,
        handler: Callable[[Any], Any] | None = None,
        *,
        capacity: int = PULL_CAPACITY,
        allowed_origin: zenoh.Locality | None = None,
        location_shape: Wanted = Shape.NONE,
        shape_data: Mapping[str, Any] | None = None,
        precision: Precision = Precision.POINT,
        include_unlocated: bool = False,
    ) -> PullSubscriber:
        """A subscriber whose samples wait until `PullSubscriber.pull` is called.

        Args:
            handler: is called for each sample, by ``pull``.
            capacity: how many samples wait; the oldest go first.
        """
        if handler is not None and not callable(handler):
            raise ArgumentError("handler", handler, "must be callable")
        if type(capacity) is not int or capacity < 1:
            raise ArgumentError("capacity", capacity, "must be a number of samples, at least 1")
        where = Where.of(location_shape, shape_data, precision)
        ring: Any = zenoh.handlers.RingChannel(capacity)
        if where is None:
            pulled = subscriber.declare_plain(
                self._core, key_expr, ring, allowed_origin, PullSubscriber
            )
        else:
            self._check_open()
            pulled = subscriber.declare_in_area(
                self._core,
                topic_of(key_expr),
                ring,
                where,
                Role.PULL_SUBSCRIBER,
                allowed_origin,
                include_unlocated=include_unlocated,
            )
        assert isinstance(pulled, PullSubscriber)
        pulled.callback, pulled.capacity = handler, capacity
        return pulled
