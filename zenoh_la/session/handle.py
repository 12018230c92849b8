"""What subscribers, queryables and matching listeners have in common: something is received."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Generic, Self, TypeVar

import zenoh

from zenoh_la.session import handlers

H = TypeVar("H")
T = TypeVar("T")


class Handle(Generic[H, T]):
    """A native handle on a key of the session's own, shown as one of the application's topic.

    Args:
        native: the native handle.
        key_expr: what the application declared it on.
        change: what is done to each item that is received.
        end: is called when it is undeclared.
    """

    def __init__(
        self, native: Any, key_expr: zenoh.KeyExpr, change: handlers.Change, end: Callable[[], None]
    ) -> None:
        self._native = native
        self._key_expr = key_expr
        self._end: Callable[[], None] | None = end
        self._handler = handlers.shown(native.handler, change)
        # As in Zenoh, one with a channel ends with its last reference; a callback goes on.
        self._ends_with_reference = isinstance(self._handler, handlers.Handler)

    @property
    def key_expr(self) -> zenoh.KeyExpr:
        """The plain topic."""
        _ = self._native.key_expr  # Zenoh's own error if it was undeclared
        return self._key_expr

    @property
    def id(self) -> zenoh.EntityGlobalId:
        found: zenoh.EntityGlobalId = self._native.id
        return found

    @property
    def handler(self) -> H:
        _ = self._native.handler
        found: H = self._handler
        return found

    def undeclare(self) -> None:
        self._native.undeclare()
        self._finish()

    def _finish(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end()

    def try_recv(self) -> T | None:
        found: T | None = self._channel.try_recv()
        return found

    def recv(self) -> T:
        found: T = self._channel.recv()
        return found

    def __iter__(self) -> Iterator[T]:
        return iter(self._channel)

    @property
    def _channel(self) -> Any:
        _ = self._native.handler
        return self._handler

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._end is not None:
            self.undeclare()

    def __del__(self) -> None:
        if getattr(self, "_ends_with_reference", False) and self._end is not None:
            with contextlib.suppress(Exception):  # the session may be closed by now
                self._finish()
