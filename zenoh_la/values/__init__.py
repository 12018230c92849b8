"""Positions and areas: frozen values that cannot be invalid.

`coordinates` and `areas` are what applications use, `mgrs_cell` the cells of the MGRS grid,
`outline` turns any of them into GeoJSON or WKT. Below these are the geometry of the plane
(`planar`, by shapely), of the ellipsoid (`geodesy`, by pyproj) and of both together
(`circle_meeting`, `mgrs_grid`).
"""

from zenoh_la.values.areas import (
    Area,
    Circle,
    GeographicRange,
    Polygon,
    Shape,
    area_from,
    position_from,
)
from zenoh_la.values.coordinates import Coordinates
from zenoh_la.values.mgrs_cell import MgrsCell
from zenoh_la.values.outline import geojson, wkt

__all__ = [
    "Area",
    "Circle",
    "Coordinates",
    "GeographicRange",
    "MgrsCell",
    "Polygon",
    "Shape",
    "area_from",
    "geojson",
    "position_from",
    "wkt",
]
