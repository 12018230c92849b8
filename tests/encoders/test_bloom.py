from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import tracemalloc
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybloom_live import BloomFilter

from tests.strategies import areas, positions_in_range
from zenoh_la import (
    BloomDomain,
    Circle,
    Coordinates,
    GeographicRange,
    InvalidLocationError,
    LocationKey,
    LocationKeyError,
    OutsideDomainError,
    Polygon,
    Role,
    encoders,
    location_match,
)
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.values import Area
from zenoh_la.values.checks import just_below

GRID = GeographicRange(0, 0, 5, 5)
COARSE = BloomDomain(GRID, 10, 10, 0.25)
FINE = BloomDomain(GRID, 10, 10, 0.01)


def test_bit_lengths() -> None:
    assert COARSE.bits == 320
    assert FINE.bits == 960
    assert BloomDomain(GRID, 2, 5, 0.01).bits == 128


def key_at(domain: BloomDomain, column: int, row: int) -> str:
    position = Coordinates(row / 2 + 0.2, column / 2 + 0.2)
    return BloomEncoder(domain).encode_position(position).written


def test_golden_keys_that_must_never_change() -> None:
    """Keys are shared by machines and versions: a change here breaks deployed systems."""
    assert key_at(COARSE, 7, 4) == "$zla_b_e_8000.0.0.0.0.0.0.0.10000000.0"
    assert key_at(COARSE, 0, 0) == "$zla_b_e_4000.0.0.0.0.0.20000.0.0.0"
    assert key_at(FINE, 7, 4) == (
        "$zla_b_e_0.0.2.0.0.400.0.0.0.0.0.0.200000.0.100.0.0.0.8000.0.0.0.100.0.0.0.0.0.0.10"
    )
    (area,) = BloomEncoder(COARSE).encode_area(GeographicRange(1.1, 2.1, 2.4, 2.9), Role.SUBSCRIBER)
    assert area.written == ("$zla_b_f_1000020.404.0.1000.40400.40000.80.80020000.40000000.0")
    assert COARSE.fingerprint == "c3a19712c0e8e5cd"


def test_the_thesis_example_covers_six_cells() -> None:
    area = GeographicRange(1.1, 2.1, 2.4, 2.9)
    assert COARSE.cells_meeting(area) == list(product((4, 5), (2, 3, 4)))


