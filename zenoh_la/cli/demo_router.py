"""A router of the demo's network, in a process of its own.

It is told what to connect to by a line on its standard input, answers with its endpoint, and ends
when that input ends: with the demo, however that ends.
"""

from __future__ import annotations

import json
import sys

import zenoh

from zenoh_la.cli.network import configuration
from zenoh_la.router_plugin.router import Router

STOCK, LOCATION_AWARE = "stock", "location-aware"


def main() -> None:
    """Runs the router; its kind is the one argument."""
    told = sys.stdin.readline()
    if not told:
        return  # the demo is gone already
    config = configuration("router", None, json.loads(told), ["tcp/127.0.0.1:0"])
    if sys.argv[1] == STOCK:
        config.insert_json5("adminspace/enabled", "true")
        with zenoh.open(config) as session:
            _stay([_locator(session)])
    else:
        with Router(config) as router:
            _stay(router.locators())


def _locator(session: zenoh.Session) -> str:
    for reply in session.get(f"@/{session.zid()}/router", timeout=5.0):
        if reply.ok is not None:
            return str(json.loads(reply.ok.payload.to_bytes())["locators"][0])
    raise OSError("a stock router does not say where it listens")


def _stay(locators: list[str]) -> None:
    sys.stdout.write(f"{locators[0]}\n")
    sys.stdout.flush()
    sys.stdin.read()
