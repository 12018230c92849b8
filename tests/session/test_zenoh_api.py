"""Everything of Zenoh's own interface that publishes and subscribes, located and plain.

Nothing here says how Zenoh behaves: each scenario runs with native sessions too, and the answers
must be the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import pytest
import zenoh
from zenoh.handlers import Callback, DefaultHandler, FifoChannel, RingChannel

import zenoh_la.ext
from tests.network import Inbox, wait_for
from tests.session.pairs import HERE, Comparison, Pair, described, outcome, pairs, received
from zenoh_la import LocatedSample

Network = dict[str, Pair]
LOCALITIES = {
    "unsaid": None,
    "any": zenoh.Locality.ANY,
    "local": zenoh.Locality.SESSION_LOCAL,
    "remote": zenoh.Locality.REMOTE,
}


@pytest.fixture(scope="module", params=["clients", "peers"])
def network(request: pytest.FixtureRequest) -> Iterator[Network]:
    with pairs(request.param) as found:
        yield found


@pytest.fixture(params=["plain", "located"])
def same(network: Network, request: pytest.FixtureRequest) -> Comparison:
    return Comparison(network["native"], network[request.param])


# Handlers


@pytest.mark.parametrize(
    "channel",
    [lambda: None, DefaultHandler, lambda: FifoChannel(10), lambda: RingChannel(2)],
    ids=["none", "default", "fifo", "ring"],
)
def test_channels(same: Comparison, channel: Callable[[], Any]) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        subscriber = pair.b.declare_subscriber(topic, channel(), **pair.area)
        pair.reached(topic)
        for text in "123":
            pair.a.put(topic, text)
        pair.flush()
        said: list[Any] = [subscriber.recv().payload.to_string()]
        said += [sample.payload.to_string() for sample in iter(subscriber.try_recv, None)]
        handler = subscriber.handler
        for text, take in [
            ("4", lambda: next(iter(subscriber))),
            ("5", lambda: next(handler)),
            ("6", handler.recv),
        ]:
            pair.a.put(topic, text)
            said.append(take().payload.to_string())
        pair.a.put(topic, "7")
        pair.flush()
        said += [type(handler).__name__, str(subscriber.key_expr) == topic]
        said.append(subscriber.undeclare())
        said.append(outcome(lambda: handler.try_recv().payload.to_string()))
        said += [outcome(lambda: list(handler)), outcome(handler.recv), outcome(handler.try_recv)]
        return said

    same(scenario)


class Heard:
    """A callback that also knows its threads and when it was dropped."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.threads: set[int] = set()
        self.drops = 0

    def __call__(self, sample: Any) -> None:
        self.texts.append(sample.payload.to_string())
        self.threads.add(threading.get_ident())

    def drop(self) -> None:
        self.drops += 1


MINE = object()


@pytest.mark.parametrize(
    ("handler", "drops"),
    [
        (lambda heard: heard, 0),
        (lambda heard: Callback(heard), 0),
        (lambda heard: Callback(heard, heard.drop), 1),
        (lambda heard: Callback(heard, heard.drop, indirect=False), 1),
        (lambda heard: (heard, MINE), 0),
        (lambda heard: (Callback(heard, heard.drop, indirect=False), MINE), 1),
    ],
    ids=["callable", "callback", "drop", "direct", "tuple", "tuple-direct"],
)
def test_callbacks(same: Comparison, handler: Callable[[Heard], Any], drops: int) -> None:
    def scenario(pair: Pair) -> Any:
        topic, heard = pair.topic(), Heard()
        subscriber = pair.b.declare_subscriber(topic, handler(heard), **pair.area)
        pair.reached(topic)
        for text in "123":
            pair.a.put(topic, text)
        wait_for(lambda: len(heard.texts) == 3, "three samples")
        assert threading.get_ident() not in heard.threads
        said = [heard.texts[:], heard.drops, subscriber.handler]
        said += [outcome(subscriber.try_recv)[0], outcome(subscriber.recv)[0]]
        said += [outcome(lambda: iter(subscriber))[0], subscriber.undeclare()]
        wait_for(lambda: heard.drops == drops, "it is dropped")
        pair.a.put(topic, "too late")
        pair.flush()
        return [*said, heard.texts, heard.drops]

    same(scenario)


