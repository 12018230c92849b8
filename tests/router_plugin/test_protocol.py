"""Who follows docs/PROTOCOL.md takes part: a client and a node with nothing but Zenoh."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.network import Inbox, RouterProcess, client, native_client, router, statuses, wait_for
from tests.router_plugin import foreign
from tests.router_plugin.foreign import Client, Node, example, key, marked, point
from zenoh_la import Circle, Coordinates, LocationSession, Precision, Shape

LINZ, GRAZ = Coordinates(48.3, 14.3), Coordinates(47.07, 15.44)
NID, SLOT = "7f3a0c91", 4
AROUND_LINZ = json.loads(example("json", "ask"))["interests"]["1"][2][0]
AROUND_GRAZ = "zla_s_2_eyJyIjo1MDAwLjAsImMiOnsibGF0Ijo0Ny4wNywibG9uZyI6MTUuNDR9fQ"
GET_GRAZ = "zla_g_2_eyJyIjo1MDAwLjAsImMiOnsibGF0Ijo0Ny4wNywibG9uZyI6MTUuNDR9fQ"
GET_LINZ = json.loads(example("json", "toget"))["chunk"]


@pytest.fixture(scope="module")
def home() -> Iterator[RouterProcess]:
    with router() as process:
        yield process


@pytest.fixture
def session(home: RouterProcess) -> Iterator[LocationSession]:
    """The other side: a session of zenoh-la."""
    with client(home.endpoint) as opened:
        yield opened


@pytest.fixture
def stranger(home: RouterProcess) -> Iterator[Client]:
    with Client(home.endpoint) as opened:
        opened.register()
        yield opened


def publish(session: LocationSession, place: Coordinates, text: str) -> None:
    session.declare_position_handler(0, lambda: place)
    session.put("t/a", text, attachment="mine")


def messages_of(stranger: Client) -> int:
    """How many messages its router has taken in."""
    return int(statuses(stranger.session)[stranger.nid]["counters"]["received"])


def received(stranger: Client, *texts: str) -> None:
    """It has received just these; the last is the fence."""
    wait_for(lambda: texts[-1] in [m.payload for m in list(stranger.messages)], texts[-1])
    assert [m.payload for m in stranger.messages] == list(texts)


def test_a_stranger_subscribes_moves_and_leaves(
    home: RouterProcess, session: LocationSession, stranger: Client
) -> None:
    interests = json.loads(example("json", "ask"))["interests"]
    assert stranger.ask(interests=interests) == {}
    publish(session, GRAZ, "not there")
    publish(session, LINZ, "here")
    received(stranger, "here")
    message = stranger.messages[0]
    assert (message.topic, message.place) == ("t/a", (48.3, 14.3))
    assert (message.attachment, message.ids) == (b"mine", [1])
    session.put("t/b", "by cell", precision=Precision.MGRS)
    received(stranger, "here", "by cell")
    assert stranger.messages[1].place == "33UVP4808649881"
    assert stranger.messages[1].attachment is None

    assert stranger.ask(interests={"1": ["s", "t/**", [AROUND_GRAZ], 0, 0]}) == {}
    publish(session, LINZ, "left behind")
    publish(session, GRAZ, "there")
    received(stranger, "here", "by cell", "there")
    assert stranger.ask(gone=[1]) == {}
    entered = messages_of(stranger)
    publish(session, GRAZ, "too late")
    wait_for(lambda: messages_of(stranger) > entered, "it has passed the router")
    assert stranger.ask(interests={"9": ["s", "t/**", [AROUND_GRAZ], 0, 0]}) == {}
    publish(session, GRAZ, "in time")
    received(stranger, "here", "by cell", "there", "in time")
    assert stranger.messages[-1].ids == [9]

    def sessions() -> int:
        return int(statuses(stranger.session)[stranger.nid]["sessions"])

    before = sessions()
    stranger.leave()
    wait_for(lambda: sessions() == before - 1, "the slot is free")
    assert stranger.ask(reset=True)["registered"] is False
    wait_for(lambda: stranger.news, "it is told so")
    assert stranger.news == [{**json.loads(example("json", "gone-news")), "tag": stranger.tag}]


def test_messages_for_one_subscriber_come_on_its_own_key(
    home: RouterProcess, session: LocationSession
) -> None:
    with Client(home.endpoint) as stranger:
        zid = str(stranger.session.zid())
        stranger.register(zid)
        inbox = Inbox()
        stranger.session.declare_subscriber(key("own", zid, 5), inbox)
        interest = ["s", "t/*", [AROUND_LINZ], 0, 0]
        stranger.ask(interests={"5": interest})
        publish(session, LINZ, "one")
        (sample,) = inbox.wait(1)
        message = foreign.Message.read(sample)
        assert (message.tag, message.ids) == (stranger.tag, [])
        stranger.ask(interests={"6": interest})
        publish(session, LINZ, "two")
        received(stranger, "two")
        assert stranger.messages[0].ids == [5, 6]


def test_a_stranger_publishes(session: LocationSession, stranger: Client) -> None:
    inbox, fleet, everywhere = Inbox(), Inbox(), Inbox()
    session.declare_subscriber("**", inbox, location_shape=Circle(LINZ, 5000))
    session.declare_subscriber("@fleet/*", fleet, location_shape=Circle(LINZ, 5000))
    session.declare_subscriber("t/*", everywhere)
    native: Any = stranger.session.declare_publisher("t/a")
    wait_for(lambda: native.matching_status.matching, "Zenoh knows of the native subscriber")
    here, by_cell, _ = (line.split("/", 5)[-1].split("/")[0] for line in
                        example("keys", "publish").split())  # fmt: skip
    stranger.put("-", here, "t/a", "not registered", attachment=b"its own")
    stranger.put(stranger.slot, by_cell, "t/a", "registered")
    place = foreign.framed(point(48.3, 14.3))
    stranger.put(f"{stranger.slot}r", "-", "~@fleet/7", "in the attachment", attachment=place)
    (third,) = fleet.wait(1)
    first, second = inbox.wait(2)
    assert inbox.texts() == ["not registered", "registered"]
    assert fleet.texts() == ["in the attachment"]
    assert (first.location, str(first.key_expr)) == (LINZ, "t/a")
    assert first.attachment.to_bytes() == b"its own"
    assert str(second.location_key) == "$zla_m_33UVP4808649881"
    assert (third.location, str(third.key_expr)) == (LINZ, "@fleet/7")
    assert third.attachment is None
    everywhere.wait(2)
    assert everywhere.texts() == ["not registered", "registered"]
    assert everywhere.items[0].location == LINZ


def test_a_native_subscriber_reads_the_place(home: RouterProcess, session: LocationSession) -> None:
    with native_client(home.endpoint) as native:
        samples = native.declare_subscriber("t/a")
        session.declare_position_handler(0, lambda: LINZ)
        wait_for(lambda: session.declare_publisher("t/a").matching_status.matching, "it listens")
        publish(session, LINZ, "plain")
        assert marked(samples.recv().attachment) == ((48.3, 14.3), b"mine")


def test_a_stranger_answers_gets(session: LocationSession, stranger: Client) -> None:
    interests = json.loads(example("json", "ask"))["interests"]
    stranger.ask(interests=interests)
    (reply,) = session.get("t/*", location_shape=Circle(LINZ, 100), attachment="for you")
    assert reply.ok.payload.to_string() == "21.5"
    assert (str(reply.ok.key_expr), reply.ok.location) == ("t/*", LINZ)
    assert reply.ok.attachment.to_bytes() == b"sensor 7"
    (query,) = stranger.queries
    assert (query["topic"], query["ids"], query["attachment"]) == ("t/*", [2], b"for you")
    assert list(session.get("t/*", location_shape=Circle(GRAZ, 100))) == []
    assert len(stranger.queries) == 1


def test_a_stranger_asks_an_area(session: LocationSession, stranger: Client) -> None:
    heard: list[Any] = []

    def answer(query: Any) -> None:
        with query:
            heard.append(query.attachment.to_string())
            query.reply("t/last", "22.1", attachment="mine", location=LINZ)

    session.declare_queryable("t/last", answer, location_shape=Circle(LINZ, 10))
    document = json.loads(example("json", "get"))
    (reply,) = stranger.get(GET_LINZ, "t/**", **document)
    assert reply.ok is not None
    assert (str(reply.ok.key_expr), reply.ok.payload.to_string()) == ("t/last", "22.1")
    assert marked(reply.ok.attachment) == ((48.3, 14.3), b"mine")
    assert heard == ["my own"]
    (refused,) = stranger.get("zla_m_nonsense", "t/**")
    assert refused.err is not None
    assert refused.err.payload.to_string().startswith("zenoh-la: ")


def test_a_stranger_is_told_who_listens(session: LocationSession, stranger: Client) -> None:
    here = example("keys", "publish").split()[1].split("/")[5]
    watch = ["s", "watched/topic", here]
    assert stranger.ask(watch={"7": watch}) == {"watch": {"7": False}}
    assert stranger.ask(matching=watch) == {"matching": False}
    area = session.declare_subscriber("watched/*", Inbox(), location_shape=Circle(LINZ, 10))
    wait_for(lambda: len(stranger.news) >= 1, "news")
    assert stranger.ask(matching=watch) == {"matching": True}
    area.undeclare()
    wait_for(lambda: len(stranger.news) >= 2, "more news")
    shown = json.loads(example("json", "watch-news"))
    assert stranger.news[1] == {**shown, "tag": stranger.tag}
    assert stranger.news[0]["watch"] == {"7": True}


def test_a_strangers_route_is_granted_and_taken_back(
    home: RouterProcess, session: LocationSession, stranger: Client
) -> None:
    inbox = Inbox()
    session.declare_subscriber("t/a", inbox, location_shape=Circle(LINZ, 10))
    question = json.loads(example("json", "route"))
    del question["secret"]
    stranger.ask_route(**question)
    wait_for(lambda: stranger.news, "the answer")
    number, serial, at, end = stranger.news[0]["route"]
    assert (number, serial) == (question["n"], question["serial"])
    stranger.session.put(at, "straight", attachment=bytes.fromhex(end))
    (sample,) = inbox.wait(1)
    assert (sample.payload.to_string(), sample.location) == ("straight", LINZ)
    session.declare_subscriber("t/*", inbox, location_shape=Circle(LINZ, 10))
    wait_for(lambda: len(stranger.news) == 2, "it is taken back")
    shown = json.loads(example("json", "route-revoked"))
    assert stranger.news[1] == {**shown, "tag": stranger.tag}
    stranger.ask_route(n=3, ended=12, sent=1)
    stranger.ask_route(n=4, sent=0, serial=1, topic="nobody/wants", place=question["place"])
    wait_for(lambda: len(stranger.news) == 3, "another answer")
    assert stranger.news[2]["route"] == [4, 1, None, ""]


def test_a_stranger_receives_by_a_granted_route(session: LocationSession, stranger: Client) -> None:
    stranger.ask(interests={"1": ["s", "t/**", [AROUND_LINZ], 0, 0]})
    session.declare_position_handler(0, lambda: LINZ)
    sent: list[str] = []

    def granted() -> bool:
        sent.append(str(len(sent)))
        session.put("t/a", sent[-1], attachment="mine")
        return any(message.granted for message in list(stranger.messages))

    wait_for(granted, "a publisher that stays is granted its route")
    received(stranger, *sent)
    assert {m.attachment for m in stranger.messages} == {b"mine"}


def known(node: Node, nid: str) -> int | None:
    """The version in which a router knows a node's advert."""
    found: int | None = statuses(node.session)[nid]["nodes"].get(node.nid)
    return found


