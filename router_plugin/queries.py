"""How a located get passes a node: to the queryables whose area it meets, replies streamed back.

Everything runs on callbacks: a get that waits inside a callback would hang. A get is passed on
with a little more time than its caller has, so that it is the caller's own time that runs out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue

import zenoh

from zenoh_la.errors import ZenohLaError
from zenoh_la.router_plugin import frames
from zenoh_la.router_plugin.asks import Ask
from zenoh_la.router_plugin.callbacks import direct
from zenoh_la.router_plugin.counters import Counters
from zenoh_la.router_plugin.couriers import Couriers
from zenoh_la.router_plugin.ways import MORE_TIME_MS, Way, Ways

__all__ = ["Ask", "Passing", "Queries", "pass_back"]

log = logging.getLogger("zenoh_la")

_WIDE = 4096
"""Characters of a get that has very many location keys: 1,200 grid zones are some 12,000, and to
find who is meant among 5,000 circles takes most of a second."""
_MAX_WIDE = 32


class Ends:
    """Ends gets in a thread of its own: `Passing` says why.

    Of its own, because a caller that does not read holds up the ends of others, but nothing else.
    """

    def __init__(self, name: str) -> None:
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self.soon = self._waiting.put

    def _run(self) -> None:
        while (end := self._waiting.get()) is not None:
            try:
                end()
            except Exception as exc:
                log.debug("a get could not be ended: %s", exc)

    def close(self, timeout_s: float = 5.0) -> None:
        self._waiting.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(timeout_s)


class Passing:
    """A get on its way: replies go back as they come, and it ends when all parts have ended.

    Args:
        ends: where its end is told, if others than the own session answer. When one of them is
            cut off, Zenoh ends its part with its own locks held, and to tell the one who asked
            would take them again: the whole router stood still.
    """

    def __init__(
        self, session: zenoh.Session, query: zenoh.Query, ends: Ends | None = None
    ) -> None:
        self._session = session
        self._query = query
        self._ends = ends
        self._lock = threading.Lock()
        self._parts = 1

    def to(
        self,
        key: zenoh.KeyExpr | str,
        end: bytes,
        user: zenoh.ZBytes | None,
        timeout_ms: int,
        destination: zenoh.Locality | None = None,
    ) -> None:
        """Passes it on to one more."""
        with self._lock:
            self._parts += 1
        query = self._query
        self._session.get(
            zenoh.Selector(key, query.parameters),
            direct(self._back, self._part_done),
            target=zenoh.QueryTarget.ALL,
            consolidation=zenoh.ConsolidationMode.NONE,
            accept_replies=zenoh.ReplyKeyExpr.ANY,
            timeout=(timeout_ms + MORE_TIME_MS) / 1000,
            payload=query.payload,
            encoding=query.encoding,
            attachment=frames.attached(user, end),
            allowed_destination=destination,
            source_info=query.source_info,
        )

    def _back(self, reply: zenoh.Reply) -> None:
        pass_back(self._query, reply)

    def _part_done(self) -> None:
        if self._ends is None:
            self.done()
        else:
            self._ends.soon(self.done)

    def done(self) -> None:
        """One part has ended; the caller ends the first one, when all others have begun."""
        with self._lock:
            self._parts -= 1
            if self._parts:
                return
        self._query.drop()


def pass_back(query: zenoh.Query, reply: zenoh.Reply, key: str | None = None) -> None:
    """A reply to the one who asked, with all that it came with; on another key if one is given."""
    try:
        sample = reply.ok
        if sample is None:
            error = reply.err
            assert error is not None
            query.reply_err(error.payload, encoding=error.encoding)
        elif sample.kind == zenoh.SampleKind.PUT:
            query.reply(
                sample.key_expr if key is None else key,
                sample.payload,
                encoding=sample.encoding,
                express=sample.express,
                attachment=sample.attachment,
                timestamp=sample.timestamp,
            )
        else:
            query.reply_del(
                sample.key_expr if key is None else key,
                express=sample.express,
                attachment=sample.attachment,
                timestamp=sample.timestamp,
            )
    except zenoh.ZError as exc:
        log.debug("a reply came too late: %s", exc)


WayOf = Callable[[zenoh.Query], tuple[Way, zenoh.ZBytes | None]]


class Queries:
    """Takes located gets in and passes them on."""

    def __init__(
        self,
        session: zenoh.Session,
        nid: str,
        ways: Ways,
        counters: Counters,
        couriers: Couriers,
    ) -> None:
        self._session = session
        self._ways = ways
        self._counters = counters
        self._ends = Ends(f"zenoh-la-gets-{nid}")
        self._couriers = couriers
        self._wide = 0

    def close(self) -> None:
        self._ends.close()

    def on_ingress(self, query: zenoh.Query) -> None:
        """A located get from one of this node's sessions."""
        self._begin(query, len(str(query.key_expr)), self._from_session)

    def on_egress(self, query: zenoh.Query) -> None:
        """A located get from another node."""
        self._begin(query, len(query.attachment or b""), self._from_node)

    def _begin(self, query: zenoh.Query, length: int, way_of: WayOf) -> None:
        """Those of very many keys one after the other, on a thread that receives nothing else."""
        if length <= _WIDE:
            self._handle(query, way_of)
        elif self._wide < _MAX_WIDE:
            self._wide += 1
            self._couriers.send("wide gets", partial(self._handle_wide, query, way_of))
        else:
            self._refuse(query, "too many gets of many location keys at once")
            query.drop()

    def _handle_wide(self, query: zenoh.Query, way_of: WayOf) -> None:
        try:
            self._handle(query, way_of)
        finally:
            self._wide -= 1

    def _handle(self, query: zenoh.Query, way_of: WayOf) -> None:
        passing = Passing(self._session, query, self._ends)
        try:
            way, user = way_of(query)
            for key, end in way.targets:
                passing.to(key, end, user, way.timeout_ms)
        except (ZenohLaError, zenoh.ZError) as exc:
            self._refuse(query, exc)
        finally:
            passing.done()

    def _refuse(self, query: zenoh.Query, problem: object) -> None:
        self._counters.refused += 1
        query.reply_err(f"zenoh-la: {problem}", encoding=zenoh.Encoding.TEXT_PLAIN)

    def _from_session(self, query: zenoh.Query) -> tuple[Way, zenoh.ZBytes | None]:
        attachment = query.attachment
        parts = frames.split_marked(attachment)
        if parts is None:
            way, user = self._ways.of_session(str(query.key_expr), None), attachment
        else:
            document, own = parts
            way = self._ways.of_session(str(query.key_expr), document)
            user = None if own is None else zenoh.ZBytes(own)
        self._counters.gets += 1
        return way, user

    def _from_node(self, query: zenoh.Query) -> tuple[Way, zenoh.ZBytes | None]:
        document, own = frames.split(query.attachment)
        return self._ways.of_node(document), None if own is None else zenoh.ZBytes(own)
