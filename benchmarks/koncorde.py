"""The peer of the index: npm's koncorde, a matching engine with an R-tree in C++ below it.

It takes circles as on a sphere, and edges of polygons as great circles; so answers are compared
except where a place is that close to an edge.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import shapely

from benchmarks.interests import Interests
from zenoh_la import Circle, Coordinates
from zenoh_la.encoders import Location
from zenoh_la.encoders.locations import Point, Region

VERSION = "4.7.0"
FOLDER = Path(".benchmarks/koncorde")
SCRIPT = Path(__file__).with_suffix(".js")
# The sphere's radius is 6,378 km; in 2 x 2° about 48° north the Earth's are 6,370 to 6,390 km.
NEAR_EDGE_M = 5.0
_PER_DEGREE_M = 72_000.0  # at least, of longitude at 49° north
_INSTALL_S, _RUN_S = 300.0, 120.0


class MissingError(Exception):
    """The peer cannot be run here; the text says why."""


def install() -> None:
    """Has npm fetch and build it, once.

    Raises:
        MissingError: it cannot.
    """
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise MissingError(f"there is no {program} here")
    FOLDER.mkdir(parents=True, exist_ok=True)
    manifest = FOLDER / "package.json"
    manifest.write_text(json.dumps({"private": True, "dependencies": {"koncorde": VERSION}}))
    try:
        if not _works():
            _run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], _INSTALL_S)
            if not _works():
                raise MissingError("npm installed it, but node cannot load it")
    except (OSError, subprocess.SubprocessError) as exc:
        said = str(getattr(exc, "stderr", "") or exc).strip().splitlines()
        raise MissingError(f"npm could not install it: {said[-1] if said else exc}") from exc


def _works() -> bool:
    test = f"if (require('koncorde/package.json').version !== '{VERSION}') process.exit(1); "
    command = ["node", "-e", test + "new (require('koncorde').Koncorde)()"]
    return subprocess.run(command, cwd=FOLDER, capture_output=True, timeout=60).returncode == 0


def _run(command: list[str], timeout_s: float) -> None:
    subprocess.run(
        command, cwd=FOLDER, check=True, capture_output=True, text=True, timeout=timeout_s
    )


def filter_of(locations: tuple[Location, ...]) -> dict[str, Any]:
    """One of its filters: a circle or a polygon on the field ``place``."""
    (location,) = locations
    assert isinstance(location, Region)
    area = location.place
    if isinstance(area, Circle):
        centre = {"lat": area.centre.lat, "lon": area.centre.long}
        return {"geoDistance": {"place": centre, "distance": f"{area.radius_m}m"}}
    ((ring,),) = area.polygons  # type: ignore[union-attr]
    return {"geoPolygon": {"place": {"points": [list(vertex) for vertex in ring]}}}


def write(
    path: Path,
    topic: str,
    interests: Interests,
    moved: Interests,
    places: list[Location],
    checked: int,
    rounds: int,
) -> None:
    """The document that it is given."""
    document = {
        "topic": topic,
        "filters": [filter_of(locations) for locations in interests],
        "moved": [filter_of(locations) for locations in moved],
        "places": [_pair(location) for location in places],
        "checked": checked,
        "rounds": rounds,
    }
    path.write_text(json.dumps(document))


def _pair(location: Location) -> list[float]:
    assert isinstance(location, Point)
    return [location.place.lat, location.place.long]


def run(path: Path) -> dict[str, Any]:
    """One repetition, in a process of its own: what it measured, and its answers."""
    with path.open() as document:
        done = subprocess.run(
            ["node", str(SCRIPT), str(FOLDER)],
            stdin=document,
            check=True,
            capture_output=True,
            text=True,
            timeout=_RUN_S,
        )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def compare(
    answers: list[list[int]], ours: list[list[int]], interests: Interests, places: list[Location]
) -> int:
    """In how many pairs the two differ, all of them places close to an edge.

    Raises:
        AssertionError: they differ elsewhere.
    """
    close = 0
    for its, mine, location in zip(answers, ours, places, strict=False):
        assert isinstance(location, Point)
        for ident in set(its) ^ set(mine):
            (region,) = interests[ident]
            assert isinstance(region, Region)
            assert _is_close(region, location.place), (ident, location)
            close += 1
    return close


def _is_close(region: Region, position: Coordinates) -> bool:
    area = region.place
    if isinstance(area, Circle):
        return abs(area.centre.distance_m(position) - area.radius_m) <= NEAR_EDGE_M
    edge = area.planar.geometry.boundary
    far = shapely.distance(edge, shapely.Point(position.long, position.lat))
    return bool(far * _PER_DEGREE_M <= NEAR_EDGE_M)
