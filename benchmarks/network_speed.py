"""How fast located messages are beside native Zenoh: ``make bench ONLY=network``.

Publisher, subscriber and routers are processes of their own, fresh for every repetition, and the
contenders take turns. Native Zenoh goes through the same routers on a plain topic. What the clients
cost themselves is in the table too: on a machine of few cores it is a good part of the whole.
"""

from __future__ import annotations

import json
import random
import sys
from statistics import median
from struct import Struct
from time import monotonic_ns, process_time, sleep, thread_time
from typing import Any

import zenoh

from benchmarks.rows import Row, row
from benchmarks.runs import Child, in_turn, of
from tests.network import client, converged, line_of_routers, native_client
from zenoh_la import Circle, Coordinates
from zenoh_la.router_plugin.callbacks import direct

SEED = 42
PAYLOAD_BYTES = 200
RATE = 2_000
LATENCY_S, THROUGHPUT_S = 2.0, 2.0
TOPIC = "fleet/state"
CENTRE = Coordinates(48.0, 14.0)
CONTENDERS = ("native", "stays", "moves")
KEPT = "native, kept"
"""A native subscriber whose threads keep their Python state, as ours do (`callbacks.direct`): what
it gains is no merit of ours as a network."""
LINES = {"1 router": "L", "3 routers": "LsL"}
_STAMP = Struct("<Qq")
_BARE = 20_000

# What must hold, as a ratio to native.
LATENCY_AT_MOST = {
    ("1 router", "stays"): 1.1,
    ("1 router", "moves"): 1.35,
    ("3 routers", "stays"): 1.1,
    ("3 routers", "moves"): 1.4,
}
THROUGHPUT_AT_LEAST = {"stays": 0.7, "moves": 0.2}


def positions() -> list[Coordinates]:
    """Places within some 10 km, more than a node remembers routes for."""
    rng = random.Random(SEED)
    return [
        Coordinates(CENTRE.lat + rng.uniform(-0.05, 0.05), CENTRE.long + rng.uniform(-0.1, 0.1))
        for _ in range(50_000)
    ]


