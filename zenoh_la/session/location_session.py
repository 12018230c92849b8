"""The location-aware session, and how to open one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import zenoh

from zenoh_la.session.publishing import Publishing
from zenoh_la.session.querying import Querying
from zenoh_la.session.subscribing import Subscribing

_DEFAULT_TIMEOUT_MS = 10_000
_MODES = {"client": zenoh.WhatAmI.CLIENT, "router": zenoh.WhatAmI.ROUTER}


class LocationSession(Publishing, Subscribing, Querying):
    """A `zenoh.Session` that knows places.

    It has every method of `zenoh.Session`, with the same arguments and behaviour; location
    arguments are extra, and their defaults give plain Zenoh. Make one with `zenoh_la.open`.
    """


def open(  # noqa: A001 - it replaces zenoh.open
    config: zenoh.Config | None = None,
    *,
    timestamp_callback: Callable[[Any], bytes] | None = None,
) -> LocationSession:
    """Opens a location-aware session, as `zenoh.open` opens a plain one.

    Nothing about places is sent before a position or an area is used; only a session in router
    mode is at once a location-aware router for its clients.
    """
    config = zenoh.Config() if config is None else config
    mode = _MODES.get(_setting(config, "mode"), zenoh.WhatAmI.PEER)
    timeout_ms = _setting(config, "queries_default_timeout") or _DEFAULT_TIMEOUT_MS
    session = zenoh.open(config, timestamp_callback=timestamp_callback)
    return LocationSession(session, mode, timeout_ms / 1000)


def _setting(config: zenoh.Config, name: str) -> Any:
    try:
        return json.loads(config.get_json(name))
    except (zenoh.ZError, ValueError):
        return None
