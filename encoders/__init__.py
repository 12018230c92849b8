"""How a place becomes a location key, and back: one module per encoding.

`get(name)` gives an encoder; `decode(key)` reads a key of any encoding. A third party adds
its own with `register`, or as an entry point in the group ``zenoh_la.encoders``.
"""

from zenoh_la.encoders.bloom_domain import BloomDomain
from zenoh_la.encoders.interface import Encoder, Location, Place, Precision
from zenoh_la.encoders.registry import decode, get, names, register, unregister

__all__ = [
    "BloomDomain",
    "Encoder",
    "Location",
    "Place",
    "Precision",
    "decode",
    "get",
    "names",
    "register",
    "unregister",
]
