"""`zla storage`: keeps what arises in its areas, for those who ask later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from zenoh_la.cli import network, options
from zenoh_la.cli.live import EveryOption, follow
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
from zenoh_la.encoders import BloomDomain
from zenoh_la.errors import InvalidLocationError
from zenoh_la.keys import Role
from zenoh_la.storage import Status, Storage, Store
from zenoh_la.values import Area


def storage(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="What it keeps; wildcards allowed.")
    ],
    area: options.AreasOption,
    db: Annotated[
        Path, typer.Option("--db", metavar="FILE", help="The SQLite file; made if there is none.")
    ],
    encoding: EncodingOption = Encoding.BASE64_JSON,
    bloom_domain: options.DomainOption = None,
    connect: ConnectOption = None,
    listen: ListenOption = None,
    mode: ModeOption = None,
    config: ConfigOption = None,
    every: EveryOption = 10.0,
) -> None:
    """Keeps the last value per topic and place of what arises in its areas, and answers gets.

    With --bloom-domain also what is located by elements of that grid. Plain messages, which have
    no place, are not kept. Everything is durable within 100 ms and survives a restart.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    network.topic(topic)
    domain = options.domain(bloom_domain)
    precision = network.precision(encoding, domain)
    areas = [_area(text, encoding, domain) for text in area]
    with (
        until_stopped() as stopped,
        Store(db) as store,
        opened(connect, listen, mode, config, domain) as session,
    ):
        with network_errors("the storage could not start"):
            running = Storage(
                session, topic, areas, store, precision=precision, bloom_domain=domain
            )
        with running:
            many = "1 value" if len(store) == 1 else f"{len(store)} values"
            console.print(f"storage of {topic} in {db}, which holds {many}")
            for text in area:
                console.print(f"  keeps what arises in {text}")
            console.print("ready; Ctrl-C stops it")
            follow(console, lambda: _line(running.status()), stopped, every)
        last = _line(running.status())
    console.print(f"stopped; {last}")


def _area(text: str, encoding: Encoding, domain: BloomDomain | None) -> Area:
    """An area, tried out in its encodings before anything is opened."""
    made = options.typed_area(text)
    names = {encoding.value} if domain is None else {encoding.value, Encoding.BLOOM.value}
    for name in names:
        try:
            options.encoder(name, domain).encode_area(made, Role.QUERYABLE)
        except InvalidLocationError as exc:
            raise typer.BadParameter(f"--area {text}: {exc}") from exc
    return made


def _line(status: Status) -> str:
    s = status
    values = "no readable file" if s.values is None else f"{s.values} values"
    failures = f", {s.failures} failures of the file" if s.failures else ""
    return (
        f"{values}; {s.stored} stored, {s.deleted} deleted, {s.late} too late, "
        f"{s.gets} gets answered with {s.answered} values, {s.refused} refused{failures}"
    )
