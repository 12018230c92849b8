"""Many clients at one router: ``make bench ONLY=clients``.

500 client sessions with two interests each, opened by ten processes at once; natively, 500 sessions
with two subscribers each. From the word go until the last interest is in force (natively: until
the last call returned, nobody waits for the router). The router's memory is what its process has
in RAM afterwards and had not before.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Any

import zenoh

from benchmarks.rows import Row, row
from benchmarks.runs import Child, in_turn, of
from tests.network import (
    RouterProcess,
    client,
    line_of_routers,
    native_client,
    statuses,
    wait_for,
)
from zenoh_la import Circle, Coordinates

PROCESSES, SESSIONS = 10, 50
TOPICS = ("fleet/state", "fleet/warnings")


def cpu_s(who: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def join(contender: str, endpoint: str, seed: int) -> dict[str, Any]:
    """Opens its sessions when it is told to, and keeps them until its input ends."""
    rng = random.Random(seed)
    callback: Any = zenoh.handlers.Callback(lambda _: None, indirect=False)
    with ExitStack() as stack:
        print("ready", flush=True)
        sys.stdin.readline()
        before_s = cpu_s()
        for _ in range(SESSIONS):
            if contender == "native":
                native = stack.enter_context(native_client(endpoint))
                for topic in TOPICS:
                    native.declare_subscriber(topic, callback)
                continue
            session = stack.enter_context(client(endpoint))
            for topic in TOPICS:
                centre = Coordinates(47 + rng.random(), 13 + rng.random())
                session.declare_subscriber(topic, callback, location_shape=Circle(centre, 1000))
        print(json.dumps({"cpu_s": cpu_s() - before_s}), flush=True)
        sys.stdin.read()
    return {}


def one_run(contender: str) -> dict[str, Any]:
    """One repetition in fresh processes."""
    with line_of_routers("L") as routers, ExitStack() as stack:
        (router,) = routers
        with native_client(router.endpoint) as observer:
            wait_for(lambda: statuses(observer), "the router answers")
            children = [
                stack.enter_context(Child("clients_speed", contender, router.endpoint, i))
                for i in range(PROCESSES)
            ]
            for child in children:
                child.wait_until_ready()
            before_kb, before_s = resident_kb(router), spent_s(router)
            start = monotonic()
            for child in children:
                child.go()
            clients_s = sum(child.said()["cpu_s"] for child in children)
            joined_s = monotonic() - start
            router_s = spent_s(router) - before_s
            sleep(1.0)  # what was needed only for joining is given back
            more_kb = resident_kb(router) - before_kb
            (status,) = statuses(observer).values()
        expected = 0 if contender == "native" else PROCESSES * SESSIONS * len(TOPICS)
        assert status["interests"] == expected, status
        for child in children:
            child.finish()
        return {
            "s": joined_s,
            "kb": more_kb / PROCESSES / SESSIONS,
            "router_s": router_s,
            "clients_s": clients_s,
        }


def resident_kb(router: RouterProcess) -> float:
    """In RAM, without what it shares with others."""
    lines = Path(f"/proc/{router.process.pid}/smaps_rollup").read_text().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("Private_"))


def spent_s(router: RouterProcess) -> float:
    """Processor time of a router."""
    fields = Path(f"/proc/{router.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def measured() -> list[Row]:
    runs = in_turn("clients", ("native", "ours"), one_run)
    cost = {
        name: f"{median(of(some, 'router_s')):.1f} s of CPU in the router, "
        f"{median(of(some, 'clients_s')):.1f} s in the clients"
        for name, some in runs.items()
    }
    case = f"{PROCESSES * SESSIONS} clients of one router"
    return [
        row(
            "time to join, two interests each",
            case,
            of(runs["ours"], "s"),
            "s",
            peer=of(runs["native"], "s"),
            at_most=5,
            note=f"{cost['ours']}; natively {cost['native']}",
        ),
        row(
            "memory of the router per session",
            case,
            of(runs["ours"], "kb"),
            "kB",
            peer=of(runs["native"], "kb"),
            at_most=100,
        ),
    ]


if __name__ == "__main__":
    contender, endpoint, seed = sys.argv[1:]
    print(json.dumps(join(contender, endpoint, int(seed))))
