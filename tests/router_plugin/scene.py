"""Two routers with honest clients, whom nothing may disturb, and a hostile one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.network import (
    DEADLINE_S,
    Inbox,
    RouterProcess,
    client,
    converged,
    line_of_routers,
    native_client,
    statuses,
    wait_for,
)
from tests.router_plugin.bad_wire import Hostile
from zenoh_la import Circle, Coordinates

LINZ = Coordinates(48.3, 14.3)


class Honest:
    """Who must not notice: a publisher and a queryable at one router, their public at another."""

    def __init__(self, near: str, far: str) -> None:
        self.publisher, self.subscriber = client(near), client(far)
        self.area, self.everywhere = Inbox(), Inbox()
        self.sent: list[str] = []
        self.zid = str(self.subscriber.zid())
        area = Circle(LINZ, 5000)
        self.publisher.declare_position_handler(0, lambda: LINZ)
        self.subscriber.declare_subscriber("honest/*", self.area, location_shape=area)
        self.subscriber.declare_subscriber("honest/*", self.everywhere)
        self.publisher.declare_queryable("honest/q", self._answer, location_shape=area)

    def _answer(self, query: Any) -> None:
        with query:
            query.reply("honest/q", "here")

    def check(self) -> None:
        """All that was published has arrived, as it was and in order, and nothing else."""
        self.sent.append(f"message {len(self.sent)}")
        self.publisher.put("honest/a", self.sent[-1], attachment="mine")
        for inbox in (self.area, self.everywhere):
            inbox.wait(len(self.sent))
            assert inbox.texts() == self.sent
            last = inbox.items[-1]
            assert (last.location, str(last.key_expr)) == (LINZ, "honest/a")
            assert last.attachment.to_string() == "mine"
        replies = list(self.subscriber.get("honest/*", location_shape=Circle(LINZ, 100)))
        assert [reply.ok.payload.to_string() for reply in replies] == ["here"]

    def close(self) -> None:
        self.subscriber.close()
        self.publisher.close()


def last_words(router: RouterProcess) -> str:
    """What a router said until it ended, errors in its callbacks included."""
    assert router.process.stdout is not None
    assert router.process.poll() is None, "the router has ended by itself"
    router.process.send_signal(signal.SIGTERM)
    said = router.process.stdout.read()
    assert router.process.wait(DEADLINE_S) == 0, said
    return said


class Scene:
    """Two routers, honest clients at both, and a hostile one at the first."""

    def __init__(self, routers: list[RouterProcess]) -> None:
        near, far = routers
        self.endpoint, self.near_pid = near.endpoint, near.process.pid
        self.honest = Honest(near.endpoint, far.endpoint)
        self.session = native_client(near.endpoint)
        self.observer = native_client(near.endpoint)
        nodes = {s["zid"]: nid for nid, s in converged(self.observer, 2).items()}
        self.near, self.far = nodes[near.zid], nodes[far.zid]
        native: Any = self.observer.declare_publisher("honest/a")
        wait_for(lambda: native.matching_status.matching, "Zenoh knows of the native subscriber")
        self.hostile = Hostile(self.session, near.zid, self.near, self.far)
        self.honest.check()

    def refused(self, nid: str) -> int:
        return int(statuses(self.observer)[nid]["counters"]["refused"])

    def wait_until_refused(self, nid: str, before: int, what: str) -> None:
        wait_for(lambda: self.refused(nid) > before, f"refused at {nid}: {what}")

    def interests(self) -> dict[str, int]:
        return {nid: s["interests"] for nid, s in converged(self.observer, 2).items()}

    def close(self) -> None:
        self.session.close()
        self.observer.close()
        self.honest.close()


@contextmanager
def fresh_scene() -> Iterator[Scene]:
    with line_of_routers("LL") as routers:
        made = Scene(routers)
        try:
            yield made
        finally:
            made.close()
        for router in routers:
            said = last_words(router)
            for sign in ("callback error", "Traceback", "panicked", "a task of the node failed"):
                assert sign not in said, said
