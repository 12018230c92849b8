"""`zenoh.ext` for location-aware sessions.

Zenoh's own functions take nothing but a `zenoh.Session`; these take a `LocationSession` as well.
Advanced publishers and subscribers are plain Zenoh: they know no places. All other names are
`zenoh.ext`'s.
"""

from __future__ import annotations

from typing import Any

import zenoh.ext

from zenoh_la.session import LocationSession

__all__ = ["declare_advanced_publisher", "declare_advanced_subscriber"]


def declare_advanced_publisher(session: Any, *args: Any, **options: Any) -> Any:
    """`zenoh.ext.declare_advanced_publisher` on either kind of session."""
    return zenoh.ext.declare_advanced_publisher(_native(session), *args, **options)


def declare_advanced_subscriber(session: Any, *args: Any, **options: Any) -> Any:
    """`zenoh.ext.declare_advanced_subscriber` on either kind of session."""
    return zenoh.ext.declare_advanced_subscriber(_native(session), *args, **options)


def _native(session: Any) -> Any:
    return session._zsession if isinstance(session, LocationSession) else session


def __getattr__(name: str) -> Any:
    return getattr(zenoh.ext, name)
