from __future__ import annotations

import pickle
import threading
import warnings

import mgrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import areas, areas_about, cells, digits, positions
from zenoh_la import Circle, Coordinates, GeographicRange, InvalidLocationError, MgrsCell
from zenoh_la.values import Area, mgrs_grid
from zenoh_la.values.mgrs_cell import Digits


@pytest.mark.parametrize(
    ("text", "path", "digits_"),
    [
        ("10S", "10S", "zone"),
        ("Z", "Z", "zone"),
        ("10SGJ", "10SGJ", 0),
        ("10SGJ0644", "10SGJ0464", 2),
        ("10SGJ0683244683", "10SGJ0464863823", 5),
        ("1NBA", "01NBA", 0),
        ("01NBA", "01NBA", 0),
        ("ZAH0000000000", "ZAH0000000000", 5),
    ],
)
def test_parts_of_a_cell(text: str, path: str, digits_: Digits) -> None:
    cell = MgrsCell.parse(text)
    assert (cell.path, cell.digits) == (path, digits_)
    assert MgrsCell(path) == cell
    assert MgrsCell.parse(cell.text) == cell
    assert pickle.loads(pickle.dumps(cell)) == cell


@pytest.mark.parametrize(
    "text",
    [
        "", "10", "S", "61S", "00S", "0S", "10I", "10O", "10A", "10Y", "100S", "32X", "34X", "36X",
        "10SG", "10SGJ1", "10SGJ123", "10SGJ123456789012", "10sgj", "10S GJ", " 10S", "10SGJ\n",
        "10SIJ", "10SGO", "10SJJ", "10SGW", "ZZZ", "ZDA", "YAA", "AAA", "BZA", "١0S", 10, None,
        b"Z",
    ],
)  # fmt: skip
def test_what_is_no_cell(text: object) -> None:
    with pytest.raises(InvalidLocationError):
        MgrsCell.parse(text)


def test_a_path_is_checked_too() -> None:
    for path in ("", "1NBA", "10SGJ0", "10SG", "nonsense", 5, None):
        with pytest.raises(InvalidLocationError):
            MgrsCell(path)  # type: ignore[arg-type]


@given(positions, digits)
def test_a_position_lies_in_its_cell_however_large(position: Coordinates, d: Digits) -> None:
    cell = MgrsCell.at(position, d)
    assert cell.digits == d
    assert cell.contains(position)
    assert cell.planar.contains(position.lat, position.long), cell.text
    assert MgrsCell.parse(cell.text) == cell


@given(positions)
def test_what_we_write_the_mgrs_package_reads(position: Coordinates) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of places a hair's breadth past a band
        lat, long = mgrs.MGRS().toLatLon(MgrsCell.at(position).text)
    assert Coordinates(lat, (long + 180) % 360 - 180).distance_m(position) < 1.5


@given(cells)
def test_the_centre_lies_in_the_cell(cell: MgrsCell) -> None:
    centre = cell.centre
    assert cell.planar.contains(centre.lat, centre.long)
    if cell.size_m == 1:
        assert centre.distance_m(cell.planar.inner_place()) < 1.5


@given(cells, areas)
def test_meeting_goes_both_ways(cell: MgrsCell, area: Area) -> None:
    assert cell.meets(area) == area.meets(cell)


@given(cells)
def test_a_cell_meets_what_is_about_it(cell: MgrsCell) -> None:
    assert cell.meets(cell.bounds)
    assert cell.meets(Circle(cell.centre, 0))
    assert cell.meets(cell.outline())


def test_an_outline_is_no_more_than_metres_too_large() -> None:
    for text in ("33TVM", "33TVM2", "33TVM24", "10SGJ0683244683", "31XEN", "ZCE", "YZB44"):
        cell = MgrsCell.parse(text if len(text) != 6 else text + "5")
        assert cell.size_m is not None
        place = cell.centre
        ring = cell.outline().polygons[0][0]
        near = min(Coordinates(*vertex).distance_m(place) for vertex in ring)
        assert near < cell.size_m * 0.75 + 100


@given(positions, st.data())
def test_the_middle_of_a_metre_tells_nothing_wrong(
    position: Coordinates, data: st.DataObject
) -> None:
    cell = MgrsCell.at(position)
    near = data.draw(areas_about(position) | areas)
    told = cell._metre_meets(near)
    if told is not None:
        assert told == (near.meets(cell) if cell.exists else False)


def test_neighbours_share_no_more_than_an_edge() -> None:
    cell = MgrsCell.parse("33TVM24")
    east = MgrsCell.parse("33TVM34")
    assert not cell.meets(east)
    inside = Coordinates.from_mgrs("33TVM3545")
    assert not cell.meets(Circle(inside, 4_000))
    assert cell.meets(Circle(inside, 6_000))


def test_irregular_zones() -> None:
    bergen, ny_alesund = Coordinates(60.39, 5.32), Coordinates(78.92, 11.93)
    assert MgrsCell.at(bergen, "zone").text == "32V"
    assert MgrsCell.at(ny_alesund, "zone").text == "33X"
    assert MgrsCell.at(Coordinates(60, 2.9999), "zone").text == "31V"
    assert MgrsCell.parse("32V").meets(GeographicRange(60, 3, 61, 4))
    assert not MgrsCell.parse("31V").meets(GeographicRange(60, 3.1, 61, 4))


@pytest.mark.parametrize("nudge", [0.0, 1e-13, 1e-9, 5e-9, 1e-8, 1.05e-8, 2e-8, 1e-6])
def test_no_key_that_the_package_cannot_read_west_of_norway(nudge: float) -> None:
    for lat in (55.99999999999, 56.0, 60.0, 63.9, 63.9999):
        cell = MgrsCell.at(Coordinates(lat, 3 - nudge))
        mgrs.MGRS().toLatLon(cell.text)
        assert cell.planar.contains(lat, 3 - nudge)


def test_the_equator_snaps_to_the_north() -> None:
    for lat in (0.0, -1e-12, -5e-8):
        assert MgrsCell.at(Coordinates(lat, 9)).text.startswith("32N")
    assert MgrsCell.at(Coordinates(-1e-6, 9)).text.startswith("32M")


def test_a_square_beyond_its_zone_names_no_place() -> None:
    cell = MgrsCell.parse("32TPU52")
    assert not cell.exists
    assert not cell.meets(GeographicRange(-90, -180, 90, 180))
    for use in (lambda: cell.planar, lambda: cell.bounds, cell.outline):
        with pytest.raises(InvalidLocationError, match="names no place"):
            use()


def test_every_zone_has_its_squares() -> None:
    """Letters and grid coordinates agree with the package all over the world."""
    for lat in range(-89, 90, 2):
        for long in range(-179, 180, 4):
            cell = MgrsCell.at(Coordinates(lat, long), 0)
            easting, northing = cell.corner_m
            assert mgrs_grid.square_at(cell.zone, easting + 5, northing + 5) == cell.path[-2:]


@given(st.lists(positions, min_size=4, max_size=4))
def test_threads_do_not_disturb_each_other(places: list[Coordinates]) -> None:
    alone = [MgrsCell.at(place, 3).bounds for place in places]
    found: list[GeographicRange | None] = [None] * 4

    def look(i: int) -> None:
        found[i] = MgrsCell.at(places[i], 3).bounds

    threads = [threading.Thread(target=look, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert found == alone
