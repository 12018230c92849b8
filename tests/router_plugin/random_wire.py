"""Random messages of a hostile client: somewhat wrong, very wrong, or not at all."""

from __future__ import annotations

import json
import random
from typing import Any

import zenoh

from tests.router_plugin.bad_wire import MGRS, Hostile, area, framed, point


def anything(rng: random.Random, hostile: Hostile, place: dict[str, Any]) -> None:
    """One message, somewhat wrong or not at all, on any key."""
    kinds = (_random_put, _random_put, _random_get, _random_ask, _random_advert, _random_question)
    rng.choice(kinds)(rng, hostile, place)


def _mutated(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.randrange(4)):
        i = rng.randrange(len(data) + 1)
        change = rng.choice([b"", rng.randbytes(1), data[i : i + 5] * 2, b"0", b'"', b"[", b"-"])
        data = data[:i] + change + data[i + rng.randrange(3) :]
    return data


def _chunk(rng: random.Random) -> str:
    """A location key without wildcards, slashes and what Zenoh would not send."""
    chunk = rng.choice([MGRS, "zla_m_33T", area("s"), area("g"), area("q"), "zla_b_e_1.0.80"])
    text = _mutated(rng, chunk.encode()).decode("latin-1")
    return "".join(c for c in text if c.isprintable() and c not in "*$#?/ ") or "x"


def _random_put(rng: random.Random, hostile: Hostile, place: dict[str, Any]) -> None:
    nid = rng.choice([hostile.near, hostile.far])
    slot = rng.choice(["-", str(place["slot"]), "0", "1r", "1l", "2x"])
    good = point(rng.uniform(-95, 95), rng.uniform(-185, 185)) + b"\x03t/x"
    place_in_key = rng.choice(["-", _chunk(rng)])
    key = rng.choice([
        f"@zla/1/in/{nid}/{slot}/{place_in_key}/t/{rng.choice(['a', '~x', '*', '~@b'])}",
        f"@zla/1/one/{nid}", f"@zla/1/many/0badcafe/{nid}", f"@zla/1/to/{nid}/{rng.randrange(3)}",
    ])  # fmt: skip
    hostile.session.put(
        key, rng.randbytes(9), attachment=_mutated(rng, framed(_mutated(rng, good)))
    )


def _random_get(rng: random.Random, hostile: Hostile, place: dict[str, Any]) -> None:
    ask = rng.choice([b'{"target":"all","timeout_ms":50}',
                      b'{"topic":"t/a","chunk":"zla_m_33T","timeout_ms":50,"only":3}'])  # fmt: skip
    key = rng.choice([
        f"@zla/1/get/{hostile.near}/{place['slot']}/{_chunk(rng)}/t/a",
        f"@zla/1/oneget/{rng.choice([hostile.near, hostile.far])}",
        f"@zla/1/toget/{hostile.near}/{rng.randrange(3)}", f"@zla/1/state/{hostile.near}",
    ])  # fmt: skip
    data = framed(_mutated(rng, ask)) + rng.choice([b"", b"zlA1"])
    hostile.session.get(
        key, zenoh.handlers.FifoChannel(999), attachment=_mutated(rng, data), timeout=0.05
    )


def _random_ask(rng: random.Random, hostile: Hostile, place: dict[str, Any]) -> None:
    kind, role = rng.choice([("s", "s"), ("q", "q"), ("s", "q")])
    interest = [kind, "t/**", [area(role, rng.uniform(1, 1e6)), "zla_m_33T"], 0, rng.randrange(4)]
    document = {"secret": place["secret"], "interests": {str(rng.randrange(50)): interest},
                "gone": [rng.randrange(50)], "watch": {"1": ["s", "t/a", MGRS]}}  # fmt: skip
    payload = _mutated(rng, json.dumps(document).encode())
    hostile.session.get(
        f"@zla/1/ask/{hostile.near}/{place['slot']}",
        zenoh.handlers.FifoChannel(9),
        payload=payload,
        timeout=5.0,
    )


def _random_advert(rng: random.Random, hostile: Hostile, place: dict[str, Any]) -> None:
    """Of a node that is not there: only what is wrong about it counts."""
    document = {"v": [0, rng.randrange(9)], "gone": [place["slot"]],
                "set": {str(rng.randrange(9)): ["s", "t/**", [area("s")], 0]}}  # fmt: skip
    payload = _mutated(rng, json.dumps(document).encode())
    hostile.session.put(f"@zla/1/delta/{rng.choice(['0badcafe', 'x', '*'])}", payload)


def _random_question(rng: random.Random, hostile: Hostile, place: dict[str, Any]) -> None:
    """For a route, in its own name or in a node's."""
    document = {"n": rng.randrange(4), "serial": rng.randrange(9), "topic": "t/a", "sent": 1,
                "place": point(48.3, 14.3).hex()}  # fmt: skip
    if rng.random() < 0.5:
        key = f"@zla/1/route/{hostile.near}/{place['slot']}"
        document["secret"] = place["secret"]
    else:
        key = f"@zla/1/routeat/{rng.choice([hostile.near, hostile.far])}"
        document |= {"nid": "0badcafe", "slot": 1, "tag": 1}
    if rng.random() < 0.3:
        document["ended"] = rng.randrange(9)
    hostile.session.put(key, _mutated(rng, json.dumps(document).encode()))
