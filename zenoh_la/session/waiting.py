"""Located messages that wait for a node."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from zenoh_la.session.home import Home

log = logging.getLogger("zenoh_la")

MAX_WAITING = 1024
"""Kept while the session has no node; the oldest go first."""

Send = Callable[[Home], None]


class Waiting:
    """What is sent as soon as there is a node, in the order in which it came.

    Attributes:
        dropped: how many could not be kept or sent.
    """

    def __init__(self) -> None:
        self._sends: deque[Send] = deque()
        self._is_full = False
        self.dropped = 0

    def add(self, send: Send) -> None:
        self._sends.append(send)
        if len(self._sends) > MAX_WAITING:
            self._sends.popleft()
            self.dropped += 1
            if not self._is_full:
                log.warning("no node for so long that messages are lost, the oldest first")
            self._is_full = True

    def next(self) -> Send | None:
        """The one that has waited longest."""
        if self._sends:
            return self._sends.popleft()
        self._is_full = False
        return None

    def let_out(self, send: Send, home: Home) -> None:
        try:
            send(home)
        except Exception as exc:
            self.dropped += 1
            log.warning("a message that had to wait for a node could not be sent: %s", exc)

    def clear(self) -> None:
        self._sends.clear()
