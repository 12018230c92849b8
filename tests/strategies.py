"""Hypothesis strategies that all suites share: places where things go wrong come often."""

from __future__ import annotations

from hypothesis import strategies as st

from zenoh_la.values import Circle, Coordinates, GeographicRange, MgrsCell, Polygon
from zenoh_la.values.geodesy import WGS84

# Poles, equator, band and zone edges (Norway's and Svalbard's too), the antimeridian.
_LAT_EDGES = [-90.0, -80.0, -72.0, -8.0, 0.0, 8.0, 40.0, 56.0, 64.0, 72.0, 84.0, 90.0]
_LONG_EDGES = [-180.0, -174.0, -6.0, 0.0, 3.0, 6.0, 9.0, 12.0, 21.0, 33.0, 42.0, 174.0, 180.0]
_NUDGES = [0.0, 1e-12, 4e-9, 5e-8, 1e-6, 1.1e-5, 1e-3]


def _near(edges: list[float], limit: float) -> st.SearchStrategy[float]:
    return st.builds(
        lambda edge, nudge, sign: max(-limit, min(limit, edge + sign * nudge)),
        st.sampled_from(edges),
        st.sampled_from(_NUDGES),
        st.sampled_from([-1, 1]),
    )


lats = st.floats(-90, 90) | _near(_LAT_EDGES, 90.0)
longs = st.floats(-180, 180) | _near(_LONG_EDGES, 180.0)
positions = st.builds(Coordinates, lats, longs)

radii_m = st.sampled_from([0.0, 0.5, 1.0, 20_003_931.4, 20_037_508.0]) | st.floats(0, 7.3).map(
    lambda x: 10**x
)
circles = st.builds(Circle, positions, radii_m)

ranges = st.builds(
    lambda a, b, west, east: GeographicRange(min(a, b), west, max(a, b), east),
    lats,
    lats,
    longs,
    longs,
)


@st.composite
def polygons(draw: st.DrawFn) -> Polygon:
    """A triangle or a convex quadrangle of any size, sometimes with a hole."""
    south, north = sorted(draw(st.tuples(lats, lats)))
    west, east = sorted(draw(st.tuples(longs, longs)))
    if north - south < 1e-9 or east - west < 1e-9:
        south, west = max(south - 1.0, -90.0), max(west - 1.0, -180.0)
        north, east = south + 1.0, west + 1.0
    lean = draw(st.floats(0, 0.45)) * (east - west)
    outline = [(south, west), (south, east - lean), (north, east), (north, west + lean)]
    if draw(st.booleans()):
        return Polygon.from_points(outline[:3])
    if not draw(st.booleans()):
        return Polygon.from_points(outline)
    lat, long = (south + north) / 2, (west + east) / 2
    dlat, dlong = (north - south) / 20, (east - west) / 20
    hole = [(lat - dlat, long - dlong), (lat + dlat, long - dlong), (lat, long + dlong)]
    return Polygon(((tuple(outline), tuple(hole)),))


areas: st.SearchStrategy[GeographicRange | Circle | Polygon] = circles | ranges | polygons()
digits = st.sampled_from([0, 1, 2, 3, 4, 5, "zone"])
cells = st.builds(MgrsCell.at, positions, digits)


@st.composite
def areas_about(draw: st.DrawFn, position: Coordinates) -> GeographicRange | Circle | Polygon:
    """An area that holds a position: in its middle, on its edge or at a corner."""
    kind = draw(st.sampled_from(["circle", "range", "polygon"]))
    if kind == "circle":
        return _circle_about(draw, position)
    size = draw(st.sampled_from([0.0, 1e-9, 1e-5, 1e-2, 1.0, 30.0, 180.0]))
    below, above = (draw(st.sampled_from([0.0, 0.3, 1.0])) * size for _ in "ab")
    before, after = (draw(st.sampled_from([0.0, 0.3, 1.0])) * size for _ in "ab")
    south, north = max(position.lat - below, -90.0), min(position.lat + above, 90.0)
    if kind == "range":
        west, east = position.long - before, position.long + after
        if east - west >= 360.0:
            return GeographicRange(south, -180.0, north, 180.0)
        west, east = (
            x + 360.0 if x < -180.0 else x - 360.0 if x > 180.0 else x for x in (west, east)
        )
        return GeographicRange(south, west, north, east)
    return _polygon_about(position, south, max(position.long - before, -180.0), size)


def _circle_about(draw: st.DrawFn, position: Coordinates) -> Circle:
    """Its edge passes through the position, or it is larger, or about the position."""
    if draw(st.booleans()):
        return Circle(position, draw(radii_m))
    distance = 10 ** draw(st.floats(-3, 7))
    long, lat, _ = WGS84.fwd(position.long, position.lat, draw(st.floats(0, 360)), distance)
    centre = Coordinates(lat, long)
    exact = centre.distance_m(position)
    return Circle(centre, min(exact * draw(st.sampled_from([1.0, 1.0, 1.5])), 20_037_508.0))


def _polygon_about(position: Coordinates, south: float, west: float, size: float) -> Polygon:
    """A triangle with a corner at the position, the others to the south or north of it."""
    lat, long = position.lat, position.long
    size = max(size, 1e-6)
    other_lat = south if lat - south > 1e-7 else (lat - size if lat - size >= -90.0 else lat + size)
    other_lat = max(-90.0, min(90.0, other_lat))
    other_long = (
        west if long - west > 1e-7 else (long - size if long - size >= -180 else long + size)
    )
    other_long = max(-180.0, min(180.0, other_long))
    return Polygon.from_points([(lat, long), (other_lat, long), (other_lat, other_long)])


@st.composite
def places_in_an_area(
    draw: st.DrawFn, where: st.SearchStrategy[Coordinates] = positions
) -> tuple[GeographicRange | Circle | Polygon, Coordinates]:
    """An area and a position in it."""
    position = draw(where)
    return draw(areas_about(position)), position


@st.composite
def positions_in_range(
    draw: st.DrawFn, area: GeographicRange, rows: int, columns: int
) -> Coordinates:
    """A position in a range, often on the lines of a grid of so many rows and columns."""
    up = draw(st.integers(0, rows).map(lambda i: i / rows) | st.floats(0, 1))
    along = draw(st.integers(0, columns).map(lambda i: i / columns) | st.floats(0, 1))
    long = area.min_long + area.width * along
    lat = min(area.min_lat + (area.max_lat - area.min_lat) * up, area.max_lat)
    return Coordinates(lat, max(-180.0, long - 360.0 if long > 180.0 else long))
