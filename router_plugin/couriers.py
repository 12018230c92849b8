"""News for sessions, each on a way of its own: who does not read holds up nobody else."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable
from time import monotonic

log = logging.getLogger("zenoh_la")

_MAX_COURIERS = 16
"""Each one can wait for somebody who does not read: until Zenoh closes that link, after 5 s."""
_MAX_NEWS = 256
"""For one who does not take them; the oldest go first."""


class Couriers:
    """Runs tasks in order for each one they are for, and beside each other for different ones.

    Attributes:
        dropped: how many were given up because too many waited.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._waiting: dict[Hashable, deque[Callable[[], None]]] = {}
        self._ready: deque[Hashable] = deque()  # those that have news and no courier
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._closed = False
        self.dropped = 0

    def send(self, to: Hashable, task: Callable[[], None]) -> None:
        """Has a task done soon, after all others that are for the same one."""
        with self._changed:
            if self._closed:
                return
            news = self._waiting.get(to)
            if news is None:
                self._waiting[to] = deque((task,))
                self._ready.append(to)
                self._wake()
                return
            news.append(task)
            if len(news) > _MAX_NEWS:
                news.popleft()
                self.dropped += 1

    def _wake(self) -> None:
        if self._idle >= len(self._ready) or len(self._threads) >= _MAX_COURIERS:
            self._changed.notify()
            return
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._ready or self._closed)
                self._idle -= 1
                if self._closed:
                    return
                to = self._ready.popleft()
            self._serve(to)

    def _serve(self, to: Hashable) -> None:
        while True:
            with self._changed:
                news = self._waiting[to]
                if not news or self._closed:
                    del self._waiting[to]
                    return
                task = news.popleft()
            try:
                task()
            except Exception as exc:
                if self._closed:
                    return  # the session was closed under a task
                log.warning("news for %s could not be sent: %s", to, exc)

    def close(self, timeout_s: float = 5.0) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        end_s = monotonic() + timeout_s
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(end_s - monotonic(), 0.0))
