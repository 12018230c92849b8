"""Gets of very many location keys: decided beside the threads that receive, and not too many."""

from __future__ import annotations

import threading
from math import inf

import pytest

from tests.network import DEADLINE_S, client, config, endpoint, wait_for
from zenoh_la import Circle, Coordinates, Router
from zenoh_la.router_plugin import queries

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)


def test_they_wait_for_each_other_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_WIDE", 0)  # every get counts as one
    monkeypatch.setattr(queries, "_MAX_WIDE", 3)
    listen = endpoint()
    with (
        Router(config("router", listen=[listen])) as home,
        client(listen) as answerer,
        client(listen) as session,
    ):
        answerer.declare_position_handler(inf, lambda: LINZ)
        answerer.declare_queryable("t", lambda query: query.reply("t", "here"), location_shape=AREA)
        (reply,) = session.get("t", location_shape=AREA)
        assert reply.ok is not None
        go_on = threading.Event()
        home._node._couriers.send("wide gets", lambda: go_on.wait(DEADLINE_S))  # type: ignore[arg-type]
        asked = [session.get("t", location_shape=AREA) for _ in range(3)]
        asked_by_now = home._node._queries
        wait_for(lambda: asked_by_now._wide == 3, "three wait")
        (refused,) = session.get("t", location_shape=AREA)
        assert refused.err is not None
        assert "too many gets" in refused.err.payload.to_string()
        assert home.status().counters.refused == 1
        go_on.set()
        for replies in asked:
            (reply,) = replies
            assert reply.ok is not None
        assert asked_by_now._wide == 0
