"""The methods of a session that publish."""

from __future__ import annotations

from typing import Any

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.errors import ArgumentError
from zenoh_la.router_plugin.frames import given
from zenoh_la.session.base import SessionBase
from zenoh_la.session.core import check_length, locality, topic_of
from zenoh_la.session.places import checked_precision
from zenoh_la.session.publisher import Publisher
from zenoh_la.session.sender import DELETE, Sender, sender_of
from zenoh_la.values import Coordinates


class Publishing(SessionBase):
    """`put`, `delete` and publishers."""

    def put(
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
        timestamp_instrumentation: Any = None,
        allowed_destination: zenoh.Locality | None = None,
        source_info: zenoh.SourceInfo | None = None,
        precision: Precision | None = Precision.POINT,
        location: Coordinates | None = None,
    ) -> None:
        """Like `zenoh.Session.put`, at the session's position if it has one.

        Args:
            precision: the encoding of the position; None for a plain message.
            location: where it arises, if that is not where the session is: for those who publish
                for others, such as a gateway.
        """
        qos = {
            "encoding": encoding,
            "congestion_control": congestion_control,
            "priority": priority,
            "express": express,
            "timestamp": timestamp,
            "timestamp_instrumentation": timestamp_instrumentation,
            "source_info": source_info,
        }
        position = self._position_for(precision, location)
        if position is None or precision is None:
            check_length(key_expr)
            self._zsession.put(
                key_expr,
                payload,
                attachment=attachment,
                allowed_destination=allowed_destination,
                **qos,
            )
        else:
            sender = self._sender(key_expr, precision, allowed_destination, priority)
            sender.send(position, payload, given(attachment), qos)

    def delete(
        self,
        key_expr: Any,
        *,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        attachment: Any = None,
        timestamp: zenoh.Timestamp | None = None,
        timestamp_instrumentation: Any = None,
        allowed_destination: zenoh.Locality | None = None,
        source_info: zenoh.SourceInfo | None = None,
        precision: Precision | None = Precision.POINT,
        location: Coordinates | None = None,
    ) -> None:
        """Like `zenoh.Session.delete`; ``precision`` and ``location`` as for `put`."""
        qos = {
            "congestion_control": congestion_control,
            "priority": priority,
            "express": express,
            "timestamp": timestamp,
            "timestamp_instrumentation": timestamp_instrumentation,
            "source_info": source_info,
        }
        position = self._position_for(precision, location)
        if position is None or precision is None:
            check_length(key_expr)
            self._zsession.delete(
                key_expr, attachment=attachment, allowed_destination=allowed_destination, **qos
            )
        else:
            sender = self._sender(key_expr, precision, allowed_destination, priority)
            sender.send(position, DELETE, given(attachment), qos)

    def _position_for(self, precision: Any, location: Any) -> Coordinates | None:
        if location is not None:
            if not isinstance(location, Coordinates):
                raise ArgumentError("location", location, "must be Coordinates")
            if precision is None:
                raise ArgumentError("location", location, "a message without a precision is plain")
        if checked_precision(precision) is None or self._zsession.is_closed():
            return None  # if it is closed, Zenoh says so
        return self._core.position.current() if location is None else location

    def _sender(
        self,
        key_expr: Any,
        precision: Precision,
        allowed_destination: zenoh.Locality | None,
        priority: zenoh.Priority | None,
    ) -> Sender:
        destination = locality("allowed_destination", allowed_destination)
        return sender_of(self._core, topic_of(key_expr), precision, destination, priority)

    def declare_publisher(
        self,
        key_expr: Any,
        *,
        encoding: Any = None,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        reliability: zenoh.Reliability | None = None,
        allowed_destination: zenoh.Locality | None = None,
        precision: Precision | None = Precision.POINT,
    ) -> Publisher:
        """Like `zenoh.Session.declare_publisher`; it publishes where the session is."""
        checked_precision(precision)
        check_length(key_expr)
        native = self._zsession.declare_publisher(
            key_expr,
            encoding=encoding,
            congestion_control=congestion_control,
            priority=priority,
            express=express,
            reliability=reliability,
            allowed_destination=allowed_destination,
        )
        return Publisher(self._core, native, precision, express, allowed_destination)
