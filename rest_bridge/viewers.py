"""Those who look at the map: one lookout for all of them, and a bounded queue for each."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import zenoh

from zenoh_la.errors import ZenohLaError
from zenoh_la.rest_bridge.drawn import encoding_name, interest_drawn, message_drawn, owner_name
from zenoh_la.rest_bridge.lookout import Lookout, Seen, lookout
from zenoh_la.rest_bridge.problems import Problem
from zenoh_la.rest_bridge.streams import event
from zenoh_la.router_plugin import location_bytes
from zenoh_la.router_plugin.chunks import encoding_of
from zenoh_la.router_plugin.protocol import Interest
from zenoh_la.router_plugin.routes import Owner
from zenoh_la.session import LocationSession

log = logging.getLogger("zenoh_la")

BATCH_S = 0.1
"""How often the map is told what passed."""
_TICKS_PER_REFRESH = 10
_MAX_WAITING = 20
_MAX_VIEWERS = 64
_MAX_INTERESTS = 5000
_MAX_TOPICS = 10_000

Look = tuple[list[Seen], int, list[tuple[Owner, Interest]], dict[str, Any] | None]
"""What was seen, how many more there were, what is wanted, and the node's status if it is due."""


class Viewer:
    """One page: what it wants to see, and what waits for it.

    Args:
        topic: only messages and interests that it intersects.
        encoding: only those of this encoding; None for all.
    """

    def __init__(
        self, topic: zenoh.KeyExpr, encoding: str | None, session: LocationSession
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._topic = topic
        self._encoding = encoding
        self._places = session.places
        self._waiting: deque[Look] = deque()
        self._news = asyncio.Event()
        self._topics: dict[str, bool] = {}
        self._known: dict[Owner, Interest] = {}
        self._missed = 0
        self._ended = False

    def offer(self, look: Look) -> None:
        """On the loop; the oldest goes if the page is too slow."""
        self._waiting.append(look)
        if len(self._waiting) > _MAX_WAITING:
            seen, more, _, _ = self._waiting.popleft()
            self._missed += more + sum(one.count for one in seen)
        self._news.set()

    def end(self) -> None:
        """On any thread."""
        self._ended = True
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._news.set)

    async def chunks(self, scope: str) -> AsyncIterator[bytes]:
        """The events of the feed."""
        yield event("SCOPE", {"scope": scope, "batch_ms": int(BATCH_S * 1000)})
        while not self._ended:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                made = self._events(*self._waiting.popleft())
                if made:
                    yield made

    def _events(
        self,
        seen: list[Seen],
        more: int,
        interests: list[tuple[Owner, Interest]],
        status: dict[str, Any] | None,
    ) -> bytes:
        made = []
        changed = self._changes(interests)
        if changed is not None:
            made.append(event("INTERESTS", changed))
        messages = [message_drawn(one, self._places)
                    for one in seen if self._wants(one)]  # fmt: skip
        missed, self._missed = self._missed + more, 0
        if messages or missed:
            made.append(event("MESSAGES", {"messages": messages, "missed": missed}))
        if status is not None:
            made.append(event("STATUS", status))
        return b"".join(made)

    def _wants(self, seen: Seen) -> bool:
        if not self._is_about(seen.topic):
            return False
        wanted = self._encoding
        return wanted is None or encoding_of(location_bytes.location_of(seen.packed)) == wanted

    def _is_about(self, topic: str) -> bool:
        known = self._topics.get(topic)
        if known is None:
            if len(self._topics) >= _MAX_TOPICS:
                self._topics.clear()
            known = self._topics[topic] = self._topic.intersects(topic)
        return known

    def _changes(self, interests: list[tuple[Owner, Interest]]) -> dict[str, Any] | None:
        """The difference to what the page knows; None if there is none."""
        now = {}
        for owner, interest in interests:
            is_wanted = self._encoding in (None, encoding_name(interest))
            if is_wanted and self._is_about(interest.topic):
                now[owner] = interest
                if len(now) >= _MAX_INTERESTS:
                    break
        known = self._known
        new = [o for o, interest in now.items() if known.get(o) is not interest]
        gone = [o for o in known if o not in now]
        if not new and not gone:
            return None
        self._known = now
        return {
            "set": [interest_drawn(owner, now[owner], self._places) for owner in new],
            "gone": [owner_name(owner) for owner in gone],
            "all": len(interests),
        }


class Viewers:
    """All pages that look, and the lookout that they share; it costs nothing without them.

    Args:
        session: the bridge's.
        run: runs what may have to wait, while others are served.
    """

    def __init__(
        self, session: LocationSession, run: Callable[[Callable[[], Any]], Awaitable[Any]]
    ) -> None:
        self._session = session
        self._run = run
        self._viewers: set[Viewer] = set()
        self._turning = asyncio.Lock()
        self._lookout: Lookout | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._closed = False

    async def add(self, topic: zenoh.KeyExpr, encoding: str | None) -> tuple[Viewer, str]:
        """A new viewer, and what it can see; `remove` must follow."""
        if self._closed or len(self._viewers) >= _MAX_VIEWERS:
            raise Problem(503, "there are too many who look at the map")
        viewer = Viewer(topic, encoding, self._session)
        self._viewers.add(viewer)
        try:
            return viewer, (await self._looking()).scope
        except BaseException:
            self.remove(viewer)
            raise

    async def interests(self) -> list[tuple[Owner, Interest]]:
        """What is wanted, whether somebody looks or not."""
        out = self._lookout
        if out is None:
            out = await self._run(lambda: lookout(self._session))
            await self._run(out.refresh)
        return out.interests()

    async def _looking(self) -> Lookout:
        async with self._turning:
            if self._lookout is None:
                out = await self._run(lambda: lookout(self._session))
                await self._run(out.start)
                self._lookout = out
                self._ticker = asyncio.create_task(self._tick(out))
            return self._lookout

    def remove(self, viewer: Viewer) -> None:
        """A page is gone; with the last one the lookout ends, soon."""
        self._viewers.discard(viewer)
        self._ending = asyncio.create_task(self._end_if_alone())

    async def _end_if_alone(self) -> None:
        async with self._turning:
            if self._viewers or self._lookout is None:
                return
            out, self._lookout = self._lookout, None
            if self._ticker is not None:
                self._ticker.cancel()
            await self._run(out.stop)

    async def _tick(self, out: Lookout) -> None:
        tick = 0
        status: asyncio.Task[dict[str, Any] | None] | None = None
        while True:
            is_due = tick % _TICKS_PER_REFRESH == 0
            if is_due and (status is None or status.done()):
                status = asyncio.create_task(self._refreshed(out))
            told = status.result() if status is not None and status.done() else None
            if told is not None:
                status = None
            seen, more = out.batch.take()
            look = seen, more, out.interests(), told
            for viewer in self._viewers:
                viewer.offer(look)
            tick += 1
            await asyncio.sleep(BATCH_S)

    async def _refreshed(self, out: Lookout) -> dict[str, Any] | None:
        def asked() -> dict[str, Any] | None:
            out.refresh()
            return self._session.ask_node()

        try:
            found: dict[str, Any] | None = await self._run(asked)
        except (ZenohLaError, zenoh.ZError, RuntimeError) as exc:
            log.debug("no status for the map: %s", exc)
            return None
        return found

    def close(self) -> None:
        """Has all feeds end, on any thread."""
        self._closed = True
        for viewer in list(self._viewers):
            viewer.end()
