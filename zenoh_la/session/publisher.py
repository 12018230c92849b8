"""Publishing: at the session's position if it has one, else as plain Zenoh."""

from __future__ import annotations

from typing import Any, Self

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.errors import ArgumentError
from zenoh_la.router_plugin import frames
from zenoh_la.router_plugin.protocol import LOCAL
from zenoh_la.session.core import Core, locality, topic_of
from zenoh_la.session.matching import listen, status_now
from zenoh_la.session.sender import DELETE, Sender, sender_of
from zenoh_la.values import Coordinates


class Publisher:
    """Like `zenoh.Publisher`; what it puts arises at the session's position."""

    def __init__(
        self,
        core: Core,
        native: zenoh.Publisher,
        precision: Precision | None,
        express: bool | None,
        allowed_destination: zenoh.Locality | None,
    ) -> None:
        self._core = core
        self._native = native
        self._precision = precision
        self._options = _given(
            congestion_control=native.congestion_control,
            priority=native.priority,
            express=express,
        )
        self._for_puts = self._options | {"encoding": native.encoding}
        self._is_undeclared = False
        self._destination = locality("allowed_destination", allowed_destination)
        self._sender: Sender | None = None
        self._refused: ArgumentError | None = None
        if precision is not None:
            self._locate(precision)

    def _locate(self, precision: Precision) -> None:
        try:
            topic, priority = topic_of(self._native.key_expr), self._native.priority
            self._sender = sender_of(self._core, topic, precision, self._destination, priority)
        except ArgumentError as exc:
            if self._core.position.is_declared:
                self._native.undeclare()
                raise
            self._refused = exc  # as a plain topic it may be good

    @property
    def id(self) -> zenoh.EntityGlobalId:
        return self._native.id

    @property
    def key_expr(self) -> zenoh.KeyExpr:
        return self._native.key_expr

    @property
    def encoding(self) -> zenoh.Encoding:
        return self._native.encoding

    @property
    def congestion_control(self) -> zenoh.CongestionControl:
        return self._native.congestion_control

    @property
    def priority(self) -> zenoh.Priority:
        return self._native.priority

    @property
    def reliability(self) -> zenoh.Reliability:
        return self._native.reliability

    def put(
        self,
        payload: Any,
        *,
        encoding: Any = None,
        attachment: Any = None,
        timestamp: zenoh.Timestamp | None = None,
        timestamp_instrumentation: Any = None,
        source_info: zenoh.SourceInfo | None = None,
    ) -> None:
        position = self._position()
        if position is None or self._sender is None:
            self._native.put(
                payload,
                encoding=encoding,
                attachment=attachment,
                timestamp=timestamp,
                timestamp_instrumentation=timestamp_instrumentation,
                source_info=source_info,
            )
            return
        options = self._for_puts
        if not (encoding is timestamp is timestamp_instrumentation is source_info is None):
            options = options | _given(
                encoding=encoding,
                timestamp=timestamp,
                timestamp_instrumentation=timestamp_instrumentation,
                source_info=source_info,
            )
        self._sender.send(position, payload, frames.given(attachment), options)

    def delete(
        self,
        *,
        attachment: Any = None,
        timestamp: zenoh.Timestamp | None = None,
        timestamp_instrumentation: Any = None,
        source_info: zenoh.SourceInfo | None = None,
    ) -> None:
        position = self._position()
        options = _given(
            timestamp=timestamp,
            timestamp_instrumentation=timestamp_instrumentation,
            source_info=source_info,
        )
        if position is None or self._sender is None:
            self._native.delete(attachment=attachment, **options)
        else:
            options = self._options | options
            self._sender.send(position, DELETE, frames.given(attachment), options)

    def _position(self) -> Coordinates | None:
        if self._is_undeclared:
            _ = self._native.key_expr  # Zenoh's own error
        if self._refused is not None and self._core.position.is_declared:
            raise self._refused
        return None if self._sender is None else self._core.position.current()

    @property
    def _is_located(self) -> bool:
        return self._sender is not None and self._core.position.is_declared

    def _watched(self) -> list[Any]:
        assert self._precision is not None
        chunk = self._core.chunk_here(self._precision)
        return ["s", str(self.key_expr), chunk, self._destination]

    @property
    def matching_status(self) -> Any:
        """Whether anybody listens: native subscribers, or located ones whose area this is in."""
        if not self._is_located:
            return self._native.matching_status
        if self._destination == LOCAL:  # the node does not know the session's native subscribers
            status: Any = self._native.matching_status  # an object, whatever the stub says
            if status.matching:
                return status
        return status_now(self._core, self._watched())

    def declare_matching_listener(self, handler: Any = None) -> Any:
        """Tells when that changes."""
        if not self._is_located:
            return self._native.declare_matching_listener(handler)
        return listen(self._core, self._watched, handler)

    def undeclare(self) -> None:
        self._is_undeclared = True
        self._native.undeclare()

    def __enter__(self) -> Self:
        self._native.__enter__()
        return self

    def __exit__(self, *_args: Any, **_kwargs: Any) -> None:
        self._is_undeclared = True
        self._native.__exit__(*_args, **_kwargs)

    def __repr__(self) -> str:
        return f"Publisher({self._native!r})"


def _given(**options: Any) -> dict[str, Any]:
    """The options that are given: each one that is not costs Zenoh's `put` time."""
    return {name: value for name, value in options.items() if value is not None}
