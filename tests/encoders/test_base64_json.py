from __future__ import annotations

import base64
import json

import pytest

from zenoh_la import (
    Circle,
    Coordinates,
    GeographicRange,
    LocationKeyError,
    Polygon,
    Role,
    encoders,
)
from zenoh_la.encoders.base64_json import Base64JsonEncoder

ENCODER = Base64JsonEncoder()


def packed(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_golden_keys_that_must_never_change() -> None:
    assert str(ENCODER.encode_position(Coordinates(16.0, 21.5))) == (
        "$zla_p_" + packed('{"lat":16.0,"long":21.5}')
    )
    for area, role, head, text in (
        (Circle(Coordinates(15.5, 20.1), 10.3), Role.SUBSCRIBER, "s_2",
         '{"r":10.3,"c":{"lat":15.5,"long":20.1}}'),
        (GeographicRange(45, 11, 47, 15.2), Role.PULL_SUBSCRIBER, "ps_1",
         '{"min_lat":45.0,"min_long":11.0,"max_lat":47.0,"max_long":15.2}'),
        (Polygon.from_points([[0, 0], [0, 1], [1, 0]]), Role.QUERYABLE, "q_3",
         '{"points":[[0.0,0.0],[0.0,1.0],[1.0,0.0]]}'),
        (Polygon.from_wkt("MULTIPOLYGON(((0 0,1 0,0 1,0 0)),((5 5,6 5,5 6,5 5)))"), Role.GET, "g_3",
         '{"wkt":"MULTIPOLYGON(((0.0 0.0,1.0 0.0,0.0 1.0,0.0 0.0)),'
         '((5.0 5.0,6.0 5.0,5.0 6.0,5.0 5.0)))"}'),
    ):  # fmt: skip
        (key,) = ENCODER.encode_area(area, role)
        assert key.written == f"$zla_{head}_{packed(text)}"
        assert encoders.decode(key).place == area


def test_whole_numbers_and_spaces_are_read_too() -> None:
    decoded = encoders.decode("$zla_p_" + packed('{ "lat": 16, "long": 21.5 }'))
    assert decoded.place == Coordinates(16.0, 21.5)


@pytest.mark.parametrize(
    ("head", "text", "part"),
    [
        ("p", "[]", "data"),
        ("p", "1", "data"),
        ("p", "nonsense", "data"),
        ("p", '{"lat":1,"long":NaN}', "data"),
        ("p", '{"lat":1,"long":Infinity}', "data"),
        ("p", '{"lat":1,"long":2,"lat":3}', "data"),
        ("p", b"\xff\xfe{}", "data"),
        ("p", "[" * 40_000, "data"),
        ("p", '{"a":' * 5_000, "data"),
        ("p", '{"lat":%s,"long":2}' % ("9" * 5_000), "data"),
        ("p", '{"lat":%s,"long":2}' % ("9" * 4_000), "data.lat"),
        ("p", '{"lat":1e999,"long":2}', "data.lat"),
        ("p", '{"lat":"1","long":2}', "data.lat"),
        ("p", '{"lat":true,"long":2}', "data.lat"),
        ("p", '{"lat":91,"long":2}', "data.lat"),
        ("p", '{"lat":1}', "data.long"),
        ("p", '{"lat":1,"long":2,"alt":3}', "data.alt"),
        ("s_1", '{"min_lat":2,"min_long":0,"max_lat":1,"max_long":0}', "data.min_lat"),
        ("s_2", '{"r":1}', "data.c"),
        ("s_2", '{"r":1,"c":5}', "data.c.position"),
        ("s_2", '{"r":1,"c":{"lat":1,"long":181}}', "data.c.long"),
        ("s_2", '{"r":-1,"c":{"lat":1,"long":1}}', "data.r"),
        ("s_2", '{"r":1,"unit":"km","c":{"lat":1,"long":1}}', "data.unit"),
        ("s_3", '{"points":[[0,0],[1,1]]}', "data.points"),
        ("s_3", '{"points":[[0,0],[1,1],["x",1]]}', "data.points[2][0]"),
        ("s_3", '{"wkt":"POINT(1 2)"}', "data.wkt"),
        ("s_3", '{"points":[[0,0],[2,2],[0,2],[2,0]]}', "data.polygon"),
        ("s_4", "{}", "shape"),
        ("s_99", "{}", "shape"),
    ],
)
def test_a_bad_key_says_which_part_is_wrong(head: str, text: str | bytes, part: str) -> None:
    with pytest.raises(LocationKeyError) as caught:
        encoders.decode(f"$zla_{head}_{packed(text)}")
    assert caught.value.part == part
    assert len(str(caught.value)) < 400


def test_base64_that_is_none() -> None:
    for data in ("A", "AAAAA", "e30x_"):
        with pytest.raises(LocationKeyError):
            encoders.decode(f"$zla_p_{data}")


def test_an_mgrs_cell_is_written_as_its_outline() -> None:
    from zenoh_la import MgrsCell

    cell = MgrsCell.parse("33TVM25")
    (key,) = ENCODER.encode_area(cell, Role.SUBSCRIBER)
    place = encoders.decode(key).place
    assert isinstance(place, Polygon)
    assert place.contains(cell.centre)
    assert json.loads(base64.urlsafe_b64decode(key.data + "=="))["points"]
