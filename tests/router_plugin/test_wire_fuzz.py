"""A hostile client: whatever it sends, nobody else notices, and the router counts it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator

import pytest
import zenoh

from tests.figures import Figures
from tests.network import DEADLINE_S, Inbox, client, statuses, wait_for
from tests.router_plugin import bad_wire
from tests.router_plugin.random_wire import anything
from tests.router_plugin.scene import LINZ, Scene, fresh_scene
from tests.survival.processes import resident_kb
from zenoh_la import Circle, ProtocolError
from zenoh_la.encoders.locations import Point
from zenoh_la.router_plugin.members import MAX_SESSIONS, Members
from zenoh_la.router_plugin.protocol import Interest
from zenoh_la.router_plugin.routes import RoutingTable


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with fresh_scene() as made:
        yield made


@pytest.fixture(autouse=True)
def _no_errors_in_callbacks_here(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """The honest sessions live in this process."""
    yield
    assert [r.getMessage() for r in caplog.records if r.name.startswith("zenoh.")] == []


@pytest.mark.parametrize("kind", sorted(bad_wire.PUTS))
def test_messages_that_cannot_be_right_are_refused_and_counted(scene: Scene, kind: str) -> None:
    for key, attachment in bad_wire.PUTS[kind](scene.hostile):
        before = scene.refused(scene.near)
        scene.session.put(key, b"bad", attachment=attachment)
        scene.wait_until_refused(scene.near, before, f"{key[:200]} {attachment!r}"[:400])
    scene.honest.check()


@pytest.mark.parametrize("kind", sorted(bad_wire.GETS))
def test_gets_that_cannot_be_right_are_answered_with_an_error(scene: Scene, kind: str) -> None:
    for key, attachment in bad_wire.GETS[kind](scene.hostile):
        before = scene.refused(scene.near)
        replies = list(scene.session.get(key, attachment=attachment, timeout=DEADLINE_S))
        what = f"{key[:200]} {attachment!r}"
        assert [r.err.payload.to_string()[:10] for r in replies if r.err] == ["zenoh-la: "], what
        assert scene.refused(scene.near) > before, what
    scene.honest.check()


def test_requests_that_cannot_be_right_change_nothing(scene: Scene) -> None:
    place = scene.hostile.hello()
    before = scene.interests()
    for key, payload in bad_wire.asks(scene.hostile, place):
        refused = scene.refused(scene.near)
        answer = scene.hostile.call(key, payload)
        what = f"{key} {payload[:200]!r}"
        assert answer.keys() <= {"error", "registered"}, what
        assert len(answer["error"]) < 1000, what
        assert scene.refused(scene.near) > refused, what
    assert scene.interests() == before
    scene.honest.check()


def test_questions_for_a_route_that_cannot_be_right(scene: Scene) -> None:
    place = scene.hostile.hello()
    for key, payload in bad_wire.questions(scene.hostile, place):
        before = scene.refused(scene.near)
        scene.session.put(key, payload)
        scene.wait_until_refused(scene.near, before, f"{key} {payload[:200]!r}")
    scene.honest.check()


def test_hello_to_all_routers_gets_a_slot_at_none(scene: Scene) -> None:
    before = statuses(scene.observer)[scene.near]["sessions"]
    for key in ("@zla/1/hello/*", "@zla/1/hello/**", "@zla/1/**"):
        answers = list(scene.session.get(key, timeout=DEADLINE_S))
        assert not any(b"secret" in r.ok.payload.to_bytes() for r in answers if r.ok), key
    assert statuses(scene.observer)[scene.near]["sessions"] == before
    scene.honest.check()


@pytest.mark.parametrize("payload", bad_wire.BAD_DELTAS, ids=lambda payload: repr(payload[:60]))
def test_adverts_that_cannot_be_right_are_refused_everywhere(scene: Scene, payload: bytes) -> None:
    for nid, by in (("0badcafe", scene.near), ("0badcafe", scene.far), (scene.far, scene.near)):
        before = scene.refused(by)
        scene.session.put(f"@zla/1/delta/{nid}", payload)
        scene.wait_until_refused(by, before, f"{nid} {payload[:200]!r}")
    scene.honest.check()


def test_a_node_that_tells_nonsense(scene: Scene) -> None:
    states = iter(bad_wire.BAD_STATES)
    told = []

    def answer(query: zenoh.Query) -> None:
        with query:
            payload = next(states, None)
            if payload is not None:
                told.append(payload)
                query.reply("@zla/1/state/0badcafe", payload)

    before = scene.refused(scene.near)
    queryable = scene.session.declare_queryable("@zla/1/state/0badcafe", answer)
    token = scene.session.liveliness().declare_token("@zla/1/node/0badcafe/1")
    count = len(bad_wire.BAD_STATES)
    wait_for(lambda: len(told) == count, "all of it is asked for")
    # Both routers ask; the near one had its share.
    scene.wait_until_refused(scene.near, before, "nonsense")
    token.undeclare()
    queryable.undeclare()
    wait_for(lambda: "0badcafe" not in statuses(scene.observer)[scene.near]["nodes"], "gone")
    scene.honest.check()


@pytest.mark.parametrize("key", bad_wire.BAD_TOKENS)
def test_tokens_that_cannot_be_right(scene: Scene, key: str) -> None:
    before = scene.refused(scene.near)
    token = scene.session.liveliness().declare_token(key.replace("NID", scene.near))
    scene.wait_until_refused(scene.near, before, key)
    token.undeclare()
    scene.honest.check()


def test_a_foreign_token_dismisses_nobody(scene: Scene) -> None:
    """Neither a session, by its slot, nor a node, by its id and another Zenoh id."""
    interests = scene.interests()
    for slot in range(3):
        token = scene.session.liveliness().declare_token(f"@zla/1/alive/{scene.near}/{slot}")
        scene.honest.check()
        token.undeclare()
    for zid in ("1", "c0ffee"):
        token = scene.session.liveliness().declare_token(f"@zla/1/node/{scene.far}/{zid}")
        scene.honest.check()
        token.undeclare()
    wait_for(lambda: scene.far in statuses(scene.observer)[scene.near]["nodes"], "known")
    assert scene.interests() == interests
    scene.honest.check()


def test_nobody_speaks_for_another_slot(scene: Scene) -> None:
    """A tag is told to whoever listens to deliveries: it is not enough."""
    heard = Inbox()
    spy = scene.session.declare_subscriber("@zla/1/own/**", heard)

    def overheard() -> int:
        scene.honest.check()
        return len(heard)

    try:
        wait_for(overheard, "a delivery is overheard")
        tag = bad_wire.tag_in(heard.items[-1].attachment.to_bytes())
        for slot in range(3):
            for secret in ("", "0" * 32, str(tag), tag, None):
                document = {"tag": tag, "secret": secret, "reset": True}
                answer = scene.hostile.call(
                    f"@zla/1/ask/{scene.far}/{slot}", json.dumps(document).encode()
                )
                assert "error" in answer
    finally:
        spy.undeclare()
    scene.honest.check()


def test_deliveries_from_somebody_else_are_no_deliveries(scene: Scene) -> None:
    """On the keys of sessions and of their handlers, and on the plain topic."""
    for nid in (scene.near, scene.far):
        for key, payload, attachment in bad_wire.deliveries(nid, scene.honest.zid):
            scene.session.put(key, payload, attachment=attachment)
            list(scene.session.get(key, payload=payload, attachment=attachment, timeout=0.2))
    scene.honest.check()
    inbox, count = scene.honest.everywhere, len(scene.honest.everywhere)
    for attachment in bad_wire.PLAIN_ATTACHMENTS:
        scene.session.put("honest/plain", b"x", attachment=attachment)
    inbox.wait(count + len(bad_wire.PLAIN_ATTACHMENTS))
    for sample in inbox.items[count:]:
        assert type(sample) is zenoh.Sample, "a plain message, with somebody's own attachment"
    del inbox.items[count:]
    scene.honest.check()


@pytest.mark.parametrize("lie", [b"", b"{}", b'{"nid":"x/**","slot":-1,"tag":1,"secret":"s"}'])
def test_rubbish_in_a_routers_name_keeps_nobody_out(scene: Scene, lie: bytes) -> None:
    """A new session joins, though somebody else answers its hello first, last or in between."""

    asked: list[str] = []

    def answer(query: zenoh.Query) -> None:
        with query:
            query.reply(query.key_expr, lie)
            asked.append(str(query.key_expr))

    def has_begun() -> bool:
        list(scene.observer.get("@zla/1/hello/nobody", timeout=1.0))
        return bool(asked)

    liar = scene.session.declare_queryable("@zla/1/hello/**", answer)
    try:
        wait_for(has_begun, "Zenoh knows of the liar")
        with client(scene.endpoint) as newcomer:
            inbox = Inbox()
            newcomer.declare_subscriber("honest/*", inbox, location_shape=Circle(LINZ, 10))

            def hears() -> int:
                scene.honest.check()
                return len(inbox)

            wait_for(hears, "it hears")
        assert f"@zla/1/hello/{scene.hostile.zid}" in asked
    finally:
        liar.undeclare()
    scene.honest.check()


def test_a_false_advert_does_not_stay(scene: Scene) -> None:
    """Whoever may put on a node's key can speak for it; the node itself soon has the last word."""
    scene.honest.check()
    entries = {str(n): ["s", "elsewhere", ["zla_m_33T"], 0] for n in range(20)}
    lie = {"v": [0, 2**53 - 1], "set": entries, "gone": list(range(20, 99))}
    scene.session.put(f"@zla/1/delta/{scene.far}", json.dumps(lie))

    def healed() -> bool:
        known = statuses(scene.observer)
        return bool(known[scene.near]["nodes"].get(scene.far) == known[scene.far]["version"])

    wait_for(lambda: not healed(), "the lie is believed")
    wait_for(healed, "the truth is back")
    scene.honest.check()


