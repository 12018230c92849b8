"""How much more than the area an encoding lets through: by surface, and by counting messages."""

from __future__ import annotations

from dataclasses import dataclass

import shapely

from benchmarks.workload import REGION, AnyArea, Contender, Keys, areas, positions
from zenoh_la import LocationKey, MgrsCell
from zenoh_la.encoders import decode
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.values import wkt
from zenoh_la.values.outline import merged


@dataclass(frozen=True)
class Accuracy:
    """Summed over all areas and positions of the workload."""

    overshoot: float
    """Surface that the keys stand for, divided by the surface of the areas."""
    expected: float
    """False positives if positions were spread evenly over that surface and nothing else erred."""
    false_positives: float
    """Share of the positions outside an area that match it."""
    false_negatives: int


def measured(contender: Contender, keys: Keys) -> Accuracy:
    """Matches every position with every area, and compares with the geometry."""
    wanted = areas()
    places = positions()
    published = [decode(key) for key in keys.positions]
    outside = false_positives = false_negatives = 0
    for area, area_keys in zip(wanted, keys.areas, strict=True):
        interests = [decode(key) for key in area_keys]
        for place, location in zip(places, published, strict=True):
            matches = any(locations_match(location, interest) for interest in interests)
            inside = area.contains(place)
            outside += not inside
            false_positives += matches and not inside
            false_negatives += inside and not matches
    surface = sum(_surface(area) for area in wanted)
    covered = sum(_covered(contender, area, k) for area, k in zip(wanted, keys.areas, strict=True))
    region = _surface(REGION)
    return Accuracy(
        overshoot=covered / surface,
        expected=(covered - surface) / (region * len(wanted) - surface),
        false_positives=false_positives / outside,
        false_negatives=false_negatives,
    )


def _surface(area: AnyArea) -> float:
    """In square degrees: good enough for ratios within one small region."""
    return float(shapely.from_wkt(wkt(area)).area)


def _covered(contender: Contender, area: AnyArea, keys: tuple[LocationKey, ...]) -> float:
    encoder = contender.encoder
    if isinstance(encoder, BloomEncoder):
        domain = encoder.domain
        return _surface(merged([domain.range_of(cell) for cell in domain.cells_meeting(area)]))
    cells = [place for place in (decode(key).place for key in keys) if isinstance(place, MgrsCell)]
    if not cells:
        return _surface(area)
    region = REGION.planar.geometry
    return float(sum(cell.planar.geometry.intersection(region).area for cell in cells))
