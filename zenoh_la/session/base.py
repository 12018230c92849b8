"""What all parts of a session stand on: the Zenoh session, and where it is."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Self

import zenoh

from zenoh_la.encoders import BloomDomain
from zenoh_la.router_plugin import protocol
from zenoh_la.router_plugin.node import Node
from zenoh_la.router_plugin.status import Status
from zenoh_la.session.core import Core, check_length
from zenoh_la.session.home import REQUEST_TIMEOUT_S, call
from zenoh_la.session.losses import Losses
from zenoh_la.session.places import Places
from zenoh_la.session.position import PositionHandler
from zenoh_la.values import Coordinates


class SessionBase:
    """A wrapped `zenoh.Session` (which cannot be subclassed), its position and its end."""

    def __init__(self, session: zenoh.Session, mode: zenoh.WhatAmI, timeout_s: float) -> None:
        self._zsession = session
        self._mode = mode
        self._core = Core(session, mode, timeout_s)
        if mode == zenoh.WhatAmI.ROUTER:
            self._core.membership.join()  # its clients need it before it uses a location itself

    def declare_position_handler(self, lifetime: float, handler: PositionHandler) -> None:
        """Says how to find out where this session is.

        Args:
            lifetime: for how many seconds a position holds; `math.inf` for ever, 0 to ask at
                every use.
            handler: returns `Coordinates`, or None for no position. It is called when a position
                is needed and there is none or it has expired, and not before.
        """
        self._core.position.declare(lifetime, handler)
        self._core.mobility.wake()

    def set_position_lifetime(self, lifetime: float) -> None:
        """Changes for how long a position holds, from now on."""
        self._core.position.set_lifetime(lifetime)
        self._core.mobility.wake()

    @property
    def position(self) -> Coordinates | None:
        """Where this session is; asks the handler if the position has expired."""
        return self._core.position.current()

    def declare_bloom_domain(self, domain: BloomDomain) -> None:
        """Sets the grid of this session's Bloom keys; it must be the same for all parties."""
        self._core.places.declare_domain(domain)

    def node_status(self) -> Status | None:
        """What this session's own node is doing; None if it belongs to a router."""
        node = self.node
        return None if node is None else node.status()

    @property
    def node(self) -> Node | None:
        """The node inside this session; None if it belongs to a router."""
        self._core.membership.join()
        home = self._core.membership.home
        return None if home is None else home.node

    @property
    def places(self) -> Places:
        """Its encoders and Bloom domains."""
        return self._core.places

    @property
    def mode(self) -> zenoh.WhatAmI:
        """Whether it is a client, a peer or a router."""
        return self._mode

    @property
    def losses(self) -> Losses:
        """What this session could not keep or would not take since it was opened."""
        core = self._core
        return Losses(core.membership.waiting.dropped, core.held_lost, core.refused)

    def ask_node(self) -> dict[str, Any] | None:
        """The same in plain data, of its router's node if it belongs to one; may wait for it."""
        self._core.membership.join()
        home = self._core.membership.home
        if home is None:
            return None
        if home.node is not None:
            return home.node.status().to_plain()
        return call(self._zsession, protocol.status(home.nid), {}, REQUEST_TIMEOUT_S)

    # Plain Zenoh

    @property
    def info(self) -> zenoh.SessionInfo:
        return self._zsession.info

    @property
    def id(self) -> zenoh.EntityGlobalId:
        return self._zsession.id

    def zid(self) -> zenoh.ZenohId:
        return self._zsession.zid()

    def is_closed(self) -> bool:
        return self._zsession.is_closed()

    def close(self) -> None:
        """Takes everything back and closes the session; no thread is left."""
        self._core.close()

    def undeclare(self, obj: zenoh.KeyExpr) -> None:
        self._zsession.undeclare(obj)

    def new_timestamp(self) -> zenoh.Timestamp:
        return self._zsession.new_timestamp()

    def declare_keyexpr(self, key_expr: Any) -> Any:
        check_length(key_expr)
        return self._zsession.declare_keyexpr(key_expr)

    def liveliness(self) -> zenoh.Liveliness:
        return self._zsession.liveliness()

    def _check_open(self) -> None:
        if self._zsession.is_closed():
            raise zenoh.ZError("session closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_args: Any, **_kwargs: Any) -> None:
        self.close()

    def __del__(self) -> None:
        # As in Zenoh, a session ends with its last reference.
        core = getattr(self, "_core", None)
        if core is not None and not sys.is_finalizing():
            with contextlib.suppress(Exception):
                core.close()

    def __repr__(self) -> str:
        return f"LocationSession({self._zsession!r})"