def test_a_replayed_advert_changes_nothing(scene: Scene) -> None:
    heard: list[zenoh.Sample] = []
    spy = scene.session.declare_subscriber("@zla/1/delta/**", heard.append)
    for _ in range(3):
        passing = scene.honest.subscriber.declare_subscriber(
            "honest/b", Inbox(), location_shape=Circle(LINZ, 10)
        )
        passing.undeclare()
    wait_for(lambda: any(b"set" in s.payload.to_bytes() for s in list(heard)), "news passes")
    spy.undeclare()
    expected = scene.interests()
    for sample in heard * 2:
        scene.session.put(sample.key_expr, sample.payload)
    scene.honest.check()
    assert scene.interests() == expected


def campaign(scene: Scene, count: int, seed: int) -> int:
    """Returns how many were refused."""
    rng = random.Random(seed)
    place = scene.hostile.hello()
    token = scene.session.liveliness().declare_token(f"@zla/1/alive/{scene.near}/{place['slot']}")
    before = scene.refused(scene.near)
    for i in range(count):
        anything(rng, scene.hostile, place)
        if i % 100 == 99:
            scene.honest.check()
    wait_for(lambda: scene.refused(scene.near) > before + count // 10, f"refusals; seed {seed}")
    refused = scene.refused(scene.near) - before
    token.undeclare()
    wait_for(
        lambda: scene.interests() == {scene.near: 2, scene.far: 2},
        f"what the hostile client registered is gone; seed {seed}",
    )
    scene.honest.check()
    return refused


def test_a_short_campaign(scene: Scene) -> None:
    campaign(scene, 500, seed=4711)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_long_campaign(seed: int, figures: Figures) -> None:
    with fresh_scene() as made:
        refused = campaign(made, 60_000, seed)
        before_kb = resident_kb(made.near_pid)
        campaign(made, 20_000, seed + 1000)
        more_mb = (resident_kb(made.near_pid) - before_kb) / 1000
    figures.record(f"60,000 hostile messages (seed {seed}), none noticed: refused", refused, "")
    figures.record("  router memory for 20,000 more of them", more_mb, "MB", at_most=30)


def test_a_node_has_room_for_so_many_sessions() -> None:
    members = Members("0badcafe")
    for _ in range(MAX_SESSIONS):
        members.new()
    with pytest.raises(ProtocolError):
        members.new()
    members.remove(7)
    assert members.new().slot == 7


def test_many_new_topics_do_not_hold_a_node_up() -> None:
    """Each with each of the topics that are remembered: 25 million pairs took ten seconds."""
    table = RoutingTable()
    somewhere = Point(LINZ)
    epochs = [table.epoch(f"t/{i}", somewhere) for i in range(5000)]
    new = [((0, i), Interest.of("s", f"u/{i}", ("zla_m_33T",))) for i in range(5000)]
    start = time.process_time()
    table.change(new, [])
    assert time.process_time() - start < 3, "a bound against hanging, not a measurement"
    assert all(epoch.number == 1 for epoch in epochs)
