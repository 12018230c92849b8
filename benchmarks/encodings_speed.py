"""The encodings compared, native Zenoh's own key matching beside them: ``ONLY=encodings``.

The same random positions and areas for all (`workload`). Each repetition is a process of its own;
in it a figure is the best of a few rounds over the whole workload, so that what the machine does
meanwhile counts little.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from copy import copy
from functools import cache
from statistics import median
from time import perf_counter
from typing import Any

import zenoh

from benchmarks.accuracy import measured as accuracy_of
from benchmarks.rows import Row, row
from benchmarks.runs import REPETITIONS, Child, of, tell
from benchmarks.workload import (
    AREAS,
    CONTENDERS,
    POSITIONS,
    Contender,
    Keys,
    areas,
    keys,
    positions,
)
from zenoh_la import Role, location_match
from zenoh_la.encoders import Location
from zenoh_la.encoders.registry import _decode as decode_anew
from zenoh_la.router_plugin.match import locations_match

ROUNDS = 5
PAIRS = 4000
NATIVE = "KeyExpr.intersects"
Pair = tuple[Any, Any]


def us_each(count: int, job: Callable[[], Any]) -> float:
    """What one of ``count`` takes, in the best of a few rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = perf_counter()
        job()
        best = min(best, perf_counter() - start)
    return best / count * 1e6


@cache
def keys_of(contender: Contender) -> Keys:
    """Made once: Bloom and MGRS areas take their time."""
    return keys(contender)


