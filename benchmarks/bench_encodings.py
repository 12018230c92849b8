"""The encodings compared, with native Zenoh's own key matching run beside them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import pytest
import zenoh
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.workload import CONTENDERS, Contender, Keys, areas, keys, positions
from zenoh_la import Role, location_match
from zenoh_la.encoders import Location
from zenoh_la.encoders.registry import _decode as decode_anew
from zenoh_la.router_plugin.match import locations_match

ROUNDS = 15
NATIVE = "native KeyExpr.intersects"
contenders = pytest.mark.parametrize("contender", CONTENDERS, ids=[c.name for c in CONTENDERS])

_keys: dict[str, Keys] = {}


def keys_of(contender: Contender) -> Keys:
    """Made once: Bloom and MGRS areas take their time."""
    if contender.name not in _keys:
        _keys[contender.name] = keys(contender)
    return _keys[contender.name]


def run(
    benchmark: BenchmarkFixture, name: str, what: str, count: int, job: Callable[[], Any]
) -> None:
    """``job`` does the same thing ``count`` times; the table shows the median of one."""
    benchmark.extra_info.update(contender=name, what=what, count=count)
    benchmark.pedantic(job, rounds=ROUNDS, warmup_rounds=2)  # type: ignore[no-untyped-call]


def pairs(contender: Contender) -> list[tuple[str, str]]:
    """Every position with every area's keys in turn: each pair of keys once."""
    made = keys_of(contender)
    flat = [key.written for some in made.areas for key in some]
    return [
        (made.positions[i % len(made.positions)].written, flat[(i * 7 + i // 97) % len(flat)])
        for i in range(4000)
    ]


@contenders
def bench_encode_position(benchmark: BenchmarkFixture, contender: Contender) -> None:
    places, encode = positions(), contender.encoder.encode_position
    run(benchmark, contender.name, "encode position", len(places), lambda: [*map(encode, places)])


@contenders
def bench_encode_area(benchmark: BenchmarkFixture, contender: Contender) -> None:
    wanted, encode = areas(), contender.encoder.encode_area
    job = lambda: [encode(area, Role.SUBSCRIBER) for area in wanted]  # noqa: E731
    run(benchmark, contender.name, "encode area", len(wanted), job)


@contenders
def bench_decode_position(benchmark: BenchmarkFixture, contender: Contender) -> None:
    texts = [key.written for key in keys_of(contender).positions]
    run(
        benchmark, contender.name, "decode position", len(texts), lambda: [*map(decode_anew, texts)]
    )


@contenders
def bench_decode_area(benchmark: BenchmarkFixture, contender: Contender) -> None:
    texts = [key.written for some in keys_of(contender).areas for key in some]
    run(
        benchmark, contender.name, "decode area key", len(texts), lambda: [*map(decode_anew, texts)]
    )


@contenders
def bench_match_cold(benchmark: BenchmarkFixture, contender: Contender) -> None:
    """Nothing is known: both keys are decoded, then matched."""
    texts = pairs(contender)

    def job() -> None:
        for a, b in texts:
            locations_match(decode_anew(a), decode_anew(b))

    run(benchmark, contender.name, "match cold", len(texts), job)


@contenders
def bench_match_new_pair(benchmark: BenchmarkFixture, contender: Contender) -> None:
    """Both keys are decoded, but have never met: what a router does for a new message."""
    known = {text: decode_anew(text) for pair in pairs(contender) for text in pair}
    decoded = [(known[a], known[b]) for a, b in pairs(contender)]

    def job() -> None:
        for a, b in decoded:
            locations_match(a, b)

    run(benchmark, contender.name, "match new pair", len(decoded), job)


@contenders
def bench_match_warm(benchmark: BenchmarkFixture, contender: Contender) -> None:
    """As texts, both of them in the cache of decoded keys."""
    texts = pairs(contender)

    def job() -> None:
        for a, b in texts:
            location_match(a, b)

    run(benchmark, contender.name, "match warm", len(texts), job)


def bench_native(benchmark: BenchmarkFixture) -> None:
    """What stock Zenoh needs to match two ordinary key expressions."""
    made = [zenoh.KeyExpr(f"temperature/zone{i}/sensor/*") for i in range(60)]
    topics = [zenoh.KeyExpr(f"temperature/zone{i % 60}/sensor/{i}") for i in range(4000)]
    both = [(topic, made[i % 60]) for i, topic in enumerate(topics)]

    def job() -> None:
        for a, b in both:
            a.intersects(b)

    run(benchmark, NATIVE, "match new pair", len(both), job)


def _queries() -> tuple[list[Location], list[Location]]:
    encode = CONTENDERS[0].encoder.encode_area
    gets = [decode_anew(encode(a, Role.GET)[0].written) for a in areas()]
    queryables = [decode_anew(encode(a, Role.QUERYABLE)[0].written) for a in areas()]
    return gets, queryables


def _mixed(points: Contender, interests: Contender) -> tuple[list[Location], list[Location]]:
    texts = [key.written for some in keys_of(interests).areas for key in some]
    published = keys_of(points).positions
    return [decode_anew(key.written) for key in published], [decode_anew(text) for text in texts]


BASE64, MGRS = CONTENDERS[0], CONTENDERS[2]
OTHERS: dict[str, Callable[[], tuple[list[Location], list[Location]]]] = {
    "Base64 get, Base64 queryable": _queries,
    "Base64 position, MGRS cell": lambda: _mixed(BASE64, MGRS),
    "MGRS position, Base64 area": lambda: _mixed(MGRS, BASE64),
}


@pytest.mark.parametrize("name", OTHERS)
def bench_other_pairs(benchmark: BenchmarkFixture, name: str) -> None:
    """Get with queryable, and one encoding with another: decoded, never met."""
    first, second = OTHERS[name]()
    met = [(a, second[(i * 7) % len(second)]) for i, a in enumerate(first * 3)]

    def fresh() -> tuple[tuple[list[tuple[Location, Location]]], dict[str, Any]]:
        return ([(copy(a), copy(b)) for a, b in met],), {}

    def job(pairs: list[tuple[Location, Location]]) -> None:
        for a, b in pairs:
            locations_match(a, b)

    benchmark.extra_info.update(contender=name, what="match new pair", count=len(met))
    benchmark.pedantic(job, setup=fresh, rounds=ROUNDS)  # type: ignore[no-untyped-call]
