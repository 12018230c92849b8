"""`zla sub`: what arises in an area, also in one that moves."""

from __future__ import annotations

import threading
from math import inf
from time import monotonic
from typing import Annotated

import typer

from zenoh_la.cli import network, options, shown
from zenoh_la.cli.network import (
    ConfigOption,
    ConnectOption,
    Encoding,
    EncodingOption,
    ListenOption,
    ModeOption,
    network_errors,
    opened,
    until_stopped,
)
from zenoh_la.cli.shown import Output, Sample
from zenoh_la.cli.where import AreaOptions, AroundOption, SpeedOption, Standing, TrackOption
from zenoh_la.keys import Role
from zenoh_la.session import MobilitySubscriber
from zenoh_la.values import Coordinates, Shape

_LOOK_S = 0.05


class _Printer:
    """Prints samples as they come, up to a number of them."""

    def __init__(
        self, output: Output, as_json: bool, count: int | None, stopped: threading.Event
    ) -> None:
        self._output = output
        self._as_json = as_json
        self._count = count
        self._stopped = stopped
        self._lock = threading.Lock()
        self.printed = 0

    def __call__(self, sample: Sample) -> None:
        with self._lock:
            if self.printed == self._count:
                return
            show = shown.sample_json if self._as_json else shown.sample_line
            self._output.line(show(sample))
            self.printed += 1
            if self.printed == self._count:
                self._stopped.set()


class _Moves:
    """Says when a moving subscriber is somewhere else."""

    def __init__(self, output: Output, subscriber: object, as_json: bool) -> None:
        self._output = output
        self._subscriber = None
        if isinstance(subscriber, MobilitySubscriber) and not as_json:
            self._subscriber = subscriber
        self._last: Coordinates | None = None

    @property
    def may_come(self) -> bool:
        return self._subscriber is not None

    def look(self) -> None:
        position = None if self._subscriber is None else self._subscriber.position
        if position is not None and position != self._last:
            self._output.line(f"(now at {shown.coordinates(position)})")
            self._last = position


def sub(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What it is about.")],
    circle: options.CircleOption = None,
    range_: options.RangeOption = None,
    wkt: options.WktOption = None,
    cell: options.CellOption = None,
    around: AroundOption = None,
    at: options.At = None,
    track: TrackOption = None,
    speed: SpeedOption = 1.0,
    lifetime: Annotated[
        float,
        typer.Option(
            "--lifetime",
            min=0.0,
            help="With --track: for how many seconds a position "
            "holds before the subscriber moves on.",
        ),
    ] = 0.5,
    stay: Annotated[bool, typer.Option("--stay", help="Goes on at the end of the track.")] = False,
    include_unlocated: Annotated[
        bool, typer.Option("--include-unlocated", help="With an area: plain messages as well.")
    ] = False,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Stops after so many samples.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", min=0.0, help="Stops after so many seconds; exit code 1 if nothing came."
        ),
    ] = None,
    encoding: EncodingOption = Encoding.BASE64_JSON,
    bloom_domain: options.DomainOption = None,
    as_json: options.JsonOption = False,
    connect: ConnectOption = None,
    listen: ListenOption = None,
    mode: ModeOption = None,
    config: ConfigOption = None,
) -> None:
    """Prints what is published on a topic, in an area if one is given.

    With --around and --track the area moves, until the end of the track.
    """
    network.topic(topic)
    standing = Standing.of(at, track, speed)
    if standing.is_somewhere and around is None:
        raise typer.BadParameter(f"{standing.option} goes with --around R")
    if stay and track is None:
        raise typer.BadParameter("--stay goes with --track")
    domain = options.domain(bloom_domain)
    area = AreaOptions(circle, range_, wkt, cell, around)
    wanted = area.wanted(standing, encoding, domain, Role.SUBSCRIBER)
    if include_unlocated and wanted.shape is Shape.NONE:
        raise typer.BadParameter("--include-unlocated goes with an area: --circle, --range, …")
    with until_stopped() as stopped, opened(connect, listen, mode, config, domain) as session:
        output = Output(stopped)
        printer = _Printer(output, as_json, count, stopped)
        standing.declare(session, lifetime)
        with network_errors("not subscribed"):
            subscriber = session.declare_subscriber(
                topic, printer, include_unlocated=include_unlocated, **wanted.arguments()
            )
        output.note(f"subscribed to {topic}; Ctrl-C stops it")
        moves = _Moves(output, subscriber, as_json)
        end_s = inf if stay or standing.journey is None else standing.journey.left_s() + lifetime
        timed_out = _follow(output, moves, end_s, inf if timeout is None else timeout)
    if timed_out and not printer.printed:
        raise typer.Exit(1)


def _follow(output: Output, moves: _Moves, journey_s: float, timeout_s: float) -> bool:
    """Waits until it is stopped or the journey is over; returns whether the time was up."""
    start_s = monotonic()
    while True:
        moves.look()
        elapsed_s = monotonic() - start_s
        if elapsed_s >= min(timeout_s, journey_s):
            return elapsed_s >= timeout_s
        left_s = min(timeout_s, journey_s) - elapsed_s
        if output.wait(min(left_s, _LOOK_S if moves.may_come else inf)):
            return False
