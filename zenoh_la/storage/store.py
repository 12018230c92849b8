"""The last value per topic and place, in one SQLite file. No Zenoh session is needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Condition, Thread
from time import monotonic, time
from types import TracebackType
from typing import Any

import zenoh

from zenoh_la import encoders, keys
from zenoh_la.encoders import Location
from zenoh_la.errors import ArgumentError, LocationKeyError, StorageError
from zenoh_la.keys import LocationKey
from zenoh_la.storage.database import opened, storage_error
from zenoh_la.storage.place_search import Search, Term, placed
from zenoh_la.storage.stored_value import StoredValue, check_place, order
from zenoh_la.values.checks import finite

__all__ = ["Store", "StoredValue"]

_COMMIT_AFTER_S = 0.05  # leaves as long again for the commit itself: durable within 100 ms
_SWEEP_EVERY_S = 60.0
_TERMS = 100  # of one compound SELECT; SQLite allows 500


# Of a put and a deletion with the same time the deletion wins, in whatever order they come.
_PUT = """INSERT INTO value (topic, place, domain, location_key, payload, encoding, attachment,
    timestamp, ntp64, clock, min_lat, max_lat, min_long, max_long)
SELECT :topic, :place, :domain, :location_key, :payload, :encoding, :attachment,
    :timestamp, :ntp64, :clock, :min_lat, :max_lat, :min_long, :max_long
WHERE NOT EXISTS (SELECT 1 FROM tombstone AS t WHERE t.topic = :topic AND t.place = :place
    AND t.domain IN ('', :domain) AND (t.ntp64, t.clock) >= (:ntp64, :clock))
ON CONFLICT (topic, place, domain) DO UPDATE SET location_key = excluded.location_key,
    payload = excluded.payload, encoding = excluded.encoding, attachment = excluded.attachment,
    timestamp = excluded.timestamp, ntp64 = excluded.ntp64, clock = excluded.clock
