"""The deployments that must all behave alike, as real networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import zenoh

import zenoh_la
from tests.network import client, config, converged, endpoint, line_of_routers, native_client


@dataclass(frozen=True)
class Opened:
    """Sessions in a network, and a native one that can ask all nodes how they are."""

    sessions: list[zenoh_la.LocationSession]
    observer: zenoh.Session
    routers: int

    def converge(self) -> None:
        """Waits until every node knows the newest interests of every other."""
        own = sum(session.node_status() is not None for session in self.sessions)
        converged(self.observer, self.routers + own)


Open = Callable[[ExitStack], Opened]


@dataclass(frozen=True)
class Network:
    """A network that is up; sessions come and go. ``routers`` counts the location-aware ones."""

    name: str
    open: Open
    endpoints: tuple[str, ...] = ()
    routers: int = 0

    @contextmanager
    def sessions(self) -> Iterator[Opened]:
        with ExitStack() as stack:
            yield self.open(stack)


# Routers in a line (L location-aware, s stock), and to which of them each session is a client;
# a session marked "p" is a peer that knows only that router.
_LINES = {
    "one router": ("L", "0 0 0 0 0 0"),
    "a line": ("LLL", "0 1 2 0 1 2"),
    "stock in the middle": ("LsL", "0 2 0 2 0 2"),
    "stock only": ("s", "0 0 0 0 0 0"),
    "stock at the edge": ("sL", "0 1 0 1 0 1"),
    "a mix": ("LsL", "0 1 2 p0 1 2"),
}
NAMES = [*_LINES, "peers"]
_PEERS = 4


@contextmanager
def network(name: str) -> Iterator[Network]:
    """The deployment of that name; its routers are gone afterwards."""
    if name == "peers":
        yield Network(name, _peers)
        return
    kinds, homes = _LINES[name]
    with line_of_routers(kinds) as routers:
        endpoints = [router.endpoint for router in routers]

        def opened(stack: ExitStack) -> Opened:
            sessions = [stack.enter_context(_at(home, endpoints)) for home in homes.split()]
            observer = stack.enter_context(native_client(endpoints[0]))
            return Opened(sessions, observer, kinds.count("L"))

        yield Network(name, opened, tuple(endpoints), kinds.count("L"))


def _at(home: str, endpoints: list[str]) -> zenoh_la.LocationSession:
    if not home.startswith("p"):
        return client(endpoints[int(home)])
    # Without gossip, or it would connect to the other routers as well.
    only = config("peer", connect=[endpoints[int(home[1:])]], scouting__gossip__enabled=False)
    return zenoh_la.open(only)


def _peers(stack: ExitStack) -> Opened:
    endpoints = [endpoint() for _ in range(_PEERS)]
    sessions = [
        stack.enter_context(zenoh_la.open(config("peer", listen=[own], connect=endpoints[:i])))
        for i, own in enumerate(endpoints)
    ]
    observer = stack.enter_context(zenoh.open(config("peer", connect=endpoints)))
    return Opened(sessions, observer, 0)