def pairs(contender: Contender) -> list[tuple[str, str]]:
    """Every position with every area's keys in turn: each pair of keys once."""
    made = keys_of(contender)
    flat = [key.written for some in made.areas for key in some]
    return [
        (made.positions[i % len(made.positions)].written, flat[(i * 7 + i // 97) % len(flat)])
        for i in range(PAIRS)
    ]


def each(match: Callable[[Any, Any], Any], some: Iterable[Pair]) -> None:
    for a, b in some:
        match(a, b)


def speeds(contender: Contender) -> dict[str, float]:
    """All that is timed of one encoding, in µs."""
    encoder, places, wanted = contender.encoder, positions(), areas()
    published = [key.written for key in keys_of(contender).positions]
    interests = [key.written for some in keys_of(contender).areas for key in some]
    texts = pairs(contender)
    known = {text: decode_anew(text) for pair in texts for text in pair}
    decoded = [(known[a], known[b]) for a, b in texts]
    return {
        "encode position": us_each(
            len(places), lambda: [encoder.encode_position(p) for p in places]
        ),
        "encode area": us_each(
            len(wanted), lambda: [encoder.encode_area(a, Role.SUBSCRIBER) for a in wanted]
        ),
        "decode position": us_each(len(published), lambda: [*map(decode_anew, published)]),
        "decode area key": us_each(len(interests), lambda: [*map(decode_anew, interests)]),
        "match cold": us_each(
            PAIRS,
            lambda: each(lambda a, b: locations_match(decode_anew(a), decode_anew(b)), texts),
        ),
        "match new pair": us_each(PAIRS, lambda: each(locations_match, decoded)),
        "match warm": us_each(PAIRS, lambda: each(location_match, texts)),
    }


def native_us() -> float:
    """What stock Zenoh needs to match two ordinary key expressions."""
    made = [zenoh.KeyExpr(f"temperature/zone{i}/sensor/*") for i in range(60)]
    topics = [zenoh.KeyExpr(f"temperature/zone{i % 60}/sensor/{i}") for i in range(PAIRS)]
    both = [(topic, made[i % 60]) for i, topic in enumerate(topics)]
    return us_each(PAIRS, lambda: each(zenoh.KeyExpr.intersects, both))


def _decoded(some: Iterable[Any]) -> list[Location]:
    return [decode_anew(key.written) for key in some]


def other_pairs() -> dict[str, float]:
    """Get with queryable, and one encoding with another: decoded, never met before."""
    base64, mgrs = CONTENDERS[0], CONTENDERS[2]
    flat = {c: [key for some in keys_of(c).areas for key in some] for c in (base64, mgrs)}
    encode = base64.encoder.encode_area
    cases = {
        "Base64 get, Base64 queryable": (
            _decoded(encode(area, Role.GET)[0] for area in areas()),
            _decoded(encode(area, Role.QUERYABLE)[0] for area in areas()),
        ),
        "Base64 position, MGRS cell": (_decoded(keys_of(base64).positions), _decoded(flat[mgrs])),
        "MGRS position, Base64 area": (_decoded(keys_of(mgrs).positions), _decoded(flat[base64])),
    }
    figures = {}
    for name, (first, second) in cases.items():
        met = [(a, second[i * 7 % len(second)]) for i, a in enumerate(first * 3)]
        times = []
        for _ in range(ROUNDS):
            fresh = [(copy(a), copy(b)) for a, b in met]
            start = perf_counter()
            each(locations_match, fresh)
            times.append((perf_counter() - start) / len(met) * 1e6)
        figures[name] = min(times)
    return figures


def once() -> dict[str, Any]:
    """One repetition."""
    return {
        "native": native_us(),
        "speeds": {contender.name: speeds(contender) for contender in CONTENDERS},
        "others": other_pairs(),
    }


def measured() -> list[Row]:
    runs = []
    for i in range(REPETITIONS):
        tell(f"encodings: all of them in turn, {i + 1} of {REPETITIONS}")
        with Child("encodings_speed", "once") as child:
            runs.append(child.finish())
    native = of(runs, "native")

    def all_of(name: str, what: str) -> list[float]:
        return [run["speeds"][name][what] for run in runs]

    rows = [
        row(
            "match two decoded keys that never met",
            contender.name,
            all_of(contender.name, "match new pair"),
            "µs",
            peer=native,
            peer_name=NATIVE,
            at_most=2,
        )
        for contender in CONTENDERS
    ]
    rows += [
        row(
            "match two decoded keys that never met",
            name,
            [run["others"][name] for run in runs],
            "µs",
            peer=native,
            peer_name=NATIVE,
        )
        for name in runs[0]["others"]
    ]
    rows += _cold(all_of)
    return rows + _sizes(all_of)


def _cold(all_of: Callable[[str, str], list[float]]) -> list[Row]:
    base64 = all_of("base64_json", "match cold")
    return [
        row(
            "decode both keys and match them",
            contender.name,
            all_of(contender.name, "match cold"),
            "µs",
            peer=() if contender.name == "base64_json" else base64,
            peer_name="base64_json",
            ratio_at_most=0.5 if contender.name == "mgrs, 16 cells" else None,
            note=f"decoded before: {median(all_of(contender.name, 'match warm')):.2f} µs",
        )
        for contender in CONTENDERS
    ]


def _sizes(all_of: Callable[[str, str], list[float]]) -> list[Row]:
    keys_rows, accuracy_rows, missed = [], [], 0
    for contender in CONTENDERS:
        made, name = keys_of(contender), contender.name
        found = accuracy_of(contender, made)
        missed += found.false_negatives
        area = median(sum(len(key.written) for key in some) for some in made.areas)
        count = sum(map(len, made.areas)) / len(made.areas)
        encode = [median(all_of(name, f"encode {what}")) for what in ("position", "area")]
        keys_rows.append(
            row(
                "key of a position",
                name,
                [median(len(key.written) for key in made.positions)],
                "chars",
                note=f"an area: {area:.0f} in {count:.1f} keys; made in {encode[0]:.1f} and "
                f"{encode[1]:,.0f} µs",
            )
        )
        accuracy_rows.append(
            row(
                "positions outside an area that match",
                name,
                [found.false_positives * 100],
                "%",
                peer=[found.expected * 100],
                peer_name="by surface",
                note=f"keys have {found.overshoot:.2f} times the surface of the area",
            )
        )
    case = f"all, {POSITIONS} positions, {AREAS} areas"
    inside = row("positions inside an area that do not", case, [missed], "", at_most=0)
    return [*keys_rows, *accuracy_rows, inside]


if __name__ == "__main__":
    if sys.argv[1:] == ["once"]:
        print(json.dumps(once()))
