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
    problem = "must be a number of seconds, 0 or more"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentError("lifetime", value, problem)
    try:
        seconds = float(value)
    except OverflowError as exc:
        raise ArgumentError("lifetime", "a number of many digits", problem) from exc
    if not seconds >= 0:
        raise ArgumentError("lifetime", value, problem)
    return seconds


class _Asked:
    """A handler, and what it said last."""

    __slots__ = ("answered", "asker", "asking", "expires_at", "failed", "handler", "position")

    def __init__(self, handler: PositionHandler, position: Coordinates | None) -> None:
        self.handler = handler
        self.position = position
        self.answered = False
        self.failed = False
        self.expires_at = -inf
        self.asking = threading.Lock()
        self.asker: int | None = None


class PositionSource:
    """The position of a session and how long it holds.

    One thread at a time asks the handler. Others go on with the position there is, if there is
    one, so that a slow handler holds up nobody who does not need it.

    Args:
        on_refresh: is called when the position has changed.
    """

    def __init__(self, on_refresh: Callable[[], None]) -> None:
        self._on_refresh = on_refresh
        # Replaced as a whole: an answer of an earlier handler that comes late changes nothing.
        self._asked: _Asked | None = None
        self.lifetime_s = inf

    @property
    def is_declared(self) -> bool:
        return self._asked is not None

    @property
    def expires_at(self) -> float:
        """When it must be asked for again, on the clock `time.monotonic`."""
        asked = self._asked
        return -inf if asked is None else asked.expires_at

    @property
    def is_being_asked(self) -> bool:
        """Whether the handler is at work."""
        asked = self._asked
        return asked is not None and asked.asking.locked()

    def declare(self, lifetime: Any, handler: Any) -> None:
        if not callable(handler):
            problem = "must be callable and return Coordinates, or None for no position"
            raise ArgumentError("handler", handler, problem)
        self.lifetime_s = lifetime_s(lifetime)
        self._asked = _Asked(handler, self.last())

    def set_lifetime(self, lifetime: Any) -> None:
        """Counts from now on: a position that has expired by it is asked for at the next use."""
        self.lifetime_s = lifetime_s(lifetime)
        asked = self._asked
        if asked is not None and asked.answered:
            asked.expires_at = monotonic() + self.lifetime_s

    def current(self) -> Coordinates | None:
        """The position; the handler is asked if there is none or it has expired.

        Raises:
            PositionError: the handler failed, and it has never answered before.
        """
        asked = self._asked
        if asked is None:
            return None
        if monotonic() < asked.expires_at:
            return asked.position
        if asked.asker == threading.get_ident() and not asked.answered:
            raise PositionError("the position handler itself needs a position")
        if not asked.asking.acquire(blocking=not asked.answered):
            return asked.position
        try:
            if monotonic() < asked.expires_at:
                return asked.position
            asked.asker = threading.get_ident()
            changed = self._ask(asked)
        finally:
            asked.asker = None
            asked.asking.release()
        if changed:
            self._on_refresh()
        return asked.position

    def last(self) -> Coordinates | None:
        """The position that was asked for last, expired or not."""
        asked = self._asked
        return None if asked is None else asked.position

    def _ask(self, asked: _Asked) -> bool:
        try:
            position = asked.handler()
            if position is not None and not isinstance(position, Coordinates):
                problem = "a position handler returns Coordinates, or None for no position"
                raise ArgumentError("handler()", position, problem)
        except Exception as exc:
            if not asked.answered:
                raise PositionError(f"the position handler failed: {exc}") from exc
            level = logging.DEBUG if asked.failed else logging.WARNING  # once until it works again
            log.log(level, "the position handler failed, the old position stays: %s", exc)
            asked.failed = True
            asked.expires_at = monotonic() + self.lifetime_s
            return False
        changed = not asked.answered or position != asked.position
        asked.position = position
        asked.answered, asked.failed = True, False
        asked.expires_at = monotonic() + self.lifetime_s
        return changed
