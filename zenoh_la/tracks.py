"""Positions over time, read from GPX and CSV files: for publishers and subscribers that move."""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from io import StringIO
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any

import gpxpy
from gpxpy.gpx import GPXException

from zenoh_la.errors import InvalidLocationError, TrackError
from zenoh_la.values import Coordinates
from zenoh_la.values.checks import finite

__all__ = ["Track"]

_LAT = ("lat", "latitude")
_LONG = ("long", "lon", "lng", "longitude")
_TIME = ("t", "time", "timestamp", "datetime")
_LARGEST_NUMBER = Decimal(10) ** 15


@dataclass(frozen=True, slots=True)
class Track:
    """Where something was, and when.

    >>> track = Track((0, 10), (Coordinates(48, 179.9), Coordinates(48, -179.9)))
    >>> track.at(5), track.duration_s
    (Coordinates(lat=48.0, long=180.0), 10.0)

    Attributes:
        times_s: seconds since the first position; they start at 0 and never decrease.
        positions: one for each time.
    """

    times_s: tuple[float, ...]
    positions: tuple[Coordinates, ...]

    def __post_init__(self) -> None:
        positions = _listed("positions", self.positions)
        for i, position in enumerate(positions):
            if not isinstance(position, Coordinates):
                raise InvalidLocationError(f"positions[{i}]", position, "must be Coordinates")
        listed = enumerate(_listed("times_s", self.times_s))
        times_s = tuple(finite(f"times_s[{i}]", time_s) for i, time_s in listed)
        if not times_s or len(times_s) != len(positions):
            problem = f"one for each of at least one position is needed, there are {len(positions)}"
            raise InvalidLocationError("times_s", f"{len(times_s)} times", problem)
        if times_s[0] != 0.0:
            raise InvalidLocationError("times_s[0]", times_s[0], "must be 0")
        for i, (before, after) in enumerate(pairwise(times_s), 1):
            if after < before:
                raise InvalidLocationError(f"times_s[{i}]", after, f"is before {before}")
        object.__setattr__(self, "times_s", times_s)
        object.__setattr__(self, "positions", positions)

    @property
    def duration_s(self) -> float:
        """Seconds from the first position to the last."""
        return self.times_s[-1]

    def at(self, seconds: float) -> Coordinates:
        """The position so long after the start; the first before it, the last after the end.

        Between two positions latitude and longitude change evenly, longitude the shorter way
        round. Of several positions with the same time the last one counts.
        """
        if isnan(seconds):
            raise InvalidLocationError("seconds", seconds, "must be a number")
        after = bisect_right(self.times_s, seconds)
        if after == 0:
            return self.positions[0]
        before = after - 1
        if after == len(self.times_s) or seconds == self.times_s[before]:
            return self.positions[before]
        share = (seconds - self.times_s[before]) / (self.times_s[after] - self.times_s[before])
        return _between(self.positions[before], self.positions[after], share)

    @classmethod
    def from_file(cls, path: str | Path, only: Mapping[str, str] | None = None) -> Track:
        """Reads a ``.gpx`` or ``.csv`` file.

        GPX: the points of all tracks; if there are none, of all routes; else the waypoints.

        CSV: with a header, separated by commas or semicolons (then decimals may have a comma).
        Columns ``lat`` or ``latitude``; ``long``, ``lon``, ``lng`` or ``longitude``; and
        perhaps ``t``, ``time``, ``timestamp`` or ``datetime``, in seconds or as ISO 8601. Of
        several that fit, the first named here counts; all others are ignored.

        Without any times positions are one second apart.

        Args:
            path: the file.
            only: of a CSV file that holds several tracks, which rows to take: the texts that
                these columns must have, e.g. ``{"trip": "17"}``.

        Raises:
            TrackError: the file holds no track; the message says where and why.
            OSError: the file cannot be read at all.
        """
        suffix = Path(path).suffix.lower()
        if suffix == ".csv":
            return _track(path, _csv_points(path, _text(path), only or {}))
        if suffix != ".gpx":
            raise TrackError(path, "suffix", f"{suffix!r} is neither .gpx nor .csv")
        if only:
            raise TrackError(path, f"column {next(iter(only))}", "only CSV files have columns")
        return _track(path, _gpx_points(path, _text(path)))


def _listed(field: str, values: Any) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError as exc:
        raise InvalidLocationError(field, values, "must be a sequence") from exc


def _between(a: Coordinates, b: Coordinates, share: float) -> Coordinates:
    # At a pole a longitude means nothing: go there, or come from there, along one meridian.
    start = b.long if abs(a.lat) == 90.0 else a.long
    end = start if abs(b.lat) == 90.0 else b.long
    turn = end - start
    if abs(turn) > 180.0:
        turn -= 360.0 if turn > 0.0 else -360.0
    long = start + share * turn
    if abs(long) > 180.0:
        long -= 360.0 if long > 0.0 else -360.0
    lat = a.lat + share * (b.lat - a.lat)
    return Coordinates(max(-90.0, min(90.0, lat)), long)  # rounding may pass a pole


