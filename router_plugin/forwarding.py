"""Putting a message again as it came."""

from __future__ import annotations

import zenoh

_PUT = zenoh.SampleKind.PUT


def forward(
    session: zenoh.Session,
    key: zenoh.KeyExpr | str,
    sample: zenoh.Sample,
    attachment: bytes | zenoh.ZBytes,
    destination: zenoh.Locality | None = None,
) -> None:
    """Puts a message again, with all that it came with."""
    if sample.kind == _PUT:
        session.put(
            key,
            sample.payload,
            encoding=sample.encoding,
            congestion_control=sample.congestion_control,
            priority=sample.priority,
            express=sample.express,
            attachment=attachment,
            timestamp=sample.timestamp,
            allowed_destination=destination,
            source_info=sample.source_info,
        )
    else:
        session.delete(
            key,
            congestion_control=sample.congestion_control,
            priority=sample.priority,
            express=sample.express,
            attachment=attachment,
            timestamp=sample.timestamp,
            allowed_destination=destination,
            source_info=sample.source_info,
        )
