"""Where a command is and what it wants: from options to the arguments of a session's methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer

from zenoh_la.cli import network, options
from zenoh_la.cli.network import Encoding
from zenoh_la.encoders import BloomDomain, Precision
from zenoh_la.errors import InvalidLocationError, TrackError
from zenoh_la.keys import Role
from zenoh_la.session import LocationSession
from zenoh_la.tracks import Track
from zenoh_la.values import Area, Circle, Coordinates, Shape, area_from

AroundOption = Annotated[
    str | None,
    typer.Option(
        "--around",
        metavar="R",
        help="A circle round the own position; in metres, or as 2km or 0.5deg.",
    ),
]
TrackOption = Annotated[
    Path | None,
    typer.Option(
        "--track",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Moves along a track: a .gpx or .csv file.",
    ),
]
SpeedOption = Annotated[
    float, typer.Option("--speed", help="With --track: how much faster than it was recorded.")
]


class Journey:
    """A track that is travelled now. The clock starts when the position is first asked for."""

    def __init__(self, track: Track, speed: float) -> None:
        if not 0 < speed < inf:
            raise typer.BadParameter(f"--speed must be more than 0, not {speed:g}")
        self.track = track
        self.speed = speed
        self._started_at: float | None = None

    def after(self, seconds: float) -> Coordinates:
        """Where it has come to after so many seconds of our time."""
        return self.track.at(seconds * self.speed)

    def position(self) -> Coordinates:
        """Where it is now."""
        return self.after(self.elapsed_s())

    def elapsed_s(self) -> float:
        if self._started_at is None:
            self._started_at = monotonic()
        return monotonic() - self._started_at

    def left_s(self) -> float:
        """Until its end, in our time."""
        return max(self.track.duration_s / self.speed - self.elapsed_s(), 0.0)

    def is_over_after(self, seconds: float) -> bool:
        return seconds * self.speed >= self.track.duration_s


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a command itself is: at a place, on a journey, or nowhere."""

    at: Coordinates | None
    journey: Journey | None

    @classmethod
    def of(cls, at: str | None, track: Path | None, speed: float = 1.0) -> Standing:
        if at is not None and track is not None:
            raise typer.BadParameter("--at and --track cannot go together")
        if track is None and speed != 1.0:
            raise typer.BadParameter("--speed goes with --track")
        position = None if at is None else options.position(at)
        if track is None:
            return cls(position, None)
        try:
            return cls(None, Journey(Track.from_file(track), speed))
        except TrackError as exc:
            raise typer.BadParameter(f"--track: {exc}") from exc

    @property
    def is_somewhere(self) -> bool:
        return self.at is not None or self.journey is not None

    @property
    def positions(self) -> tuple[Coordinates, ...]:
        """All positions that were given."""
        if self.journey is not None:
            return self.journey.track.positions
        return () if self.at is None else (self.at,)

    @property
    def option(self) -> str:
        return "--at" if self.journey is None else "--track"

    def check_positions(self, encoding: Encoding, domain: BloomDomain | None) -> Precision:
        """The precision of messages from here; all positions must lie in a Bloom domain."""
        precision = network.precision(encoding, domain)
        encoder = options.encoder(encoding.value, domain)
        for position in self.positions:
            _named(self.option, partial(encoder.encode_position, position))
        return precision

    def declare(self, session: LocationSession, lifetime_s: float) -> None:
        """Tells a session where it is; on a journey a position holds for so long."""
        if self.journey is not None:
            session.declare_position_handler(lifetime_s, self.journey.position)
        elif self.at is not None:
            session.declare_position_handler(inf, lambda: self.at)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The area of a command, as a session's methods take it."""

    shape: Shape | Area
    data: dict[str, Any] | None
    precision: Precision

    def arguments(self) -> dict[str, Any]:
        return {
            "location_shape": self.shape,
            "shape_data": self.data,
            "precision": self.precision,
        }


@dataclass(frozen=True, slots=True)
class AreaOptions:
    """What the area options of a command say; at most one of them."""

    circle: str | None
    range_: str | None
    wkt: str | None
    cell: str | None
    around: str | None = None

    @property
    def option(self) -> str | None:
        """The one that was given."""
        given = {"--circle": self.circle, "--range": self.range_, "--wkt": self.wkt,
                 "--cell": self.cell, "--around": self.around}  # fmt: skip
        return next((name for name, value in given.items() if value is not None), None)

    def wanted(
        self, standing: Standing, encoding: Encoding, domain: BloomDomain | None, role: Role
    ) -> Wanted:
        """The area, tried out in its encoding; `Shape.NONE` if none was given."""
        precision = network.precision(encoding, domain)
        area: Area | None = options.area(self.circle, self.range_, self.wkt, self.cell)
        data = None
        if self.around is not None:
            if area is not None:
                raise typer.BadParameter(f"--around and {self.option} cannot go together")
            data, area = self._around(self.around, standing)
        if area is None:
            if encoding is not Encoding.BASE64_JSON:
                problem = f"--encoding {encoding.value} needs an area: --circle, --range, …"
                raise typer.BadParameter(problem)
            return Wanted(Shape.NONE, None, Precision.POINT)
        encoder = options.encoder(encoding.value, domain)
        _named(self.option or "", partial(encoder.encode_area, area, role))
        return Wanted(area if data is None else Shape.CIRCLE, data, precision)

    def _around(self, text: str, standing: Standing) -> tuple[dict[str, Any], Circle]:
        data = options.radius("--around", text)
        if not standing.is_somewhere:
            raise typer.BadParameter("--around needs --at LAT,LONG or --track FILE")
        start = standing.positions[0]
        area = _named("--around", partial(area_from, Shape.CIRCLE, data, start))
        assert isinstance(area, Circle)
        return data, area


def _named(option: str, step: Callable[[], Any]) -> Any:
    """Does something; what is wrong with a place is said of the option that it came from."""
    try:
        return step()
    except InvalidLocationError as exc:
        raise typer.BadParameter(f"{option}: {exc}") from exc
