"""What subscribers, queryables and matching listeners have in common: something is received."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Generic, Self, TypeVar

import zenoh

from zenoh_la.session import handlers

H = TypeVar("H")
T = TypeVar("T")


class Receiver(Generic[H, T]):
    """A native handle on a key of the session's own, shown as one of the application's.

    Args:
        native: the native handle.
        change: what is done to each item that is received.
        end: is called when it is undeclared.
    """

    def __init__(self, native: Any, change: handlers.Change, end: Callable[[], None]) -> None:
        self._native = native
        self._end: Callable[[], None] | None = end
        self._handler = handlers.shown(native.handler, change)
        # As in Zenoh, one with a channel ends with its last reference; a callback goes on.
        self._ends_with_reference = isinstance(self._handler, handlers.Handler)

    def _check(self) -> None:
        """Raises Zenoh's own error if it was undeclared."""
        _ = self._native.handler

    @property
    def handler(self) -> H:
        self._check()
        found: H = self._handler
        return found

    def undeclare(self) -> None:
        self._check()
        self._native.undeclare()
        self._finish()

    def _finish(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end()

    def try_recv(self) -> T | None:
        channel: Any = self.handler
        found: T | None = channel.try_recv()
        return found

    def recv(self) -> T:
        channel: Any = self.handler
        found: T = channel.recv()
        return found

    def __iter__(self) -> Iterator[T]:
        channel: Any = self.handler
        return iter(channel)

    def __enter__(self) -> Self:
        self._native.__enter__()
        return self

    def __exit__(self, *_args: Any, **_kwargs: Any) -> None:
        self.undeclare()  # as in Zenoh, an error if that was done before

    def __del__(self) -> None:
        if getattr(self, "_ends_with_reference", False) and self._end is not None:
            with contextlib.suppress(Exception):  # the session may be closed by now
                self._finish()


class Handle(Receiver[H, T]):
    """One of a topic.

    Args:
        key_expr: what the application declared it on.
    """

    def __init__(
        self, native: Any, key_expr: zenoh.KeyExpr, change: handlers.Change, end: Callable[[], None]
    ) -> None:
        super().__init__(native, change, end)
        self._key_expr = key_expr

    @property
    def key_expr(self) -> zenoh.KeyExpr:
        """The plain topic."""
        self._check()
        return self._key_expr

    @property
    def id(self) -> zenoh.EntityGlobalId:
        found: zenoh.EntityGlobalId = self._native.id
        return found
