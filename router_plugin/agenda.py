"""What a node does by the clock, in one thread: things due now, later, and again."""

from __future__ import annotations

import heapq
import logging
import threading
from collections.abc import Callable
from itertools import count
from time import monotonic

log = logging.getLogger("zenoh_la")


class Agenda:
    """Runs each task when it is due, in order, in one daemon thread that `close` ends."""

    def __init__(self, name: str) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def after(self, delay_s: float, task: Callable[[], None]) -> None:
        with self._changed:
            if not self._closed:
                heapq.heappush(self._due, (monotonic() + delay_s, next(self._number), task))
                self._changed.notify()

    def every(self, period_s: float, task: Callable[[], None]) -> None:
        def again() -> None:
            try:
                task()
            finally:
                self.after(period_s, again)

        self.after(period_s, again)

    def close(self, timeout_s: float = 5.0) -> None:
        with self._changed:
            self._closed = True
            self._due.clear()
            self._changed.notify()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (not self._due or self._due[0][0] > monotonic()):
                    wait_s = self._due[0][0] - monotonic() if self._due else None
                    self._changed.wait(wait_s)
                if self._closed:
                    return
                _, _, task = heapq.heappop(self._due)
            try:
                task()
            except Exception as exc:
                if self._closed:
                    return  # the session was closed under a task
                log.warning("a task of the node failed: %s", exc, exc_info=True)
