"""`zla get` and `zla queryable`: asking an area, and answering for one."""

from __future__ import annotations

import threading
from enum import StrEnum
from math import inf
from typing import Annotated, Any

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
from zenoh_la.cli.shown import Output, Query
from zenoh_la.cli.where import AreaOptions, AroundOption, Standing, Wanted
from zenoh_la.keys import Role
from zenoh_la.session import LocatedQuery
from zenoh_la.values import Circle, Coordinates, Shape

_LOOK_S = 0.05


class Target(StrEnum):
    """Which queryables are asked."""

    BEST_MATCHING = "best_matching"
    ALL = "all"
    ALL_COMPLETE = "all_complete"


class Consolidation(StrEnum):
    """Which of several replies on one topic (from one place, if it was an area's get) count."""

    AUTO = "auto"
    NONE = "none"
    MONOTONIC = "monotonic"
    LATEST = "latest"


class _Replies:
    """Prints replies as they come."""

    def __init__(self, output: Output, as_json: bool) -> None:
        self._output = output
        self._as_json = as_json
        self.good = 0

    def __call__(self, reply: Any) -> None:
        if reply.ok is not None:
            self.good += 1
            show = shown.sample_json if self._as_json else shown.sample_line
            self._output.line(show(reply.ok))
        elif self._as_json:
            self._output.line(shown.error_json(reply.err))
        else:
            self._output.note(shown.error_line(reply.err))


def get(
    selector: Annotated[
        str, typer.Argument(metavar="SELECTOR", help="A topic, perhaps with ?parameters.")
    ],
    circle: options.CircleOption = None,
    range_: options.RangeOption = None,
    wkt: options.WktOption = None,
    cell: options.CellOption = None,
    around: AroundOption = None,
    at: options.At = None,
    payload: Annotated[
        str | None, typer.Option("--payload", "-p", metavar="TEXT", help="Sent with the query.")
    ] = None,
    attachment: Annotated[
        str | None, typer.Option("--attachment", metavar="TEXT", help="Sent with the query.")
    ] = None,
    target: Annotated[
        Target, typer.Option("--target", help="Who is asked.")
    ] = Target.BEST_MATCHING,
    consolidation: Annotated[
        Consolidation, typer.Option("--consolidation", help="Which replies on one topic count.")
    ] = Consolidation.AUTO,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.001, help="Seconds to wait for replies.")
    ] = 10.0,
    encoding: EncodingOption = Encoding.BASE64_JSON,
    bloom_domain: options.DomainOption = None,
    as_json: options.JsonOption = False,
    connect: ConnectOption = None,
    listen: ListenOption = None,
    mode: ModeOption = None,
    config: ConfigOption = None,
) -> None:
    """Asks the queryables of a topic, with an area those whose area meets it.

    Exit code 1 if nobody answered, or only with an error.
    """
    network.topic(selector.partition("?")[0], "SELECTOR")
    standing = Standing.of(at, None)
    if at is not None and around is None:
        raise typer.BadParameter("--at goes with --around R")
    domain = options.domain(bloom_domain)
    area = AreaOptions(circle, range_, wkt, cell, around)
    wanted = area.wanted(standing, encoding, domain, Role.GET)
    with until_stopped() as stopped, opened(connect, listen, mode, config, domain) as session:
        output = Output(stopped)
        replies, ended = _Replies(output, as_json), threading.Event()
        standing.declare(session, inf)
        with network_errors("not asked"):
            if wanted.shape is not Shape.NONE:
                wait_until_informed(session, stopped)
            session.get(
                selector,
                zenoh.handlers.Callback(replies, ended.set),
                payload=payload,
                attachment=attachment,
                target=getattr(zenoh.QueryTarget, target.name),
                consolidation=getattr(zenoh.ConsolidationMode, consolidation.name),
                timeout=timeout,
                **wanted.arguments(),
            )
        was_stopped = False
        while not ended.wait(_LOOK_S) and not was_stopped:
            was_stopped = output.wait(0.0)
    if not replies.good and not was_stopped:
        if not as_json:
            output.note(f"no reply to {selector}")
        raise typer.Exit(1)


class _Answers:
    """Answers queries with one payload, and prints them."""

    def __init__(
        self, output: Output, topic: str, payload: str, at: Coordinates | None, as_json: bool
    ) -> None:
        self._output = output
        self._topic = topic
        self._is_wild = "*" in topic
        self._payload = payload
        self._at = at
        self._as_json = as_json

    def __call__(self, query: Query) -> None:
        with query:
            key = str(query.key_expr) if self._is_wild else self._topic
            if "*" in key:
                problem = f"{self._topic} is answered for one topic at a time, not for {key}"
                query.reply_err(problem, encoding=zenoh.Encoding.TEXT_PLAIN)
                self._output.note(f"refused {shown.query_line(query)}")
                return
            more: dict[str, Any] = {}
            if isinstance(query, LocatedQuery):
                more["location"] = self._at
            query.reply(key, self._payload, encoding=zenoh.Encoding.TEXT_PLAIN, **more)
            show = shown.query_json if self._as_json else shown.query_line
            self._output.line(show(query))


def queryable(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What it answers for.")],
    payload: Annotated[
        str, typer.Option("--payload", "-p", metavar="TEXT", help="The answer.")
    ] = "",
    circle: options.CircleOption = None,
    range_: options.RangeOption = None,
    wkt: options.WktOption = None,
    cell: options.CellOption = None,
    around: AroundOption = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="LAT,LONG",
            help="Where its answers are true; without an area it is asked there.",
        ),
    ] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="It knows all there is on its topic and in its area.")
    ] = False,
    encoding: EncodingOption = Encoding.BASE64_JSON,
    bloom_domain: options.DomainOption = None,
    as_json: options.JsonOption = False,
    connect: ConnectOption = None,
    listen: ListenOption = None,
    mode: ModeOption = None,
    config: ConfigOption = None,
) -> None:
    """Answers gets of a topic, with an area those of areas that meet it, and prints them."""
    network.topic(topic)
    standing = Standing.of(at, None)
    domain = options.domain(bloom_domain)
    standing.check_positions(encoding, domain)
    area = AreaOptions(circle, range_, wkt, cell, around)
    if standing.at is not None and area.option is None:
        wanted = Wanted(Circle(standing.at, 0.0), None, network.precision(encoding, domain))
    else:
        wanted = area.wanted(standing, encoding, domain, Role.QUERYABLE)
    with until_stopped() as stopped, opened(connect, listen, mode, config, domain) as session:
        output = Output(stopped)
        answers = _Answers(output, topic, payload, standing.at, as_json)
        standing.declare(session, inf)
        with network_errors("no queryable"):
            session.declare_queryable(topic, answers, complete=complete, **wanted.arguments())
        output.note(f"answers for {topic}; Ctrl-C stops it")
        while not output.wait(inf):
            pass
