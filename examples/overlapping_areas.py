"""Two areas that overlap: a rectangle, and a circle about the one who listens.

A publisher walks through both of them. It names its topic and knows nothing of areas; who hears it
depends on where it is at that moment.
"""

from __future__ import annotations

import math
from typing import Any

from little_network import LittleNetwork

from zenoh_la import Coordinates, Shape

RECTANGLE = {"min_lat": 46.60, "min_long": 14.20, "max_lat": 46.65, "max_long": 14.30}
CENTRE = Coordinates(46.62, 14.32)
RADIUS_KM = 4

WALK = {
    "in both": Coordinates(46.62, 14.29),
    "in the rectangle only": Coordinates(46.62, 14.22),
    "in neither": Coordinates(46.70, 14.29),
    "in the circle only": Coordinates(46.62, 14.33),
    "in both again": Coordinates(46.63, 14.29),
}


def main() -> None:
    with LittleNetwork() as network:
        city = network.open()
        rectangle = city.declare_subscriber(
            "noise/db", location_shape=Shape.GEOGRAPHIC_RANGE, shape_data=RECTANGLE
        )
        house = network.open()
        house.declare_position_handler(math.inf, lambda: CENTRE)
        circle = house.declare_subscriber(  # no centre: about its own position
            "noise/db", location_shape=Shape.CIRCLE, shape_data={"r": RADIUS_KM, "unit": "km"}
        )

        walker = network.open()
        walker.declare_position_handler(0, lambda: WALK[place])  # is asked at every put
        for place in WALK:
            walker.put("noise/db", place)

        print("the rectangle hears:", until_the_end(rectangle))
        print("the circle hears:   ", until_the_end(circle))


def until_the_end(subscriber: Any) -> str:
    heard = []
    for sample in subscriber:
        heard.append(sample.payload.to_string())
        if heard[-1] == list(WALK)[-1]:
            break
    return ", ".join(heard)


if __name__ == "__main__":
    main()
