"""What the examples run on: a location-aware router, and one session for each device.

With ``--connect ENDPOINT`` they run on a network that is there already.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from typing import Self

import zenoh

import zenoh_la


class LittleNetwork:
    """Opens sessions on a router, and closes all of it at the end."""

    def __init__(self) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument("--connect", metavar="ENDPOINT", help="e.g. tcp/localhost:7447")
        self._endpoint: str | None = parser.parse_args().connect
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._endpoint is None:
            config = _config("router", listen=["tcp/127.0.0.1:0"])  # a port that is free
            router = self._stack.enter_context(zenoh_la.Router(config))
            (self._endpoint,) = router.locators()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self) -> zenoh_la.LocationSession:
        """A location-aware session."""
        return self._stack.enter_context(zenoh_la.open(self._client()))

    def open_native(self) -> zenoh.Session:
        """A session of stock Zenoh."""
        return self._stack.enter_context(zenoh.open(self._client()))

    def _client(self) -> zenoh.Config:
        assert self._endpoint is not None, "use it in a with statement"
        return _config("client", connect=[self._endpoint])


def _config(mode: str, **endpoints: list[str]) -> zenoh.Config:
    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(mode))
    config.insert_json5("scouting/multicast/enabled", "false")
    for name, addresses in endpoints.items():
        config.insert_json5(f"{name}/endpoints", json.dumps(addresses))
    return config
