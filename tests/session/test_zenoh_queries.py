"""Everything of Zenoh's own interface that asks and answers, located and plain.

As in `test_zenoh_api`, each scenario runs with native sessions too: the answers must be the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from typing import Any

import pytest
import zenoh
from zenoh.handlers import Callback, FifoChannel, RingChannel

from tests.network import Inbox, wait_for
from tests.session.pairs import HERE, Comparison, Pair, described, outcome, pairs, received
from zenoh_la import LocatedQuery, LocatedReply

Network = dict[str, Pair]
MODES = {
    "unsaid": None,
    "auto": zenoh.ConsolidationMode.AUTO,
    "none": zenoh.ConsolidationMode.NONE,
    "monotonic": zenoh.ConsolidationMode.MONOTONIC,
    "latest": zenoh.ConsolidationMode.LATEST,
    "object": zenoh.QueryConsolidation(zenoh.ConsolidationMode.NONE),
}
TARGETS = {
    "unsaid": None,
    "best": zenoh.QueryTarget.BEST_MATCHING,
    "all": zenoh.QueryTarget.ALL,
    "complete": zenoh.QueryTarget.ALL_COMPLETE,
}
LOCALITIES = {
    "unsaid": None,
    "local": zenoh.Locality.SESSION_LOCAL,
    "remote": zenoh.Locality.REMOTE,
}
ANY_KEY = zenoh.ReplyKeyExpr.ANY


@pytest.fixture(scope="module", params=["clients", "peers"])
def network(request: pytest.FixtureRequest) -> Iterator[Network]:
    with pairs(request.param) as found:
        yield found


@pytest.fixture(params=["plain", "located"])
def same(network: Network, request: pytest.FixtureRequest) -> Comparison:
    return Comparison(network["native"], network[request.param])


Ask = Callable[..., Any]


def _ways(pair: Pair, topic: str) -> list[tuple[str, Ask]]:
    """To ask: by get, and by a querier, whose options are those of its declaration."""

    def get(handler: Any = None, parameters: str = "", **options: Any) -> Any:
        selector = f"{topic}?{parameters}" if parameters else topic
        return pair.a.get(selector, handler, **pair.area, **options)

    def querier(handler: Any = None, parameters: str = "", **options: Any) -> Any:
        own = {n: options.pop(n) for n in list(options) if n in _OF_QUERIER}
        asking = pair.a.declare_querier(topic, **pair.area, **own)
        kept.append(asking)  # with its last reference its gets would end
        return asking.get(handler, parameters=parameters or None, **options)

    kept: list[Any] = []
    return [("get", get), ("querier", querier)]


_OF_QUERIER = ["target", "consolidation", "accept_replies", "timeout", "congestion_control",
               "priority", "express", "allowed_destination"]  # fmt: skip


def _told(reply: Any, topic: str) -> Any:
    """What a reply says, in a form that can be compared."""
    if reply.ok is None:
        assert reply.result.payload == reply.err.payload
        return "error", reply.err.payload.to_bytes(), str(reply.err.encoding)
    assert described(reply.result, topic) == described(reply.ok, topic)
    return described(reply.ok, topic)


def _texts(replies: Any) -> list[str]:
    return [(r.ok or r.err).payload.to_string() for r in replies]


def _next(queryable: Any) -> Any:
    """The next query, before the deadline."""
    (query,) = received(queryable, 1)
    return query


def _answering(pair: Pair, topic: str, answer: Callable[[Any], None], **options: Any) -> Any:
    """A queryable of ``b`` that answers, known to ``a``."""

    def answered(query: Any) -> None:
        with query:
            answer(query)

    queryable = pair.b.declare_queryable(
        topic, Callback(answered, indirect=False), **pair.area, **options
    )
    pair.answered(topic)
    return queryable


# Handlers


def test_handlers_of_gets(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        said: list[Any] = []

        def answer(query: Any) -> None:
            for text in "123":
                query.reply(f"{topic}/{text}", text)

        with _answering(pair, f"{topic}/*", answer):
            for name, ask in _ways(pair, f"{topic}/*"):
                said += [(name, sorted(_texts(ask()))), (name, sorted(_texts(ask(FifoChannel(9)))))]
                said.append(type(ask(RingChannel(9))).__name__)  # it loses what is in it at its end
                handler = ask()
                first = handler.recv()
                rest = list(handler)
                said.append((name, type(handler).__name__, len([first, *rest])))
                said += [outcome(handler.recv), outcome(handler.try_recv), list(handler)]
                for direct in (True, False):
                    inbox, ended = Inbox(), threading.Event()
                    given = Callback(inbox, ended.set, indirect=direct)
                    said += [ask(given), ask((Callback(inbox, indirect=direct), "mine"))]
                    said.append(ended.wait(20))
                    inbox.wait(6)
                    said.append(sorted(_texts(inbox.items)))
                inbox = Inbox()
                said += [ask(inbox), sorted(_texts(inbox.wait(3)))]
        return said

    same(scenario)


def test_handlers_of_queryables(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        said: list[Any] = []
        channels: list[Any] = [None, FifoChannel(3), RingChannel(3)]
        for channel in channels:
            topic = pair.topic()
            queryable = pair.b.declare_queryable(topic, channel, **pair.area)
            pair.answered(topic)
            said += [type(queryable.handler).__name__, str(queryable.key_expr) == topic]
            for take in (queryable.recv, partial(next, iter(queryable)), queryable.handler.recv):
                replies = pair.a.get(topic, **pair.area)
                with take() as query:
                    query.reply(topic, "yes")
                said.append(_texts(replies))
            said += [queryable.try_recv(), queryable.undeclare()]
        for indirect in (True, False):
            topic, ended = pair.topic(), threading.Event()

            def answer(query: Any, topic: str = topic) -> None:
                query.reply(topic, "yes")  # and it ends with its last reference

            callback = Callback(answer, ended.set, indirect=indirect)
            queryable = pair.b.declare_queryable(topic, callback, **pair.area)
            pair.answered(topic)
            said += [_texts(pair.a.get(topic, **pair.area)), queryable.handler]
            said += [queryable.undeclare(), ended.wait(20)]
        return said

    same(scenario)


# What a query says, and what a reply says


def test_what_the_queryable_sees(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        said: list[Any] = []

        def answer(query: Any) -> None:
            if pair.sort == "located":
                assert type(query) is LocatedQuery
            source = query.source_info
            said.append({
                "selector": str(query.selector).replace(topic, "T"),
                "shown": topic in str(query) and repr(query).startswith("Query {"),
                "key": str(query.key_expr).replace(topic, "T"),
                "parameters": dict(query.parameters),
                "payload": None if query.payload is None else query.payload.to_bytes(),
                "encoding": None if query.encoding is None else str(query.encoding),
                "attachment": query.attachment and query.attachment.to_bytes(),
                "empty attachment": query.attachment is not None,
                "source": source and (source.source_sn, source.source_id == pair.a.id),
                "accepts": query.accepts_replies(),
            })  # fmt: skip

        source = zenoh.SourceInfo(pair.a.id, 7)
        asked: list[dict[str, Any]] = [
            {},
            {"parameters": "a=1;b=2;_time=[now()]"},
            {"payload": ""},
            {"payload": b"\x00\xff", "encoding": "text/csv"},
            {"payload": zenoh.ZBytes("x"), "attachment": zenoh.ZBytes("y")},
            {"payload": bytes(1 << 20)},
            {"encoding": zenoh.Encoding.APPLICATION_JSON},
            {"attachment": ""},
            {"attachment": b"\x00\xff"},
            {"source_info": source},
            {"accept_replies": ANY_KEY},
            {"accept_replies": ANY_KEY, "parameters": "a=1"},
            {"accept_replies": zenoh.ReplyKeyExpr.MATCHING_QUERY},
            {"priority": zenoh.Priority.REAL_TIME, "express": True},
            {"congestion_control": zenoh.CongestionControl.BLOCK},
        ]
        with _answering(pair, topic, answer):
            for _, ask in _ways(pair, topic):
                for options in asked:
                    assert list(ask(**options)) == []
        return said

    same(scenario)


def test_what_the_caller_sees(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic, stamp = pair.topic(), pair.b.new_timestamp()
        answers: list[Callable[[Any], None]] = [
            lambda q: q.reply(topic, "text"),
            lambda q: q.reply(topic, b"\x00\xff", encoding="text/csv", attachment=b"mine"),
            lambda q: q.reply(topic, "", attachment=""),
            lambda q: q.reply(topic, bytes(1 << 20), attachment=zenoh.ZBytes("mine")),
            lambda q: q.reply(topic, "stamped", timestamp=stamp),
            lambda q: q.reply(zenoh.KeyExpr(topic), zenoh.ZBytes("z")),
            lambda q: q.reply_del(topic),
            lambda q: q.reply_del(topic, attachment="mine", timestamp=stamp),
            lambda q: q.reply_err("wrong"),
            lambda q: q.reply_err(b"\xff", encoding=zenoh.Encoding.APPLICATION_JSON),
            lambda q: q.reply_err(zenoh.ZBytes("")),
        ]
        said: list[Any] = []
        with _answering(pair, topic, lambda q: answers[int(q.payload.to_string())](q)):
            for (_, ask), number in product(_ways(pair, topic), range(len(answers))):
                for reply in ask(payload=str(number)):
                    if pair.sort == "located":
                        assert type(reply) is LocatedReply
                        assert getattr(reply.ok, "location", HERE) == HERE
                    given = reply.ok is not None and reply.ok.timestamp == stamp
                    said.append((_told(reply, topic), given))
        return said

    assert len(same(scenario)) == 22


def test_replies_that_are_refused(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        said: list[Any] = []

        def answer(query: Any) -> None:
            kept.append(query)
            for action in (
                lambda: query.reply(f"{topic}/other", "x"),
                lambda: query.reply_del("other"),
                lambda: query.reply(topic, object()),
                lambda: query.reply(topic, "x", attachment=object()),
                lambda: query.reply_err(object()),
                lambda: query.reply("not/a//key", "x"),
            ):
                said.append(_short(outcome(action), topic))

        kept: list[Any] = []
        with _answering(pair, topic, answer):
            for _, ask in _ways(pair, topic):
                said.append([_told(reply, topic) for reply in ask()])
                replies = ask(accept_replies=ANY_KEY)
                said.append(sorted(str(r.ok.key_expr).replace(topic, "T") for r in replies))
        query = kept[0]
        said += [_short(outcome(lambda: query.reply(topic, "x")), topic)]
        said += [outcome(lambda: query.reply_err("x")), outcome(query.drop)]
        said += [outcome(query.accepts_replies), outcome(lambda: str(query))]
        for name in _OF_QUERY:
            said.append(outcome(partial(getattr, query, name)))
        said += [
            type(outcome(query.__enter__)).__name__ == "tuple",
            outcome(lambda: query.__exit__(None, None, None)),
        ]
        return said

    same(scenario)


_OF_QUERY = [
    "key_expr",
    "selector",
    "parameters",
    "payload",
    "encoding",
    "attachment",
    "source_info",
]


def _short(result: Any, topic: str) -> Any:
    """Without the place in Zenoh's source where an error arose."""
    if isinstance(result, tuple):
        return result[0], result[1].split(" at /")[0].replace(topic, "T")
    return result


