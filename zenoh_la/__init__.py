"""Location-aware Eclipse Zenoh.

Everything public is reached from here; nothing is loaded before it is used (PEP 562), so that
a process which only decodes keys loads no more than that.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zenoh_la import encoders
    from zenoh_la.encoders import BloomDomain, Precision
    from zenoh_la.errors import (
        EncodingNameError,
        InvalidLocationError,
        LocationKeyError,
        OutsideDomainError,
        UnknownEncodingError,
        ZenohLaError,
    )
    from zenoh_la.keys import LocationKey, Role
    from zenoh_la.router_plugin import location_match
    from zenoh_la.values import Circle, Coordinates, GeographicRange, MgrsCell, Polygon, Shape

__version__ = "0.1.0"

_HOMES = {
    "BloomDomain": "encoders",
    "Circle": "values",
    "Coordinates": "values",
    "EncodingNameError": "errors",
    "GeographicRange": "values",
    "InvalidLocationError": "errors",
    "LocationKey": "keys",
    "LocationKeyError": "errors",
    "MgrsCell": "values",
    "OutsideDomainError": "errors",
    "Polygon": "values",
    "Precision": "encoders",
    "Role": "keys",
    "Shape": "values",
    "UnknownEncodingError": "errors",
    "ZenohLaError": "errors",
    "location_match": "router_plugin",
}

_ROOMS = {"encoders", "errors", "keys", "router_plugin", "values"}

__all__ = [
    "BloomDomain",
    "Circle",
    "Coordinates",
    "EncodingNameError",
    "GeographicRange",
    "InvalidLocationError",
    "LocationKey",
    "LocationKeyError",
    "MgrsCell",
    "OutsideDomainError",
    "Polygon",
    "Precision",
    "Role",
    "Shape",
    "UnknownEncodingError",
    "ZenohLaError",
    "encoders",
    "location_match",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
