"""Event streams: each a subscriber, with a bounded queue between the network and its reader."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.rest_bridge.problems import Problem
from zenoh_la.rest_bridge.shown import Sample, dumped, sample_object
from zenoh_la.router_plugin.callbacks import direct
from zenoh_la.session import LocationSession
from zenoh_la.values import Area

log = logging.getLogger("zenoh_la")

URL = "/@zla/streams/"
_CHUNK_BYTES = 64 << 10
_OVERHEAD_BYTES = 256  # of a sample that waits, beside its payload


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How much event streams may take.

    Attributes:
        per_client: streams of one address.
        all: streams at all.
        waiting_events: of one stream; the oldest go first.
        waiting_bytes: of one stream, all its events together.
    """

    per_client: int = 1000
    all: int = 10_000
    waiting_events: int = 512
    waiting_bytes: int = 512 << 10


def event(name: str, document: dict[str, Any]) -> bytes:
    """One event as it goes over the wire."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), dumped(document))


class Stream:
    """What one reader gets. Samples come from Zenoh's threads, events go out on the loop.

    Attributes:
        client: the address of who reads it.
        sent: events handed to the server.
        lost: events that had to go because the reader was too slow.
    """

    def __init__(self, client: str, limits: StreamLimits, *, is_movable: bool) -> None:
        self.id = secrets.token_urlsafe(16)
        self.client = client
        self.is_movable = is_movable
        self.sent = 0
        self.lost = 0
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._lock = threading.Lock()  # guards all that follows
        self._waiting: deque[tuple[int, Sample]] = deque()
        self._bytes = 0
        self._dropped = 0
        self._is_told = False
        self._ended = False

    @property
    def url(self) -> str:
        """Where it can be moved and ended."""
        return f"{URL}{self.id}"

    def offer(self, sample: Sample) -> None:
        """Takes a sample, on any thread; never waits."""
        size = len(sample.payload) + _OVERHEAD_BYTES
        limits = self._limits
        with self._lock:
            waiting = self._waiting
            waiting.append((size, sample))
            self._bytes += size
            while len(waiting) > 1 and (
                self._bytes > limits.waiting_bytes or len(waiting) > limits.waiting_events
            ):
                self._bytes -= waiting.popleft()[0]
                self._dropped += 1
            if self._is_told:
                return
            self._is_told = True
        self._tell()

    def end(self) -> None:
        """Has it end after what waits, on any thread."""
        with self._lock:
            self._ended = True
        self._tell()

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._news.set)
        except RuntimeError:
            log.debug("a stream whose server is gone")

    def _take(self) -> tuple[int, list[Sample]]:
        """What goes out next, and how many were dropped before it."""
        taken: list[Sample] = []
        size = 0
        with self._lock:
            dropped, self._dropped = self._dropped, 0
            while self._waiting and size < _CHUNK_BYTES:
                one, sample = self._waiting.popleft()
                size += one
                taken.append(sample)
            self._bytes -= size
            if not taken:
                self._is_told = False
        self.lost += dropped
        self.sent += len(taken)
        return dropped, taken

    async def chunks(self) -> AsyncIterator[bytes]:
        """The events, as many at once as wait; the next ones only when these were taken."""
        if self.is_movable:
            yield event("STREAM", {"url": self.url})
        while True:
            await self._news.wait()
            self._news.clear()
            while True:
                dropped, samples = self._take()
                events = [event("DROPPED", {"count": dropped})] if dropped else []
                events += [event(_kind(s), sample_object(s)) for s in samples]
                if not events:
                    break
                yield b"".join(events)
            if self._ended:
                return


def _kind(sample: Sample) -> str:
    return "PUT" if sample.kind == zenoh.SampleKind.PUT else "DELETE"


class Streams:
    """All streams of a bridge.

    Args:
        session: declares their subscribers.
        run_later: has something done that may wait for the network.
    """

    def __init__(
        self,
        session: LocationSession,
        limits: StreamLimits,
        run_later: Callable[[Callable[[], object]], None],
    ) -> None:
        self._session = session
        self._limits = limits
        self._run_later = run_later
        self._streams: dict[str, tuple[Stream, Any]] = {}
        self._clients: Counter[str] = Counter()
        self._closed = False
        self._sent = self._lost = 0

    def __len__(self) -> int:
        return sum(self._clients.values())

    @property
    def sent(self) -> int:
        """Events of all streams that there were."""
        return self._sent + sum(stream.sent for stream, _ in list(self._streams.values()))

    @property
    def lost(self) -> int:
        """Events that readers were too slow for."""
        return self._lost + sum(stream.lost for stream, _ in list(self._streams.values()))

    def begin(self, client: str, *, is_movable: bool) -> Stream:
        """A stream that has a place; `close_stream` gives it back.

        Raises:
            Problem: there are too many.
        """
        if self._closed:
            raise Problem(503, "the bridge is closing")
        if self._clients[client] >= self._limits.per_client:
            problem = f"{client} has {self._limits.per_client} streams, and may have no more"
            raise Problem(429, problem, headers={"Retry-After": "10"})
        if len(self) >= self._limits.all:
            raise Problem(503, "there are too many streams", headers={"Retry-After": "10"})
        self._clients[client] += 1
        return Stream(client, self._limits, is_movable=is_movable)

    def subscribe(self, stream: Stream, key_expr: Any, area: tuple[Area, Precision] | None) -> None:
        """Declares its subscriber, which is in force when this returns; may wait."""
        where: dict[str, Any] = {}
        if area is not None:
            where = {"location_shape": area[0], "precision": area[1]}
        subscriber = self._session.declare_subscriber(key_expr, direct(stream.offer), **where)
        self._streams[stream.id] = (stream, subscriber)

    def move(self, id_: str, area: tuple[Area, Precision]) -> None:
        """Gives a stream another area, without missing an event; may wait."""
        found = self._streams.get(id_)
        if found is None or not found[0].is_movable:
            raise _unknown()
        found[1].update_area(area[0], precision=area[1])

    def end(self, id_: str) -> None:
        """Ends a stream, as its own reader could."""
        found = self._streams.get(id_)
        if found is None:
            raise _unknown()
        found[0].end()

    def close_stream(self, stream: Stream) -> None:
        """Its reader is gone."""
        self._clients[stream.client] -= 1
        if self._clients[stream.client] <= 0:
            del self._clients[stream.client]
        found = self._streams.pop(stream.id, None)
        self._sent += stream.sent
        self._lost += stream.lost
        if found is not None:
            self._run_later(found[1].undeclare)

    def close(self) -> None:
        """Ends all of them."""
        self._closed = True
        for stream, _ in list(self._streams.values()):
            stream.end()


def _unknown() -> Problem:
    return Problem(404, "there is no such stream (any more)", "id")