def _listed(ask: Ask, options: dict[str, Any]) -> list[Any]:
    return list(ask(**options))


def test_wrong_arguments_are_errors_at_the_call(same: Comparison) -> None:
    wrong: list[dict[str, Any]] = [
        {"target": 1},
        {"consolidation": "all"},
        {"accept_replies": True},
        {"timeout": "soon"},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"congestion_control": 1},
        {"priority": 1},
        {"express": "yes"},
        {"payload": object()},
        {"encoding": 1},
        {"attachment": object()},
        {"source_info": 1},
        {"cancellation_token": 1},
        {"timestamp_instrumentation": 1},
        {"allowed_destination": 1},
        {"parameters": 1},
    ]

    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        said: list[Any] = []
        for (name, ask), options in product(_ways(pair, topic), wrong):
            result = outcome(partial(_listed, ask, options))
            said.append((name, str(options.keys()), result[0] if result else result))
        return said

    same(scenario)


# Which replies


def test_consolidation(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic, zid = pair.topic(), b"\x01"
        start = datetime(2026, 1, 1, tzinfo=UTC)
        stamps = [zenoh.Timestamp(start + timedelta(seconds=s), zid) for s in (2, 1, 3, 3)]

        def answer(query: Any) -> None:
            for number, stamp in enumerate(stamps):
                query.reply(f"{topic}/a", f"a{number}", timestamp=stamp)
            query.reply(f"{topic}/b", "b old", timestamp=stamps[0])
            query.reply_del(f"{topic}/b", timestamp=stamps[2])
            for number in range(2):
                query.reply(f"{topic}/c", f"c{number} unstamped")
            query.reply_err("first")
            query.reply_err("second")

        said: list[Any] = []
        with _answering(pair, f"{topic}/*", answer):
            for name, ask in _ways(pair, f"{topic}/*"):
                for mode, parameters in product(MODES, ("", "_time=[now(-1h)..now()]")):
                    replies = ask(parameters=parameters, consolidation=MODES[mode])
                    said.append((name, mode, parameters, sorted(_texts(replies))))
        return said

    same(scenario)


def test_targets_and_completeness(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        said: list[Any] = []
        with pair.open() as third:
            for completes in product((True, False, None), repeat=2):
                topic = pair.topic()
                for session, complete, name in zip((pair.b, third), completes, "bc", strict=True):
                    session.declare_queryable(
                        f"{topic}/**",
                        partial(_reply_once, f"{topic}/x", name),
                        complete=complete,
                        **pair.area,
                    )
                wait_for(partial(_has, pair, f"{topic}/x", 2), "both queryables are known")
                for target in TARGETS:
                    replies = pair.a.get(
                        f"{topic}/x",
                        target=TARGETS[target],
                        consolidation=zenoh.ConsolidationMode.NONE,
                        **pair.area,
                    )
                    said.append((completes, target, _who(_texts(replies), completes)))
        return said

    same(scenario)


EVERY = {"target": zenoh.QueryTarget.ALL, "consolidation": zenoh.ConsolidationMode.NONE}


def _has(pair: Pair, topic: str, count: int) -> bool:
    """Whether so many answer."""
    return len(_texts(pair.a.get(topic, **EVERY, **pair.area))) == count


def _reply_once(key: str, text: str, query: Any) -> None:
    with query:
        query.reply(key, text)


def _who(texts: list[str], completes: tuple[Any, ...]) -> Any:
    """Of two that know all, either may be the best."""
    if len(texts) == 1 and all(completes):
        return "one of both"
    return sorted(texts)


def test_every_origin_and_destination_of_a_get(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        for who, origin in product("ab", LOCALITIES):
            getattr(pair, who).declare_queryable(
                topic,
                partial(_reply_once, topic, f"{who} {origin}"),
                allowed_origin=LOCALITIES[origin],
                **pair.area,
            )
        wait_for(partial(_has, pair, topic, 4), "all that can be reached")
        said: list[Any] = []
        for (name, ask), destination in product(_ways(pair, topic), LOCALITIES):
            replies = ask(allowed_destination=LOCALITIES[destination], **EVERY)
            said.append((name, destination, sorted(_texts(replies))))
        return said

    same(scenario)


# Ends


def test_nobody_to_ask(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        said: list[Any] = []
        for name, ask in _ways(pair, pair.topic()):
            ended, inbox = threading.Event(), Inbox()
            ask(Callback(inbox, ended.set), timeout=3600)
            said.append((name, ended.wait(20), inbox.items, list(ask(timeout=3600))))
        return said

    same(scenario)


def test_time_is_up(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        said: list[Any] = []
        queryable = pair.b.declare_queryable(topic, **pair.area)
        pair.answered(topic)
        for name, ask in _ways(pair, topic):
            inbox, ended = Inbox(), threading.Event()
            ask(Callback(inbox, ended.set), timeout=0.3)
            with _next(queryable) as query:
                query.reply(topic, "in time")
                said.append((name, ended.wait(20)))
                # Zenoh's routers may say so as well.
                said.append(sorted(set(_texts(inbox.items))))
                said.append(outcome(partial(query.reply, topic, "late")))
            answered = ask(timeout=20)
            with _next(queryable) as query:
                query.reply(topic, "a fence")
            said += [_texts(answered), sorted(set(_texts(inbox.items)))]
        queryable.undeclare()
        return said

    same(scenario)


def test_cancellation(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        said: list[Any] = []
        queryable = pair.b.declare_queryable(topic, **pair.area)
        pair.answered(topic)
        for _, ask in _ways(pair, topic):
            token, inbox, ended = zenoh.CancellationToken(), Inbox(), threading.Event()
            ask(Callback(inbox, ended.set), timeout=3600, cancellation_token=token)
            channel = ask(timeout=3600, cancellation_token=token)
            queries = received(queryable, 2)
            said += [token.is_cancelled, token.cancel(), token.is_cancelled, ended.wait(20)]
            said += [outcome(channel.recv), list(channel)]
            for query in queries:
                said.append(outcome(partial(query.reply, topic, "late")))
                query.drop()
            said.append(outcome(partial(ask, cancellation_token=token))[0])
            said.append(inbox.items)
        queryable.undeclare()
        return said

    same(scenario)


def test_a_querier_ends_under_its_gets(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        queryable = pair.b.declare_queryable(topic, **pair.area)
        pair.answered(topic)
        querier = pair.a.declare_querier(topic, timeout=3600, **pair.area)
        replies = querier.get()
        query = _next(queryable)
        said = [querier.undeclare(), outcome(lambda: [_told(r, topic) for r in replies])]
        query.drop()
        queryable.undeclare()
        return said

    same(scenario)


def test_a_queryable_ends_under_its_queries(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        said: list[Any] = []
        for end in ("undeclare", "drop", "__exit__"):
            topic = pair.topic()
            queryable = pair.b.declare_queryable(topic, **pair.area)
            pair.answered(topic)
            replies = pair.a.get(topic, timeout=20, **pair.area)
            query = _next(queryable)
            query.reply(topic, "yes")
            if end == "undeclare":
                queryable.undeclare()
                query.reply(topic, "still")
                query.drop()
            else:
                getattr(query, end)()
                queryable.undeclare()
            said.append((end, sorted(_texts(replies))))
        return said

    same(scenario)


def test_what_located_ones_cannot_carry(network: Network) -> None:
    """Zenoh has no way to pass these on: they are None, not something that looks right."""
    pair = network["located"]
    topic = pair.topic()
    traced = zenoh.TimestampInstrumentationBuilder().set_send(True).set_receive(True).build()
    with (
        pair.b.declare_subscriber(topic, **pair.area) as subscriber,
        pair.b.declare_queryable(topic, **pair.area) as queryable,
    ):
        pair.reached(topic)
        pair.answered(topic)
        pair.a.put(topic, "x", timestamp_instrumentation=traced)
        assert received(subscriber, 1)[0].timestamp_stack is None
        for _, ask in _ways(pair, topic):
            replies = ask(timestamp_instrumentation=traced)
            with _next(queryable) as query:
                assert query.timestamp_stack is None
                query.reply(topic, "x")
            (reply,) = replies
            assert reply.ok.timestamp_stack is None
            assert reply.replier_id is None