def test_bits_are_those_of_the_library() -> None:
    whole = BloomFilter(capacity=100, error_rate=0.25)
    for column, row in product((4, 5), (2, 3, 4)):
        whole.add(f"{column}-{row}")
    (key,) = BloomEncoder(COARSE).encode_area(GeographicRange(1.1, 2.1, 2.4, 2.9), Role.QUERYABLE)
    words = [int(word, 16) for word in key.data.split(".")]
    for i, bit in enumerate(whole.bitarray):
        assert bool(words[i // 32] >> (i % 32) & 1) == bool(bit)
    assert len(words) * 32 == 320


@pytest.mark.parametrize(("domain", "p"), [(COARSE, 0.25), (FINE, 0.01)])
def test_false_positive_rate_with_foreign_ids(domain: BloomDomain, p: float) -> None:
    """A filter of the whole domain, asked for elements that are not in it."""
    (key,) = BloomEncoder(domain).encode_area(GRID, Role.SUBSCRIBER)
    bits = encoders.get("bloom").decode(key)
    hits, tries = 0, 50_000
    template = BloomFilter(capacity=100, error_rate=p)
    for i in range(tries):
        one = template.copy()
        one.add(f"foreign-{i}")
        element = int.from_bytes(one.bitarray.tobytes(), "little")
        hits += element & bits.value == element  # type: ignore[attr-defined]
    assert p / 1.5 < hits / tries < p * 1.5


def test_every_process_makes_the_same_keys() -> None:
    code = (
        "from zenoh_la import *; from zenoh_la.encoders.bloom import BloomEncoder\n"
        "d = BloomDomain(GeographicRange(0, 0, 5, 5), 10, 10, 0.25)\n"
        "area = Circle(Coordinates(2, 2), 9e4)\n"
        "print(d.fingerprint, BloomEncoder(d).encode_area(area, Role.SUBSCRIBER))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(runs) == 1


def test_cells_are_half_open_but_the_last_ones() -> None:
    assert COARSE.cell_at(Coordinates(0.5, 0.5)) == (1, 1)
    assert COARSE.cell_at(Coordinates(just_below(0.5), just_below(0.5))) == (0, 0)
    assert COARSE.cell_at(Coordinates(5, 5)) == (9, 9)
    assert COARSE.cells_meeting(GeographicRange(0.5, 0.5, 1.0, 1.0)) == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]


@given(positions_in_range(GRID, 10, 10))
def test_a_cell_holds_exactly_its_positions(position: Coordinates) -> None:
    cell = COARSE.cell_at(position)
    assert COARSE.range_of(cell).contains(position)
    lat, long = position.lat, position.long
    assert COARSE.cells_meeting(GeographicRange(lat, long, lat, long)) == [cell]


@given(areas)
def test_the_cells_of_an_area_are_those_it_meets(area: Area) -> None:
    met = [c for c in product(range(10), range(10)) if area.meets(COARSE.range_of(c))]
    if not met:
        with pytest.raises(OutsideDomainError):
            COARSE.cells_meeting(area)
    else:
        try:
            cells = COARSE.cells_meeting(area)
        except OutsideDomainError:  # it only touches an edge that belongs to the next cell
            cells = []
        assert set(cells) <= set(met)


def test_the_smallest_set() -> None:
    triangle = Polygon.from_points([[0.1, 0.1], [0.1, 2.4], [0.4, 0.1]])
    assert COARSE.cells_meeting(triangle) == [(column, 0) for column in range(5)]
    circle = Circle(Coordinates(2.75, 2.75), 20_000)
    assert COARSE.cells_meeting(circle) == [(5, 5)]


def test_outside_the_domain() -> None:
    with pytest.raises(OutsideDomainError, match="outside the Bloom domain"):
        COARSE.cell_at(Coordinates(5.01, 1))
    with pytest.raises(OutsideDomainError, match="outside the Bloom domain"):
        COARSE.cells_meeting(Circle(Coordinates(10, 10), 1000))
    assert COARSE.cells_meeting(GeographicRange(4.9, 4.9, 60, 60)) == [(9, 9)]


def test_no_cell_too_many_at_zero_and_at_the_antimeridian() -> None:
    about_zero = BloomDomain(GeographicRange(-1, -1, 1, 1), 2, 2, 0.25)
    assert about_zero.cells_meeting(GeographicRange(0, 0, 0.5, 0.5)) == [(1, 1)]
    assert about_zero.cell_at(Coordinates(-1e-15, -1e-15)) == (0, 0)
    world = BloomDomain(GeographicRange(-90, -180, 90, 180), 10, 10, 0.25)
    assert world.cells_meeting(GeographicRange(5, -180, 6, -170)) == [(0, 5)]


def test_a_world_domain_at_its_seams() -> None:
    world = BloomDomain(GeographicRange(-90, -180, 90, 180), 4, 8, 0.25)
    assert world.cell_at(Coordinates(10, 180)) == world.cell_at(Coordinates(10, -180)) == (0, 2)
    assert world.cell_at(Coordinates(90, 77)) == (0, 3)
    assert (0, 2) in world.cells_meeting(GeographicRange(10, 170, 11, 180))
    assert (0, 3) in world.cells_meeting(Circle(Coordinates(90, 100), 5))


def test_the_eastern_edge_is_not_lost_to_rounding() -> None:
    rng = random.Random(9)
    for _ in range(2_000):
        west, east = rng.uniform(-180, 180), rng.choice((180.0, rng.uniform(-180, 180)))
        domain = BloomDomain(GeographicRange(10, west, 20, east), 3, rng.randint(1, 9), 0.25)
        corner = Coordinates(20, east)
        assert domain.cell_at(corner) == (domain.columns - 1, 2)
        edge = GeographicRange(10, east, 20, east)
        assert domain.cell_at(corner) in domain.cells_meeting(edge)


def test_a_large_grid_takes_little_memory() -> None:
    domain = BloomDomain(GeographicRange(-90, -180, 90, 180), 200, 200, 0.25)
    encoder = BloomEncoder(domain)
    tracemalloc.start()
    (key,) = encoder.encode_area(domain.bounds, Role.SUBSCRIBER)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60_000_000
    assert location_match(encoder.encode_position(Coordinates(50, 50)), key)
    assert len(encoder.cells(key)) == 40_000


def test_an_encoder_can_be_sent_to_a_worker() -> None:
    position = Coordinates(1, 1)
    for encoder in (BloomEncoder(COARSE), encoders.get("mgrs"), encoders.get("base64_json")):
        sent = pickle.loads(pickle.dumps(encoder))
        assert sent.encode_position(position) == encoder.encode_position(position)


def test_a_get_is_one_element_per_cell() -> None:
    encoder = BloomEncoder(COARSE)
    keys = encoder.encode_area(GeographicRange(1.1, 2.1, 2.4, 2.9), Role.GET)
    assert [encoder.cells(key) for key in keys] == [[cell] for cell in product((4, 5), (2, 3, 4))]
    (queryable,) = encoder.encode_area(Circle(Coordinates(1.2, 2.2), 10), Role.QUERYABLE)
    assert sum(location_match(key, queryable) for key in keys) >= 1


def test_other_lengths_and_other_grids_do_not_match() -> None:
    element = BloomEncoder(COARSE).encode_position(Coordinates(1, 1))
    (narrow,) = BloomEncoder(COARSE).encode_area(GRID, Role.SUBSCRIBER)
    (wide,) = BloomEncoder(FINE).encode_area(GRID, Role.SUBSCRIBER)
    assert location_match(element, narrow)
    assert not location_match(element, wide)
    elsewhere = BloomDomain(GeographicRange(50, 50, 55, 55), 10, 10, 0.25)
    assert elsewhere.bits == COARSE.bits
    assert elsewhere.fingerprint != COARSE.fingerprint
    here, there = BloomEncoder(COARSE), BloomEncoder(elsewhere)
    (foreign,) = there.encode_area(elsewhere.bounds, Role.SUBSCRIBER)
    assert location_match(element, foreign), "the keys alone cannot tell"
    assert not locations_match(here.locate(element), there.locate(foreign))
    assert locations_match(here.locate(element), here.locate(narrow))


def test_the_domain_file_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "grid.json"
    COARSE.to_file(path)
    assert BloomDomain.from_file(path) == COARSE
    by_hand = {
        k: v for k, v in json.loads(path.read_text()).items() if k not in ("format", "fingerprint")
    }
    assert BloomDomain.from_json(json.dumps(by_hand)) == COARSE


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rows": 11}, "fingerprint"),
        ({"rows": 0}, "rows"),
        ({"rows": 2.5}, "rows"),
        ({"rows": True}, "rows"),
        ({"columns": None}, "columns"),
        ({"false_positive_probability": 0}, "false_positive_probability"),
        ({"false_positive_probability": 1.0}, "false_positive_probability"),
        ({"max_lat": -1}, "min_lat"),
        ({"max_lat": 0.0}, "rows"),
        ({"cells": 5}, "cells"),
        ({"format": "other"}, "format"),
        ({"rows": 1000, "columns": 1000, "false_positive_probability": 0.01}, "rows * columns"),
        ({"rows": 90_000, "columns": 90_000}, "rows * columns"),
    ],
)
def test_a_bad_domain_file_names_the_field(change: dict[str, object], field: str) -> None:
    text = json.dumps(json.loads(COARSE.to_json()) | change)
    with pytest.raises(InvalidLocationError) as caught:
        BloomDomain.from_json(text)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "text", ["", "[]", None, 5, "{", "null", "[" * 100_000, "{}", b"\xff", '{"rows":1,"rows":2}']
)
def test_what_is_no_domain_file(text: str | bytes) -> None:
    with pytest.raises(InvalidLocationError):
        BloomDomain.from_json(text)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ("1f34..0", "data word 1"),
        (".1", "data word 0"),
        ("1.", "data word 1"),
        ("01.0", "data word 0"),
        ("00.1", "data word 0"),
        ("123456789", "data word 0"),
        ("0.0.0", "data"),
    ],
)
def test_a_bad_bit_array_is_refused(data: str, part: str) -> None:
    for flag in "ef":
        with pytest.raises(LocationKeyError) as caught:
            encoders.decode(f"$zla_b_{flag}_{data}")
        assert caught.value.part == part


def test_without_a_domain_keys_can_be_read_but_not_made() -> None:
    encoder = encoders.get("bloom")
    key = BloomEncoder(COARSE).encode_position(Coordinates(1, 1))
    assert encoder.decode(key) == BloomEncoder(COARSE).decode(key)
    with pytest.raises(InvalidLocationError, match="need a BloomDomain"):
        encoder.encode_position(Coordinates(1, 1))
    with pytest.raises(LocationKeyError, match="bits"):
        BloomEncoder(FINE).cells(LocationKey(key.written))


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.001, 0.9), st.randoms())
def test_no_false_negative_in_any_domain(
    rows: int, columns: int, p: float, rng: random.Random
) -> None:
    domain = BloomDomain(GRID, rows, columns, p)
    encoder = BloomEncoder(domain)
    position = Coordinates(rng.uniform(0, 5), rng.uniform(0, 5))
    (area,) = encoder.encode_area(Circle(position, rng.uniform(0, 50_000)), Role.SUBSCRIBER)
    assert location_match(encoder.encode_position(position), area)
