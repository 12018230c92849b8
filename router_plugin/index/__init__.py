"""Who is interested in a topic at a place: exact, and fast among many interests."""

from zenoh_la.router_plugin.index.interests import InterestIndex

__all__ = ["InterestIndex"]
