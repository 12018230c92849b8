"""A drone listens to the sensors within 300 m of itself, while it flies.

Its area of interest goes with it; the routes follow, nothing is declared anew. A sensor is told
when somebody comes within reach, and that nobody is any more, so it need not talk to the wind.
"""

from __future__ import annotations

import math
from queue import SimpleQueue
from typing import Any

from little_network import LittleNetwork

from zenoh_la import Coordinates, Shape

TOPIC = "soil/moisture"
SENSORS = {  # about 380 m from one to the next
    "barn": Coordinates(46.6000, 14.2000),
    "brook": Coordinates(46.6000, 14.2050),
    "hill": Coordinates(46.6000, 14.2100),
}
START, *FLIGHT = (
    Coordinates(46.6005, long)
    for long in (14.1900, 14.2000, 14.2020, 14.2050, 14.2080, 14.2100, 14.2200)
)


class Drone:
    """Knows where it is, and asks itself every 20 ms."""

    def __init__(self, network: LittleNetwork) -> None:
        self.position = START
        session = network.open()
        session.declare_position_handler(0.02, lambda: self.position)
        self.hears = session.declare_subscriber(
            TOPIC, location_shape=Shape.CIRCLE, shape_data={"r": 300}
        )


class Sensor:
    """Stays where it is, and learns whether anybody would hear it."""

    def __init__(self, network: LittleNetwork, name: str, told: SimpleQueue[str]) -> None:
        session = network.open()
        session.declare_position_handler(math.inf, lambda: SENSORS[name])
        self._name = name
        self._told = told
        self._publisher = session.declare_publisher(TOPIC)
        self._publisher.declare_matching_listener(self._on_change)

    def _on_change(self, status: Any) -> None:
        verb = "comes within" if status.matching else "is out of"
        self._told.put(f"{self._name} {verb} reach")

    def put(self) -> None:
        self._publisher.put(self._name)


def main() -> None:
    told: SimpleQueue[str] = SimpleQueue()
    with LittleNetwork() as network:
        drone = Drone(network)
        sensors = [Sensor(network, name, told) for name in SENSORS]
        within_reach = 0
        for place in FLIGHT:
            drone.position = place
            news = told.get(timeout=5)
            within_reach += 1 if "within" in news else -1
            for sensor in sensors:
                sensor.put()
            names = sorted(drone.hears.recv().payload.to_string() for _ in range(within_reach))
            print(f"{news}; the drone hears {' and '.join(names) or 'nobody'}")


if __name__ == "__main__":
    main()
