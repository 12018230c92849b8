"""`zenoh.ext` for location-aware sessions.

Zenoh's own functions take nothing but a `zenoh.Session`; these take a `LocationSession` as well.
Advanced publishers and subscribers are plain Zenoh: they know no places. All other names are
`zenoh.ext`'s.
"""

from __future__ import annotations

from typing import Any

import zenoh.ext
from zenoh.ext import (
    AdvancedPublisher,
    AdvancedSubscriber,
    CacheConfig,
    Float32,
    Float64,
    HistoryConfig,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Miss,
    MissDetectionConfig,
    RecoveryConfig,
    RepliesConfig,
    SampleMissListener,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    ZDeserializeError,
    z_deserialize,
    z_serialize,
)

from zenoh_la.session import LocationSession

__all__ = [
    "AdvancedPublisher",
    "AdvancedSubscriber",
    "CacheConfig",
    "Float32",
    "Float64",
    "HistoryConfig",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Miss",
    "MissDetectionConfig",
    "RecoveryConfig",
    "RepliesConfig",
    "SampleMissListener",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt128",
    "ZDeserializeError",
    "declare_advanced_publisher",
    "declare_advanced_subscriber",
    "z_deserialize",
    "z_serialize",
]


def declare_advanced_publisher(
    session: LocationSession | zenoh.Session,
    key_expr: Any,
    *,
    encoding: Any = None,
    congestion_control: zenoh.CongestionControl | None = None,
    priority: zenoh.Priority | None = None,
    express: bool | None = None,
    reliability: zenoh.Reliability | None = None,
    allowed_destination: zenoh.Locality | None = None,
    cache: CacheConfig | None = None,
    sample_miss_detection: MissDetectionConfig | None = None,
    publisher_detection: bool | None = None,
) -> AdvancedPublisher:
    """`zenoh.ext.declare_advanced_publisher` on either kind of session."""
    return zenoh.ext.declare_advanced_publisher(
        _native(session),
        key_expr,
        encoding=encoding,
        congestion_control=congestion_control,
        priority=priority,
        express=express,
        reliability=reliability,
        allowed_destination=allowed_destination,
        cache=cache,
        sample_miss_detection=sample_miss_detection,
        publisher_detection=publisher_detection,
    )


def declare_advanced_subscriber(
    session: LocationSession | zenoh.Session,
    key_expr: Any,
    handler: Any = None,
    *,
    allowed_origin: zenoh.Locality | None = None,
    history: HistoryConfig | None = None,
    recovery: RecoveryConfig | None = None,
    subscriber_detection: bool | None = None,
) -> AdvancedSubscriber[Any]:
    """`zenoh.ext.declare_advanced_subscriber` on either kind of session."""
    declared: AdvancedSubscriber[Any] = zenoh.ext.declare_advanced_subscriber(
        _native(session),
        key_expr,
        handler,
        allowed_origin=allowed_origin,
        history=history,
        recovery=recovery,
        subscriber_detection=subscriber_detection,
    )
    return declared


def _native(session: LocationSession | zenoh.Session) -> zenoh.Session:
    return session._zsession if isinstance(session, LocationSession) else session
