"""Callbacks on Zenoh's threads: each thread keeps its Python state, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys
import threading

import zenoh

from tests.network import DEADLINE_S, config, endpoint, settings, wait_for
from zenoh_la.router_plugin.callbacks import direct

_LEFT_OPEN = """
import sys, zenoh
from zenoh_la.router_plugin.callbacks import direct

class AtTheEnd:
    def __del__(self):
        print("the end", flush=True)

ends = AtTheEnd()
session = zenoh.open(zenoh.Config.from_json5(sys.argv[1]))
seen = []
session.declare_subscriber("t", direct(seen.append))
other = zenoh.open(zenoh.Config.from_json5(sys.argv[2]))
while not seen:
    other.put("t", "")
print("seen", flush=True)
session.close()
other.close()
"""


def test_a_thread_keeps_what_is_its_own() -> None:
    """With a new state for every call each would find nothing."""
    at = endpoint()
    local = threading.local()
    calls: list[tuple[int, int]] = []

    def on_sample(_: zenoh.Sample) -> None:
        local.calls = getattr(local, "calls", 0) + 1
        calls.append((threading.get_ident(), local.calls))

    with (
        zenoh.open(config("peer", listen=[at])) as receiving,
        zenoh.open(config("peer", connect=[at])) as sending,
    ):
        receiving.declare_subscriber("t", direct(on_sample))
        publisher = sending.declare_publisher("t")
        wait_for(lambda: publisher.put("") or len(calls) >= 100, "a hundred calls")
    for thread in {ident for ident, _ in calls}:
        own = [count for ident, count in calls if ident == thread]
        # The call that found the thread without a state of its own may have lost what it wrote.
        assert own[1:] == list(range(own[1], own[1] + len(own) - 1)) if len(own) > 1 else own == [1]
    assert threading.current_thread().ident not in {ident for ident, _ in calls}


def test_an_error_is_zenohs_to_show_and_the_next_call_comes() -> None:
    at = endpoint()
    seen: list[str] = []

    def on_sample(sample: zenoh.Sample) -> None:
        seen.append(sample.payload.to_string())
        if len(seen) == 1:
            raise ValueError("the application's own mistake")

    with (
        zenoh.open(config("peer", listen=[at])) as receiving,
        zenoh.open(config("peer", connect=[at])) as sending,
    ):
        receiving.declare_subscriber("t", direct(on_sample))
        publisher = sending.declare_publisher("t")
        wait_for(lambda: publisher.put("again") or len(seen) > 1, "a second call")


def test_what_is_dropped_is_told() -> None:
    dropped = threading.Event()
    with zenoh.open(config("peer")) as session:
        session.declare_subscriber("t", direct(lambda _: None, dropped.set)).undeclare()
        assert dropped.wait(DEADLINE_S)


def test_a_process_ends_as_it_would() -> None:
    at = endpoint()
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            _LEFT_OPEN,
            settings("peer", listen=[at]),
            settings("peer", connect=[at]),
        ],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "seen\nthe end\n"
