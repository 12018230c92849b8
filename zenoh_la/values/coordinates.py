"""A position."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zenoh_la.values import geodesy
from zenoh_la.values.checks import latitude, longitude


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A position in degrees on the WGS84 ellipsoid.

    >>> Coordinates(46.52275, 14.01002)
    Coordinates(lat=46.52275, long=14.01002)
    >>> Coordinates(91, 0)
    Traceback (most recent call last):
    zenoh_la.errors.InvalidLocationError: lat = 91.0: must be between -90 and 90
    """

    lat: float
    long: float
    _cartesian: tuple[float, float, float] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "lat", latitude("lat", self.lat))
        object.__setattr__(self, "long", longitude("long", self.long))

    @classmethod
    def from_mgrs(cls, mgrs: str) -> Coordinates:
        """The centre of an MGRS cell of any precision.

        >>> Coordinates.from_mgrs("33TVM2406852607")
        Coordinates(lat=46.5227..., long=14.0100...)
        """
        from zenoh_la.values.mgrs_cell import MgrsCell

        return MgrsCell.parse(mgrs).centre

    @property
    def cartesian(self) -> tuple[float, float, float]:
        """Earth-centred coordinates in metres, computed once."""
        xyz = self._cartesian
        if xyz is None:
            xyz = geodesy.cartesian(self.lat, self.long)
            object.__setattr__(self, "_cartesian", xyz)
        return xyz

    def distance_m(self, other: Coordinates) -> float:
        """Geodesic distance in metres.

        >>> round(Coordinates(46.52275, 14.01002).distance_m(Coordinates(48, 14)))
        164236
        """
        return geodesy.distance_m(self.lat, self.long, other.lat, other.long)

    def to_dict(self) -> dict[str, Any]:
        """``{"lat": …, "long": …}``, as in a location key."""
        return {"lat": self.lat, "long": self.long}
