"""Publishers that stay put go straight to the one who listens, and nobody notices."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
import zenoh

from tests.network import (
    DEADLINE_S,
    Inbox,
    client,
    converged,
    line_of_routers,
    native_client,
    peers,
    settings,
    statuses,
    wait_for,
)
from zenoh_la import (
    BloomDomain,
    Circle,
    Coordinates,
    GeographicRange,
    LocationSession,
    Precision,
    Router,
    Shape,
)
from zenoh_la.router_plugin.grants import LEASE_S

LINZ, GRAZ = Coordinates(48.3, 14.3), Coordinates(47.07, 15.44)
AREA = Circle(LINZ, 5000)
BLOCK = zenoh.CongestionControl.BLOCK


@contextmanager
def network(kind: str) -> Iterator[tuple[LocationSession, LocationSession, zenoh.Session]]:
    """A publisher's session at one end, a subscriber's at the other, and somebody who looks on."""
    if kind == "peers":
        first, last = peers(2)
        with first, last:
            yield first, last, last._zsession
        return
    with (
        line_of_routers(kind) as routers,
        client(routers[0].endpoint) as first,
        client(routers[-1].endpoint) as last,
        native_client(routers[0].endpoint) as observer,
    ):
        yield first, last, observer


def granted(publisher: Any) -> Any:
    return publisher._sender.grant


def asked(sender: Any) -> Any:
    """Makes it wait for the answer to a question that nobody has heard."""
    with sender._lock:
        lease = sender._lease
        lease.question = lease.new_question(lease._last)
        return lease.question


def publish_until(publisher: Any, numbers: Iterator[int], is_enough: Any) -> int:
    """Publishes numbers until something is so; returns how many."""
    sent = 0

    def step() -> Any:
        nonlocal sent
        for _ in range(10):
            publisher.put(str(next(numbers)))
            sent += 1
        return is_enough()

    wait_for(step, "what the publisher waits for")
    return sent


@pytest.mark.parametrize("kind", ["L", "LsL", "s", "peers"])
def test_nothing_is_lost_doubled_or_overtaken(kind: str) -> None:
    with network(kind) as (first, last, _):
        inbox = Inbox()
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        last.declare_subscriber("t", inbox, location_shape=AREA)
        numbers = count()
        publish_until(publisher, numbers, lambda: len(inbox))
        publish_until(publisher, numbers, lambda: granted(publisher))
        for _ in range(5000):
            publisher.put(str(next(numbers)))
        sent = next(numbers)
        first_seen = int(inbox.texts()[0])
        inbox.wait(sent - first_seen)
        assert inbox.texts() == [str(n) for n in range(first_seen, sent)]
        assert inbox.items[-1].location == LINZ
        assert str(inbox.items[-1].key_expr) == "t"


def test_the_counters_know_of_it() -> None:
    with network("LL") as (first, last, observer):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        inbox = Inbox()
        last.declare_subscriber("t", inbox, location_shape=AREA)
        last.declare_subscriber("t", Inbox(), location_shape=Circle(GRAZ, 10))
        converged(observer, 2)
        numbers = count()
        sent = publish_until(publisher, numbers, lambda: granted(publisher))
        for _ in range(100):
            publisher.put(str(next(numbers)))
        sent += 100

        def totals() -> dict[str, int]:
            counters = [status["counters"] for status in statuses(observer).values()]
            return {name: sum(c[name] for c in counters) for name in counters[0]}

        wait_for(lambda: totals()["received"] >= sent, "all messages are counted")
        wait_for(lambda: totals()["delivered"] >= sent, "all deliveries are counted")
        found = totals()
        assert (found["received"], found["forwarded"], found["delivered"]) == (sent, sent, sent)
        assert found["vetoed"] == sent
        inbox.wait(sent)
        assert len(inbox) == sent


def test_nobody_wants_it_and_then_somebody_does() -> None:
    with network("L") as (first, last, observer):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        numbers = count()
        publish_until(publisher, numbers, lambda: granted(publisher))
        assert granted(publisher).key is None
        inbox = Inbox()
        last.declare_subscriber("t", inbox, location_shape=AREA)
        publisher.put("now")  # a declaration is in force when it returns
        inbox.wait(1)
        assert inbox.texts() == ["now"]
        wait_for(lambda: statuses(observer), "the router goes on")


@pytest.mark.parametrize("kind", ["L", "LsL"])
def test_a_second_subscriber_joins_and_leaves(kind: str) -> None:
    with network(kind) as (first, last, observer):
        nodes = kind.count("L")
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        always, sometimes = Inbox(), Inbox()
        last.declare_subscriber("t", always, location_shape=AREA)
        converged(observer, nodes)
        numbers = count()
        publish_until(publisher, numbers, lambda: granted(publisher))
        for turn in range(5):
            with first.declare_subscriber("t", sometimes, location_shape=Circle(LINZ, 10 + turn)):
                converged(observer, nodes)
                seen = len(sometimes)
                publisher.put(str(next(numbers)))
                sometimes.wait(seen + 1)
            publish_until(publisher, numbers, lambda: granted(publisher))
        sent = next(numbers)
        always.wait(sent)
        assert always.texts() == [str(n) for n in range(sent)]


def test_a_subscriber_that_moved_away_is_spared_at_once() -> None:
    """Also if the publisher has not heard of it: whoever receives by a grant matches again."""
    with network("L") as (first, last, _):
        place = LINZ
        first.declare_position_handler(math.inf, lambda: LINZ)
        last.declare_position_handler(0, lambda: place)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        inbox = Inbox()
        last.declare_subscriber(
            "t", inbox, location_shape=Shape.CIRCLE, shape_data={"r": 5, "unit": "km"}
        )
        numbers = count()
        publish_until(publisher, numbers, lambda: granted(publisher))
        grant = granted(publisher)
        place = GRAZ
        wait_for(lambda: granted(publisher) is not grant, "the grant is taken back")
        seen = len(inbox.wait(next(numbers)))
        assert publisher._sender is not None
        grant.until_s = math.inf
        publisher._sender._lease.grant = grant  # as if it were not
        publisher.put("stale")
        fence = Inbox()
        last.declare_subscriber("fence", fence, location_shape=AREA)
        first.put("fence", "", congestion_control=BLOCK)
        fence.wait(1)
        assert len(inbox) == seen


@pytest.mark.parametrize("precision", list(Precision))
@pytest.mark.parametrize("kind", ["L", "LsL"])
def test_what_happens_elsewhere_takes_no_grant_back(kind: str, precision: Precision) -> None:
    with network(kind) as (first, last, observer):
        domain = BloomDomain(GeographicRange(46, 12, 50, 18), 10, 10, 0.01)
        for session in (first, last):
            session.declare_bloom_domain(domain)
        far_off = [GRAZ]
        first.declare_position_handler(math.inf, lambda: LINZ)
        last.declare_position_handler(0, lambda: far_off[-1])
        publisher = first.declare_publisher("t", congestion_control=BLOCK, precision=precision)
        inbox, elsewhere = Inbox(), Inbox()
        last.declare_subscriber("t", inbox, location_shape=AREA, precision=precision)
        converged(observer, 1 if kind == "L" else 2)  # else the first messages find nobody
        numbers = count()

        def version() -> int:
            return sum(status["version"] for status in statuses(observer).values())

        def outlasts() -> bool:
            publish_until(publisher, numbers, lambda: granted(publisher))
            grant, before = granted(publisher), version()
            far = last.declare_subscriber(
                "t",
                elsewhere,
                location_shape=Shape.CIRCLE,
                shape_data={"r": 1, "unit": "km"},
                precision=precision,
            )
            wait_for(lambda: version() > before, "it is told")
            before = version()
            far_off.append(Coordinates(46.5 + len(far_off) % 5 / 2, 17))
            wait_for(lambda: version() > before, "it moves")
            far.undeclare()
            converged(observer, 1 if kind == "L" else 2)
            return granted(publisher) is grant

        # On a busy machine a grant may end for want of a renewal: it is tried again.
        wait_for(outlasts, "a grant that outlasts three changes elsewhere")
        last.declare_subscriber("**", elsewhere, location_shape=AREA, precision=precision)
        wait_for(lambda: granted(publisher) is None, "the grant is taken back")
        inbox.wait(next(numbers))
        assert len(elsewhere) == 0


def test_a_native_subscriber_appears() -> None:
    with network("L") as (first, last, observer):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        located, native = Inbox(), Inbox()
        last.declare_subscriber("t", located, location_shape=AREA)
        numbers = count()
        publish_until(publisher, numbers, lambda: granted(publisher))
        with observer.declare_subscriber("t", native):
            publish_until(publisher, numbers, lambda: len(native))
        publish_until(publisher, numbers, lambda: granted(publisher))
        sent = next(numbers)
        located.wait(sent)
        assert located.texts() == [str(n) for n in range(sent)]


def test_a_router_can_be_told_to_grant_nothing() -> None:
    config = zenoh.Config.from_json5(settings("router", listen=["tcp/127.0.0.1:0"]))
    with Router(config, grants=False) as router:
        (endpoint,) = router.locators()
        with client(endpoint) as first, client(endpoint) as last:
            first.declare_position_handler(math.inf, lambda: LINZ)
            publisher = first.declare_publisher("t", congestion_control=BLOCK)
            inbox = Inbox()
            last.declare_subscriber("t", inbox, location_shape=AREA)
            for number in range(500):
                publisher.put(str(number))
            inbox.wait(500)
            assert inbox.texts() == [str(number) for number in range(500)]
            assert router.status().counters.received == 500
            assert granted(publisher) is None


@pytest.mark.parametrize("precision", list(Precision))
def test_who_moves_with_every_message_is_never_granted(precision: Precision) -> None:
    domain = BloomDomain(GeographicRange(45, 12, 50, 17), 10, 10, 0.25)
    with network("L") as (first, last, _):
        first.declare_bloom_domain(domain)
        last.declare_bloom_domain(domain)
        turn = count()
        first.declare_position_handler(0, lambda: Coordinates(46 + next(turn) % 2, 14.3))
        publisher = first.declare_publisher("t", congestion_control=BLOCK, precision=precision)
        inbox = Inbox()
        last.declare_subscriber(
            "t", inbox, location_shape=GeographicRange(45, 13, 48, 15), precision=precision
        )
        for number in range(200):
            publisher.put(str(number))
        inbox.wait(200)
        assert granted(publisher) is None
        assert inbox.texts() == [str(number) for number in range(200)]


def test_what_is_held_is_checked_and_copied_at_the_call_and_comes_in_order() -> None:
    with network("L") as (first, last, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        inbox = Inbox()
        last.declare_subscriber("t", inbox, location_shape=AREA)
        publisher.put("before")
        inbox.wait(1)
        sender: Any = publisher._sender
        question = asked(sender)
        publisher.put("first")
        first.put("t", "by the session", congestion_control=BLOCK)
        changing = bytearray(b"AAAA")
        publisher.put(changing)
        changing[:] = b"BBBB"
        with pytest.raises(TypeError):
            publisher.put(object())
        assert len(inbox) == 1
        sender.answered(question.serial, None)
        publisher.put("last")
        inbox.wait(5)
        assert inbox.texts() == ["before", "first", "by the session", "AAAA", "last"]


def test_who_has_little_to_say_after_a_burst_asks_no_more() -> None:
    with network("L") as (first, last, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        inbox = Inbox()
        last.declare_subscriber("t", inbox, location_shape=AREA)
        publish_until(publisher, count(), lambda: granted(publisher))
        sender: Any = publisher._sender
        sender.grant.until_s = 0.0  # its lease is over
        serial, seen = sender._lease._serial, len(inbox)
        publisher.put("one more")
        inbox.wait(seen + 1)
        assert granted(publisher) is None
        assert sender._lease._serial == serial


@pytest.mark.parametrize("kind", ["peers", "L"])
def test_handlers_that_publish_on_each_others_topics_do_not_stop_each_other(kind: str) -> None:
    with network(kind) as (first, _, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publishers = {n: first.declare_publisher(f"h/{n}", congestion_control=BLOCK) for n in "12"}
        inbox = Inbox()

        def echo(sample: Any) -> None:
            inbox(sample)
            if sample.payload.to_string() == "call":
                other = "2" if str(sample.key_expr) == "h/1" else "1"
                publishers[other].put("echo")

        direct = zenoh.handlers.Callback(echo, indirect=False)
        first.declare_subscriber("h/*", direct, location_shape=AREA)
        threads = [
            threading.Thread(target=lambda p=p: [p.put("call") for _ in range(500)], daemon=True)
            for p in publishers.values()
        ]
        for thread in threads:
            thread.start()
        inbox.wait(2000)
        for thread in threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive()
        assert sorted(inbox.texts()) == ["call"] * 1000 + ["echo"] * 1000


def test_a_handler_may_publish_while_what_waited_for_a_node_goes_out() -> None:
    with network("peers") as (first, _, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        inbox = Inbox()

        def echo(sample: Any) -> None:
            inbox(sample)
            if sample.payload.to_string() == "waited":
                first.put("t", "echo", congestion_control=BLOCK)

        direct = zenoh.handlers.Callback(echo, indirect=False)
        first.declare_subscriber("t", direct, location_shape=AREA)
        membership = first._core.membership
        home, membership._home = membership._home, None  # as in a gap
        assert home is not None
        first.put("t", "waited", congestion_control=BLOCK)
        settled = threading.Thread(target=lambda: membership._settle(home), daemon=True)
        settled.start()
        inbox.wait(2)
        settled.join(DEADLINE_S)
        assert not settled.is_alive()
        assert inbox.texts() == ["waited", "echo"]


def test_closing_waits_for_what_another_thread_lets_out() -> None:
    with network("L") as (first, last, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        inbox = Inbox()
        last.declare_subscriber("t", inbox, location_shape=AREA)
        publisher.put("0")
        sender: Any = publisher._sender
        question = asked(sender)
        for number in range(1, 3000):
            publisher.put(str(number))
        threading.Thread(target=lambda: sender.answered(question.serial, None)).start()
        first.close()
        inbox.wait(3000)
        assert inbox.texts() == [str(number) for number in range(3000)]


@pytest.mark.parametrize("threads", [1, 4])
def test_at_full_speed_nothing_stays_behind(threads: int) -> None:
    """Routes are granted and taken back all the time, by somebody who moves in and out."""
    with network("L") as (first, last, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        inbox = Inbox()
        last.declare_subscriber(
            "t", zenoh.handlers.Callback(inbox, indirect=False), location_shape=AREA
        )
        each = 20_000 // threads

        def send(name: int) -> None:
            for number in range(each):
                publisher.put(f"{name} {number}")

        senders = [threading.Thread(target=send, args=(n,), daemon=True) for n in range(threads)]
        for sender in senders:
            sender.start()
        while any(sender.is_alive() for sender in senders):
            last.declare_subscriber("t", Inbox(), location_shape=AREA).undeclare()
        inbox.wait(threads * each)
        publisher.put("last")
        wait_for(lambda: inbox.texts()[-1] == "last", "the last message")
        for name in range(threads):
            own = [int(text.split()[1]) for text in inbox.texts() if text.startswith(f"{name} ")]
            assert own == list(range(each)), "in order, none twice"


def test_a_grant_in_use_is_renewed_and_nothing_waits_for_it() -> None:
    with network("L") as (first, last, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        last.declare_subscriber("t", Inbox(), location_shape=AREA)
        numbers = count()
        publish_until(publisher, numbers, lambda: granted(publisher))
        grant = granted(publisher)
        serial, until_s = grant.serial, grant.until_s
        publish_until(publisher, numbers, lambda: grant.until_s > until_s + 2 * LEASE_S)
        assert granted(publisher) is grant
        assert grant.serial > serial
        assert publisher._sender is not None
        assert not publisher._sender._held


def test_who_is_told_that_a_route_is_no_more_says_that_it_ended() -> None:
    """Also if it had given it up: the node waits for that word."""
    with network("L") as (first, last, observer):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        last.declare_subscriber("t", Inbox(), location_shape=AREA)
        publish_until(publisher, count(), lambda: granted(publisher))
        sender: Any = publisher._sender
        with sender._lock:
            sender._lease.end()
        with last.declare_subscriber("t", Inbox(), location_shape=AREA):
            wait_for(lambda: not any(s["stale"] for s in statuses(observer).values()), "no doubt")


def test_what_is_wrong_with_a_message_is_an_error_also_if_nobody_wants_it() -> None:
    with network("L") as (first, _, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        publish_until(publisher, count(), lambda: granted(publisher))
        assert granted(publisher).key is None
        with pytest.raises(TypeError):
            publisher.put(object())
        with pytest.raises(TypeError):
            publisher.put(b"", encoding=3.5)


def test_another_grid_reaches_a_publisher_that_stays() -> None:
    with network("L") as (first, last, _):
        for session in (first, last):
            session.declare_bloom_domain(BloomDomain(GeographicRange(45, 12, 49, 16), 8, 8, 0.25))
        first.declare_position_handler(math.inf, lambda: LINZ)
        bloom = Precision.BLOOM_FILTER
        publisher = first.declare_publisher("t", congestion_control=BLOCK, precision=bloom)
        publisher.put("in the first grid")
        for session in (first, last):
            session.declare_bloom_domain(BloomDomain(GeographicRange(46, 13, 49, 16), 9, 9, 0.25))
        inbox = Inbox()
        last.declare_subscriber("t", inbox, location_shape=AREA, precision=bloom)
        publisher.put("in the second")
        inbox.wait(1)
        assert inbox.texts() == ["in the second"]


def test_many_topics_cost_a_publisher_no_grant_and_no_thread_an_error() -> None:
    with network("L") as (first, last, _):
        first.declare_position_handler(math.inf, lambda: LINZ)
        publisher = first.declare_publisher("t", congestion_control=BLOCK)
        last.declare_subscriber("t", Inbox(), location_shape=AREA)
        failed: list[BaseException] = []

        def send(name: int) -> None:
            try:
                for number in range(400):
                    first.put(f"many/{name}/{number}", "", congestion_control=BLOCK)
            except BaseException as exc:
                failed.append(exc)

        threads = [threading.Thread(target=send, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S)
        assert not failed
        publish_until(publisher, count(), lambda: granted(publisher))