def test_a_strange_node(home: RouterProcess, session: LocationSession) -> None:
    with Node(home.endpoint, NID) as node, Node(home.endpoint, "0c55e1aa") as second:
        (nid,) = [n for n, s in statuses(node.session).items() if s["zid"] == home.zid]
        node.change({"0": ["s", "t/**", [AROUND_LINZ], 0]}, [])
        wait_for(lambda: known(node, nid) == 1, "its advert is known")
        publish(session, GRAZ, "not there")
        publish(session, LINZ, "for one")
        wait_for(lambda: len(node.messages), "a message")
        ((at, message),) = node.messages
        assert at == key("one", NID)
        assert (message.payload, message.topic, message.place) == ("for one", "t/a", (48.3, 14.3))
        assert (message.attachment, message.ids) == (b"mine", [])

        second.change({"7": ["s", "t/a", [AROUND_LINZ], 0]}, [])
        second.heartbeat()
        wait_for(lambda: known(second, nid) == 1, "the second one's too")
        publish(session, LINZ, "for many")
        wait_for(lambda: len(node.messages) == 2 and len(second.messages) == 1, "two copies")
        assert node.messages[1] == second.messages[0]
        assert node.messages[1][0] == key("many", "0c55e1aa", NID)

        node.change({"1": ["q", "t/last", [GET_LINZ.replace("_g_", "_q_")], 0]}, [0])
        second.token.undeclare()
        wait_for(lambda: known(node, nid) == 2 and known(second, nid) is None, "changes")
        (reply,) = session.get("t/last", location_shape=Circle(LINZ, 10))
        assert (reply.ok.payload.to_string(), reply.ok.location) == ("from a node", LINZ)
        assert (node.asked[0]["topic"], node.asked[0]["only"]) == ("t/last", 1)
        publish(session, LINZ, "nobody wants it")
        node.change({"2": ["s", "fence", [AROUND_LINZ], 0]}, [])
        wait_for(lambda: known(node, nid) == 3, "another change")
        session.put("fence", "the last")
        wait_for(lambda: node.messages[-1][1].payload == "the last", "the fence")
        assert (len(node.messages), len(second.messages)) == (3, 1)


