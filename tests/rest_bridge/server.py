"""`zla rest` in a process of its own, on a port that is free."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.cli.commands import Command
from tests.network import DEADLINE_S, endpoint


class Rest(Command):
    """A bridge that is ready.

    Attributes:
        url: where it is, without a slash at the end.
        endpoint: where its own router is reached, if it runs alone.
    """

    def __init__(self, *args: str, connect: str | None = None) -> None:
        self.endpoint = "" if connect else endpoint()
        joined = ["--connect", connect] if connect else ["--zenoh-listen", self.endpoint]
        super().__init__("rest", "--listen", "127.0.0.1:0", *joined, *args)
        self.url = ""

    def wait_until_ready(self) -> Rest:
        self.until("ready; Ctrl-C stops it")
        found = re.search(r"https?://[^/ ]+", self.out[0])
        assert found is not None, self.out
        self.url = found[0]
        return self

    def client(self, **options: object) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=DEADLINE_S, **options)  # type: ignore[arg-type]


@contextmanager
def rest(*args: str, connect: str | None = None) -> Iterator[Rest]:
    """A bridge that is ready, and gone afterwards."""
    with Rest(*args, connect=connect) as running:
        yield running.wait_until_ready()
