"""Where a session is: asked of its handler, kept for its lifetime."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from math import inf
from numbers import Real
from time import monotonic
from typing import Any

from zenoh_la.errors import ArgumentError, PositionError
from zenoh_la.values import Coordinates

log = logging.getLogger("zenoh_la")

PositionHandler = Callable[[], Coordinates | None]


def lifetime_s(value: Any) -> float:
    """A lifetime that is one: seconds from 0 on, `math.inf` included."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
        raise ArgumentError("lifetime", value, "must be a number of seconds, 0 or more")
    return float(value)


class PositionSource:
    """The position of a session and how long it holds.

    One thread at a time asks the handler. Others go on with the position there is, if there is
    one, so that a slow handler holds up nobody who does not need it.

    Args:
        on_refresh: is called when the position has changed.
    """

    def __init__(self, on_refresh: Callable[[], None]) -> None:
        self._on_refresh = on_refresh
        self._asking = threading.Lock()
        self._handler: PositionHandler | None = None
        self._position: Coordinates | None = None
        self._answered = False
        self._expires_at = -inf
        self.lifetime_s = inf

    @property
    def is_declared(self) -> bool:
        return self._handler is not None

    @property
    def expires_at(self) -> float:
        """When it must be asked for again, on the clock `time.monotonic`."""
        return self._expires_at

    def declare(self, lifetime: Any, handler: Any) -> None:
        if not callable(handler):
            problem = "must be callable and return Coordinates, or None for no position"
            raise ArgumentError("handler", handler, problem)
        self.lifetime_s = lifetime_s(lifetime)
        self._handler = handler
        self._answered = False
        self._expires_at = -inf

    def set_lifetime(self, lifetime: Any) -> None:
        """Counts from now on: a position that has expired by it is asked for at the next use."""
        self.lifetime_s = lifetime_s(lifetime)
        if self._answered:
            self._expires_at = monotonic() + self.lifetime_s

    def current(self) -> Coordinates | None:
        """The position; the handler is asked if there is none or it has expired.

        Raises:
            PositionError: the handler failed, and it has never answered before.
        """
        if self._handler is None:
            return None
        if monotonic() < self._expires_at:
            return self._position
        if not self._asking.acquire(blocking=not self._answered):
            return self._position
        try:
            if monotonic() < self._expires_at:
                return self._position
            changed = self._ask(self._handler)
            position = self._position
        finally:
            self._asking.release()
        if changed:
            self._on_refresh()
        return position

    def last(self) -> Coordinates | None:
        """The position that was asked for last, expired or not."""
        return self._position

    def _ask(self, handler: PositionHandler) -> bool:
        try:
            position = handler()
            if position is not None and not isinstance(position, Coordinates):
                problem = "a position handler returns Coordinates, or None for no position"
                raise ArgumentError("handler()", position, problem)
        except Exception as exc:
            if not self._answered:
                raise PositionError(f"the position handler failed: {exc}") from exc
            log.warning("the position handler failed, the old position stays: %s", exc)
            self._expires_at = monotonic() + self.lifetime_s
            return False
        changed = not self._answered or position != self._position
        self._position = position
        self._answered = True
        self._expires_at = monotonic() + self.lifetime_s
        return changed