def test_a_strange_node_grants_nothing(home: RouterProcess, session: LocationSession) -> None:
    with Node(home.endpoint, NID) as node:
        (nid,) = [n for n, s in statuses(node.session).items() if s["zid"] == home.zid]
        node.change({"0": ["s", "t/**", [AROUND_LINZ], 0]}, [])
        wait_for(lambda: known(node, nid) == 1, "its advert is known")
        sent: list[str] = []

        def asked_for_a_route() -> bool:
            sent.append(str(len(sent)))
            publish(session, LINZ, sent[-1])
            return bool(node.routes)

        wait_for(asked_for_a_route, "a publisher that stays asks for its route")
        assert node.routes[0]["topic"] == "t/a"
        publish(session, LINZ, "the last")
        wait_for(lambda: node.messages[-1][1].payload == "the last", "the last")
        assert [message.payload for _, message in node.messages] == [*sent, "the last"]
        assert not any(message.granted for _, message in node.messages)


def test_a_strange_node_reaches_a_routers_sessions(
    home: RouterProcess, session: LocationSession
) -> None:
    inbox = Inbox()

    def answer(query: Any) -> None:
        with query:
            query.reply("t/last", "from a session", location=LINZ)

    session.declare_subscriber("t/*", inbox, location_shape=Circle(LINZ, 5000))
    session.declare_queryable("t/last", answer, location_shape=Circle(LINZ, 5000))
    with Node(home.endpoint, NID) as node:
        (nid,) = [n for n, s in statuses(node.session).items() if s["zid"] == home.zid]
        state = node.state_of(nid)
        assert state["v"] >= 1
        entries = sorted(entry[:2] + entry[3:] for entry in state["set"].values())
        assert entries == [["q", "t/last", 0], ["s", "t/*", 0]]
        node.put(nid, point(47.07, 15.44), "t/a", "not there")
        node.put(nid, point(48.3, 14.3), "t/a", "from a node")
        (sample,) = inbox.wait(1)
        assert (sample.payload.to_string(), sample.location) == ("from a node", LINZ)
        (reply,) = node.get(nid, topic="t/last", chunk=GET_LINZ)
        assert reply.ok is not None
        assert reply.ok.payload.to_string() == "from a session"
        assert marked(reply.ok.attachment) == ((48.3, 14.3), None)


