"""Drivers are warned of accidents within two kilometres of where they are.

Nobody draws zones in advance: each driver's area of interest goes with the car, and whoever reports
an accident does so from where it happened.
"""

from __future__ import annotations

from queue import SimpleQueue

from little_network import LittleNetwork

from zenoh_la import Coordinates, LocatedSample, Shape

TOPIC = "road/notification/accidents"
GPS_LIFETIME_S = 1.0

DRIVERS = {
    "Anna": Coordinates(48.2550, 14.2900),
    "Ben": Coordinates(48.2700, 14.3000),
    "Carla": Coordinates(48.3900, 14.5100),
}
ACCIDENTS = {
    "a lorry lost its load": Coordinates(48.2620, 14.2950),
    "two cars collided": Coordinates(48.2450, 14.2850),
    "a tree on the road": Coordinates(48.3980, 14.5000),
    "a stranded van": Coordinates(47.8000, 13.0500),
}


class Driver:
    """Listens within two kilometres of the car, wherever that is."""

    def __init__(self, network: LittleNetwork, name: str, warned: SimpleQueue[str]) -> None:
        self._name = name
        self._warned = warned
        self._session = network.open()
        self._session.declare_position_handler(GPS_LIFETIME_S, self._gps)
        self._session.declare_subscriber(
            TOPIC, self._warn, location_shape=Shape.CIRCLE, shape_data={"r": 2, "unit": "km"}
        )

    def _gps(self) -> Coordinates:
        return DRIVERS[self._name]

    def _warn(self, sample: LocatedSample) -> None:
        assert sample.location is not None
        away_km = self._gps().distance_m(sample.location) / 1000
        self._warned.put(f"{self._name}: {sample.payload.to_string()}, {away_km:.1f} km away")


def main() -> None:
    warned: SimpleQueue[str] = SimpleQueue()
    with LittleNetwork() as network:
        for name in DRIVERS:
            Driver(network, name, warned)

        patrol = network.open()
        patrol.declare_position_handler(0, lambda: ACCIDENTS[accident])  # is asked at every put
        for accident in ACCIDENTS:
            patrol.put(TOPIC, accident)

        for warning in sorted(warned.get(timeout=5) for _ in range(4)):
            print(warning)
    assert warned.empty(), "somebody was warned of an accident far away"


if __name__ == "__main__":
    main()
