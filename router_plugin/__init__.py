"""What a location-aware router does with location keys."""

from zenoh_la.router_plugin.explain import Verdict, explain_match
from zenoh_la.router_plugin.match import location_match

__all__ = ["Verdict", "explain_match", "location_match"]
