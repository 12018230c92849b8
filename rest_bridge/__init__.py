"""HTTP for a location-aware session: Zenoh's REST surface, locations, event streams and pages."""

from __future__ import annotations

__all__: list[str] = []
