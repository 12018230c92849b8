"""`zla pub`: messages, at a place or on a journey."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as counting
from time import monotonic
from typing import Annotated

import typer
import zenoh

from zenoh_la.cli import network, options, shown
from zenoh_la.cli.neighbours import wait_until_informed
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
from zenoh_la.cli.shown import Output
from zenoh_la.cli.where import Journey, SpeedOption, Standing, TrackOption
from zenoh_la.encoders import Precision
from zenoh_la.session import LocationSession
from zenoh_la.values import Coordinates

_LOOK_S = 0.25
_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class _Repetition:
    """When messages are due."""

    count: int | None
    every_s: float
    journey: Journey | None

    @classmethod
    def of(cls, count: int | None, every: float | None, journey: Journey | None) -> _Repetition:
        if count is None and every is None and journey is None:
            count = 1
        return cls(count, _EVERY_S if every is None else every, journey)

    def moments_s(self) -> Iterator[float]:
        """Seconds after the start; without a count until the journey is over, or for ever."""
        for number in counting() if self.count is None else range(self.count):
            due_s = number * self.every_s
            yield due_s
            if self.count is None and self.journey and self.journey.is_over_after(due_s):
                return


class _Publisher:
    """Puts or deletes on a topic, and says so."""

    def __init__(
        self,
        session: LocationSession,
        topic: str,
        precision: Precision | None,
        attachment: str | None,
        output: Output | None,
    ) -> None:
        self._session = session
        self._topic = topic
        self._precision = precision
        self._attachment = attachment
        self._output = output

    def send(self, payload: bytes | None) -> None:
        """Puts the payload; deletes if there is none."""
        # Lines may come faster than the network takes them: wait rather than drop.
        block = zenoh.CongestionControl.BLOCK
        if payload is None:
            self._session.delete(
                self._topic,
                attachment=self._attachment,
                congestion_control=block,
                precision=self._precision,
            )
        else:
            self._session.put(
                self._topic,
                payload,
                encoding=zenoh.Encoding.TEXT_PLAIN,
                attachment=self._attachment,
                congestion_control=block,
                precision=self._precision,
            )
        if self._output is not None:
            position = None if self._precision is None else self._session.position
            place = "-" if position is None else shown.coordinates(position)
            content = "(deleted)" if payload is None else shown.text(zenoh.ZBytes(payload))
            self._output.line(f"{self._topic}  {place}  {content}")


def pub(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What it is about.")],
    payload: Annotated[
        str | None,
        typer.Argument(metavar="PAYLOAD", help="The message; - for lines of standard input."),
    ] = None,
    at: options.At = None,
    track: TrackOption = None,
    speed: SpeedOption = 1.0,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="So many messages.")
    ] = None,
    every: Annotated[
        float | None,
        typer.Option("--every", min=0.0, help="Seconds between two messages.", show_default="1"),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Deletes instead.")] = False,
    attachment: Annotated[
        str | None, typer.Option("--attachment", metavar="TEXT", help="Sent with each message.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Prints nothing.")] = False,
    encoding: EncodingOption = Encoding.BASE64_JSON,
    bloom_domain: options.DomainOption = None,
    connect: ConnectOption = None,
    listen: ListenOption = None,
    mode: ModeOption = None,
    config: ConfigOption = None,
) -> None:
    """Publishes a message, at a position if one is given (--at), else as plain Zenoh.

    With --track it moves: messages are published along the track until its end.
    """
    network.topic(topic)
    if delete == (payload is not None):
        raise typer.BadParameter("give PAYLOAD (- for lines of standard input) or --delete")
    standing = Standing.of(at, track, speed)
    domain = options.domain(bloom_domain)
    precision = standing.check_positions(encoding, domain)
    if not standing.is_somewhere and encoding is not Encoding.BASE64_JSON:
        raise typer.BadParameter(f"--encoding {encoding.value} needs a position: --at or --track")
    plan = _Repetition.of(count, every, standing.journey)
    with until_stopped() as stopped, opened(connect, listen, mode, config, domain) as session:
        output = None if quiet else Output(stopped)
        placed = precision if standing.is_somewhere else None
        publisher = _Publisher(session, topic, placed, attachment, output)
        with network_errors("not published"):
            if standing.is_somewhere:
                wait_until_informed(session, stopped)
            if payload == "-":
                standing.declare(session, 0.0)
                _send_lines(publisher, count, every or 0.0, stopped)
            else:
                data = None if payload is None else os.fsencode(payload)
                _send_repeatedly(publisher, session, standing, data, plan, stopped)


def _send_repeatedly(
    publisher: _Publisher,
    session: LocationSession,
    standing: Standing,
    payload: bytes | None,
    plan: _Repetition,
    stopped: threading.Event,
) -> None:
    """One payload, at each moment of the plan."""
    due_s = 0.0

    def position() -> Coordinates | None:
        # Where it is when the message is due, not a little later: the same in each run.
        return standing.at if standing.journey is None else standing.journey.after(due_s)

    if standing.is_somewhere:
        session.declare_position_handler(0.0, position)
    start_s = monotonic()
    for moment_s in plan.moments_s():
        due_s = moment_s
        if stopped.wait(max(start_s + due_s - monotonic(), 0.0)):
            return
        publisher.send(payload)


def _send_lines(
    publisher: _Publisher, count: int | None, every_s: float, stopped: threading.Event
) -> None:
    for number, line in enumerate(_lines(stopped), 1):
        publisher.send(line)
        if number == count or stopped.wait(every_s):
            return


def _lines(stopped: threading.Event) -> Iterator[bytes]:
    """The lines of standard input as they come; a signal ends it though none comes."""
    number = sys.stdin.fileno()
    rest = b""
    while not stopped.is_set():
        if not select.select([number], [], [], _LOOK_S)[0]:
            continue
        data = os.read(number, 65536)
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
        if not data:
            if rest:
                yield rest
            return
