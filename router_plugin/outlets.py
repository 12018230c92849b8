"""The plain topics: located messages for native applications, where there are any."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from time import monotonic

import zenoh

from zenoh_la.router_plugin.callbacks import seldom
from zenoh_la.router_plugin.protocol import REMEMBERED_LENGTH

_MAX_OUTLETS = 8192
_MAX_MADE = 40_000
"""At one time, and ever: what a Zenoh session declares has ids of 16 bits that it never uses again
and never checks for being in use."""
_UNKNOWN_S = 1.0


class Outlet:
    """One plain topic.

    ``wanted`` says whether a native subscriber listens. In its first second an outlet of a client
    or peer cannot know it yet, and counts as wanted; so does one that is retired.
    """

    __slots__ = ("_known_at", "_listener", "_matching", "_publisher", "_topic", "key_expr")

    def __init__(
        self,
        session: zenoh.Session,
        topic: str,
        *,
        knows_at_once: bool,
        on_change: Callable[[str], None],
    ) -> None:
        self._topic = topic
        self._publisher: zenoh.Publisher | None = session.declare_publisher(topic)
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
        publisher = self._publisher
        if publisher is None:
            return False
        status: object = publisher.matching_status  # an object, whatever the stub says
        return bool(getattr(status, "matching", status))

    def close(self) -> None:
        """Retires it: whoever still has it goes on, and Zenoh finds subscribers per message."""
        publisher, self._publisher = self._publisher, None
        if publisher is not None:
            self._known_at, self.key_expr = inf, zenoh.KeyExpr(self._topic)
            self._listener.undeclare()
            publisher.undeclare()


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
    """The outlets of a node, by topic.

    Each is on account of the session that needed it first. When there are too many, the session
    that has most loses its oldest to one that has fewer: nobody can take them from the others.
    """

    def __init__(
        self, session: zenoh.Session, *, knows_at_once: bool, on_change: Callable[[str], None]
    ) -> None:
        self._session = session
        self._knows_at_once = knows_at_once
        self._on_change = on_change
        self._lock = threading.Lock()
        self._outlets: dict[str, Outlet] = {}
        self._owned: dict[int | None, dict[str, None]] = {}
        self._made = 0

    def get(self, topic: str, slot: int | None) -> Outlet | Untold:
        """The outlet of a topic, for the session at a slot; None for those without one."""
        outlet = self._outlets.get(topic)
        if outlet is not None:
            return outlet
        if len(topic) > REMEMBERED_LENGTH:
            return Untold(topic)
        with self._lock:
            outlet = self._outlets.get(topic)
            if outlet is None:
                if self._made >= _MAX_MADE or not self._has_room(slot):
                    return Untold(topic)
                self._made += 1
                self._owned.setdefault(slot, {})[topic] = None
                outlet = self._outlets[topic] = Outlet(
                    self._session,
                    topic,
                    knows_at_once=self._knows_at_once,
                    on_change=self._on_change,
                )
        return outlet

    def _has_room(self, slot: int | None) -> bool:
        if len(self._outlets) < _MAX_OUTLETS:
            return True
        richest = max(self._owned.values(), key=len)
        if len(richest) <= len(self._owned.get(slot, ())) + 1:
            return False
        topic = next(iter(richest))
        del richest[topic]
        self._outlets.pop(topic).close()
        self._on_change(topic)  # nobody tells of its subscribers any more: grants must end
        return True

    def close(self) -> None:
        for outlet in self._outlets.values():
            outlet.close()
        self._outlets.clear()
