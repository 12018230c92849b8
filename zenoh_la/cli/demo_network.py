"""The demo's network: routers in a line, each in a process of its own, and sessions on them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from time import monotonic, sleep
from typing import Any, Self

import zenoh

import zenoh_la
from zenoh_la.cli import link_bytes
from zenoh_la.cli.demo_router import LOCATION_AWARE
from zenoh_la.cli.network import configuration, network_errors
from zenoh_la.encoders import BloomDomain
from zenoh_la.errors import NodeError
from zenoh_la.router_plugin import protocol
from zenoh_la.session import LocationSession

DEADLINE_S = 20.0
_STOP_S = 5.0
_ROUTER = "from zenoh_la.cli.demo_router import main; main()"
BETWEEN_ROUTERS = "between routers"


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Waits for an event; raises `NodeError` if it does not come."""
    end_s = monotonic() + DEADLINE_S
    while not is_so():
        if monotonic() > end_s:
            raise NodeError(f"not within {DEADLINE_S:g} s: {what}")
        sleep(0.002)


class _Process:
    """A router's process; starting Python takes longest, so all do that at once."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.endpoint = ""
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-c", _ROUTER, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is the demo's to answer
        )

    def connect(self, others: list[str]) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(others) + "\n")
        self._process.stdin.flush()
        self.endpoint = self._process.stdout.readline().strip()
        if not self.endpoint:
            raise NodeError("a router of the demo did not start")

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._process.stdout.close()


class _Observer:
    """A native session that asks one router how it is, on a link of its own."""

    def __init__(self, session: zenoh.Session) -> None:
        self._session = session
        (router,) = (str(zid) for zid in session.info.routers_zid())
        self._key = protocol.status("*")
        wait_until(lambda: self._find(router), "a router says what it is doing")

    def _find(self, router: str) -> bool:
        for status in self._ask():
            if status["zid"] == router:
                self._key = protocol.status(status["nid"])
                return True
        return False

    def status(self) -> dict[str, Any]:
        """`Status.to_plain` of its router."""
        for status in self._ask():
            return status
        raise NodeError("a router of the demo does not answer")

    def _ask(self) -> list[dict[str, Any]]:
        replies = self._session.get(self._key, target=zenoh.QueryTarget.ALL, timeout=DEADLINE_S)
        return [json.loads(reply.ok.payload.to_bytes()) for reply in replies if reply.ok]


class DemoNetwork:
    """Routers in a line, each connected to the one before; all is closed at the end.

    Args:
        routers: their names and kinds, in the order of the line.
        domain: the Bloom grid of all sessions.
    """

    def __init__(self, routers: Mapping[str, str], domain: BloomDomain) -> None:
        self._kinds = routers
        self._domain = domain
        self._stack = ExitStack()
        self._routers: dict[str, _Process] = {}
        self._observers: dict[str, _Observer] = {}
        self._links: dict[link_bytes.Link, str | None] = {}

    def __enter__(self) -> Self:
        try:
            with network_errors("the demo's network could not start"):
                self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        for name, kind in self._kinds.items():
            self._routers[name] = _Process(kind)
            self._stack.callback(self._routers[name].stop)
        before: list[str] = []
        for router in self._routers.values():
            router.connect(before)
            before = [router.endpoint]
        for name, router in self._routers.items():
            if router.kind == LOCATION_AWARE:
                session = zenoh.open(self._client(name))
                self._stack.callback(session.close)
                self._note_links(session, None)
                self._observers[name] = _Observer(session)
        self.wait_until_informed()

    def _client(self, router: str) -> zenoh.Config:
        return configuration("client", None, [self._routers[router].endpoint], None)

    def open(self, router: str, link: str) -> LocationSession:
        """A client of a router; its bytes are counted under the name of its link."""
        session = self._stack.enter_context(zenoh_la.open(self._client(router)))
        session.declare_bloom_domain(self._domain)
        self._note_links(session, link)
        return session

    def _note_links(self, session: zenoh.Session | LocationSession, link: str | None) -> None:
        for found in session.info.links():
            one, other = sorted(_port(str(end)) for end in (found.src, found.dst))
            self._links[one, other] = link

    def statuses(self) -> dict[str, dict[str, Any]]:
        """What the location-aware routers say, by their names."""
        return {name: observer.status() for name, observer in self._observers.items()}

    def wait_until_informed(self) -> None:
        """Until each location-aware router knows the newest interests of all others."""

        def is_so() -> bool:
            all_of = self.statuses().values()
            newest = {status["nid"]: status["version"] for status in all_of}
            return all(
                {**status["nodes"], status["nid"]: status["version"]} == newest for status in all_of
            )

        wait_until(is_so, "the routers know of each other's interests")

    def bytes_by_link(self) -> dict[str, int] | None:
        """What the links carried until now; those of the observers are left out."""
        carried = link_bytes.carried({_port(one.endpoint) for one in self._routers.values()})
        if carried is None:
            return None
        found: dict[str, int] = {}
        for ports, count in carried.items():
            link = self._links.get(ports, BETWEEN_ROUTERS)
            if link is not None:
                found[link] = found.get(link, 0) + count
        return found


def _port(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2])
