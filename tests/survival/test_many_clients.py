"""Many clients of one router: how soon all are registered, and what each costs the router."""

from __future__ import annotations

from contextlib import ExitStack
from time import monotonic

import pytest

from tests.figures import Figures
from tests.network import native_client, router, statuses, wait_for
from tests.survival.processes import Child, resident_kb

_CLIENTS = """
import sys
from concurrent.futures import ThreadPoolExecutor
import zenoh
from tests.network import client
from zenoh_la import Circle, Coordinates

at, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ignore = zenoh.handlers.Callback(lambda sample: None, indirect=False)

def join(number):
    session = client(at)
    for topic in ("many/a", "many/b"):
        area = Circle(Coordinates(47 + number / 1000, 14.3), 5000)
        session.declare_subscriber(topic, ignore, location_shape=area)
    return session

join(999).close()  # what is loaded and made once is not a client's cost
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(4) as workers:
    sessions = list(workers.map(join, range(first, first + count)))
print("joined", flush=True)
sys.stdin.readline()
"""
_PROCESSES = 2


def join(count: int) -> tuple[float, float]:
    """Seconds until all are registered, and kilobytes of the router's memory for each."""
    with router() as at, native_client(at.endpoint) as observer, ExitStack() as stack:

        def totals() -> tuple[int, int]:
            (status,) = statuses(observer).values()
            return status["sessions"], status["interests"]

        part = count // _PROCESSES
        children = [Child(_CLIENTS, at.endpoint, n * part, part) for n in range(_PROCESSES)]
        for child in children:
            stack.callback(child.kill)
            assert child.says() == "ready"
        wait_for(lambda: totals() == (0, 0), "nobody is there")
        before_kb, since_s = resident_kb(at.process.pid), monotonic()
        for child in children:
            child.go_on()
        for child in children:
            assert child.says() == "joined"
        seconds = monotonic() - since_s
        assert totals() == (count, 2 * count)
        each_kb = (resident_kb(at.process.pid) - before_kb) / count
        for child in children:
            child.kill()
        wait_for(lambda: totals() == (0, 0), "all are gone")
        return seconds, each_kb


def test_fifty_clients(figures: Figures) -> None:
    seconds, each_kb = join(50)
    figures.record("50 clients with two interests each: all registered after", seconds, "s")
    figures.record("  router memory for each", each_kb, "kB", at_most=400)


@pytest.mark.long
def test_five_hundred_clients(figures: Figures) -> None:
    seconds, each_kb = join(500)
    figures.record("500 clients with two interests each: all registered after", seconds, "s",
                   at_most=5)  # fmt: skip
    figures.record("  router memory for each", each_kb, "kB", at_most=100)
