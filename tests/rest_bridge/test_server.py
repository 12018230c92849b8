"""The bridge as a process."""

from __future__ import annotations

import signal

import pytest

from tests.network import Inbox, client, router
from tests.rest_bridge.server import rest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_stops_cleanly(number: int) -> None:
    with rest() as bridge:
        with bridge.client() as http:
            assert http.get("/@zla/health").json() == {"status": "ok"}
        assert bridge.stop(number) == 0
    assert bridge.out[-1] == "stopped"
    assert bridge.err == []


def test_it_joins_a_network() -> None:
    with (
        router() as joined,
        rest(connect=joined.endpoint) as bridge,
        bridge.client() as http,
        client(joined.endpoint) as session,
    ):
        inbox = Inbox()
        session.declare_subscriber("a/b", inbox)
        assert http.put("/a/b", content="x").status_code == 200
        inbox.wait(1)
        assert inbox.texts() == ["x"]


def test_it_runs_alone() -> None:
    with (
        rest() as bridge,
        bridge.client() as http,
        client(bridge.endpoint) as session,
        session.declare_queryable("a/b", lambda query: query.reply("a/b", "there")),
    ):
        assert [reply["key"] for reply in http.get("/a/*").json()] == ["a/b"]
