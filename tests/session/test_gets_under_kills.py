"""Whoever answers may be killed under load: gets end, and nobody else stands still."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import zenoh

from tests.cli.commands import Command
from tests.network import RouterProcess, client, line_of_routers, router, wait_for
from zenoh_la import Circle, Coordinates, LocationSession

LINZ = Coordinates(48.3, 14.3)
AREA = Circle(LINZ, 5000)
ROUNDS = 3


class _Asking:
    """Gets without a pause, and how many ended."""

    def __init__(self, session: LocationSession) -> None:
        self._session = session
        self._stopped = False
        self.ended = 0
        self.answered = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped:
            for reply in self._session.get("k/a", location_shape=AREA, timeout=5.0):
                self.answered += reply.ok is not None
            self.ended += 1

    def stop(self) -> None:
        self._stopped = True
        self._thread.join()


@contextmanager
def asking(session: LocationSession) -> Iterator[_Asking]:
    started = _Asking(session)
    try:
        yield started
    finally:
        started.stop()


def wait_for_more(asker: _Asking, what: str) -> None:
    ended = asker.ended
    wait_for(lambda: asker.ended > ended + 2, f"gets end after {what}")


def wait_for_answer(asker: _Asking) -> None:
    answered = asker.answered
    wait_for(lambda: asker.answered > answered, "another answer")


def answer(session: LocationSession) -> None:
    def on_query(query: zenoh.Query) -> None:
        query.reply("k/a", "x")
        query.drop()

    session.declare_position_handler(60, lambda: LINZ)
    session.declare_queryable("k/**", on_query, location_shape=AREA)


def test_a_client_that_answers_is_killed() -> None:
    with router() as hub, client(hub.endpoint) as session, asking(session) as asker:
        for _ in range(ROUNDS):
            area = ("--circle", "48.3,14.3,5km", "--at", "48.3,14.3")
            with Command("queryable", "k/a", "-p", "x", *area, "-e", hub.endpoint) as answerer:
                answerer.until("answers for")
                wait_for_answer(asker)
                answerer.process.kill()
                wait_for_more(asker, "its answerer is killed")
        with client(hub.endpoint) as another:  # the router serves others as before
            answer(another)
            wait_for_answer(asker)


def test_a_router_on_the_way_is_killed() -> None:
    with line_of_routers("LL") as (first, last), ExitStack() as stack:
        asker = stack.enter_context(asking(stack.enter_context(client(first.endpoint))))
        answer(stack.enter_context(client(last.endpoint, first.endpoint)))
        wait_for_answer(asker)
        last.kill()
        wait_for_more(asker, "the router behind is killed")
        wait_for_answer(asker)  # the answerer is back at the other router


def test_the_own_router_is_killed() -> None:
    with router() as second, ExitStack() as stack:
        first = RouterProcess(connect=[second.endpoint])
        stack.callback(first.stop)
        first.wait_until_ready()
        session = stack.enter_context(client(first.endpoint, second.endpoint))
        asker = stack.enter_context(asking(session))
        answer(stack.enter_context(client(second.endpoint)))
        wait_for_answer(asker)
        first.kill()
        wait_for_more(asker, "its own router is killed")
        wait_for_answer(asker)  # through the next router
