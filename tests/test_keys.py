from __future__ import annotations

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from zenoh_la import LocationKey, LocationKeyError, Role
from zenoh_la.keys import (
    MAX_KEY_EXPRESSION_BYTES,
    MAX_LOCATION_KEY_LENGTH,
    from_wire,
    join,
    split,
    to_wire,
)


@pytest.mark.parametrize(
    ("text", "encoding", "role", "shape", "is_filter", "data"),
    [
        ("$zla_p_eyJ9", "base64_json", Role.PUBLISHER, None, None, "eyJ9"),
        ("$zla_s_1_a_b-c", "base64_json", Role.SUBSCRIBER, 1, None, "a_b-c"),
        ("$zla_ps_2__", "base64_json", Role.PULL_SUBSCRIBER, 2, None, "_"),
        ("$zla_q_3_xx", "base64_json", Role.QUERYABLE, 3, None, "xx"),
        ("$zla_g_12_xx", "base64_json", Role.GET, 12, None, "xx"),
        ("$zla_m_10SGJ06", "mgrs", None, None, None, "10SGJ06"),
        ("$zla_b_e_1f34.0", "bloom", None, None, False, "1f34.0"),
        ("$zla_b_f_1f34.0", "bloom", None, None, True, "1f34.0"),
        ("$zla_x_geohash_s_u0nd9", "geohash", Role.SUBSCRIBER, None, None, "u0nd9"),
    ],
)
def test_parts_of_a_key(
    text: str,
    encoding: str,
    role: Role | None,
    shape: int | None,
    is_filter: bool | None,
    data: str,
) -> None:
    for form in (text, text[1:]):
        key = LocationKey(form)
        assert key.written == str(key) == text
        assert key.wire == text[1:]
        assert (key.encoding, key.role, key.shape, key.is_filter, key.data) == (
            encoding, role, shape, is_filter, data,
        )  # fmt: skip
    assert LocationKey(text) == LocationKey(text[1:])
    assert str(zenoh.KeyExpr(key.wire)) == key.wire


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "key"),
        (None, "key"),
        (b"$zla_m_10S", "key"),
        ("temperature", "prefix"),
        ("$$zla_m_10S", "prefix"),
        ("$ZLA_m_10S", "prefix"),
        ("$zla", "prefix"),
        ("$zla_", "flag"),
        ("$zla_z_abc", "flag"),
        ("$zla_p_", "data"),
        ("$zla_p_a+b", "data"),
        ("$zla_p_YQ==", "data"),
        ("$zla_s_abc", "shape"),
        ("$zla_s_0_abc", "shape"),
        ("$zla_s_100_abc", "shape"),
        ("$zla_s_-1_abc", "shape"),
        ("$zla_s_1", "data"),
        ("$zla_s_1_", "data"),
        ("$zla_g_1_a b", "data"),
        ("$zla_m_", "data"),
        ("$zla_m_10sgj", "data"),
        ("$zla_m_1234567890123456", "data"),
        ("$zla_b_x_1", "flag"),
        ("$zla_b_e_", "data"),
        ("$zla_b_e_1F", "data"),
        ("$zla_x_Geo_s_1", "flag"),
        ("$zla_x_geo_z_1", "flag"),
        ("$zla_x_mgrs_q_10SGJ06", "flag"),
        ("$zla_x_bloom_s_1f.1", "flag"),
        ("$zla_m_10S/topic", "data"),
        ("$zla_m_10S\n", "data"),
        ("$zla_p_" + "a" * MAX_LOCATION_KEY_LENGTH, "length"),
    ],
)
def test_a_bad_key_says_which_part_is_wrong(text: object, part: str) -> None:
    with pytest.raises(LocationKeyError) as caught:
        LocationKey(text)  # type: ignore[arg-type]
    assert caught.value.part == part
    assert len(str(caught.value)) < 300
    assert isinstance(caught.value, ValueError)


def test_wrong_types_and_roles_are_named() -> None:
    key = LocationKey("$zla_m_10S")
    for call in (
        lambda: from_wire(None),  # type: ignore[arg-type]
        lambda: from_wire(b"@zla/zla_m_10S/x"),  # type: ignore[arg-type]
        lambda: join(key, None),  # type: ignore[arg-type]
        lambda: join("$zla_m_10S", "a"),  # type: ignore[arg-type]
        lambda: join(key, "\ud800"),
        lambda: LocationKey.of_area(Role.PUBLISHER, 1, "AAAA"),
    ):
        with pytest.raises(LocationKeyError):
            call()


def test_an_empty_key_reminds_of_the_shell() -> None:
    with pytest.raises(LocationKeyError, match="single quotes"):
        LocationKey("")


def test_joined_and_split() -> None:
    key = LocationKey("$zla_m_10SGJ06")
    expression = join(key, "temperature/**")
    assert expression == "$zla_m_10SGJ06/temperature/**"
    assert split(expression) == (key, "temperature/**")
    assert to_wire(expression) == "@zla/zla_m_10SGJ06/temperature/**"
    assert from_wire(to_wire(expression)) == expression
    assert split("temperature/**") == (None, "temperature/**")


@pytest.mark.parametrize(
    "expression",
    ["", "/a", "a/", "a//b", "a#b", "a?b", "a/$b", "a/b*", "**/**", "**/*", "a/$*", "a$*$*b",
     "$zla_m_10S", "$zla_m_10S/", "$zla_m_10S//a", "$zla_x/a", None],
)  # fmt: skip
def test_a_bad_expression_is_refused(expression: str) -> None:
    with pytest.raises(LocationKeyError):
        split(expression)


@pytest.mark.parametrize("expression", ["a/b", "@zla/1/to/n2", "@zla/zla_m_10S", "zla_m_10S/a"])
def test_what_did_not_travel_is_refused(expression: str) -> None:
    with pytest.raises(LocationKeyError):
        from_wire(expression)
    with pytest.raises(LocationKeyError):
        to_wire("plain/topic")


def test_an_expression_that_would_make_zenoh_panic_is_refused() -> None:
    key = LocationKey("$zla_m_10S")
    longest = "a" * (MAX_KEY_EXPRESSION_BYTES - len("$zla_m_10S/"))
    zenoh.KeyExpr(to_wire(join(key, longest)))
    with pytest.raises(LocationKeyError, match="bytes"):
        join(key, longest + "a")
    with pytest.raises(LocationKeyError, match="bytes"):
        join(key, "é" * 33_000)


chunks = st.text(st.sampled_from("ab*$#?@ é."), max_size=4)


@given(st.lists(chunks, min_size=1, max_size=4).map("/".join))
def test_a_topic_is_accepted_exactly_if_zenoh_accepts_it(topic: str) -> None:
    try:
        zenoh.KeyExpr(topic)
    except zenoh.ZError:
        with pytest.raises(LocationKeyError):
            join(LocationKey("$zla_m_10S"), topic)
    else:
        located = join(LocationKey("$zla_m_10S"), topic)
        assert split(located) == (LocationKey("$zla_m_10S"), topic)
        assert str(zenoh.KeyExpr(to_wire(located))) == to_wire(located)


def test_native_wildcards_do_not_see_located_keys() -> None:
    wire = zenoh.KeyExpr(to_wire("$zla_m_10S/temperature"))
    for native in ("**", "*/**", "**/temperature", "*/*/temperature"):
        assert not zenoh.KeyExpr(native).intersects(wire)
