"""How often a second one session can move: ``make bench ONLY=moves``.

A client of one router has a subscriber in a circle about itself, and a position handler that
says another place each time. Its lifetime is so short that the session's own thread asks again at
once: it asks, tells the node, waits for the answer, asks again. So each move is in force at the
node before the next begins. Native Zenoh has no moves; beside it a native subscriber is declared on
another key, then the old one taken back, and nobody waits for the router to know it.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from time import monotonic, sleep
from typing import Any

import zenoh

from benchmarks.rows import Row, row
from benchmarks.runs import Child, in_turn, of
from tests.network import client, line_of_routers, native_client, statuses
from zenoh_la import Coordinates, Precision, Shape

DURATION_S = 2.0
RADIUS_M = 1000
TOPIC = "fleet/state"
PRECISIONS = {"moves": Precision.POINT, "moves, MGRS": Precision.MGRS}
KEYS = 10_000  # a session that declares more than 65,535 different keys mixes them up


def move(contender: str, endpoint: str) -> dict[str, float]:
    """Moves for a while; the first tenth of a second does not count."""
    moves = count()

    def handler() -> Coordinates:
        made = next(moves)
        return Coordinates(48.0 + made % 1000 / 1000, 14.0 + made % 997 / 997)

    with client(endpoint) as session:
        session.declare_position_handler(1e-6, handler)
        subscriber = session.declare_subscriber(
            TOPIC,
            zenoh.handlers.Callback(lambda _: None, indirect=False),
            location_shape=Shape.CIRCLE,
            shape_data={"r": RADIUS_M},
            precision=PRECISIONS[contender],
        )
        sleep(0.1)
        start, before = monotonic(), next(moves)
        sleep(DURATION_S)
        made = next(moves) - before - 1
        spent_s = monotonic() - start
        session.set_position_lifetime(float("inf"))
        subscriber.undeclare()
    return {"per_s": made / spent_s}


def redeclare(endpoint: str) -> dict[str, float]:
    """A native subscriber on another key, make before break."""
    with native_client(endpoint) as session:
        callback: Any = zenoh.handlers.Callback(lambda _: None, indirect=False)
        held = session.declare_subscriber(f"{TOPIC}/0", callback)
        start, made = monotonic(), 0
        while made < KEYS and monotonic() - start < DURATION_S:
            made += 1
            new = session.declare_subscriber(f"{TOPIC}/{made}", callback)
            held.undeclare()
            held = new
        spent_s = monotonic() - start
    return {"per_s": made / spent_s}


def one_run(contender: str) -> dict[str, Any]:
    with line_of_routers("L") as routers:
        with Child("moves_speed", contender, routers[0].endpoint) as moving:
            figures = moving.finish()
        if contender in PRECISIONS:
            with native_client(routers[0].endpoint) as observer:
                (status,) = statuses(observer).values()
            figures["seen"] = status["version"]  # each move is a version of its own
        return figures


def measured() -> list[Row]:
    runs = in_turn("moves", ("native", *PRECISIONS), one_run)
    native = of(runs["native"], "per_s")
    return [
        row(
            "moves of one session",
            f"circle of 1 km, {precision.value}",
            of(runs[name], "per_s"),
            "/s",
            peer=native,
            at_least=2000 if precision is Precision.POINT else None,
            note="native: redeclared on another key, not awaited",
        )
        for name, precision in PRECISIONS.items()
    ]


if __name__ == "__main__":
    contender, endpoint = sys.argv[1:]
    figures = redeclare(endpoint) if contender == "native" else move(contender, endpoint)
    print(json.dumps(figures))