Time = datetime | Decimal
_Point = tuple[str, Any, Any, Time | None]
"""Where in the file, latitude, longitude, and when."""


def _track(path: str | Path, points: Iterable[_Point]) -> Track:
    """The track that the points of a file make, each of them checked."""
    times_s: list[float] = []
    positions: list[Coordinates] = []
    first: Time | None = None
    for where, lat, long, time in points:
        if not times_s:
            first = time
        elif (time is None) != (first is None):
            raise TrackError(path, where, "some points have a time and some have none")
        time_s = float(len(times_s)) if time is None else _elapsed_s(path, where, first, time)
        if times_s and time_s < times_s[-1]:
            problem = f"time runs backwards, by {times_s[-1] - time_s:g} s (several tracks in one?)"
            raise TrackError(path, where, problem)
        try:
            positions.append(Coordinates(lat, long))
        except InvalidLocationError as exc:
            raise TrackError(path, where, str(exc)) from exc
        times_s.append(time_s)
    if not positions:
        raise TrackError(path, "whole file", "has no points")
    return Track(tuple(times_s), tuple(positions))


def _elapsed_s(path: str | Path, where: str, first: Any, time: Any) -> float:
    try:
        elapsed = time - first
    except TypeError as exc:
        problem = "seconds, dates with and dates without a time zone do not go together"
        raise TrackError(path, where, problem) from exc
    return elapsed.total_seconds() if isinstance(elapsed, timedelta) else float(elapsed)


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as exc:
        raise TrackError(path, f"byte {exc.start}", f"is not UTF-8: {exc.reason}") from exc


def _gpx_points(path: str | Path, text: str) -> Iterator[_Point]:
    try:
        gpx = gpxpy.parse(text)
    except (GPXException, ValueError) as exc:
        raise TrackError(path, "GPX", str(exc)) from exc
    points: list[Any] = [p for t in gpx.tracks for segment in t.segments for p in segment.points]
    points = points or [point for route in gpx.routes for point in route.points]
    for i, point in enumerate(points or gpx.waypoints, 1):
        yield f"point {i}", point.latitude, point.longitude, point.time


def _csv_points(path: str | Path, text: str, only: Mapping[str, str]) -> Iterator[_Point]:
    header, _, _ = text.partition("\n")
    delimiter = ";" if header.count(";") > header.count(",") else ","
    rows = csv.reader(StringIO(text), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().lower() for name in next(rows, [])]
        lat, long = _column(path, names, _LAT), _column(path, names, _LONG)
        time = _column(path, names, _TIME) if set(_TIME) & set(names) else None
        wanted = {_column(path, names, (name.lower(),)): value for name, value in only.items()}
        found = False
        for row in rows:
            if not any(map(str.strip, row)):
                continue
            where = f"line {rows.line_num}"
            if len(row) < len(names):
                problem = f"has {len(row)} columns, the header has {len(names)}"
                raise TrackError(path, where, problem)
            if all(row[column].strip() == value for column, value in wanted.items()):
                found = True
                yield (
                    where,
                    _number(path, f"{where}, column {names[lat]}", row[lat], delimiter),
                    _number(path, f"{where}, column {names[long]}", row[long], delimiter),
                    None
                    if time is None
                    else _time(path, f"{where}, column {names[time]}", row[time], delimiter),
                )
        if only and not found:
            raise TrackError(path, f"column {' and '.join(only)}", f"no row has {dict(only)}")
    except csv.Error as exc:
        raise TrackError(path, f"line {rows.line_num}", str(exc)) from exc


def _column(path: str | Path, names: Sequence[str], spellings: Sequence[str]) -> int:
    for spelling in spellings:
        if names.count(spelling) > 1:
            raise TrackError(path, f"column {spelling}", "occurs twice")
        if spelling in names:
            return names.index(spelling)
    problem = f"is missing; there are: {', '.join(names)[:200]}"
    raise TrackError(path, f"column {' or '.join(spellings)}", problem)


def _decimal(text: str, delimiter: str) -> Decimal | None:
    """The number that a cell holds, exactly: differences of Unix times would lose digits."""
    try:
        number = Decimal(text.replace(",", ".") if delimiter == ";" else text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < _LARGEST_NUMBER else None


def _number(path: str | Path, where: str, text: str, delimiter: str) -> float:
    number = _decimal(text, delimiter)
    if number is None:
        raise TrackError(path, where, f"{text[:40]!r} is no number")
    return float(number)


def _time(path: str | Path, where: str, text: str, delimiter: str) -> Time:
    number = _decimal(text, delimiter)
    if number is not None:
        return number
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as exc:
        problem = f"{text[:40]!r} is neither a number of seconds nor ISO 8601"
        raise TrackError(path, where, problem) from exc
