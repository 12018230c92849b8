"""Interests and messages as the map draws them."""

from __future__ import annotations

from typing import Any

from zenoh_la.encoders.bloom import Bits
from zenoh_la.encoders.locations import Region
from zenoh_la.encoders.mgrs import Cell
from zenoh_la.errors import ZenohLaError
from zenoh_la.keys import from_chunk
from zenoh_la.rest_bridge.lookout import Seen
from zenoh_la.rest_bridge.shown import value
from zenoh_la.router_plugin import location_bytes
from zenoh_la.router_plugin.chunks import encoding_of
from zenoh_la.router_plugin.protocol import Interest
from zenoh_la.router_plugin.routes import Owner
from zenoh_la.session.places import Places
from zenoh_la.values import Area, Circle
from zenoh_la.values.outline import geojson, merged

_LARGEST_CIRCLE_M = 500_000.0  # a larger one is no circle on the page's map
_MAX_PARTS = 64
_MAX_CORNERS = 2000
_VALUE_BYTES = 80
_DECIMALS = 5  # a metre


def owner_name(owner: Owner) -> str:
    """Whose interest it is, for people and as a key."""
    first, number = owner
    return f"session {first}, {number}" if isinstance(first, int) else f"node {first}, {number}"


def interest_drawn(owner: Owner, interest: Interest, places: Places) -> dict[str, Any]:
    """An interest: what it says, and its areas as far as a map can show them."""
    areas = _areas(interest, places)
    circles, outlines = [], []
    for area in areas[:_MAX_PARTS]:
        if isinstance(area, Circle) and area.radius_m <= _LARGEST_CIRCLE_M:
            circles.append([area.centre.lat, area.centre.long, area.radius_m])
        else:
            outlines.append(_rounded(geojson(area)))
    return {
        "id": owner_name(owner),
        "kind": "subscriber" if interest.kind == "s" else "queryable",
        "topic": interest.topic,
        "encoding": encoding_name(interest),
        "circles": circles,
        "outlines": [outline for outline in outlines if outline is not None],
    }


def encoding_name(interest: Interest) -> str:
    """The encoding of an interest."""
    return encoding_of(interest.locations[0] if interest.locations else None)


def _areas(interest: Interest, places: Places) -> list[Area]:
    """Its areas; none of those whose grid is not known here."""
    areas: list[Area] = []
    for chunk, location in zip(interest.chunks, interest.locations, strict=True):
        if isinstance(location, Region) or (isinstance(location, Cell) and location.place.exists):
            areas.append(location.place)
        elif isinstance(location, Bits):
            encoder = places.domains.get(location.domain or "")
            try:
                cells = [] if encoder is None else encoder.cells(from_chunk(chunk)[0])
            except ZenohLaError:
                cells = []  # of a grid that has the name of this one and is another
            if encoder is not None and cells:
                areas.append(merged([encoder.domain.range_of(cell) for cell in cells]))
    return areas


def _rounded(geometry: dict[str, Any]) -> dict[str, Any] | None:
    corners = 0

    def rounded(part: Any) -> Any:
        nonlocal corners
        if isinstance(part, float | int):
            corners += 1
            return round(part, _DECIMALS)
        return [rounded(inner) for inner in part]

    made = {"type": geometry["type"], "coordinates": rounded(geometry["coordinates"])}
    return made if corners <= 2 * _MAX_CORNERS else None


def message_drawn(seen: Seen, places: Places) -> list[Any]:
    """Messages of one publisher from one place: a short list, as there are many."""
    try:
        at = places.coordinates(seen.packed)
    except ZenohLaError:
        at = None  # an element that bears the name of a known grid and is of another
    sample = seen.sample
    text = None
    if sample is not None and len(sample.payload) <= _VALUE_BYTES:
        text = value(sample.payload.to_bytes(), str(sample.encoding))
    location = location_bytes.location_of(seen.packed)
    return [
        seen.slot,
        seen.topic,
        None if at is None else round(at.lat, _DECIMALS + 1),
        None if at is None else round(at.long, _DECIMALS + 1),
        encoding_of(location),
        seen.count,
        seen.delivered,
        seen.vetoed,
        text,
    ]
