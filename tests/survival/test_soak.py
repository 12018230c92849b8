"""A soak: traffic, moves, kills and restarts, and nothing is left behind or lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.figures import Figures
from tests.network import own_threads, statuses, wait_for
from tests.survival.processes import resident_kb, sockets_of, threads_of
from tests.survival.soak import Soak


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


class _Used:
    """What the routers that stay and this process use at a moment."""

    def __init__(self, soak: Soak) -> None:
        pids: list[int | str] = [router.process.pid for router in soak.routers]
        self.router_kb = max(resident_kb(pid) for pid in pids)
        self.sessions_kb = resident_kb()
        self.sockets = [sockets_of(pid) for pid in [*pids, "self"]]
        self.threads = [threads_of(pid) for pid in [*pids, "self"]]
        found = statuses(soak.observer).values()
        self.known = sorted((s["sessions"], s["interests"]) for s in found)


def soak(stack: ExitStack, seconds: float, most_mb: float, figures: Figures) -> None:
    soaked = Soak(stack, seed=7)
    soaked.run(seconds / 4)  # what is remembered and loaded once is there
    before = _Used(soaked)
    soaked.run(seconds * 3 / 4)

    def look() -> Any:
        now = _Used(soaked)
        return now if (now.known, now.sockets) == (before.known, before.sockets) else None

    after = wait_for(look, f"sessions, interests and sockets as before: {before.__dict__}")
    # Zenoh's own pools grow and shrink by a few; ours are named and end with what they serve.
    assert all(now <= then + 4 for now, then in zip(after.threads, before.threads, strict=True))
    what = f"a soak of {seconds:g} s"
    figures.record(f"{what}: messages delivered, exactly the oracle's", soaked.delivered, "")
    figures.record("  moves of clients that stay", soaked.moves, "")
    figures.record("  guests that came and went", soaked.guests, "")
    figures.record("  clients and routers killed", soaked.kills, "")
    figures.record("  memory of the larger router", (after.router_kb - before.router_kb) / 1000,
                   "MB more", at_most=most_mb)  # fmt: skip
    figures.record("  memory of the sessions", (after.sessions_kb - before.sessions_kb) / 1000,
                   "MB more", at_most=most_mb)  # fmt: skip


def run(stack: ExitStack, seconds: float, most_mb: float, figures: Figures) -> None:
    threads = own_threads()
    soak(stack, seconds, most_mb, figures)
    stack.close()
    wait_for(lambda: own_threads() <= threads, "no thread is left")


def test_a_short_soak(stack: ExitStack, figures: Figures) -> None:
    run(stack, 20, most_mb=30, figures=figures)


@pytest.mark.long
def test_a_soak(stack: ExitStack, figures: Figures) -> None:
    run(stack, 660, most_mb=20, figures=figures)
