"""Location-aware Eclipse Zenoh.

Everything public is reached from here; nothing is loaded before it is used (PEP 562), so that
a process which only decodes keys loads no more than that.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zenoh_la import encoders, ext
    from zenoh_la.encoders import BloomDomain, Precision
    from zenoh_la.errors import (
        ArgumentError,
        EncodingNameError,
        InvalidLocationError,
        LocationKeyError,
        NodeError,
        OutsideDomainError,
        PositionError,
        ProtocolError,
        StorageError,
        TrackError,
        UnknownEncodingError,
        ZenohLaError,
    )
    from zenoh_la.keys import LocationKey, Role
    from zenoh_la.router_plugin import location_match
    from zenoh_la.router_plugin.router import Router
    from zenoh_la.session import (
        LocatedQuery,
        LocatedReply,
        LocatedSample,
        LocationSession,
        MobilitySubscriber,
        PullSubscriber,
        open,  # noqa: A004 - as in zenoh
    )
    from zenoh_la.values import Circle, Coordinates, GeographicRange, MgrsCell, Polygon, Shape

__version__ = "0.1.0"

_HOMES = {
    "ArgumentError": "errors",
    "BloomDomain": "encoders",
    "Circle": "values",
    "Coordinates": "values",
    "EncodingNameError": "errors",
    "GeographicRange": "values",
    "InvalidLocationError": "errors",
    "LocatedQuery": "session",
    "LocatedReply": "session",
    "LocatedSample": "session",
    "LocationKey": "keys",
    "LocationKeyError": "errors",
    "LocationSession": "session",
    "MgrsCell": "values",
    "MobilitySubscriber": "session",
    "NodeError": "errors",
    "OutsideDomainError": "errors",
    "Polygon": "values",
    "PositionError": "errors",
    "Precision": "encoders",
    "ProtocolError": "errors",
    "PullSubscriber": "session",
    "Role": "keys",
    "Router": "router_plugin.router",
    "Shape": "values",
    "StorageError": "errors",
    "TrackError": "errors",
    "UnknownEncodingError": "errors",
    "ZenohLaError": "errors",
    "location_match": "router_plugin",
    "open": "session",
}

_ROOMS = {
    "encoders",
    "errors",
    "ext",
    "keys",
    "router_plugin",
    "session",
    "storage",
    "tracks",
    "values",
}

__all__ = [
    "ArgumentError",
    "BloomDomain",
    "Circle",
    "Coordinates",
    "EncodingNameError",
    "GeographicRange",
    "InvalidLocationError",
    "LocatedQuery",
    "LocatedReply",
    "LocatedSample",
    "LocationKey",
    "LocationKeyError",
    "LocationSession",
    "MgrsCell",
    "MobilitySubscriber",
    "NodeError",
    "OutsideDomainError",
    "Polygon",
    "PositionError",
    "Precision",
    "ProtocolError",
    "PullSubscriber",
    "Role",
    "Router",
    "Shape",
    "StorageError",
    "TrackError",
    "UnknownEncodingError",
    "ZenohLaError",
    "encoders",
    "ext",
    "location_match",
    "open",
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
