"""Positions and areas: frozen values that cannot be invalid.

`coordinates` and `areas` are what applications use, `mgrs_cell` the cells of the MGRS grid,
`shape_data` reads them from mappings, `outline` draws any of them as GeoJSON or WKT. Below these
are the geometry of the plane (`planar` and `rings`, by shapely), of the ellipsoid (`geodesy`, by
pyproj) and of both together (`circle_meeting`, `mgrs_grid`, `mgrs_outline`).
"""

from zenoh_la.values.areas import (
    Area,
    Circle,
    GeographicRange,
    Polygon,
    Shape,
)
from zenoh_la.values.coordinates import Coordinates
from zenoh_la.values.mgrs_cell import MgrsCell
from zenoh_la.values.outline import geojson, wkt
from zenoh_la.values.shape_data import area_from, position_from

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
