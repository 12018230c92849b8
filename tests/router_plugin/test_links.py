"""What crosses a link between routers, read off the wire.

Payloads are marked, and the marks are counted in the bytes that pass a proxy: whatever the
routers say of themselves, these are the copies.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import zenoh

from tests.network import (
    Inbox,
    RouterProcess,
    client,
    converged,
    native_client,
    wait_for,
)
from zenoh_la import (
    BloomDomain,
    Circle,
    Coordinates,
    GeographicRange,
    LocationSession,
    Precision,
)

LINZ = Coordinates(48.3, 14.3)
GRAZ = Coordinates(47.07, 15.44)
AUSTRIA = GeographicRange(46.3, 9.5, 49.1, 17.2)
DOMAIN = BloomDomain(AUSTRIA, rows=10, columns=20, false_positive_probability=0.001)
_BLOCK = zenoh.CongestionControl.BLOCK


class Link:
    """A link between two routers that keeps every byte which passes it, by direction."""

    def __init__(self, target: str) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._target = ("127.0.0.1", int(target.rpartition(":")[2]))
        self._wakeup, self._awake = socket.socketpair()
        self._closed = False
        self.endpoint = f"tcp/127.0.0.1:{self._listening.getsockname()[1]}"
        self.up, self.down = bytearray(), bytearray()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        ends: dict[socket.socket, tuple[socket.socket, bytearray]] = {}
        while not self._closed:
            readable, _, _ = select.select([self._listening, self._awake, *ends], [], [])
            if self._listening in readable:
                near, _ = self._listening.accept()
                far = socket.create_connection(self._target)
                ends[near], ends[far] = (far, self.up), (near, self.down)
            for end in readable:
                if end not in ends:
                    continue
                other, kept = ends[end]
                try:
                    data = end.recv(1 << 16)
                    kept += data  # before anybody can have it
                    other.sendall(data)
                except OSError:
                    data = b""
                if not data:  # one router has gone: so has the link
                    del ends[end], ends[other]
                    end.close()
                    other.close()
        for end in ends:
            end.close()

    def copies(self, mark: bytes) -> tuple[int, int]:
        """How often a mark passed: towards the router that was connected to, and back."""
        return self.up.count(mark), self.down.count(mark)

    def close(self) -> None:
        self._closed = True
        self._wakeup.send(b"x")
        self._thread.join()
        for one in (self._listening, self._wakeup, self._awake):
            one.close()


class Tree:
    """Routers, each but the first connected to one before it by a link that is watched."""

    def __init__(self, routers: list[RouterProcess], links: list[Link], located: int) -> None:
        self.routers = routers
        self.links = links
        self.located = located

    def client(self, at: int, stack: ExitStack) -> LocationSession:
        return stack.enter_context(client(self.routers[at].endpoint))

    def native(self, at: int, stack: ExitStack) -> zenoh.Session:
        return stack.enter_context(native_client(self.routers[at].endpoint))

    def copies(self, payload: bytes) -> list[int]:
        """How often a payload crossed each link, outward; it must never come back."""
        assert [link.copies(payload)[0] for link in self.links] == [0] * len(self.links)
        return [link.copies(payload)[1] for link in self.links]


@contextmanager
def tree(kinds: str, parents: list[int]) -> Iterator[Tree]:
    """``L`` location-aware, ``s`` stock; ``parents`` of all but the first."""
    routers: list[RouterProcess] = []
    links: list[Link] = []
    try:
        for i, kind in enumerate(kinds):
            if i:
                links.append(Link(routers[parents[i - 1]].endpoint))
            via = [links[-1].endpoint] if i else []
            routers.append(RouterProcess(connect=via, stock=kind == "s"))
            routers[-1].wait_until_ready()
        yield Tree(routers, links, kinds.count("L"))
    finally:
        for router in reversed(routers):
            router.stop()
        for link in links:
            link.close()


@pytest.fixture(scope="module", params=["LLL", "LsL"])
def line(request: pytest.FixtureRequest) -> Iterator[Tree]:
    with tree(request.param, [0, 1]) as running:
        yield running


def marked(text: str) -> bytes:
    """A payload of 1000 bytes that is found in a stream."""
    return f"<{text}>".encode().ljust(1000, b".")


class Wanderer:
    """A publisher that is wherever it is told to be."""

    def __init__(self, session: LocationSession) -> None:
        self.session = session
        self.place = LINZ
        session.declare_bloom_domain(DOMAIN)
        session.declare_position_handler(0, lambda: self.place)

    def put(self, place: Coordinates, topic: str, payload: bytes, times: int, **more: Any) -> None:
        self.place = place
        for _ in range(times):
            self.session.put(topic, payload, congestion_control=_BLOCK, **more)


@pytest.mark.parametrize("precision", list(Precision))
def test_nothing_of_a_vetoed_zone_crosses_a_link(line: Tree, precision: Precision) -> None:
    topic = f"veto/{precision.name}"
    vetoed, wanted = marked(f"vetoed {precision.name}"), marked(f"wanted {precision.name}")
    with ExitStack() as stack:
        publisher = Wanderer(line.client(0, stack))
        far, near = Inbox(), Inbox()
        for at, inbox, place in ((2, far, GRAZ), (0, near, LINZ)):
            subscriber = line.client(at, stack)
            subscriber.declare_bloom_domain(DOMAIN)
            area = Circle(place, 5000)
            subscriber.declare_subscriber(topic, inbox, location_shape=area, precision=precision)
        converged(line.native(0, stack), line.located)
        publisher.put(LINZ, topic, vetoed, 50, precision=precision)
        publisher.put(GRAZ, topic, wanted, 1, precision=precision)
        far.wait(1)
        near.wait(50)
        assert line.copies(vetoed) == [0, 0]
        assert line.copies(wanted) == [1, 1]
        assert [len(far), len(near)] == [1, 50]


def test_ten_areas_behind_a_link_cost_one_copy(line: Tree) -> None:
    payload, last = marked("ten areas"), marked("ten areas, the last")
    with ExitStack() as stack:
        publisher = Wanderer(line.client(0, stack))
        inboxes = [Inbox() for _ in range(10)]
        for i, inbox in enumerate(inboxes):
            # Ten different circles that overlap; all hold Linz.
            centre = Coordinates(LINZ.lat + i / 100, LINZ.long - i / 100)
            subscriber = line.client(2, stack)
            subscriber.declare_subscriber("ten/*", inbox, location_shape=Circle(centre, 20_000 + i))
        converged(line.native(0, stack), line.located)
        publisher.put(LINZ, "ten/a", payload, 100)
        publisher.put(LINZ, "ten/a", last, 1)
        for inbox in inboxes:
            inbox.wait(101)
        assert line.copies(payload) == [100, 100]
        assert line.copies(last) == [1, 1]
        assert [len(inbox) for inbox in inboxes] == [101] * 10


def test_two_egress_nodes_behind_a_shared_link_cost_one_copy(line: Tree) -> None:
    """If the second router is stock, its client is the egress node itself."""
    payload = marked("two nodes")
    with ExitStack() as stack:
        publisher = Wanderer(line.client(0, stack))
        inboxes = [Inbox(), Inbox()]
        sessions = [line.client(1, stack), line.client(2, stack)]
        for session, inbox in zip(sessions, inboxes, strict=True):
            session.declare_subscriber("two", inbox, location_shape=AUSTRIA)
        own = sum(session.node_status() is not None for session in sessions)
        converged(line.native(0, stack), line.located + own)
        publisher.put(LINZ, "two", payload, 100)
        for inbox in inboxes:
            inbox.wait(100)
        assert line.copies(payload) == [100, 100]
        assert [len(inbox) for inbox in inboxes] == [100, 100]


def test_so_it_is_where_the_way_divides_at_a_stock_router() -> None:
    payload = marked("fork")
    with tree("LsLL", [0, 1, 1]) as fork, ExitStack() as stack:
        publisher = Wanderer(fork.client(0, stack))
        inboxes = [Inbox(), Inbox()]
        for at, inbox in zip((2, 3), inboxes, strict=True):
            fork.client(at, stack).declare_subscriber("fork", inbox, location_shape=AUSTRIA)
        converged(fork.native(0, stack), 3)
        publisher.put(LINZ, "fork", payload, 100)
        for inbox in inboxes:
            inbox.wait(100)
        assert fork.copies(payload) == [100, 100, 100]
        assert [len(inbox) for inbox in inboxes] == [100, 100]


def test_a_native_subscriber_behind_the_link_costs_one_copy_more(line: Tree) -> None:
    """One copy for the node that owns the areas, one on the plain topic; else none of the two."""
    both, nobody, plain = marked("both"), marked("native elsewhere"), marked("plain")
    with ExitStack() as stack:
        publisher = Wanderer(line.client(0, stack))
        located, native = Inbox(), Inbox()
        for _ in range(2):
            subscriber = line.client(2, stack)
            subscriber.declare_subscriber("both", located, location_shape=AUSTRIA)
            subscriber.declare_subscriber("only-located", located, location_shape=AUSTRIA)
        session = line.native(2, stack)
        for _ in range(2):
            session.declare_subscriber("both", native)
        watching = line.native(0, stack)
        with watching.declare_publisher("both") as known:
            wait_for(lambda: matching(known), "the native subscribers are known")
        converged(watching, line.located)
        publisher.put(LINZ, "both", both, 20)
        publisher.put(GRAZ, "both", plain, 20, precision=None)
        publisher.put(LINZ, "only-located", nobody, 20)
        located.wait(80)
        native.wait(80)
        assert line.copies(both) == [40, 40]
        assert line.copies(plain) == [20, 20]
        assert line.copies(nobody) == [20, 20]
        assert [len(located), len(native)] == [80, 80]


def matching(publisher: zenoh.Publisher) -> bool:
    status: object = publisher.matching_status
    return bool(getattr(status, "matching", status))


def test_a_located_message_is_hardly_longer_than_its_payload(line: Tree) -> None:
    payload = marked("length")
    with ExitStack() as stack:
        publisher = Wanderer(line.client(0, stack))
        inbox = Inbox()
        line.client(2, stack).declare_subscriber("length/of/it", inbox, location_shape=AUSTRIA)
        converged(line.native(0, stack), line.located)
        publisher.put(LINZ, "length/of/it", payload, 1)
        inbox.wait(1)
        before = len(line.links[1].down)
        publisher.put(LINZ, "length/of/it", payload, 500)
        inbox.wait(501)
        more = (len(line.links[1].down) - before) / 500 - len(payload)
        assert 0 < more < 100, f"{more:.1f} bytes beside the payload of a message to one node"
