"""Real networks for tests: routers in processes of their own, sessions, and waiting for events."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, TypeVar

import zenoh

import zenoh_la
from zenoh_la.router_plugin import protocol

T = TypeVar("T")

DEADLINE_S = 20.0
_STOCK = """
import sys, zenoh
with zenoh.open(zenoh.Config.from_json5(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""
_LOCATION_AWARE = """
import sys, zenoh
from zenoh_la.router_plugin.router import Router
with Router(zenoh.Config.from_json5(sys.argv[1])) as router:
    print("location-aware router", router.zid)
    print("ready", flush=True)
    sys.stdin.read()
"""


def endpoint() -> str:
    """An endpoint whose port was free a moment ago."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"tcp/127.0.0.1:{found.getsockname()[1]}"


def settings(
    mode: str, *, listen: list[str] | None = None, connect: list[str] | None = None, **more: Any
) -> str:
    """A configuration as JSON; further settings by their paths with ``__`` for ``/``."""
    document: dict[str, Any] = {
        "mode": mode,
        "scouting": {"multicast": {"enabled": False}},
        "listen": {"endpoints": listen or []},
        "connect": {"endpoints": connect or []},
        "transport": {"shared_memory": {"enabled": False}},
    }
    for path, value in more.items():
        inner = document
        *above, last = path.split("__")
        for name in above:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return json.dumps(document)


def config(mode: str, **more: Any) -> zenoh.Config:
    """The same as Zenoh takes it."""
    return zenoh.Config.from_json5(settings(mode, **more))


def wait_for(look: Callable[[], T], what: str, timeout_s: float = DEADLINE_S) -> T:
    """What ``look`` returns as soon as that is true; fails when the time is up."""
    end_s = monotonic() + timeout_s
    while True:
        found = look()
        if found:
            return found
        assert monotonic() < end_s, f"not within {timeout_s:g} s: {what}; last: {found!r}"
        sleep(0.005)


def own_threads() -> set[threading.Thread]:
    """The threads that Python started.

    A receiving thread of Zenoh's counts as one of Python's from its first callback on; Zenoh keeps
    a few of them for as long as the process lives.
    """
    return {t for t in threading.enumerate() if not isinstance(t, threading._DummyThread)}


class RouterProcess:
    """A router in a process of its own, location-aware or stock.

    A location-aware one is `zla router`, unless there are settings beyond its options.
    """

    def __init__(
        self,
        *,
        listen: str | None = None,
        connect: list[str] | None = None,
        stock: bool = False,
        **more: Any,
    ) -> None:
        self.endpoint = endpoint() if listen is None else listen
        if stock or more:
            text = settings("router", listen=[self.endpoint], connect=connect, **more)
            arguments = ["-c", _STOCK if stock else _LOCATION_AWARE, text]
        else:
            arguments = ["-m", "zenoh_la", "router", "--listen", self.endpoint]
            for other in connect or []:
                arguments += ["--connect", other]
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            text=True,
        )
        self.zid = ""
        self.said: list[str] = []

    def wait_until_ready(self) -> RouterProcess:
        assert self.process.stdout is not None
        end_s = monotonic() + DEADLINE_S
        text = ""
        while not any(line.startswith("ready") for line in self.said):
            left_s = max(end_s - monotonic(), 0.0)
            readable, _, _ = select.select([self.process.stdout], [], [], left_s)
            assert readable, f"the router is not ready; it said {self.said}"
            # Not readline: what it has read and not given out, select cannot see.
            part = os.read(self.process.stdout.fileno(), 65536).decode()
            assert part, f"the router ended; it said {self.said}"
            *lines, text = (text + part).split("\n")
            self.said += lines
        for line in self.said:
            if line.startswith("location-aware router "):
                self.zid = line.split()[-1]
        return self

    def kill(self) -> None:
        """As by kill -9."""
        self.process.kill()
        self.process.wait(DEADLINE_S)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def stop(self) -> int:
        """Asks it to stop, as an operator would; returns its exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.close()  # the stock one ends with its input
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            self.process.stdout.close()
            self.process.stdin.close()
        return code


@contextmanager
def router(**options: Any) -> Iterator[RouterProcess]:
    """A router that is ready, and gone afterwards."""
    process = RouterProcess(**options)
    try:
        yield process.wait_until_ready()
    finally:
        process.stop()


@contextmanager
def line_of_routers(kinds: str) -> Iterator[list[RouterProcess]]:
    """Routers in a line, each connected to the one before: ``L`` location-aware, ``s`` stock."""
    routers: list[RouterProcess] = []
    try:
        for kind in kinds:
            before = [routers[-1].endpoint] if routers else []
            started = RouterProcess(connect=before, stock=kind == "s")
            routers.append(started)
            started.wait_until_ready()
        yield routers
    finally:
        for started in reversed(routers):
            started.stop()


def client(*endpoints: str, **more: Any) -> zenoh_la.LocationSession:
    """A location-aware client of the first endpoint that answers."""
    return zenoh_la.open(config("client", connect=list(endpoints), **more))


def native_client(*endpoints: str) -> zenoh.Session:
    return zenoh.open(config("client", connect=list(endpoints)))


def peers(count: int) -> list[zenoh_la.LocationSession]:
    """Peers without any router, each connected to all others."""
    endpoints = [endpoint() for _ in range(count)]
    return [
        zenoh_la.open(config("peer", listen=[own], connect=endpoints[:i]))
        for i, own in enumerate(endpoints)
    ]


def statuses(session: zenoh.Session) -> dict[str, dict[str, Any]]:
    """What all nodes that a session can reach say of themselves, by their id."""
    found: dict[str, dict[str, Any]] = {}
    for reply in session.get(protocol.status("*"), timeout=5.0):
        if reply.ok is not None:
            document = json.loads(reply.ok.payload.to_bytes())
            found[document["nid"]] = document
    return found


def converged(session: zenoh.Session, nodes: int) -> dict[str, dict[str, Any]]:
    """The statuses of all nodes, once there are so many and each knows the newest of the others."""

    def look() -> dict[str, dict[str, Any]]:
        all_of = statuses(session)
        newest = {nid: document["version"] for nid, document in all_of.items()}
        for nid, document in all_of.items():
            if document["nodes"] != {n: v for n, v in newest.items() if n != nid}:
                return {}
            if document["stale"]:
                return {}
        return all_of if len(all_of) == nodes else {}

    return wait_for(look, f"{nodes} nodes that know each other")


class Inbox:
    """A callback that keeps what it is called with."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def __call__(self, item: Any) -> None:
        self.items.append(item)

    def __len__(self) -> int:
        return len(self.items)

    def texts(self) -> list[str]:
        """The payloads, in the order they came."""
        return [item.payload.to_string() for item in self.items]

    def wait(self, count: int) -> list[Any]:
        wait_for(lambda: len(self.items) >= count, f"{count} items; there are {len(self.items)}")
        return self.items
