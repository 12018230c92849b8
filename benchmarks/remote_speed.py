"""What is asked or declared at one end of three routers and felt at the other: ``ONLY=remote``.

*Declare to effect*: a publisher at one end sends all the time; from the call of
`declare_subscriber` at the other end until its first message is there. *Get*: from the call until
all replies are there and the get has ended. The routers are two location-aware ones with a stock
one between; native Zenoh goes through the same.
"""

from __future__ import annotations

import json
import sys
import threading
from functools import partial
from statistics import median
from time import perf_counter, sleep
from typing import Any

import zenoh

from benchmarks.rows import Row, row
from benchmarks.runs import Child, in_turn, of
from tests.network import client, converged, line_of_routers, native_client, wait_for
from zenoh_la import Circle, Coordinates, LocationSession

LINE = "LsL"
TOPIC = "fleet/state"
CENTRE = Coordinates(48.0, 14.0)
AREA = Circle(CENTRE, 5000)
EVERY_S = 0.0002
DECLARATIONS, GETS = 40, 400
PATIENCE_S = 10.0


def _asked(session: LocationSession, contender: str) -> tuple[Any, dict[str, Any]]:
    """The session that is measured, and the arguments that make it an area's."""
    if contender == "native":
        return session._zsession, {}
    return session, {"location_shape": AREA}


def publish(contender: str, endpoint: str) -> dict[str, Any]:
    """Sends every 0.2 ms until its input ends."""
    ended = threading.Thread(target=sys.stdin.read, daemon=True)
    ended.start()
    north = 0

    def place() -> Coordinates:
        nonlocal north
        north = (north + 1) % 10_000
        return Coordinates(CENTRE.lat + north / 1e6, CENTRE.long)

    with client(endpoint) as session:
        if contender == "moves":
            session.declare_position_handler(0, place)
        elif contender == "stays":
            session.declare_position_handler(float("inf"), lambda: CENTRE)
        by, _ = _asked(session, contender)
        publisher = by.declare_publisher(TOPIC, express=True)
        publisher.put(b"x")
        print("ready", flush=True)
        sent = 1
        while ended.is_alive():
            publisher.put(b"x")
            sent += 1
            sleep(EVERY_S)
    return {"sent": sent}


def _seen(came: threading.Event, _: Any) -> None:
    came.set()


def declare(contender: str, endpoint: str) -> dict[str, Any]:
    """Declares, waits for a message, takes it back, and so on."""
    times = []
    with client(endpoint) as session:
        by, located = _asked(session, contender)
        by.declare_subscriber(f"{TOPIC}/not", lambda _: None, **located)  # it has joined
        for _ in range(DECLARATIONS):
            came = threading.Event()
            callback = zenoh.handlers.Callback(partial(_seen, came), indirect=False)
            start = perf_counter()
            subscriber = by.declare_subscriber(TOPIC, callback, **located)
            declared = perf_counter()
            assert came.wait(PATIENCE_S), "no message came"
            times.append((perf_counter() - start, declared - start))
            subscriber.undeclare()
            sleep(0.05)  # till nobody sends here any more
    return {
        "ms": median(total for total, _ in times) * 1e3,
        "call_ms": median(call for _, call in times) * 1e3,
    }


def answer(contender: str, endpoint: str) -> dict[str, Any]:
    """Answers until its input ends."""

    def on_query(query: Any) -> None:
        query.reply(TOPIC, b"here")
        query.drop()

    callback = zenoh.handlers.Callback(on_query, indirect=False)
    with client(endpoint) as session:
        session.declare_position_handler(float("inf"), lambda: CENTRE)
        by, located = _asked(session, contender)
        by.declare_queryable(TOPIC, callback, **located)
        print("ready", flush=True)
        sys.stdin.read()
    return {}


def ask(contender: str, endpoint: str) -> dict[str, Any]:
    """Gets, one after the other."""
    times = []
    with client(endpoint) as session:
        by, located = _asked(session, contender)
        wait_for(lambda: list(by.get(TOPIC, **located)), "somebody answers")
        for _ in range(GETS):
            start = perf_counter()
            replies = list(by.get(TOPIC, **located))
            times.append(perf_counter() - start)
            assert len(replies) == 1, replies
    return {"ms": median(times) * 1e3, "p99_ms": sorted(times)[len(times) * 99 // 100] * 1e3}


def one_run(there: str, here: str, contender: str) -> dict[str, Any]:
    """``there`` at the first router, ``here`` measures at the last one."""
    with line_of_routers(LINE) as routers:
        with native_client(routers[0].endpoint) as observer:
            converged(observer, LINE.count("L"))
        with Child("remote_speed", there, contender, routers[0].endpoint) as far:
            far.wait_until_ready()
            with Child("remote_speed", here, contender, routers[-1].endpoint) as near:
                figures = near.finish()
            far.finish()
    return figures


def measured() -> list[Row]:
    def declaring(contender: str) -> dict[str, Any]:
        return one_run("publish", "declare", contender)

    def getting(contender: str) -> dict[str, Any]:
        return one_run("answer", "ask", contender)

    declared = in_turn("declare to effect", ("native", "stays", "moves"), declaring)
    gets = in_turn("get", ("native", "area"), getting)
    rows = [
        row(
            "declare to effect at a remote node",
            f"3 routers, publisher that {contender}",
            of(declared[contender], "ms"),
            "ms",
            peer=of(declared["native"], "ms"),
            ratio_at_most=2,
            note=f"the call itself {median(of(declared[contender], 'call_ms')):.2f} ms",
        )
        for contender in ("stays", "moves")
    ]
    rows.append(
        row(
            "area get",
            "3 routers, until it has ended",
            of(gets["area"], "ms"),
            "ms",
            peer=of(gets["native"], "ms"),
            ratio_at_most=2,
            note=f"p99 {median(of(gets['area'], 'p99_ms')):.2f} ms, native "
            f"{median(of(gets['native'], 'p99_ms')):.2f} ms",
        )
    )
    return rows


if __name__ == "__main__":
    part, contender, endpoint = sys.argv[1:]
    parts = {"publish": publish, "declare": declare, "answer": answer, "ask": ask}
    print(json.dumps(parts[part](contender, endpoint)))
