"""One thread per session that follows its position, and moves what goes with it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from math import inf
from time import monotonic

from zenoh_la.session.position import PositionSource
from zenoh_la.values import Coordinates

log = logging.getLogger("zenoh_la")

MIN_PERIOD_S = 0.1
"""A lifetime of 0 means: ask at every use. The thread asks ten times a second."""
_RETRY_S = 0.1
_BUSY_S = 0.01


class Mobility:
    """Keeps ego-centric interests where the session is.

    Args:
        move: moves the interests to a position; returns how many changed.
        is_needed: whether there is anything that goes with the position.
    """

    def __init__(
        self, move: Callable[[Coordinates | None], int], is_needed: Callable[[], bool]
    ) -> None:
        self._move = move
        self._is_needed = is_needed
        self._is_stale = False
        self._position: PositionSource | None = None
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._also: list[Callable[[], None]] = []
        self._may_ask_at = -inf
        self.moves = 0

    def follow(self, position: PositionSource) -> None:
        self._position = position

    def start(self) -> None:
        """Starts the thread, if it does not run."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(
                    target=self._run, name="zenoh-la-mobility", daemon=True
                )
                self._thread.start()
        self.wake()

    def wake(self) -> None:
        """The position, its lifetime or an interest changed: look now."""
        self._is_stale = True
        if self._thread is not None and not self._wake.is_set():
            self._wake.set()

    def also(self, task: Callable[[], None]) -> None:
        """Has something done after every change of position."""
        self._also.append(task)
        self.start()

    def no_longer(self, task: Callable[[], None]) -> None:
        if task in self._also:
            self._also.remove(task)

    def close(self) -> None:
        self.stop()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)  # a position handler may take longer; the thread ends after it

    def stop(self) -> None:
        """Has the thread end, and does not wait for it."""
        self._closed = True
        self._wake.set()

    def _run(self) -> None:
        position = self._position
        assert position is not None
        failed = False
        while not self._closed:
            self._wake.wait(_RETRY_S if failed else self._wait_s(position))
            self._wake.clear()  # before looking: what changes from now on wakes again
            if self._closed:
                return
            try:
                self._look(position)
                failed = False
            except Exception as exc:
                if self._closed:
                    return  # the session was closed under a move
                level = logging.DEBUG if failed else logging.WARNING  # once until it works again
                log.log(level, "moving failed, trying again: %s", exc)
                self._is_stale = failed = True

    def _look(self, position: PositionSource) -> None:
        now_s = monotonic()
        if now_s >= max(position.expires_at, self._may_ask_at) and self._is_needed():
            if position.lifetime_s == 0:
                self._may_ask_at = now_s + MIN_PERIOD_S
            position.current()
        if self._is_stale:
            self._is_stale = False
            self.moves += self._move(position.last())
            for task in list(self._also):
                task()

    def _wait_s(self, position: PositionSource) -> float | None:
        if position.lifetime_s == inf or not self._is_needed():
            return None
        if position.is_being_asked:
            return _BUSY_S  # somebody else waits for the handler
        return max(position.expires_at - monotonic(), self._may_ask_at - monotonic(), 0.0)
