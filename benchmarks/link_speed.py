"""Bytes between two routers per message, beyond the payload: ``make bench ONLY=links``.

A publisher at one router, a subscriber at the other. Ours sends located messages; native Zenoh
sends the same with its position in the topic, as applications do without location:
`48.20849/16.37208/…`, declared once by a publisher that stays, a new key with every message by one
that moves. The kernel counts what the connection between the routers carried, both ways,
heartbeats and all.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import zenoh

from benchmarks.rows import Row, row
from benchmarks.runs import Child, in_turn, of
from tests.network import client, converged, line_of_routers, native_client
from zenoh_la import Circle, Coordinates
from zenoh_la.cli.link_bytes import carried

SEED = 42
PAYLOAD = b"x" * 200
TOPIC = "fleet/state"
CENTRE = Coordinates(48.20849, 16.37208)
RATES = {"2,000 msg/s": (2000, 4000), "as fast as it goes": (0, 40_000)}
CONTENDERS = ("native stays", "stays", "native moves", "moves")


def place(rng: random.Random) -> Coordinates:
    """Five decimals, about a metre, as a GNSS receiver tells."""
    return Coordinates(
        round(CENTRE.lat + rng.uniform(-0.05, 0.05), 5),
        round(CENTRE.long + rng.uniform(-0.1, 0.1), 5),
    )


def subscribe(contender: str, endpoint: str) -> dict[str, Any]:
    """Counts until its input ends."""
    received = 0

    def on_sample(_: Any) -> None:
        nonlocal received
        received += 1

    callback = zenoh.handlers.Callback(on_sample, indirect=False)
    with client(endpoint) as session:
        if contender.startswith("native"):
            session._zsession.declare_subscriber(f"*/*/{TOPIC}", callback)
        else:
            session.declare_subscriber(TOPIC, callback, location_shape=Circle(CENTRE, 50_000))
        print("ready", flush=True)
        sys.stdin.read()
    return {"received": received}


def publish(contender: str, endpoint: str, rate: int, messages: int) -> dict[str, Any]:
    """Warms up, says so, sends when it is told to, and says so again."""
    rng = random.Random(SEED)
    block = zenoh.CongestionControl.BLOCK
    moves = contender.endswith("moves")
    with client(endpoint) as session:
        native = session._zsession
        put: Callable[[bytes], Any]
        if contender == "native stays":
            put = native.declare_publisher(
                f"{CENTRE.lat}/{CENTRE.long}/{TOPIC}", congestion_control=block
            ).put
        elif contender == "native moves":

            def put_there(payload: bytes) -> None:
                at = place(rng)
                native.put(f"{at.lat}/{at.long}/{TOPIC}", payload, congestion_control=block)

            put = put_there
        else:
            lifetime = 0 if moves else float("inf")
            session.declare_position_handler(lifetime, lambda: place(rng) if moves else CENTRE)
            put = session.declare_publisher(TOPIC, congestion_control=block).put
        for _ in range(500):  # routes are known and, to one who stays, granted
            put(PAYLOAD)
            sleep(0.001)
        print("ready", flush=True)
        sys.stdin.readline()
        start = monotonic()
        for i in range(messages):
            if rate:
                sleep(max(start + i / rate - monotonic(), 0))
            put(PAYLOAD)
        print(json.dumps({"s": monotonic() - start}), flush=True)
        sys.stdin.read()
    return {"sent": messages + 500}


def one_run(contender: str, rate: int, messages: int) -> dict[str, Any]:
    """One repetition in fresh processes."""
    with line_of_routers("LL") as routers:
        first, last = (router.endpoint for router in routers)
        port = int(first.rpartition(":")[2])
        with native_client(last) as observer:
            converged(observer, 2)
        link = _between_routers(port)
        with Child("link_speed", "subscribe", contender, last) as receiving:
            receiving.wait_until_ready()
            sleep(0.2)
            sending = Child("link_speed", "publish", contender, first, rate, messages)
            with sending:
                sending.wait_until_ready()
                sleep(0.2)
                before = _bytes(port, link)
                sending.go()
                figures = sending.said()
                after = _settled(port, link)
                sent = sending.finish()["sent"]
            received = receiving.finish()["received"]
        each = (after - before) / messages - len(PAYLOAD)
        return {**figures, "bytes": each, "lost": sent - received}


def _between_routers(port: int) -> tuple[int, int]:
    found = carried({port})
    assert found is not None, "this system does not count the bytes of connections"
    (link,) = found  # nobody else is connected yet
    return link


def _bytes(port: int, link: tuple[int, int]) -> int:
    found = carried({port})
    assert found is not None
    return found[link]


def _settled(port: int, link: tuple[int, int]) -> int:
    """When nothing but heartbeats passes any more."""
    last, now = -1, _bytes(port, link)
    while now - last > 10:
        sleep(0.3)
        last, now = now, _bytes(port, link)
    return last


def measured() -> list[Row]:
    rows = []
    for case, (rate, messages) in RATES.items():
        runs = in_turn(f"bytes, {case}", CONTENDERS, one_run, rate, messages)
        for contender in ("stays", "moves"):
            native = runs[f"native {contender}"]
            lost = [int(sum(of(some, "lost"))) for some in (runs[contender], native)]
            rows.append(row(
                "bytes between two routers beside the payload",
                f"{case}, publisher that {contender}",
                of(runs[contender], "bytes"),
                "B",
                peer=of(native, "bytes"),
                ratio_below=1,
                note=f"native: place in the topic; lost {lost[0]}, native {lost[1]}",
            ))  # fmt: skip
    return rows


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["subscribe", contender, endpoint]:
            print(json.dumps(subscribe(contender, endpoint)))
        case ["publish", contender, endpoint, rate, messages]:
            print(json.dumps(publish(contender, endpoint, int(rate), int(messages))))