def subscribe(contender: str, endpoint: str) -> dict[str, float]:
    """Receives until its input ends."""
    latencies: list[int] = []
    times: list[int] = []
    last: Any = None
    unpack, now, late, seen = _STAMP.unpack_from, monotonic_ns, latencies.append, times.append

    def on_sample(sample: Any) -> None:
        nonlocal last
        at = now()
        late(at - unpack(sample.payload.to_bytes())[0])
        seen(at)
        last = sample

    callback = zenoh.handlers.Callback(on_sample, indirect=False)
    with client(endpoint) as session:
        if contender == KEPT:
            session._zsession.declare_subscriber(TOPIC, direct(on_sample))
        elif contender == "native":
            session._zsession.declare_subscriber(TOPIC, callback)
        else:
            session.declare_subscriber(TOPIC, callback, location_shape=Circle(CENTRE, 50_000))
        print("ready", flush=True)
        before_s = process_time()
        sys.stdin.read()
        spent_s = process_time() - before_s
    figures: dict[str, float] = {"received": len(times)}
    if len(times) > 1:
        figures["per_s"] = (len(times) - 1) / (times[-1] - times[0]) * 1e9
        figures["cpu_us"] = spent_s / len(times) * 1e6
        warm = sorted(latencies[len(latencies) // 5 :])
        figures["median_us"] = warm[len(warm) // 2] / 1e3
        figures["p99_us"] = warm[len(warm) * 99 // 100] / 1e3
        before_s = process_time()
        for _ in range(_BARE):
            on_sample(last)
        figures["bare_us"] = (process_time() - before_s) / _BARE * 1e6
    return figures


def publish(contender: str, endpoint: str, rate: int, duration_s: float) -> dict[str, float]:
    """Publishes at a rate, or as fast as it goes."""
    pad = bytes(PAYLOAD_BYTES - _STAMP.size)
    places = positions()
    with client(endpoint) as session:
        if contender == "moves":
            turn = iter(places * 100)
            session.declare_position_handler(0, lambda: next(turn))
        elif contender == "stays":
            session.declare_position_handler(float("inf"), lambda: CENTRE)
        by: Any = session if contender in ("stays", "moves") else session._zsession
        put = by.declare_publisher(TOPIC, congestion_control=zenoh.CongestionControl.BLOCK).put
        start, before_s = monotonic_ns(), thread_time()
        end, sent = start + int(duration_s * 1e9), 0
        while (now := monotonic_ns()) < end:
            if rate:
                due = start + sent * 1_000_000_000 // rate
                if now < due:
                    sleep((due - now) / 1e9)
            put(_STAMP.pack(monotonic_ns(), sent) + pad)
            sent += 1
        spent_s, took_ns = thread_time() - before_s, monotonic_ns() - start
    before_s = thread_time()
    for i in range(_BARE):
        if monotonic_ns() >= end:
            _ = _STAMP.pack(monotonic_ns(), i) + pad
    return {
        "sent": sent,
        "per_s": sent / took_ns * 1e9,
        "cpu_us": spent_s / sent * 1e6,
        "bare_us": (thread_time() - before_s) / _BARE * 1e6,
    }


def one_run(contender: str, line: str, rate: int, duration_s: float) -> dict[str, Any]:
    """One repetition in fresh processes."""
    with line_of_routers(line) as routers:
        first, last = routers[0].endpoint, routers[-1].endpoint
        with Child("network_speed", "subscribe", contender, last) as receiving:
            receiving.wait_until_ready()
            with native_client(first) as observer:
                converged(observer, line.count("L"))
            arguments = ("publish", contender, first, rate, duration_s)
            with Child("network_speed", *arguments) as sending:
                sent = sending.finish()
            sleep(0.5)  # what is on its way
            received = receiving.finish()
    return {
        **received,
        "lost": sent["sent"] - received["received"],
        "put_us": sent["cpu_us"],
        "bare_put_us": sent["bare_us"],
    }


def measured() -> list[Row]:
    rows = []
    for name, line in LINES.items():
        runs = in_turn(f"latency, {name}", CONTENDERS, one_run, line, RATE, LATENCY_S)
        rows += [
            row(
                f"latency at {RATE:,} msg/s",
                f"{name}, publisher that {contender}",
                of(runs[contender], "median_us"),
                "µs",
                peer=of(runs["native"], "median_us"),
                ratio_at_most=LATENCY_AT_MOST[name, contender],
                note=f"p99 {median(of(runs[contender], 'p99_us')):,.0f} µs, native "
                f"{median(of(runs['native'], 'p99_us')):,.0f} µs; {_lost(runs[contender])}",
            )
            for contender in ("stays", "moves")
        ]
    runs = in_turn("throughput", (*CONTENDERS, KEPT), one_run, "L", 0, THROUGHPUT_S)
    rows += [
        row(
            "throughput",
            f"1 router, publisher that {contender}",
            of(runs[contender], "per_s"),
            "msg/s",
            peer=of(runs["native"], "per_s"),
            ratio_at_least=THROUGHPUT_AT_LEAST[contender],
            note=_lost(runs[contender]),
        )
        for contender in ("stays", "moves")
    ]
    kept = row(
        "throughput",
        "1 router, native, thread state kept",
        of(runs[KEPT], "per_s"),
        "msg/s",
        peer=of(runs["native"], "per_s"),
        note="what a native subscriber in Python gains by our way of callbacks",
    )
    return [*rows, kept, *_clients(runs)]


def _lost(runs: list[dict[str, Any]]) -> str:
    return f"{sum(run['lost'] for run in runs)} lost"


def _clients(runs: dict[str, list[dict[str, Any]]]) -> list[Row]:
    """What the clients of the throughput runs cost themselves."""
    rows = []
    for figure, bare, case in (
        ("put_us", "bare_put_us", "publishing thread, per put"),
        ("cpu_us", "bare_us", "subscriber's process, per message"),
    ):
        own = median(of(runs["native"], bare))
        rows += [
            row(
                "CPU of the benchmark's clients, full speed",
                f"{case}, publisher that {contender}",
                of(runs[contender], figure),
                "µs",
                peer=of(runs["native"], figure),
                note=f"{own:.1f} µs of both is the benchmark's own",
            )
            for contender in ("stays", "moves")
        ]
    return rows


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["subscribe", contender, endpoint]:
            print(json.dumps(subscribe(contender, endpoint)))
        case ["publish", contender, endpoint, rate, duration_s]:
            print(json.dumps(publish(contender, endpoint, int(rate), float(duration_s))))