def test_a_strange_node_asks_a_routers_session_straight(
    home: RouterProcess, session: LocationSession
) -> None:
    """Where it is, it is asked; where it was when the other node last heard of it, not any more."""
    where = LINZ

    def answer(query: Any) -> None:
        with query:
            query.reply("t/straight", "from a session")

    session.declare_position_handler(0, lambda: where)
    session.declare_queryable(
        "t/straight", answer, location_shape=Shape.CIRCLE, shape_data={"r": 5000}
    )
    with Node(home.endpoint, NID) as node:
        (nid,) = [n for n, s in statuses(node.session).items() if s["zid"] == home.zid]

        def entry() -> tuple[str, list[Any]]:
            entries = node.state_of(nid)["set"]
            return next((n, e) for n, e in entries.items() if e[1] == "t/straight")

        number, before = entry()
        slot, tag, ident = node.state_of(nid)["at"][number]

        def asked(place: str) -> list[str]:
            ask = {"topic": "t/straight", "chunk": place, "tag": tag, "ids": [ident]}
            replies = node.ask_session(nid, slot, **ask)
            return [reply.ok.payload.to_string() for reply in replies if reply.ok is not None]

        assert asked(GET_LINZ) == ["from a session"]
        assert asked(GET_GRAZ) == []
        where = GRAZ
        wait_for(lambda: entry()[1][2] != before[2], "it has moved")
        assert asked(GET_LINZ) == []
        assert asked(GET_GRAZ) == ["from a session"]
