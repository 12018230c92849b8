"""Zenoh's handlers, with something done to each item on its way to the application.

Channels, threads and their ends stay Zenoh's own; only what comes out is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import zenoh
from zenoh.handlers import Callback, DefaultHandler, FifoChannel, RingChannel

from zenoh_la.router_plugin.callbacks import direct

T = TypeVar("T")

Change = Callable[[Any], Any]
"""What is done to an item; None as its answer means: not for the application."""


class Handler(Generic[T]):
    """Like `zenoh.handlers.Handler`: a channel to receive from."""

    def __init__(self, inner: Any, change: Change) -> None:
        self._inner = inner
        self._change = change

    def recv(self) -> T:
        while True:
            item = self._change(self._inner.recv())
            if item is not None:
                found: T = item
                return found

    def try_recv(self) -> T | None:
        while True:
            item = self._inner.try_recv()
            if item is None:
                return None
            item = self._change(item)
            if item is not None:
                found: T = item
                return found

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while True:
            item = self._change(next(self._inner))
            if item is not None:
                found: T = item
                return found

    def __repr__(self) -> str:
        return repr(self._inner)


def adapted(handler: Any, change: Change) -> Any:
    """The handler to give to Zenoh in place of the application's."""
    if handler is None or isinstance(handler, DefaultHandler | FifoChannel | RingChannel):
        return handler
    if isinstance(handler, tuple) and len(handler) == 2:
        callback, received_by = handler
        return (adapted(callback, change), received_by)

    def changed(item: Any) -> None:
        item = change(item)
        if item is not None:
            inner(item)

    if isinstance(handler, Callback):
        inner = handler.callback
        if not handler.indirect:
            return direct(changed, handler.drop)
        return Callback(changed, handler.drop)
    inner = handler
    return changed if callable(handler) else handler  # Zenoh says what is wrong with it


def shown(handler: Any, change: Change) -> Any:
    """What the application gets to see of the handler that Zenoh gave back."""
    return Handler(handler, change) if isinstance(handler, zenoh.handlers.Handler) else handler
