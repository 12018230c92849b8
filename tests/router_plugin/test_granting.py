"""What a node believes of those who have a granted route, and how long others wait for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.network import client, config, endpoint, native_client, wait_for
from tests.router_plugin.bad_wire import point
from zenoh_la import Circle, Coordinates, Router
from zenoh_la.router_plugin import endings, grants
from zenoh_la.router_plugin.node import Node

PLACE = point(48.3, 14.3).hex()
AREA = Circle(Coordinates(48.3, 14.3), 5000)


class Asker:
    """A client with nothing but Zenoh that asks for routes, and says what it likes."""

    def __init__(self, router: Router, listen: str) -> None:
        self.session = native_client(listen)
        self._grants = router._node._grants
        (reply,) = self.session.get(f"@zla/1/hello/{router.zid}")
        assert reply.ok is not None
        self._place = json.loads(reply.ok.payload.to_bytes())
        nid, slot = self._place["nid"], self._place["slot"]
        self._token = self.session.liveliness().declare_token(f"@zla/1/alive/{nid}/{slot}")
        self._key = f"@zla/1/route/{nid}/{slot}"
        self._serial = count(1)

    def tell(self, **more: Any) -> None:
        document = {"secret": self._place["secret"], "n": 1, **more}
        self.session.put(self._key, json.dumps(document))

    def ask(self) -> int:
        """Has a route granted; returns the question's number."""
        serial = next(self._serial)
        self.tell(serial=serial, topic="t", place=PLACE)
        wait_for(lambda: serial in [g.serial for g in self._grants._grants.values()], "a grant")
        return serial


@pytest.fixture
def router() -> Iterator[tuple[Router, Asker, str]]:
    listen = endpoint()
    with Router(config("router", listen=[listen])) as made:
        asker = Asker(made, listen)
        with asker.session:
            yield made, asker, listen


def is_waited_for(node: Node) -> bool:
    """Whether a change of the topic has to wait for somebody now; until nobody waits any more."""
    node._grants.changed(node._table.about("t"))
    done: list[bool] = []
    node._grants.endings.when_ended(lambda: done.append(True))
    waits = not done
    wait_for(lambda: done, "it was waited long enough")
    return waits


def test_who_never_says_that_a_route_has_ended_is_waited_for_once(
    router: tuple[Router, Asker, str],
) -> None:
    made, asker, _ = router
    asker.ask()
    assert is_waited_for(made._node)
    for _ in range(10):
        asker.ask()
        assert not is_waited_for(made._node)


def test_until_it_has_answered_in_time_a_few_times(
    router: tuple[Router, Asker, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, asker, _ = router
    asker.ask()
    assert is_waited_for(made._node)
    monkeypatch.setattr(endings, "_PATIENCE_S", 10.0)
    for _ in range(endings._DEBT):
        serial = asker.ask()
        assert not is_waited_for(made._node)
        asker.tell(ended=serial)
        wait_for(lambda: not made._node._grants.stale, "it is heard")
    monkeypatch.setattr(endings, "_PATIENCE_S", 0.05)
    asker.ask()
    assert is_waited_for(made._node)


def test_what_cannot_have_been_sent_is_not_counted(router: tuple[Router, Asker, str]) -> None:
    made, asker, listen = router
    with client(listen) as session:
        session.declare_subscriber("t", lambda _: None, location_shape=AREA)
        asker.ask()
        before = made.status().counters
        asker.tell(sent=4_000_000_000)
        asker.tell(sent=4_000_000_000)
        wait_for(lambda: made.status().counters.refused >= before.refused + 2, "refused")
        more = made.status().counters.received - before.received
        assert 0 < more < 60 * grants._MOST_PER_S, "a minute's worth at the very most"
        assert made.status().counters.delivered - before.delivered == more
