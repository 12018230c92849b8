"""What all handlers of the bridge share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Self, TypeVar

import zenoh

from zenoh_la.rest_bridge.streams import StreamLimits, Streams
from zenoh_la.rest_bridge.viewers import Viewers
from zenoh_la.session import LocationSession

T = TypeVar("T")

_WORKERS = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one caller may ask for.

    Attributes:
        body_bytes: the longest body of a request.
        url_bytes: the longest path with its query string.
        polygon_vertices: of an area in a query string.
        query_s: how long a get may take.
        streams: of the event streams.
    """

    body_bytes: int = 8 << 20
    url_bytes: int = 32 << 10
    polygon_vertices: int = 1000
    query_s: float = 10.0
    streams: StreamLimits = field(default_factory=StreamLimits)


class Bridge:
    """A session that HTTP reaches, and what goes on in it.

    Attributes:
        session: the session.
        limits: how much one caller may ask for.
        streams: the event streams that are open.
        viewers: those who look at the map.
        answered: how many requests were answered, by method and status.
    """

    def __init__(self, session: LocationSession, limits: Limits | None = None) -> None:
        self.session = session
        self.limits = Limits() if limits is None else limits
        self.streams = Streams(session, self.limits.streams, self.run_later)
        self.viewers = Viewers(session, self.run)
        self.answered: Counter[tuple[str, int]] = Counter()
        self._workers = ThreadPoolExecutor(_WORKERS, "zenoh-la-rest")
        self._closed = False

    @property
    def local_zid(self) -> str:
        """The Zenoh id of the router that this is, or that it is a client of."""
        if self.session.mode == zenoh.WhatAmI.CLIENT:
            for zid in self.session.info.routers_zid():
                return str(zid)
        return str(self.session.zid())

    async def run(self, task: Callable[[], T]) -> T:
        """Runs what may have to wait for the network, while others are served."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, task)

    def run_later(self, task: Callable[[], object]) -> None:
        """Has something done, soon; if the bridge is closed, the session's end does it."""
        if not self._closed:
            self._workers.submit(task)

    def end_streams(self) -> None:
        """Has everything end that would last for ever, on any thread."""
        self.streams.close()
        self.viewers.close()

    def close(self) -> None:
        """To be called when nobody is served any more."""
        self._closed = True
        self.end_streams()
        self._workers.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
