"""Two zones, and recorders in the cloud that belong to one of them or to both.

In each zone a station measures the temperature inside and outside. The recorders are somewhere
else altogether: where they listen is configured, not measured, and so never expires.
"""

from __future__ import annotations

import math
from typing import Any

from little_network import LittleNetwork

from zenoh_la import Coordinates, GeographicRange, LocationSession, Shape

ZONE_1 = Coordinates(48.30, 14.28)
ZONE_2 = Coordinates(48.30, 14.32)
BOTH_ZONES = GeographicRange(min_lat=48.29, min_long=14.27, max_lat=48.31, max_long=14.33)


def open_at(network: LittleNetwork, place: Coordinates) -> LocationSession:
    session = network.open()
    session.declare_position_handler(math.inf, lambda: place)
    return session


def shown(sample: Any) -> str:
    zone = "zone 1" if sample.location == ZONE_1 else "zone 2"
    return f"{sample.key_expr} {sample.payload.to_string()} from {zone}"


def main() -> None:
    with LittleNetwork() as network:
        # A recorder for both zones: the area is said outright.
        recorder_a = network.open()
        outside = recorder_a.declare_subscriber("outside/temp/c", location_shape=BOTH_ZONES)

        # A recorder for zone 2 only: it has a virtual position there and listens around itself.
        recorder_b = open_at(network, ZONE_2)
        inside = recorder_b.declare_subscriber(
            "inside/temp/c", location_shape=Shape.CIRCLE, shape_data={"r": 500}
        )

        # The stations name what they measure. Where they are goes with it by itself.
        for zone, temperature in ((ZONE_1, 21), (ZONE_2, 23)):
            station = open_at(network, zone)
            station.put("inside/temp/c", str(temperature))
            station.put("outside/temp/c", str(temperature - 15))
            print("recorder A, both zones: ", shown(outside.recv()))

        # What zone 1 measured inside would have come first: it went nowhere.
        print("recorder B, zone 2 only:", shown(inside.recv()))


if __name__ == "__main__":
    main()
