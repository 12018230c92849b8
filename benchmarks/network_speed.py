"""How fast located messages are beside native Zenoh: ``python -m benchmarks.network_speed``.

Publisher, subscriber and routers are processes of their own, fresh for every repetition, and the
contenders take turns. Native Zenoh goes through the same routers on a plain topic. A row's figure
is the median of its repetitions, its ratio that of the medians, its spread the distance between
the quartiles of the repetitions over their median.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from statistics import median, quantiles
from struct import Struct
from time import monotonic_ns, sleep
from typing import Any

import zenoh
from rich.console import Console
from rich.table import Table

import zenoh_la
from tests.network import client, converged, line_of_routers, native_client
from zenoh_la import Circle, Coordinates

OUT = Path(".benchmarks/network.json")
SEED = 42
REPETITIONS = 5
PAYLOAD_BYTES = 200
RATE = 2_000
LATENCY_S, THROUGHPUT_S = 2.0, 2.0
TOPIC = "fleet/state"
CENTRE = Coordinates(48.0, 14.0)
CONTENDERS = ("native", "stays", "moves")
LINES = {"1 router": "L", "3 routers": "LsL"}
_STAMP = Struct("<Qq")

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


def subscribe(contender: str, endpoint: str) -> None:
    """Receives until its input ends, then prints what it measured."""
    latencies: list[int] = []
    times: list[int] = []
    unpack, now, late, seen = _STAMP.unpack_from, monotonic_ns, latencies.append, times.append

    def on_sample(sample: Any) -> None:
        at = now()
        late(at - unpack(sample.payload.to_bytes())[0])
        seen(at)

    callback = zenoh.handlers.Callback(on_sample, indirect=False)
    with client(endpoint) as session:
        if contender == "native":
            session._zsession.declare_subscriber(TOPIC, callback)
        else:
            session.declare_subscriber(TOPIC, callback, location_shape=Circle(CENTRE, 50_000))
        print("ready", flush=True)
        sys.stdin.read()
    figures: dict[str, float] = {"received": len(times)}
    if len(times) > 1:
        figures["per_s"] = (len(times) - 1) / (times[-1] - times[0]) * 1e9
        warm = sorted(latencies[len(latencies) // 5 :])
        figures["median_us"] = warm[len(warm) // 2] / 1e3
        figures["p99_us"] = warm[len(warm) * 99 // 100] / 1e3
    print(json.dumps(figures))


def publish(contender: str, endpoint: str, rate: int, duration_s: float) -> None:
    """Publishes at a rate, or as fast as it goes."""
    pad = bytes(PAYLOAD_BYTES - _STAMP.size)
    places = positions()
    with client(endpoint) as session:
        if contender == "moves":
            turn = iter(places * 100)
            session.declare_position_handler(0, lambda: next(turn))
        elif contender == "stays":
            session.declare_position_handler(float("inf"), lambda: CENTRE)
        publisher = session.declare_publisher(
            TOPIC,
            congestion_control=zenoh.CongestionControl.BLOCK,
            precision=None if contender == "native" else zenoh_la.Precision.POINT,
        )
        put = publisher.put if contender != "native" else publisher._native.put
        start = monotonic_ns()
        end, sent = start + int(duration_s * 1e9), 0
        while (now := monotonic_ns()) < end:
            if rate:
                due = start + sent * 1_000_000_000 // rate
                if now < due:
                    sleep((due - now) / 1e9)
            put(_STAMP.pack(monotonic_ns(), sent) + pad)
            sent += 1
        print(json.dumps({"sent": sent, "per_s": sent / (monotonic_ns() - start) * 1e9}))


def one_run(contender: str, line: str, rate: int, duration_s: float) -> dict[str, Any]:
    """One repetition in fresh processes."""
    with line_of_routers(line) as routers:
        first, last = routers[0].endpoint, routers[-1].endpoint
        arguments = [sys.executable, "-m", "benchmarks.network_speed"]
        receiving = subprocess.Popen(
            [*arguments, "subscribe", contender, last],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert receiving.stdin is not None
        assert receiving.stdout is not None
        assert receiving.stdout.readline() == "ready\n"
        with native_client(first) as observer:
            converged(observer, line.count("L"))
        sending = subprocess.run(
            [*arguments, "publish", contender, first, str(rate), str(duration_s)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=60,
        )
        sleep(0.5)  # what is on its way
        out, _ = receiving.communicate(timeout=60)
        return {"sent": json.loads(sending.stdout), "received": json.loads(out)}


def spread(values: list[float]) -> float:
    low, _, high = quantiles(values, n=4)
    return (high - low) / median(values)


def measured() -> list[dict[str, Any]]:
    rows = []
    cases = [("latency", name, line, RATE, LATENCY_S) for name, line in LINES.items()]
    cases.append(("throughput", "1 router", "L", 0, THROUGHPUT_S))
    for what, name, line, rate, duration_s in cases:
        runs: dict[str, list[dict[str, Any]]] = {contender: [] for contender in CONTENDERS}
        for _ in range(REPETITIONS):
            for contender in CONTENDERS:
                runs[contender].append(one_run(contender, line, rate, duration_s))
        figure = "median_us" if what == "latency" else "per_s"
        native = median(run["received"][figure] for run in runs["native"])
        for contender, some in runs.items():
            values = [run["received"][figure] for run in some]
            rows.append({
                "what": what, "line": name, "contender": contender, "figure": median(values),
                "ratio": median(values) / native, "spread": spread(values),
                "p99_us": median(run["received"]["p99_us"] for run in some),
                "lost": sum(run["sent"]["sent"] - run["received"]["received"] for run in some),
                "runs": some,
            })  # fmt: skip
    return rows


def limit(row: dict[str, Any]) -> tuple[str, bool] | None:
    """What must hold of a row, and whether it does."""
    if row["what"] == "latency":
        most = LATENCY_AT_MOST.get((row["line"], row["contender"]))
        return None if most is None else (f"≤ {most}", row["ratio"] <= most)
    least = THROUGHPUT_AT_LEAST.get(row["contender"])
    return None if least is None else (f"≥ {least}", row["ratio"] >= least)


def report(rows: list[dict[str, Any]]) -> None:
    console = Console(width=110)
    table = Table(
        "", "", "publisher", "figure", "× native", "wanted", "spread", "p99", "lost",
        title=f"Located messages beside native Zenoh, {PAYLOAD_BYTES} bytes, {REPETITIONS} "
        f"repetitions, latency at {RATE:,} msg/s",
    )  # fmt: skip
    for row in rows:
        unit = "µs" if row["what"] == "latency" else "msg/s"
        wanted = limit(row)
        told = "" if wanted is None else f"[{'green' if wanted[1] else 'red'}]{wanted[0]}[/]"
        table.add_row(
            row["what"], row["line"], row["contender"], f"{row['figure']:,.0f} {unit}",
            f"{row['ratio']:.2f}", told, f"{row['spread']:.0%}", f"{row['p99_us']:,.0f} µs",
            str(row["lost"]),
        )  # fmt: skip
    console.print(table)


def main() -> None:
    match sys.argv[1:]:
        case ["subscribe", contender, endpoint]:
            subscribe(contender, endpoint)
        case ["publish", contender, endpoint, rate, duration_s]:
            publish(contender, endpoint, int(rate), float(duration_s))
        case _:
            rows = measured()
            report(rows)
            OUT.parent.mkdir(exist_ok=True)
            OUT.write_text(json.dumps({"seed": SEED, "rows": rows}, indent=2))
            print(f"written to {OUT}")


if __name__ == "__main__":
    main()
