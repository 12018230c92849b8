"""A storage on the network: keeps what arises in its areas, and answers gets with it."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from queue import Full, Queue
from time import monotonic
from typing import Any, Self

import zenoh

from zenoh_la.encoders import BloomDomain, Precision
from zenoh_la.errors import StorageError, ZenohLaError
from zenoh_la.session import LocatedQuery, LocatedSample, LocationSession
from zenoh_la.storage.store import Store, StoredValue
from zenoh_la.values import Area

log = logging.getLogger("zenoh_la")

MAX_WAITING = 1024
"""Gets that wait for their answer; more are refused."""
_COMPLAIN_EVERY_S = 1.0  # a full disk fails with every message
_DELETE = zenoh.SampleKind.DELETE


@dataclass(frozen=True, slots=True)
class Status:
    """What a storage holds, and what it did since it started.

    Attributes:
        values: in the file, those of earlier runs included; None if it cannot be read.
        stored: messages whose value was stored.
        deleted: deletions that were obeyed.
        late: messages and deletions that were older than what was there.
        gets: that were answered, with or without a value.
        answered: values that were sent to those who asked.
        refused: messages and gets that could not be served; the log says why.
        failures: of the file, such as a full disk.
    """

    values: int | None
    stored: int = 0
    deleted: int = 0
    late: int = 0
    gets: int = 0
    answered: int = 0
    refused: int = 0
    failures: int = 0


class Storage:
    """Keeps the last value per topic and place of what arises in its areas, and answers gets.

    Only located messages are kept: a plain one has no place. A get of an area is answered with
    what lies in it, a plain get with all there is on its topic; each value goes with the place,
    encoding, attachment and timestamp it came with. Messages without a timestamp get one on
    arrival. What goes wrong with a message or a get is logged and counted, and the storage goes on.

    >>> import zenoh_la
    >>> from zenoh_la import Circle, Coordinates
    >>> config = zenoh.Config.from_json5("{scouting: {multicast: {enabled: false}}}")
    >>> with zenoh_la.open(config) as session, Store(":memory:") as store:
    ...     with Storage(session, "t/**", [Circle(Coordinates(48, 14), 2000)], store) as storage:
    ...         session.declare_position_handler(60, lambda: Coordinates(48.001, 14))
    ...         session.put("t/a", "21.5")
    ...         storage.status().values
    1

    Args:
        session: stays open when the storage is closed.
        key_expr: the topic, wildcards allowed.
        areas: one or several; what lies in two of them is one value.
        store: where the values are; stays open when the storage is closed.
        precision: the encoding of the areas. `Precision.POINT` and `Precision.MGRS` receive what
            is located by either, `Precision.BLOOM_FILTER` what is located by Bloom elements.
        bloom_domain: with it, what is located by elements of this grid is kept as well.
    """

    def __init__(
        self,
        session: LocationSession,
        key_expr: Any,
        areas: Sequence[Area],
        store: Store,
        *,
        precision: Precision = Precision.POINT,
        bloom_domain: BloomDomain | None = None,
    ) -> None:
        self._session = session
        self._store = store
        self._topic = zenoh.KeyExpr(str(key_expr))
        self._lock = threading.Lock()  # guards the counters
        self._counts = {field.name: 0 for field in fields(Status) if field.name != "values"}
        self._next_complaint_s = 0.0
        self._gate = threading.Lock()  # who has it puts, or closes
        self._closed = False
        # Gets have a thread: they may take long, and meanwhile nothing would be received.
        self._waiting: Queue[tuple[LocatedQuery, bool] | None] = Queue(MAX_WAITING)
        self._worker = threading.Thread(target=self._answer_all, name="zla-storage", daemon=True)
        self._worker.start()
        self._declared: list[Any] = []
        try:
            if bloom_domain is not None:
                session.declare_bloom_domain(bloom_domain)
            self._declare(areas, precision)
            if bloom_domain is not None and precision is not Precision.BLOOM_FILTER:
                self._declare(areas, Precision.BLOOM_FILTER)
        except BaseException:
            self._retire()
            raise

    def _declare(self, areas: Sequence[Area], precision: Precision) -> None:
        speaks_for_all = not self._declared  # a plain get reaches both queryables

        def on_query(query: LocatedQuery) -> None:
            self._on_query(query, speaks_for_all)

        where: dict[str, Any] = {"location_shape": tuple(areas), "precision": precision}
        # On the receiving thread: who puts and then asks finds what it put.
        on_sample = zenoh.handlers.Callback(self._on_sample, indirect=False)
        self._declared.append(self._session.declare_subscriber(self._topic, on_sample, **where))
        direct = zenoh.handlers.Callback(on_query, indirect=False)
        self._declared.append(self._session.declare_queryable(self._topic, direct, **where))

    def status(self) -> Status:
        """What it holds and did."""
        values = None
        with contextlib.suppress(StorageError):
            values = self._twice(lambda: len(self._store))
        with self._lock:
            return Status(values, **self._counts)

    def _count(self, name: str, by: int = 1) -> None:
        with self._lock:
            self._counts[name] += by

    # What arises

    def _on_sample(self, sample: LocatedSample) -> None:
        with self._gate:
            if self._closed:
                return
            try:
                kept = self._twice(lambda: self._keep(sample))
            except (ZenohLaError, zenoh.ZError) as exc:
                self._complain("a message on %s was not kept: %s", sample.key_expr, exc)
                return
        name = "deleted" if sample.kind == _DELETE else "stored"
        self._count(name if kept else "late")

    def _keep(self, sample: LocatedSample) -> bool:
        topic, key, domain = str(sample.key_expr), sample.location_key, sample.bloom_domain
        assert key is not None  # an area subscriber receives nothing else
        came = sample.timestamp
        timestamp = str(self._session.new_timestamp() if came is None else came)
        if sample.kind == _DELETE:
            return self._store.delete(topic, key, timestamp, domain=domain)
        attachment = None if sample.attachment is None else sample.attachment.to_bytes()
        payload, encoding = sample.payload.to_bytes(), str(sample.encoding)
        value = StoredValue(topic, key, domain, payload, encoding, attachment, timestamp)
        return self._store.put(value)

    def _twice(self, step: Callable[[], Any]) -> Any:
        """Does something with the store.

        Twice if it fails: the failure may be an earlier commit's, told to whoever comes next.
        """
        try:
            return step()
        except StorageError as exc:
            self._count("failures")
            self._warn("%s", exc)
            return step()

    def _complain(self, text: str, *about: object) -> None:
        self._count("refused")
        self._warn(text, *about)

    def _warn(self, text: str, *about: object) -> None:
        with self._lock:
            if monotonic() < self._next_complaint_s:
                return
            self._next_complaint_s = monotonic() + _COMPLAIN_EVERY_S
        log.warning(text, *about)

    # What is asked for

    def _on_query(self, query: LocatedQuery, speaks_for_all: bool) -> None:
        try:
            self._waiting.put_nowait((query, speaks_for_all))
        except Full:
            self._refuse(query, f"{MAX_WAITING} gets are waiting already")

    def _answer_all(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            query, speaks_for_all = waiting
            try:
                if query.areas is None and not speaks_for_all:
                    query.drop()
                    continue
                answered = self._answer(query)
            except (ZenohLaError, zenoh.ZError) as exc:
                self._refuse(query, str(exc))
            except Exception as exc:
                log.exception("a get on %s", query.key_expr)
                self._refuse(query, f"{type(exc).__name__}: {exc}")
            else:
                self._count("gets")
                self._count("answered", answered)
                query.drop()

    def _answer(self, query: LocatedQuery) -> int:
        found = self._twice(lambda: self._store.find(str(query.key_expr), query.areas))
        # A file may hold topics of earlier runs that this one does not speak for.
        found = [value for value in found if self._topic.includes(value.topic)]
        for value in found:
            query.reply(
                value.topic,
                value.payload,
                encoding=value.encoding,
                attachment=value.attachment,
                timestamp=timestamp_of(value.timestamp),
                location=value.location_key,
                bloom_domain=value.domain,
            )
        return len(found)

    def _refuse(self, query: LocatedQuery, problem: str) -> None:
        self._complain("a get on %s was not answered: %s", query.key_expr, problem)
        with contextlib.suppress(zenoh.ZError), query:
            query.reply_err(f"zenoh-la: {problem}", encoding=zenoh.Encoding.TEXT_PLAIN)

    # The end

    def close(self) -> None:
        """Takes the areas back and makes all durable; a second time it does nothing."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
        self._retire()
        self._store.flush()

    def _retire(self) -> None:
        for declared in reversed(self._declared):
            with contextlib.suppress(zenoh.ZError):  # the session may be closed already
                declared.undeclare()
        self._waiting.put(None)
        self._worker.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def timestamp_of(text: str) -> zenoh.Timestamp:
    """A stored timestamp as Zenoh's, to the nanosecond: that is what clocks give.

    >>> str(timestamp_of("7709420599039025798/377bf832cc82963390a02d4223b5ee14"))
    '7709420599039025798/377bf832cc82963390a02d4223b5ee14'
    """
    time, _, clock = text.partition("/")
    seconds, fraction = divmod(int(time), 1 << 32)
    nanos = min(-(-fraction * 10**9 >> 32), 10**9 - 1)  # up, as Zenoh itself rounds down
    number = int(clock, 16)
    return zenoh.Timestamp(zenoh.NTP64(seconds, nanos), number.to_bytes(16, "little"))
