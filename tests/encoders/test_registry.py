"""A third party's encoding, registered by call and found as an installed entry point."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import cos, sin
from pathlib import Path

import pytest

from zenoh_la import (
    Circle,
    Coordinates,
    EncodingNameError,
    LocationKey,
    LocationKeyError,
    Polygon,
    Role,
    UnknownEncodingError,
    encoders,
    location_match,
)
from zenoh_la.encoders import Location, Place
from zenoh_la.encoders.locations import Region, roles_match
from zenoh_la.values import Area

HEMISPHERE_MODULE = Path(__file__)


@dataclass(frozen=True)
class Half:
    """North or south: about the smallest encoding there can be."""

    side: str
    role: Role
    place: Place | None = None

    def matches(self, other: Location) -> bool | None:
        if isinstance(other, Half):
            return roles_match(self.role, other.role) and self.side == other.side
        if isinstance(other, Region):
            sides = [key.data for key in HemisphereEncoder().encode_area(other.place, other.role)]
            return roles_match(self.role, other.role) and self.side in sides
        return None


class HemisphereEncoder:
    name = "hemisphere"

    def encode_position(self, position: Coordinates) -> LocationKey:
        side = "n" if position.lat >= 0 else "s"
        return LocationKey.of_extension(self.name, Role.PUBLISHER, side)

    def encode_area(self, area: Area, role: Role) -> tuple[LocationKey, ...]:
        bounds = area.bounds
        sides = ["n"] * (bounds.max_lat >= 0) + ["s"] * (bounds.min_lat < 0)
        return tuple(LocationKey.of_extension(self.name, role, side) for side in sides)

    def decode(self, key: LocationKey) -> Half:
        if key.data not in ("n", "s"):
            raise LocationKeyError(key.written, "data", "must be n or s")
        assert key.role is not None
        return Half(key.data, key.role)


@pytest.fixture
def hemisphere() -> Iterator[encoders.Encoder]:
    encoders.register("hemisphere", HemisphereEncoder)
    yield encoders.get("hemisphere")
    encoders.unregister("hemisphere")


def test_a_third_party_takes_part(hemisphere: encoders.Encoder) -> None:
    assert "hemisphere" in encoders.names()
    publisher = hemisphere.encode_position(Coordinates(46, 14))
    assert publisher.written == "$zla_x_hemisphere_p_n"
    (north,) = hemisphere.encode_area(Circle(Coordinates(50, 0), 9), Role.SUBSCRIBER)
    (south,) = hemisphere.encode_area(Circle(Coordinates(-50, 0), 9), Role.SUBSCRIBER)
    assert location_match(publisher, north)
    assert not location_match(publisher, south)
    with pytest.raises(LocationKeyError, match="must be n or s"):
        location_match("$zla_x_hemisphere_s_up", publisher)


def test_it_may_know_the_others_and_need_not(hemisphere: encoders.Encoder) -> None:
    publisher = hemisphere.encode_position(Coordinates(46, 14))
    (circle,) = encoders.get("base64_json").encode_area(
        Circle(Coordinates(1, 1), 5), Role.SUBSCRIBER
    )
    assert location_match(publisher, circle)
    assert location_match(circle, publisher)
    assert not location_match(publisher, "$zla_m_33T")
    assert not location_match("$zla_b_f_1", publisher)


def test_unknown_encodings_are_refused() -> None:
    with pytest.raises(UnknownEncodingError, match="known: base64_json, bloom, mgrs"):
        encoders.get("hemisphere")
    with pytest.raises(LocationKeyError, match="no encoding is called 'hemisphere'") as caught:
        encoders.decode("$zla_x_hemisphere_p_n")
    assert caught.value.part == "flag"
    with pytest.raises(UnknownEncodingError):
        encoders.unregister("mgrs")


def test_names_that_are_taken_or_fit_no_key_are_refused(hemisphere: encoders.Encoder) -> None:
    for taken in ("mgrs", "hemisphere"):
        with pytest.raises(EncodingNameError, match="already"):
            encoders.register(taken, HemisphereEncoder)
    for wrong in ("", "With Space", "under_score", "x" * 40):
        with pytest.raises(EncodingNameError, match="lower-case"):
            encoders.register(wrong, HemisphereEncoder)


def test_an_installed_distribution_is_found(tmp_path: Path) -> None:
    info = tmp_path / "zla_hemisphere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zla-hemisphere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[zenoh_la.encoders]\nhemisphere = zla_hemisphere:HemisphereEncoder\n"
    )
    source = HEMISPHERE_MODULE.read_text()
    (tmp_path / "zla_hemisphere.py").write_text(source)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from zenoh_la import encoders, location_match\n"
        "print(encoders.names())\n"
        "print(location_match('$zla_x_hemisphere_p_n', '$zla_x_hemisphere_s_n'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout.split("\n")[:2] == [
        "('base64_json', 'bloom', 'hemisphere', 'mgrs')",
        "True",
    ], run.stderr


def test_what_was_decoded_is_remembered_within_bounds() -> None:
    from zenoh_la.encoders import registry

    key = "$zla_m_33TVM25"
    assert encoders.decode(key) is encoders.decode(key)
    for i in range(10_000):
        encoders.decode(f"$zla_m_33TVM{i:04}")
    assert registry._decode_short.cache_info().currsize == 8192
    base64_json = encoders.get("base64_json")
    for i in range(40):
        ring = [(sin(k / 10) * 5, cos(k / 10) * 5 + i) for k in range(62)]
        (long,) = base64_json.encode_area(Polygon.from_points(ring), Role.SUBSCRIBER)
        assert encoders.decode(long) is encoders.decode(long)
    assert registry._decode_long.cache_info().currsize == 32
