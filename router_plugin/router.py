"""A location-aware router: a Zenoh router with a node inside."""

from __future__ import annotations

import json
from typing import Self

import zenoh

from zenoh_la.router_plugin.node import Node
from zenoh_la.router_plugin.status import Status

__all__ = ["Router", "Status"]

_LOCAL_S = 2.0
_LEASE_MS, _ZENOHS_LEASE_MS = 3000, 10_000
"""For how long the silence of a router means nothing: it is the router's own lease that its clients
and neighbours go by. In place of Zenoh's default only."""


class Router:
    """A full Zenoh router that decodes location keys and vetoes routes.

    >>> config = zenoh.Config.from_json5('{listen: {endpoints: ["tcp/127.0.0.1:0"]}}')
    >>> with Router(config) as router:
    ...     router.status().sessions
    0

    Args:
        config: a Zenoh configuration; its mode becomes ``router``, its admin space is switched
            on, as zenohd does, and its lease becomes 3 s, if it is Zenoh's default of 10 s: so
            that those who are connected to it leave it soon if it hangs.
        grants: whether publishers that stay put may put straight to those who listen. Without,
            every located message passes this router's match.
    """

    def __init__(self, config: zenoh.Config | None = None, *, grants: bool = True) -> None:
        config = zenoh.Config() if config is None else config
        config.insert_json5("mode", '"router"')
        config.insert_json5("adminspace/enabled", "true")
        if json.loads(config.get_json("transport/link/tx/lease")) == _ZENOHS_LEASE_MS:
            config.insert_json5("transport/link/tx/lease", str(_LEASE_MS))
        self._session = zenoh.open(config)
        try:
            self._node = Node(self._session, serves_clients=True, grants=grants)
        except BaseException:
            self._session.close()
            raise

    @property
    def zid(self) -> str:
        """Its Zenoh id."""
        return str(self._session.zid())

    def locators(self) -> list[str]:
        """The endpoints under which others reach it."""
        for reply in self._session.get(f"@/{self.zid}/router", timeout=_LOCAL_S):
            if reply.ok is not None:
                found: list[str] = json.loads(reply.ok.payload.to_bytes())["locators"]
                return found
        return []

    def status(self) -> Status:
        """What it is doing."""
        return self._node.status()

    def close(self) -> None:
        """Takes its node back and closes its links."""
        self._node.close()
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
