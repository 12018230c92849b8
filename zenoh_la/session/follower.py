"""The thread by which a client follows the network: it looks whenever something changed there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

log = logging.getLogger("zenoh_la")

_RETRIES_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class Follower:
    """Looks when it is woken, and again after ever longer times if that failed.

    Args:
        look: finds out what is right for the network as it is, and sees to it.
        is_over: whether the session is closed, so that nothing need work any more.
    """

    def __init__(self, look: Callable[[], None], is_over: Callable[[], bool]) -> None:
        self._look = look
        self._is_over = is_over
        self._events: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="zenoh-la-membership", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something about the network changed."""
        self._events.put(self._look)

    def leave_to(self, task: Callable[[], None]) -> None:
        """Has something done by this thread."""
        self._events.put(task)

    def stop(self) -> None:
        """Has the thread end, and does not wait for it."""
        self._events.put(None)

    def join(self, timeout_s: float) -> None:
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        failures = 0
        while True:
            try:
                wait_s = _RETRIES_S[min(failures, len(_RETRIES_S)) - 1] if failures else None
                task = self._events.get(timeout=wait_s)
            except Empty:
                task = self._look
            if task is None or self._is_over():
                return
            try:
                task()
                failures = 0 if task is self._look else failures
            except Exception as exc:
                if self._is_over():
                    return
                failures += 1
                log.warning("joining a node failed, trying again: %s", exc)
