"""Callbacks that run on Zenoh's own receiving threads.

Those are no threads of Python's: CPython makes a thread state for every single call and throws it
away afterwards, with the memory its frames lay in. That is most of what a callback costs: a native
subscriber's took in 126,000 messages a second on a 2-core machine, and 830,000 when the thread kept
its state. So the first of our callbacks on a thread keeps it.

A thread that ends leaves its state behind. Those that receive last as long as the process; the ones
that tell of lost links come and go, so nothing is kept there.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import zenoh

_MAX_KEPT = 256
"""Zenoh receives on a few threads. Should it ever end some, so many states are left behind."""


class _Thread(threading.local):
    keeps = False


_thread = _Thread()
_lock = threading.Lock()
_kept = 0


def _keep() -> None:
    """Raises CPython's count of who needs this thread's state by one that never comes down."""
    global _kept
    _thread.keeps = True
    if not isinstance(threading.current_thread(), threading._DummyThread):
        return  # one of Python's own, which put something that is for this very session
    with _lock:
        if _kept < _MAX_KEPT:
            _kept += 1
            ctypes.pythonapi.PyGILState_Ensure()


def is_receiving() -> bool:
    """Whether this is one of Zenoh's receiving threads: an answer it waits for cannot come."""
    return _thread.keeps and isinstance(threading.current_thread(), threading._DummyThread)


def on_thread(callback: Callable[[Any], Any]) -> Callable[[Any], None]:
    """The callback, for a thread that keeps its state from the first call on."""
    thread = _thread

    def called(item: Any) -> None:
        if not thread.keeps:
            _keep()
        callback(item)

    return called


def direct(
    callback: Callable[[Any], Any], drop: Callable[[], Any] | None = None
) -> zenoh.handlers.Callback[Any]:
    """A handler of messages, gets or replies, called on the thread that receives them."""
    return zenoh.handlers.Callback(on_thread(callback), drop, indirect=False)


def seldom(callback: Callable[[Any], Any]) -> zenoh.handlers.Callback[Any]:
    """A handler of what is told when links and sessions come and go."""
    return zenoh.handlers.Callback(callback, indirect=False)