def test_a_callback_goes_on_without_its_subscriber_and_a_channel_does_not(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic, heard = pair.topic(), Heard()
        pair.b.declare_subscriber(topic, heard, **pair.area)
        pair.reached(topic)
        pair.a.put(topic, "1")
        pair.flush()
        wait_for(lambda: heard.texts == ["1"], "the sample")
        other = pair.topic()
        channel = pair.b.declare_subscriber(other, **pair.area)
        with pair.a.declare_publisher(other) as publisher:
            wait_for(lambda: publisher.matching_status.matching, "the channel is known")
            del channel
            wait_for(lambda: not publisher.matching_status.matching, "the channel is gone")
        return heard.texts

    same(scenario)


@pytest.mark.parametrize("handler", [7, "text", (7, "mine"), (print, 1, 2), object()])
def test_what_is_no_handler(same: Comparison, handler: Any) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        actions = [
            lambda: pair.b.declare_subscriber(topic, handler, **pair.area),
            lambda: pair.b.declare_queryable(topic, handler, **pair.area),
            lambda: pair.b.get(topic, handler, **pair.area),
            lambda: pair.b.declare_publisher(topic).declare_matching_listener(handler),
            lambda: pair.b.declare_querier(topic, **pair.area).declare_matching_listener(handler),
        ]
        return [outcome(action) for action in actions]

    assert {kind for kind, _ in same(scenario)} == {"ValueError"}


# Quality of service


def _qualities(pair: Pair, stamp: zenoh.Timestamp) -> list[dict[str, Any]]:
    source = zenoh.SourceInfo(pair.a.id, 7)
    return [
        {},
        {"attachment": None},
        {"attachment": ""},
        {"attachment": b"\x00\xff"},
        {"attachment": "ends in zlA1"},
        {"timestamp": stamp},
        {"source_info": source},
        {"attachment": zenoh.ZBytes("mine"), "timestamp": stamp, "source_info": source},
    ]


_LINKS: list[dict[str, Any]] = [
    {"congestion_control": zenoh.CongestionControl.BLOCK},
    {"congestion_control": zenoh.CongestionControl.DROP},
    {"congestion_control": zenoh.CongestionControl.BLOCK_FIRST},
    {"express": True},
    {"express": False},
    *[{"priority": p} for p in vars(zenoh.Priority).values() if isinstance(p, zenoh.Priority)],
]
_ENCODINGS: list[dict[str, Any]] = [
    {"encoding": zenoh.Encoding.APPLICATION_JSON},
    {"encoding": "text/plain;utf-8"},
    {"encoding": zenoh.Encoding("own/kind").with_schema("7")},
]
_RELIABILITIES = [zenoh.Reliability.RELIABLE, zenoh.Reliability.BEST_EFFORT]
_PAYLOADS = ["", "text", b"\x00\xff", bytearray(b"ab"), zenoh.ZBytes(b"z"), bytes(1 << 20)]


Send = Callable[[], None]


def _heard(pair: Pair, topic: str, sends: list[Send], stamp: zenoh.Timestamp) -> list[Any]:
    """What a subscriber of the topic gets; one at a time, as a full queue drops messages."""
    inbox = Inbox()
    with pair.b.declare_subscriber(topic, Callback(inbox, indirect=False), **pair.area):
        pair.reached(topic)
        for number, send in enumerate(sends):
            send()
            inbox.wait(number + 1)
    if pair.sort == "located":
        assert all(type(s) is LocatedSample and s.location == HERE for s in inbox.items)
    return [
        {**described(sample, topic), "given": sample.timestamp == stamp} for sample in inbox.items
    ]


def test_every_quality_of_a_put_and_a_delete_arrives(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic, stamp, put = pair.topic(), pair.a.new_timestamp(), pair.a.put
        both = [*_qualities(pair, stamp), *_LINKS]
        sends: list[Send] = [partial(put, topic, "x", **q) for q in [*both, *_ENCODINGS]]
        sends += [partial(pair.a.delete, topic, **quality) for quality in both]
        sends += [partial(put, topic, payload) for payload in _PAYLOADS]
        return _heard(pair, topic, sends, stamp)

    found = same(scenario)
    assert len({str(sample["priority"]) for sample in found}) == 7
    assert {sample["attachment"] for sample in found} >= {None, b"", b"\x00\xff"}


def test_every_quality_of_a_publisher_arrives(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        stamp = pair.a.new_timestamp()
        reliable = [{"reliability": r} for r in _RELIABILITIES]
        said: list[Any] = []
        for quality in [*_LINKS, *_ENCODINGS, *reliable]:
            topic = pair.topic()
            with pair.a.declare_publisher(topic, **quality) as p:
                said.append((p.congestion_control, p.priority, p.reliability, str(p.encoding)))
                own = partial(p.put, "own", encoding="text/csv")
                said += _heard(pair, topic, [partial(p.put, "x"), own, p.delete], stamp)
        topic = pair.topic()
        with pair.a.declare_publisher(topic) as p:
            sends: list[Send] = []
            for quality in _qualities(pair, stamp):
                sends += [partial(p.put, "x", **quality), partial(p.delete, **quality)]
            return [*said, *_heard(pair, topic, sends, stamp)]

    same(scenario)


def test_wrong_qualities_are_the_same_errors(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        publisher = pair.a.declare_publisher(topic)
        return [
            outcome(lambda: pair.a.put(topic, object())),
            outcome(lambda: pair.a.put(topic, "x", priority=3)),
            outcome(lambda: pair.a.put(topic, "x", encoding=3)),
            outcome(lambda: pair.a.put(topic, "x", attachment=object())),
            outcome(lambda: pair.a.put(topic, "x", timestamp="now")),
            outcome(lambda: pair.a.put(topic, "x", wrong=1)[0]),
            outcome(lambda: publisher.put(object())),
            outcome(lambda: publisher.put("x", attachment=object())),
            outcome(lambda: pair.a.declare_publisher(topic, reliability=1)),
        ]

    def short(pair: Pair) -> Any:
        return [kind for kind, _ in scenario(pair)]

    same(short)


# Where messages may go, and may come from


def test_every_origin_and_destination(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic = pair.topic()
        inboxes = {}
        for who, origin in product("ab", LOCALITIES):
            inbox = inboxes[who, origin] = Inbox()
            getattr(pair, who).declare_subscriber(
                topic, inbox, allowed_origin=LOCALITIES[origin], **pair.area
            )
        # Until all that can be reached from either session is.
        reachable = [
            (w, o) for w, o in inboxes if (w == "a") == (o == "local") or o in "unsaid any"
        ]

        def probed(sender: Any, to: list[tuple[str, str]]) -> bool:
            sender.put(topic, "probe")
            return all(inboxes[one].items for one in to)

        wait_for(lambda: probed(pair.a, reachable), "the subscribers are known")
        every = list(inboxes)
        wait_for(lambda: probed(pair.b, every), "the subscribers are known to b too")
        for destination, locality in LOCALITIES.items():
            pair.a.put(topic, f"put {destination}", allowed_destination=locality)
            pair.a.delete(topic, attachment=destination, allowed_destination=locality)
            with pair.a.declare_publisher(topic, allowed_destination=locality) as publisher:
                publisher.put(f"publisher {destination}")
        pair.flush()
        for session in (pair.a, pair.b):
            session.put(topic, "end")

        def ended() -> bool:
            return all("end" in inbox.texts() for inbox in inboxes.values())

        wait_for(ended, "the end is heard by all")
        return {at: _without_probes(inbox) for at, inbox in inboxes.items()}

    found = same(scenario)
    assert found["b", "local"] == []
    assert len(found["a", "any"]) == len(LOCALITIES) * 3 - 3


def _without_probes(inbox: Inbox) -> list[str]:
    return sorted(
        sample.payload.to_string() or f"delete {sample.attachment.to_string()}"
        for sample in inbox.items
        if sample.payload.to_string() not in ("probe", "end")
    )


# Ends


def _handles(pair: Pair, session: Any) -> dict[str, Callable[[], Any]]:
    topic = pair.topic()
    publisher = session.declare_publisher(topic)
    querier = session.declare_querier(topic, **pair.area)
    return {
        "publisher": lambda: session.declare_publisher(topic),
        "subscriber": lambda: session.declare_subscriber(topic, **pair.area),
        "callback": lambda: session.declare_subscriber(topic, Inbox(), **pair.area),
        "queryable": lambda: session.declare_queryable(topic, **pair.area),
        "querier": lambda: session.declare_querier(topic, **pair.area),
        "publisher's listener": publisher.declare_matching_listener,
        "querier's listener": querier.declare_matching_listener,
        "token": lambda: session.liveliness().declare_token(topic),
        "liveliness": lambda: session.liveliness().declare_subscriber(topic),
    }


_USES = ["key_expr", "id", "handler", "encoding", "priority", "congestion_control", "reliability",
         "accept_replies", "matching_status", "recv", "try_recv", "declare_matching_listener",
         "get", "delete", "undeclare", "__iter__", "__enter__", "__exit__"]  # fmt: skip


def _uses(handle: Any) -> dict[str, Any]:
    """How each member of a handle fails that is not in use any more."""

    def use(name: str) -> Any:
        value = getattr(handle, name)
        return type(value() if callable(value) else value).__name__

    found = {}
    for name in _USES:
        if hasattr(type(handle), name):
            result = outcome(partial(use, name))
            found[name] = result[0] if result[0] == "AttributeError" else result
    if hasattr(type(handle), "put"):
        found["put"] = outcome(lambda: handle.put("x"))
    return found


def test_context_managers_and_what_is_undeclared(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        said: list[Any] = []
        for name, declare in _handles(pair, pair.a).items():
            with declare() as handle:
                pass
            said.append((name, _uses(handle)))
            handle = declare()
            said.append((name, handle.undeclare(), _uses(handle)))

            def twice(declare: Callable[[], Any] = declare) -> None:
                with declare() as handle:
                    handle.undeclare()

            def failing(declare: Callable[[], Any] = declare) -> None:
                with declare():
                    raise LookupError("mine")

            said.append((name, outcome(twice), outcome(failing)))
        return said

    same(scenario)


def test_a_closed_session(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        with pair.open() as session:
            before = session.is_closed()
            handles = {name: declare() for name, declare in _handles(pair, session).items()}
            info, live, zid = session.info, session.liveliness(), session.zid()
        said: list[Any] = [before, session.is_closed(), session.close(), session.zid() == zid]
        topic = pair.topic()
        actions: list[Callable[[], Any]] = [
            lambda: session.put(topic, "x"),
            lambda: session.delete(topic),
            lambda: list(session.get(topic, **pair.area)),
            lambda: session.declare_publisher(topic),
            lambda: session.declare_subscriber(topic, **pair.area),
            lambda: session.declare_queryable(topic, **pair.area),
            lambda: session.declare_querier(topic, **pair.area),
            lambda: session.declare_keyexpr(topic),
            lambda: live.declare_token(topic),
            lambda: live.declare_subscriber(topic),
            lambda: list(session.liveliness().get(topic)),
            lambda: info.zid() == zid,
            lambda: type(session.new_timestamp()).__name__,
            lambda: type(session.id).__name__,
            lambda: info.routers_zid(),
            lambda: session.__enter__() is session,
        ]
        said += [_general(outcome(action)) for action in actions]
        said += [(n, {u: _general(o) for u, o in _uses(h).items()}) for n, h in handles.items()]
        return said

    same(scenario)


def _general(result: Any) -> Any:
    """Without the place in Zenoh's source where an error arose."""
    if isinstance(result, tuple):
        return result[0], result[1].split(" at /")[0]
    return result


def test_keys_are_declared_and_undeclared(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic, inbox = pair.topic(), Inbox()
        pair.b.declare_subscriber(f"{topic}/*", inbox, **pair.area)
        key = pair.a.declare_keyexpr(f"{topic}/x")
        pair.reached(f"{topic}/x")
        pair.a.put(key, "1")
        pair.a.put(zenoh.KeyExpr(topic).join("x"), "2")
        with pair.a.declare_publisher(key) as publisher:
            publisher.put("3")
        inbox.wait(3)
        pair.a.undeclare(key)
        return sorted(inbox.texts()), {str(s.key_expr) == f"{topic}/x" for s in inbox.items}

    same(scenario)


def test_liveliness(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        topic, inbox = pair.topic(), Inbox()
        with pair.b.liveliness().declare_subscriber(f"{topic}/**", inbox, history=True):
            with pair.a.liveliness().declare_token(f"{topic}/1"):
                inbox.wait(1)
                get = partial(pair.b.liveliness().get, f"{topic}/*")
                replies = wait_for(lambda: [str(r.ok.key_expr) for r in get()], "the token")
            wait_for(lambda: inbox.items[-1].kind == zenoh.SampleKind.DELETE, "it is gone")
        return [k.replace(topic, "T") for k in replies], inbox.items[0].kind

    same(scenario)


# What is not Zenoh's


@pytest.mark.parametrize("sort", ["plain", "located"])
def test_pull_subscribers(network: Network, sort: str) -> None:
    pair = network[sort]
    topic, called = pair.topic(), Inbox()
    with (
        pair.b.declare_pull_subscriber(topic, capacity=2, **pair.area) as silent,
        pair.b.declare_pull_subscriber(topic, called, **pair.area) as calling,
    ):
        pair.reached(topic)
        for text in "123":
            pair.a.put(topic, text)
        pair.flush()
        assert [sample.payload.to_string() for sample in silent.pull()] == ["2", "3"]
        assert silent.pull() == []
        assert called.texts() == []
        assert len(calling.pull()) == 3
        assert called.texts() == ["1", "2", "3"]
        assert str(calling.key_expr) == topic
    with pytest.raises(zenoh.ZError, match="Undeclared subscriber"):
        silent.pull()


def test_advanced_publishers_and_subscribers(same: Comparison) -> None:
    def scenario(pair: Pair) -> Any:
        ext: Any = zenoh_la.ext  # takes native sessions too
        topic = pair.topic()
        with (
            ext.declare_advanced_publisher(
                pair.a,
                topic,
                cache=ext.CacheConfig(2),
                sample_miss_detection=ext.MissDetectionConfig(heartbeat=1),
                publisher_detection=True,
            ) as publisher,
        ):
            for text in "123":
                publisher.put(text, attachment="mine")
            pair.flush()
            with ext.declare_advanced_subscriber(
                pair.b, topic, history=ext.HistoryConfig(detect_late_publishers=True)
            ) as subscriber:
                history = received(subscriber, 2)
                publisher.put("4")
                live = received(subscriber, 1)
        found = [described(sample, topic) for sample in [*history, *live]]
        return [{**one, "stamped": None, "source": None} for one in found]

    assert [one["payload"] for one in same(scenario)] == [b"2", b"3", b"4"]
