"""Native Zenoh and located code side by side, on the same topic.

The native half knows nothing of places and is not changed for them: it hears what is published
everywhere, and what it publishes has no place.
"""

from __future__ import annotations

import math
from typing import Any

from little_network import LittleNetwork

from zenoh_la import Circle, Coordinates

TOPIC = "weather/rain"
LINZ = Coordinates(48.30, 14.29)
GRAZ = Coordinates(47.07, 15.44)


def main() -> None:
    with LittleNetwork() as network:
        native = network.open_native()  # zenoh.open
        linz, graz, recorder = (network.open() for _ in range(3))  # zenoh_la.open
        linz.declare_position_handler(math.inf, lambda: LINZ)
        graz.declare_position_handler(math.inf, lambda: GRAZ)
        publisher = linz.declare_publisher(TOPIC)

        hears_all = native.declare_subscriber(TOPIC)
        publisher.declare_matching_listener().recv()  # native declarations take a moment

        # An area hears what arises there; with include_unlocated also what has no place.
        around_linz = Circle(LINZ, 20_000)
        everywhere = recorder.declare_subscriber(TOPIC)
        near = recorder.declare_subscriber(TOPIC, location_shape=around_linz)
        near_or_nowhere = recorder.declare_subscriber(
            TOPIC, location_shape=around_linz, include_unlocated=True
        )

        graz.put(TOPIC, "rain in Graz")
        show("native", hears_all)
        show("everywhere", everywhere)

        native.put(TOPIC, "rain somewhere")
        show("native", hears_all)
        show("everywhere", everywhere)
        show("around Linz or nowhere", near_or_nowhere)

        publisher.put("rain in Linz")
        show("native", hears_all)
        show("everywhere", everywhere)
        show("around Linz or nowhere", near_or_nowhere)
        show("around Linz", near)  # the first that it hears


def show(who: str, subscriber: Any) -> None:
    sample = subscriber.recv()
    place = getattr(sample, "location", None)  # native samples have none
    where = "" if place is None else f", from {place.lat}, {place.long}"
    print(f"{who} hears: {sample.payload.to_string()}{where}")


if __name__ == "__main__":
    main()
