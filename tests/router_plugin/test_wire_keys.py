"""Every key of docs/PROTOCOL.md, and everything that can be done to it: nobody else notices.

What is sent follows from the table of keys in the document. A key that is added there and has no
place in `READERS` fails these tests, and so does one whose reader does not count what it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import pytest
import zenoh

from tests.network import Inbox, client, statuses, wait_for
from tests.router_plugin import foreign
from tests.router_plugin.bad_wire import MGRS, framed, header, point
from tests.router_plugin.scene import LINZ, Scene, fresh_scene
from zenoh_la import Circle, LocationSession

READERS = {
    "hello": "node",
    "ask": "node",
    "alive": "node",
    "in": "node",
    "get": "node",
    "to": "session",
    "own": "session",
    "toget": "session",
    "one": "node",
    "many": "node",
    "oneget": "node",
    "node": "node",
    "state": "nobody",  # a get that asks for it says nothing more
    "delta": "node",
    "route": "node",
    "routeat": "node",
    "status": "nobody",
}
"""Who reads what is sent there, and so has to count what cannot be right."""

TOKENS = {"alive", "node"}
QUERIED = {"hello", "ask", "get", "oneget", "toget", "state", "status"}

_LINZ = header(point(48.3, 14.3), b"honest/a")
MALFORMED = [
    b"", b"x", b"\x00", b"{", b"[]", b"{}", b"null", b"\xff\xfe\xfd\xfc", b'{"v":[0,1]}',
    b'{"secret":"0"}', b'{"tag":1,"gone":true}', b'{"topic":"honest/q"}', b"\x00\x00\x00\x02",
    framed(b""), framed(b"{}"), framed(point(91, 0)), _LINZ[:-1], _LINZ[:-1] + b"\x03",
    _LINZ[:-1] + b"\xff", framed(b'{"topic":"honest/q","chunk":"x"}'), _LINZ + b"zlA1", b"zlA1",
]  # fmt: skip
OVERSIZED = [
    bytes(2_000_000), b"[" * 200_000, b"9" * 100_000, b'{"x":"' + b"y" * 1_000_000 + b'"}',
    b"\xff" * 500_000, framed(b"\xff" * 300_000), header(point(48.3, 14.3), b"a" * 250) * 999,
    b"x" + b"\xff\xff\xff\x00",
]  # fmt: skip


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with fresh_scene() as made:
        yield made


@pytest.fixture(scope="module")
def victim(scene: Scene) -> Iterator[LocationSession]:
    """A session that counts what it refuses."""
    with client(scene.endpoint) as session:
        session.declare_position_handler(inf, lambda: LINZ)
        session.declare_subscriber("victim", Inbox(), location_shape=Circle(LINZ, 10))
        session.declare_queryable("victim", Inbox(), location_shape=Circle(LINZ, 10))
        yield session


def instances(kind: str, scene: Scene, victim: LocationSession) -> list[str]:
    """Keys of a kind: of the nodes, the session and a topic."""
    home = victim._core.membership.home
    assert home is not None
    words: dict[str, list[Any]] = {
        "NID": [scene.near, scene.far] if kind == "delta" else [scene.near],
        "SLOT": [home.slot],
        "FROM": ["-", home.slot],
        "PLACE": [MGRS, "-"],
        "TOPIC": ["hostile/a"],
        "ZID": [str(victim.zid())] if kind == "own" else [scene.hostile.zid],
        "ID": [1, 2],
    }
    keys = [foreign.KEYS[kind]]
    for word, values in words.items():
        keys = [key.replace(word, str(value), 1) for key in keys for value in values]
        keys = [key.replace(word, "0badcafe") for key in keys]  # the second one of `many`
    return keys


def test_every_key_of_the_protocol_has_a_reader() -> None:
    assert READERS.keys() == foreign.KEYS.keys()
    assert foreign.KEYS.keys() >= TOKENS | QUERIED


def sent(scene: Scene, key: str, rubbish: bytes) -> None:
    """As a message, a deletion and a get, with the rubbish at both places."""
    session = scene.session
    ignored: Any = zenoh.handlers.FifoChannel(64)
    session.put(key, rubbish, attachment=rubbish)
    session.put(key, b"bad", attachment=rubbish)
    session.put(key, rubbish)
    session.delete(key, attachment=rubbish)
    session.get(key, ignored, payload=rubbish, attachment=rubbish, timeout=0.2)
    session.get(key, ignored, attachment=rubbish, timeout=0.2)


@pytest.mark.parametrize("rubbish", [MALFORMED, OVERSIZED], ids=["malformed", "oversized"])
@pytest.mark.parametrize("kind", sorted(READERS))
def test_rubbish_is_counted_and_changes_nothing(
    scene: Scene, victim: LocationSession, kind: str, rubbish: list[bytes]
) -> None:
    interests = scene.interests()
    before = refused_by(scene, victim, kind)
    for key in instances(kind, scene, victim):
        for data in rubbish:
            sent(scene, key, data)
    if kind in TOKENS:  # only what stands in the key of a token can be wrong
        key = foreign.KEYS[kind].replace("NID", scene.near)
        longest = "9" * (60_000 if rubbish is OVERSIZED else 33)
        bad = key.replace("SLOT", longest).replace("ZID", longest + "x")
        scene.session.liveliness().declare_token(bad).undeclare()
    statuses(scene.session)  # behind all that was sent
    if READERS[kind] != "nobody":
        wait_for(lambda: refused_by(scene, victim, kind) > before, f"{kind} is counted")
    assert scene.interests() == interests
    scene.honest.check()
    plain = [s for s in scene.honest.everywhere.items if type(s) is zenoh.Sample]
    assert not plain


def refused_by(scene: Scene, victim: LocationSession, kind: str) -> int:
    return victim.losses.refused if READERS[kind] == "session" else scene.refused(scene.near)


class Spy:
    """Everything that passes, as anybody can listen to it, to be sent once more."""

    def __init__(self, session: zenoh.Session, kinds: list[str]) -> None:
        self.samples: list[zenoh.Sample] = []
        self.queries: list[tuple[str, bytes | None, bytes | None]] = []
        self._declared: list[Any] = []
        for kind in kinds:
            key = f"@zla/1/{kind}/**"
            if kind in QUERIED:
                self._declared.append(session.declare_queryable(key, self._asked))
            else:
                self._declared.append(session.declare_subscriber(key, self.samples.append))

    def _asked(self, query: zenoh.Query) -> None:
        with query:
            payload, attachment = (
                None if part is None else part.to_bytes()
                for part in (query.payload, query.attachment)
            )
            self.queries.append((str(query.key_expr), payload, attachment))

    def stop(self) -> None:
        for declared in self._declared:
            declared.undeclare()


def test_what_was_heard_is_sent_again(scene: Scene) -> None:
    """Adverts, questions for routes, hellos and gets. (A replayed message is a second message.)

    Requests are not among them: whoever can listen to them has the session's secret.
    """
    before = scene.interests()
    spy = Spy(scene.session, ["delta", "route", "routeat", "hello", "get", "oneget", "state"])
    with client(scene.endpoint) as newcomer:
        newcomer.declare_position_handler(inf, lambda: LINZ)
        newcomer.declare_subscriber("passing", Inbox(), location_shape=Circle(LINZ, 9))
        publisher = newcomer.declare_publisher("unheard")
        scene.honest.check()

        def was_heard() -> bool:
            for _ in range(100):
                publisher.put("x")
            keys = [str(s.key_expr) for s in list(spy.samples)]
            keys += [key for key, _, _ in list(spy.queries)]
            kinds = {key.split("/")[2] for key in keys}
            return {"delta", "route", "hello", "get"} <= kinds

        wait_for(was_heard, "an advert, a question, a hello and a get")
    spy.stop()
    for sample in spy.samples * 2:
        scene.session.put(sample.key_expr, sample.payload, attachment=sample.attachment)
    ignored: Any = zenoh.handlers.FifoChannel(64)
    for key, payload, attachment in spy.queries * 2:
        scene.session.get(key, ignored, payload=payload, attachment=attachment, timeout=0.5)
    statuses(scene.session)  # behind all that was sent
    wait_for(lambda: scene.interests() == before, "nothing has changed")
    scene.honest.check()
