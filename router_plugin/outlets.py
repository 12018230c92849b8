"""The plain topics: located messages for native applications, where there are any."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

import zenoh

from zenoh_la.router_plugin.callbacks import seldom
from zenoh_la.router_plugin.protocol import REMEMBERED_LENGTH

_MAX_OUTLETS = 8192  # a session's declarations have ids of 16 bits that are never checked for use
_UNKNOWN_S = 1.0


class Outlet:
    """One plain topic.

    ``wanted`` says whether a native subscriber listens. In its first second an outlet of a client
    or peer cannot know it yet, and counts as wanted.
    """

    __slots__ = ("_known_at", "_listener", "_matching", "_publisher", "key_expr")

    def __init__(
        self,
        session: zenoh.Session,
        topic: str,
        *,
        knows_at_once: bool,
        on_change: Callable[[str], None],
    ) -> None:
        self._publisher = session.declare_publisher(topic)
        self.key_expr = self._publisher.key_expr
        self._known_at = 0.0 if knows_at_once else monotonic() + _UNKNOWN_S
        self._matching = False

        def changed(status: zenoh.MatchingStatus) -> None:
            self._matching = status.matching
            on_change(topic)

        self._listener = self._publisher.declare_matching_listener(seldom(changed))
        self._matching = self._matching or self.matching

    @property
    def wanted(self) -> bool:
        if self._matching:
            return True
        if self._known_at:
            if monotonic() < self._known_at:
                return True
            self._known_at = 0.0
        return False

    @property
    def matching(self) -> bool:
        """What Zenoh says now."""
        status: object = self._publisher.matching_status  # an object, whatever the stub says
        return bool(getattr(status, "matching", status))

    def close(self) -> None:
        self._listener.undeclare()
        self._publisher.undeclare()


class Untold:
    """A topic too many to be told of its subscribers: Zenoh finds them for every message."""

    __slots__ = ("key_expr",)
    wanted = True
    matching = False

    def __init__(self, topic: str) -> None:
        self.key_expr = zenoh.KeyExpr(topic)

    def close(self) -> None:
        """Nothing was declared."""


class Outlets:
    """The outlets of a node, by topic."""

    def __init__(
        self, session: zenoh.Session, *, knows_at_once: bool, on_change: Callable[[str], None]
    ) -> None:
        self._session = session
        self._knows_at_once = knows_at_once
        self._on_change = on_change
        self._lock = threading.Lock()
        self._outlets: dict[str, Outlet] = {}

    def get(self, topic: str) -> Outlet | Untold:
        outlet = self._outlets.get(topic)
        if outlet is not None:
            return outlet
        with self._lock:
            outlet = self._outlets.get(topic)
            if outlet is None:
                if len(self._outlets) >= _MAX_OUTLETS or len(topic) > REMEMBERED_LENGTH:
                    return Untold(topic)
                outlet = self._outlets[topic] = Outlet(
                    self._session,
                    topic,
                    knows_at_once=self._knows_at_once,
                    on_change=self._on_change,
                )
        return outlet

    def close(self) -> None:
        for outlet in self._outlets.values():
            outlet.close()
        self._outlets.clear()
