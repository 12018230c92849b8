"""Hostile keys: nothing but the documented error, in bounded time and memory."""

from __future__ import annotations

import base64
import random
import time
import tracemalloc
from contextlib import suppress

import pytest

from zenoh_la import (
    BloomDomain,
    Circle,
    Coordinates,
    GeographicRange,
    LocationKeyError,
    Polygon,
    Role,
    encoders,
    location_match,
)
from zenoh_la.keys import split
from zenoh_la.router_plugin import explain_match

_BLOOM = encoders.get("bloom", domain=BloomDomain(GeographicRange(0, 0, 5, 5), 10, 10, 0.25))
_ALPHABET = '$zlapsqgmbefx_0123456789ABCDEFGJSTXYZ.-/*{}[]":,+=#?\x00é\ud800 '
_JSON = '{}[]",:0123456789.eE-+latongrcmiwkupsNaIfty '


def good_keys() -> list[str]:
    keys = []
    rng = random.Random(1)
    for name in ("base64_json", "mgrs"):
        encoder = encoders.get(name)
        for _ in range(20):
            place = Coordinates(rng.uniform(-90, 90), rng.uniform(-180, 180))
            keys.append(encoder.encode_position(place))
            keys += encoder.encode_area(Circle(place, rng.uniform(0, 1e5)), Role.SUBSCRIBER)
    triangle = Polygon.from_points([[0, 0], [1, 0], [0, 1]])
    wkt = "MULTIPOLYGON(((0 0,1 0,0 1,0 0)),((5 5,6 5,5 6,5 5)))"
    for area in (triangle, GeographicRange(0, 170, 5, -170), Polygon.from_wkt(wkt)):
        for role in (Role.PULL_SUBSCRIBER, Role.QUERYABLE, Role.GET):
            keys += encoders.get("base64_json").encode_area(area, role)
    keys.append(_BLOOM.encode_position(Coordinates(1, 1)))
    keys += _BLOOM.encode_area(Circle(Coordinates(2, 2), 90_000), Role.SUBSCRIBER)
    return [key.written for key in keys]


def packed(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def mutated(rng: random.Random, key: str) -> str:
    kind = rng.randrange(5)
    if kind == 0:  # its JSON, changed and packed again: reaches the deepest code
        head, _, data = key.rpartition("_")
        try:
            text = base64.urlsafe_b64decode(data + "=" * (-len(data) % 4)).decode()
        except ValueError:
            text = data
        return f"{head}_{packed(edited(rng, text, _JSON).encode())}"
    if kind == 1:
        return "".join(rng.choice(_ALPHABET) for _ in range(rng.randrange(40)))
    if kind == 2:
        head = rng.choice(["p", "s_1", "ps_2", "q_3", "g_4"])
        return f"$zla_{head}_{packed(rng.randbytes(rng.randrange(60)))}"
    if kind == 3:
        return "$zla_m_" + "".join(rng.choices("0123456789ACEGJNSTXYZ", k=rng.randrange(1, 16)))
    return edited(rng, key, _ALPHABET)


def edited(rng: random.Random, text: str, alphabet: str) -> str:
    for _ in range(rng.randrange(1, 4)):
        i = rng.randrange(len(text) + 1)
        change = rng.choice(
            ["", rng.choice(alphabet), rng.choice(alphabet) * 2, text[i : i + 5] * 2]
        )
        text = text[:i] + change + text[i + rng.randrange(3) :]
    return text


def campaign(count: int, seed: int) -> int:
    """How many keys were refused; anything but the documented error ends the run."""
    rng = random.Random(seed)
    keys = good_keys()
    refused = unclear = 0
    for i in range(count):
        key, other = mutated(rng, rng.choice(keys)), rng.choice(keys)
        try:
            location_match(key, other)
            if i % 50 == 0:
                explain_match(key, other)
        except LocationKeyError as exc:
            refused += 1
            unclear += not exc.part or len(str(exc)) > 500
        if i % 10 == 0:
            with suppress(LocationKeyError):
                split(f"{key}/topic")
    assert unclear == 0
    return refused


def test_a_short_campaign() -> None:
    refused = campaign(50_000, seed=4711)
    assert 10_000 < refused < 50_000


@pytest.mark.long
def test_a_million_keys() -> None:
    tracemalloc.start()
    campaign(10_000, seed=1)
    before, _ = tracemalloc.get_traced_memory()
    refused = campaign(1_000_000, seed=2)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused > 250_000
    assert after - before < 100_000_000


@pytest.mark.parametrize(
    "key",
    [
        "$zla_p_" + "A" * 10_000_000,
        "$zla_m_" + "1" * 10_000_000,
        "$zla_b_f_" + "1." * 5_000_000,
        "$zla_b_f_" + "1." * 29_000,
        "$zla_" + "_" * 59_000,
        "x" * 10_000_000,
        "$zla_p_" + packed(b"[" * 44_000),
        "$zla_p_" + packed(b'{"lat":' * 6_000),
        "$zla_p_" + packed(b'{"lat":' + b"9" * 40_000 + b',"long":1}'),
        "$zla_p_" + packed(b'{"lat":1e' + b"9" * 40_000 + b',"long":1}'),
        "$zla_s_3_" + packed(b'{"wkt":"POLYGON(' + b"(" * 40_000 + b'"}'),
        "$zla_s_3_" + packed(b'{"wkt":"' + b"GEOMETRYCOLLECTION(" * 2_000 + b'"}'),
        "$zla_s_3_" + packed(b'{"points":[' + b"[0,0]," * 7_000 + b"[0,0]]}"),
        "$zla_s_3_" + packed(b'{"points":[' + b"[1,2],[3,4]," * 3_500 + b"[0,0]]}"),
        "$zla_s_3_" + "A" * (1_000_000 * 30),  # a polygon of a million vertices
    ],
    ids=lambda key: f"{key[:30]}… {len(key)}",
)
def test_the_worst_keys_are_refused_in_bounded_time_and_memory(key: str) -> None:
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(LocationKeyError) as caught:
        location_match(key, "$zla_m_10S")
    spent = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(str(caught.value)) < 500
    assert peak < 50_000_000
    assert spent < 10, "a bound against hanging, not a measurement"
