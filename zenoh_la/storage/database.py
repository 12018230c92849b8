"""The SQLite file of a store: its tables, and how it is opened."""

from __future__ import annotations

import sqlite3

from zenoh_la.errors import StorageError

_APPLICATION_ID = 0x7A6C6173  # "zlas", in the file's header
_SCHEMA_VERSION = 1
_BUSY_S = 1.0


def schema(*, rtree: bool) -> tuple[str, ...]:
    """The statements that make an empty store; ``bounds`` is an R*Tree if SQLite has it.

    Triggers keep ``bounds`` and ``tombstone`` in step with ``value``: each put and delete is
    one statement, so that none is ever done by half.
    """
    sides = "min_lat, max_lat, min_long, max_long"
    return (
        """CREATE TABLE value (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, place TEXT NOT NULL,
        domain TEXT NOT NULL, location_key TEXT NOT NULL, payload BLOB NOT NULL,
        encoding TEXT NOT NULL, attachment BLOB, timestamp TEXT NOT NULL, ntp64 INTEGER NOT NULL,
        clock TEXT NOT NULL, min_lat REAL, max_lat REAL, min_long REAL, max_long REAL,
        UNIQUE (topic, place, domain))""",
        "CREATE INDEX value_place ON value (place)",
        """CREATE TABLE tombstone (topic TEXT NOT NULL, place TEXT NOT NULL, domain TEXT NOT NULL,
        ntp64 INTEGER NOT NULL, clock TEXT NOT NULL, made_s REAL NOT NULL,
        PRIMARY KEY (topic, place, domain)) WITHOUT ROWID""",
        "CREATE INDEX tombstone_made ON tombstone (made_s)",
        f"CREATE VIRTUAL TABLE bounds USING rtree (id, {sides})"
        if rtree
        else f"CREATE TABLE bounds (id INTEGER PRIMARY KEY, {sides})",
        *([] if rtree else [f"CREATE INDEX bounds_lat ON bounds ({sides})"]),
        """CREATE TRIGGER value_added AFTER INSERT ON value WHEN new.min_lat IS NOT NULL BEGIN
        INSERT INTO bounds (id, min_lat, max_lat, min_long, max_long)
        VALUES (new.id, new.min_lat, new.max_lat, new.min_long, new.max_long); END""",
        """CREATE TRIGGER value_deleted AFTER DELETE ON value BEGIN
        DELETE FROM bounds WHERE id = old.id; END""",
        """CREATE TRIGGER tombstone_added AFTER INSERT ON tombstone BEGIN
        DELETE FROM value WHERE topic = new.topic AND place = new.place
        AND new.domain IN ('', domain) AND (ntp64, clock) <= (new.ntp64, new.clock); END""",
        f"PRAGMA application_id = {_APPLICATION_ID}",
        f"PRAGMA user_version = {_SCHEMA_VERSION}",
    )


def opened(path: str) -> sqlite3.Connection:
    """A connection to the file of a store, which is made if there is none.

    Raises:
        StorageError: the file is damaged, somebody else's, in use or newer than this program.
    """
    connection = None
    try:
        connection = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        _prepare(path, connection)
    except BaseException as exc:
        if connection is not None:
            connection.close()
        if isinstance(exc, sqlite3.Error):
            raise storage_error(path, exc) from exc
        raise
    return connection


def _prepare(path: str, connection: sqlite3.Connection) -> None:
    # One process at a time: a transaction is open nearly always, a second one could only wait.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    is_new = application == version == tables == 0
    if not is_new and application != _APPLICATION_ID:
        raise StorageError(path, "is an SQLite database of another program")
    if version > _SCHEMA_VERSION:
        problem = f"has schema {version}, this program knows {_SCHEMA_VERSION}: it is too old"
        raise StorageError(path, problem)
    # About a microsecond per value, and SQLite itself would miss some values without a word.
    (verdict,) = connection.execute("PRAGMA integrity_check (1)").fetchone()
    if verdict != "ok":
        raise StorageError(path, f"is damaged: {verdict}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    if is_new:
        for statement in schema(rtree=_has_rtree(connection)):
            connection.execute(statement)
    connection.execute("COMMIT")


def _has_rtree(connection: sqlite3.Connection) -> bool:
    modules = connection.execute("PRAGMA module_list").fetchall()
    return ("rtree",) in modules


def storage_error(path: str, error: sqlite3.Error) -> StorageError:
    """SQLite's error as ours."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
        return StorageError(path, "is in use by another process")
    return StorageError(path, f"{error} ({type(error).__name__})")