WHERE (excluded.ntp64, excluded.clock) >= (value.ntp64, value.clock)"""
_BURY = """INSERT OR REPLACE INTO tombstone (topic, place, domain, ntp64, clock, made_s)
SELECT :topic, :place, :domain, :ntp64, :clock, :now_s
WHERE NOT EXISTS (SELECT 1 FROM tombstone AS t WHERE t.topic = :topic AND t.place = :place
    AND t.domain = :domain AND (t.ntp64, t.clock) > (:ntp64, :clock))"""
_SURVIVES = """SELECT EXISTS (SELECT 1 FROM value WHERE topic = :topic AND place = :place
    AND :domain IN ('', domain))"""
_FIND = (
    "SELECT id, topic, location_key, domain, payload, encoding, attachment, timestamp FROM value"
)


class Store:
    """Keeps the last value per topic and place; any number of threads may use it.

    What is put is found at once, and durable within 100 ms or when the store is closed.

    >>> from zenoh_la import Coordinates
    >>> here = encoders.get("mgrs").encode_position(Coordinates(48, 14))
    >>> with Store(":memory:") as store:
    ...     store.put(StoredValue("a/b", here, None, b"21.5", "text/plain", None, "5/1f"))
    ...     [value.payload for value in store.find("a/*", [encoders.decode("$zla_m_33UVP")])]
    True
    [b'21.5']

    Args:
        path: the file, made if there is none; ``":memory:"`` keeps nothing on disk.
        tombstone_s: how long a deletion is remembered, so that an older value which arrives
            late does not come back.

    Raises:
        StorageError: the file is damaged, somebody else's, in use or newer than this program.
    """

    def __init__(self, path: str | Path, *, tombstone_s: float = 3600.0) -> None:
        self._path = str(path)
        self._tombstone_s = finite("tombstone_s", tombstone_s, 0.0)
        self._changed = Condition()  # its lock guards all that follows
        self._due_s = 0.0
        self._next_sweep_s = 0.0
        self._failure: StorageError | None = None
        self._closed = False
        self._connection = opened(self._path)
        with self._using():
            self._begin()
            self._sweep()
        self._committer: Thread | None = None
        if self._path != ":memory:":
            # A thread, as nobody else commits the last put before a pause.
            self._committer = Thread(target=self._commit_in_time, name="zla-store", daemon=True)
            self._committer.start()

    def put(self, value: StoredValue) -> bool:
        """Stores a value, unless a newer value or deletion for its topic and place is there.

        Raises:
            LocationKeyError: nobody here can read its location key.
        """
        place, near = placed(encoders.decode(value.location_key), value.location_key)
        ntp64, clock = order(value.timestamp)
        fields = {
            "topic": value.topic,
            "place": place,
            "domain": value.domain or "",
            "location_key": value.location_key.written,
            "payload": value.payload,
            "encoding": value.encoding,
            "attachment": value.attachment,
            "timestamp": value.timestamp,
            "ntp64": ntp64,
            "clock": clock,
            "min_lat": near.min_lat if near else None,
            "max_lat": near.max_lat if near else None,
            "min_long": near.min_long if near else None,
            "max_long": near.max_long if near else None,
        }
        with self._using() as connection:
            self._begin()
            return connection.execute(_PUT, fields).rowcount == 1

    def delete(
        self, topic: str, location_key: LocationKey, timestamp: str, *, domain: str | None = None
    ) -> bool:
        """Deletes a value, unless a newer one or a newer deletion is there.

        Args:
            topic: the plain topic.
            location_key: of the publisher.
            timestamp: of the deletion, as in a `StoredValue`.
            domain: of a Bloom key, the domain it belongs to; None means every domain.
        """
        check_place(topic, location_key, domain)
        place, _ = placed(encoders.decode(location_key), location_key)
        ntp64, clock = order(timestamp)
        where = {"topic": topic, "place": place, "domain": domain or ""}
        with self._using() as connection:
            self._begin()
            self._sweep()
            when = {"ntp64": ntp64, "clock": clock, "now_s": time()}
            buried = connection.execute(_BURY, where | when).rowcount == 1
            (newer,) = connection.execute(_SURVIVES, where).fetchone()
            return buried and not newer

    def find(self, selector: str, areas: Sequence[Location] | None) -> list[StoredValue]:
        """All values whose topic and place fit, in no particular order.

        Args:
            selector: a key expression that the topic must intersect, e.g. ``temperature/**``.
            areas: where the place must lie, in at least one of them: the decoded location
                keys of a get. None means everywhere.

        Raises:
            LocationKeyError: the selector is no plain key expression.
        """
        located, topic = keys.split(selector)
        if located is not None:
            raise LocationKeyError(selector, "topic", "must be plain: places are given as areas")
        search = None if areas is None else Search(areas)
        wanted = zenoh.KeyExpr(topic)
        fits: dict[str, bool] = {}
        found = []
        for row in self._candidates(topic, search):
            if row[1] not in fits:
                fits[row[1]] = wanted.intersects(zenoh.KeyExpr(row[1]))
            if fits[row[1]]:
                value = self._value(row)
                if search is None or search.holds(value):
                    found.append(value)
        return found

    def _candidates(self, topic: str, search: Search | None) -> list[tuple[Any, ...]]:
        narrow, texts = _topic_term(topic)
        with self._using() as connection:
            if search is None:
                return connection.execute(f"{_FIND} WHERE {narrow}", texts).fetchall()
            rows = {}
            terms = search.terms()
            while batch := list(islice(terms, _TERMS)):
                ids = " UNION ".join(select for select, _ in batch)
                values = [value for _, values in batch for value in values]
                statement = f"{_FIND} WHERE id IN ({ids}) AND {narrow}"
                for row in connection.execute(statement, (*values, *texts)):
                    rows[row[0]] = row
            return list(rows.values())

    def _value(self, row: tuple[Any, ...]) -> StoredValue:
        _, topic, key, domain, *rest = row
        try:
            return StoredValue(topic, LocationKey(key), domain or None, *rest)
        except (LocationKeyError, ArgumentError) as exc:
            raise StorageError(self._path, f"holds a damaged value: {exc}") from exc

    def __len__(self) -> int:
        with self._using() as connection:
            (count,) = connection.execute("SELECT count(*) FROM value").fetchone()
        return int(count)

    def flush(self) -> None:
        """Makes durable now what was put and deleted."""
        with self._using():
            self._commit()

    def close(self) -> None:
        """Makes all durable and gives the file free; a second time it does nothing."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
            try:
                self._commit()
            except sqlite3.Error as exc:
                raise storage_error(self._path, exc) from exc
            finally:
                self._connection.close()
        if self._committer is not None:
            self._committer.join()
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """The connection, to one thread at a time; its errors become ours."""
        with self._changed:
            if self._closed:
                raise StorageError(self._path, "is closed")
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            try:
                yield self._connection
            except sqlite3.Error as exc:
                raise storage_error(self._path, exc) from exc

    def _begin(self) -> None:
        if self._connection.in_transaction and monotonic() >= self._due_s:
            self._commit()  # the thread waits for the lock, and there may be a crowd
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
            self._due_s = monotonic() + _COMMIT_AFTER_S
            self._changed.notify_all()

    def _commit(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def _commit_in_time(self) -> None:
        with self._changed:
            while not self._closed:
                if not self._connection.in_transaction:
                    self._changed.wait()
                elif (left_s := self._due_s - monotonic()) > 0.0:
                    self._changed.wait(left_s)
                else:
                    try:
                        self._commit()
                    except sqlite3.Error as exc:  # told to whoever comes next
                        problem = f"{exc}: what was put less than 100 ms before may be lost"
                        self._failure = StorageError(self._path, problem)
                        self._due_s = monotonic() + _COMMIT_AFTER_S

    def _sweep(self) -> None:
        if monotonic() >= self._next_sweep_s:
            self._next_sweep_s = monotonic() + _SWEEP_EVERY_S
            oldest_s = time() - self._tombstone_s
            self._connection.execute("DELETE FROM tombstone WHERE made_s <= ?", (oldest_s,))


def _topic_term(topic: str) -> Term:
    """A condition that holds for all topics which intersect a key expression, and for few more."""
    chunks = topic.split("/")
    wild = next((i for i, chunk in enumerate(chunks) if "*" in chunk), None)
    if wild is None:
        return "topic = ?", (topic,)
    if wild == 0:
        return "TRUE", ()
    head = "/".join(chunks[:wild])
    return "(topic = ? OR topic >= ? AND topic < ?)", (head, f"{head}/", f"{head}0")  # "0": "/" + 1
