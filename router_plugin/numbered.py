"""Keys that Zenoh knows by a number, so that a put on one costs less.

Zenoh forgets no number while a session or a link lasts, has 65,535 of them, and does not look
whether one is in use (see the limits in `docs/PROTOCOL.md`): so there are only so many here.
"""

from __future__ import annotations

import zenoh

from zenoh_la.router_plugin.protocol import REMEMBERED_LENGTH

_MAX_NUMBERED = 16_384


class NumberedKeys:
    """Stable keys on which a session puts often.

    Args:
        on_links: have them numbered on the session's links too: 36 bytes less for each message
            to a router. Else only in the session: a put takes the router 1.9 instead of 3.2 µs.
    """

    def __init__(self, session: zenoh.Session, *, on_links: bool) -> None:
        self._session = session
        self._on_links = on_links
        self._keys: dict[str, tuple[zenoh.KeyExpr, object]] = {}

    def get(self, key: str) -> zenoh.KeyExpr:
        """The key as Zenoh finds it soonest."""
        known = self._keys.get(key)
        if known is None:
            if len(self._keys) >= _MAX_NUMBERED or len(key) > REMEMBERED_LENGTH:
                return zenoh.KeyExpr(key)
            known = self._keys[key] = self._declared(key)
        return known[0]

    def _declared(self, key: str) -> tuple[zenoh.KeyExpr, object]:
        if not self._on_links:
            return self._session.declare_keyexpr(key), None
        # That somebody publishes there, Zenoh tells a router in advance: then it has a number.
        publisher = self._session.declare_publisher(key)
        return publisher.key_expr, publisher
