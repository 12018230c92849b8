from __future__ import annotations

import resource
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest
import zenoh

from tests.cli.commands import Command
from tests.network import (
    RouterProcess,
    client,
    converged,
    endpoint,
    native_client,
    peers,
    router,
    wait_for,
)
from zenoh_la import (
    ArgumentError,
    BloomDomain,
    Circle,
    Coordinates,
    GeographicRange,
    LocatedSample,
    LocationSession,
    OutsideDomainError,
    Polygon,
    Precision,
)
from zenoh_la.storage import Storage, Store
from zenoh_la.values import Area

LINZ = Coordinates(48.3, 14.3)
WELS = Coordinates(48.16, 14.03)
GRAZ = Coordinates(47.07, 15.44)
AUSTRIA = GeographicRange(46, 9, 49, 17.5)
NEAR_LINZ = Circle(LINZ, 5_000)
UPPER_AUSTRIA = GeographicRange(47.8, 13.3, 48.6, 14.8)
DOMAIN = BloomDomain(AUSTRIA, rows=10, columns=10, false_positive_probability=0.25)
NO_CONSOLIDATION = zenoh.ConsolidationMode.NONE


@pytest.fixture(scope="module")
def hub() -> Iterator[RouterProcess]:
    with router() as process:
        yield process


@pytest.fixture
def publisher(hub: RouterProcess) -> Iterator[LocationSession]:
    with client(hub.endpoint) as session:
        session.declare_bloom_domain(DOMAIN)
        yield session


@pytest.fixture
def asker(hub: RouterProcess) -> Iterator[LocationSession]:
    with client(hub.endpoint) as session:
        session.declare_bloom_domain(DOMAIN)
        yield session


@contextmanager
def storage_at(
    hub: RouterProcess,
    topic: str = "t/**",
    areas: Sequence[Area] = (AUSTRIA,),
    path: str | Path = ":memory:",
    **options: Any,
) -> Iterator[Storage]:
    with (
        client(hub.endpoint) as session,
        Store(path) as store,
        Storage(session, topic, areas, store, **options) as storage,
    ):
        yield storage


def put(session: LocationSession, at: Coordinates, topic: str, payload: str, **more: Any) -> None:
    session.declare_position_handler(inf, lambda: at)
    session.put(topic, payload, **more)


def delete(session: LocationSession, at: Coordinates, topic: str, **more: Any) -> None:
    session.declare_position_handler(inf, lambda: at)
    session.delete(topic, **more)


def wait_until(storage: Storage, **counts: int) -> None:
    def look() -> bool:
        status = storage.status()
        return all(getattr(status, name) >= count for name, count in counts.items())

    wait_for(look, f"{counts}; it is {storage.status()}")
    status = storage.status()
    assert {name: getattr(status, name) for name in counts} == counts


def replies(session: LocationSession, topic: str, area: Area | None = None, **more: Any) -> Any:
    """The samples of a get, which must have no errors among its replies."""
    if area is not None:
        more["location_shape"] = area
    samples = []
    for reply in session.get(topic, timeout=10.0, **more):
        assert reply.ok is not None, reply.err.payload.to_string()
        samples.append(reply.ok)
    return samples


def texts(session: LocationSession, topic: str, area: Area | None = None, **more: Any) -> list[str]:
    return sorted(s.payload.to_string() for s in replies(session, topic, area, **more))


def storage_threads() -> int:
    return sum(thread.name == "zla-storage" for thread in threading.enumerate())


# What is kept, and how it is answered.


def test_a_value_goes_out_as_it_came_in(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession
) -> None:
    with storage_at(hub) as storage:
        stamp = publisher.new_timestamp()
        encoding = zenoh.Encoding.TEXT_JSON.with_schema("v1")
        put(publisher, LINZ, "t/a", "1", encoding=encoding, attachment="mine", timestamp=stamp)
        wait_until(storage, stored=1)
        (found,) = replies(asker, "t/a", NEAR_LINZ)
        assert str(found.key_expr) == "t/a"
        assert found.payload.to_string() == "1"
        assert found.kind == zenoh.SampleKind.PUT
        assert found.location == LINZ
        assert found.encoding == encoding
        assert found.attachment.to_string() == "mine"
        assert found.timestamp == stamp
        assert (storage.status().gets, storage.status().answered) == (1, 1)


def test_the_last_value_per_topic_and_place(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession
) -> None:
    with storage_at(hub) as storage:
        for round_ in "12":
            for name, place in {"linz": LINZ, "wels": WELS, "graz": GRAZ}.items():
                put(publisher, place, "t/a", f"{name} a{round_}")
                put(publisher, place, "t/b/c", f"{name} b{round_}")
        wait_until(storage, stored=12, values=6)
        # Consolidation is per topic and place: Zenoh's own would leave one per topic.
        assert texts(asker, "t/a", AUSTRIA) == ["graz a2", "linz a2", "wels a2"]
        assert texts(asker, "t/a", UPPER_AUSTRIA) == ["linz a2", "wels a2"]
        assert texts(asker, "t/**", NEAR_LINZ) == ["linz a2", "linz b2"]
        assert texts(asker, "*/b/*", NEAR_LINZ) == ["linz b2"]
        assert texts(asker, "t/x", AUSTRIA) == []


def test_a_plain_get_is_answered_with_all(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession
) -> None:
    with storage_at(hub, areas=[NEAR_LINZ, AUSTRIA]) as storage:
        put(publisher, LINZ, "t/a", "linz", attachment="mine")
        put(publisher, GRAZ, "t/a", "graz")
        wait_until(storage, stored=2)
        found = replies(asker, "t/*", consolidation=NO_CONSOLIDATION)
        places = {s.payload.to_string(): (s.location, s.attachment) for s in found}
        assert len(found) == 2
        assert places["linz"][0] == LINZ
        assert places["linz"][1].to_string() == "mine"
        assert places["graz"] == (GRAZ, None)
        with native_client(hub.endpoint) as native:
            got = native.get("t/a", consolidation=NO_CONSOLIDATION)
            assert sorted(r.ok.payload.to_string() for r in got if r.ok) == ["graz", "linz"]
            # Without that, Zenoh keeps the newest per topic, as of any other queryable.
            assert [r.ok.payload.to_string() for r in native.get("t/a") if r.ok] == ["graz"]


def test_who_puts_and_then_asks_finds_what_it_put(
    hub: RouterProcess, publisher: LocationSession
) -> None:
    with storage_at(hub):
        for i in range(100):
            put(publisher, LINZ, "t/a", str(i))
            assert texts(publisher, "t/a", None if i % 2 else NEAR_LINZ) == [str(i)]


def test_what_lies_elsewhere_or_nowhere_is_not_kept(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession
) -> None:
    with storage_at(hub, areas=[NEAR_LINZ]) as storage:
        put(publisher, GRAZ, "t/a", "elsewhere")
        publisher.put("t/a", "nowhere", precision=None)
        put(publisher, LINZ, "u/a", "another topic")
        put(publisher, LINZ, "t/a", "fence")
        wait_until(storage, stored=1)
        assert texts(asker, "**", AUSTRIA, target=zenoh.QueryTarget.ALL) == ["fence"]
        assert storage.status().values == 1


def test_what_lies_in_several_areas_is_kept_and_answered_once(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession
) -> None:
    triangle = Polygon.from_wkt("POLYGON((15 46.9, 16 46.9, 15.5 47.3, 15 46.9))")
    with storage_at(hub, areas=[NEAR_LINZ, UPPER_AUSTRIA, triangle]) as storage:
        put(publisher, LINZ, "t/a", "in two")
        put(publisher, WELS, "t/a", "in one")
        put(publisher, Coordinates(48.2, 16.4), "t/a", "in none")
        put(publisher, GRAZ, "t/a", "in the third")
        wait_until(storage, stored=3, values=3)
        everything = texts(asker, "t/a", AUSTRIA, consolidation=NO_CONSOLIDATION)
        assert everything == ["in one", "in the third", "in two"]


def test_deletions_and_what_comes_late(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession
) -> None:
    with storage_at(hub) as storage:
        old, middle, new = (publisher.new_timestamp() for _ in range(3))
        put(publisher, LINZ, "t/a", "new", timestamp=new)
        put(publisher, LINZ, "t/a", "old", timestamp=old)
        put(publisher, GRAZ, "t/a", "graz", timestamp=old)
        delete(publisher, LINZ, "t/a", timestamp=middle)
        wait_until(storage, stored=2, late=2)
        assert texts(asker, "t/a", AUSTRIA) == ["graz", "new"]
        delete(publisher, GRAZ, "t/a", timestamp=new)
        put(publisher, GRAZ, "t/a", "from before the deletion", timestamp=middle)
        delete(publisher, LINZ, "t/b")
        wait_until(storage, stored=2, deleted=2, late=3)
        assert texts(asker, "t/a", AUSTRIA) == ["new"]
        put(publisher, GRAZ, "t/a", "again")
        wait_until(storage, stored=3)
        assert texts(asker, "t/a", AUSTRIA) == ["again", "new"]


def test_a_deletion_of_many_topics_is_refused(
    hub: RouterProcess, publisher: LocationSession, caplog: pytest.LogCaptureFixture
) -> None:
    with storage_at(hub) as storage:
        put(publisher, LINZ, "t/a", "stays")
        delete(publisher, LINZ, "t/*")
        wait_until(storage, refused=1, values=1)
        assert "wildcards" in caplog.text


# Encodings.


@pytest.mark.parametrize("precision", list(Precision))
def test_each_encoding(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession, precision: Precision
) -> None:
    with storage_at(hub, precision=precision, bloom_domain=DOMAIN) as storage:
        put(publisher, LINZ, "t/a", "old", precision=precision)
        put(publisher, LINZ, "t/a", "linz", precision=precision)
        put(publisher, GRAZ, "t/a", "graz", precision=precision)
        wait_until(storage, stored=3, values=2)
        (found,) = replies(asker, "t/a", NEAR_LINZ, precision=precision)
        assert found.payload.to_string() == "linz"
        assert found.location_key.encoding == precision.value
        exact = precision is not Precision.BLOOM_FILTER
        assert found.location.distance_m(LINZ) < (2 if exact else 50_000)
        assert texts(asker, "t/a", AUSTRIA, precision=precision) == ["graz", "linz"]
        delete(publisher, LINZ, "t/a", precision=precision)
        wait_until(storage, deleted=1)
        assert texts(asker, "t/a", AUSTRIA, precision=precision) == ["graz"]


def test_one_storage_for_all_encodings(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession
) -> None:
    with storage_at(hub, bloom_domain=DOMAIN) as storage:
        for precision in Precision:
            put(publisher, LINZ, "t/a", precision.value, precision=precision)
        wait_until(storage, stored=3, values=3)
        for precision in (Precision.POINT, Precision.MGRS):
            found = texts(asker, "t/a", NEAR_LINZ, precision=precision)
            assert found == ["base64_json", "mgrs"]
        assert texts(asker, "t/a", NEAR_LINZ, precision=Precision.BLOOM_FILTER) == ["bloom"]
        everything = texts(asker, "t/a", consolidation=NO_CONSOLIDATION)
        assert everything == ["base64_json", "bloom", "mgrs"]


def test_what_cannot_be_is_said_at_once_and_leaves_no_thread(hub: RouterProcess) -> None:
    with client(hub.endpoint) as session, Store(":memory:") as store:
        with pytest.raises(ArgumentError, match="at least one area"):
            Storage(session, "t", [], store)
        with pytest.raises(ArgumentError, match="declare_bloom_domain"):
            Storage(session, "t", [AUSTRIA], store, precision=Precision.BLOOM_FILTER)
        far = Circle(Coordinates(0, 0), 10)
        with pytest.raises(OutsideDomainError):
            Storage(session, "t", [far], store, bloom_domain=DOMAIN)
        with pytest.raises(ArgumentError, match="key_expr"):
            Storage(session, "t/" + "x" * 70_000, [AUSTRIA], store)
        assert storage_threads() == 0
        assert replies(session, "t", far) == []


# Networks.


def stock_clients() -> Iterator[list[LocationSession]]:
    with router(stock=True) as stock, ExitStack() as stack:
        yield [stack.enter_context(client(stock.endpoint)) for _ in range(3)]


def three_peers() -> Iterator[list[LocationSession]]:
    with ExitStack() as stack:
        yield [stack.enter_context(session) for session in peers(3)]


@pytest.mark.parametrize("network", [three_peers, stock_clients])
def test_where_no_router_knows_places(network: Any) -> None:
    with (
        contextmanager(network)() as (publisher, keeper, asker),
        Store(":memory:") as store,
        Storage(keeper, "t/*", [UPPER_AUSTRIA], store) as storage,
    ):
        for session in (publisher, asker):
            assert session.node_status() is not None  # each is a node of its own
        converged(publisher._zsession, 3)
        put(publisher, GRAZ, "t/a", "elsewhere")
        for i in range(3):
            put(publisher, LINZ, "t/a", f"linz {i}")
            put(publisher, WELS, "t/a", f"wels {i}")
        wait_until(storage, stored=6, values=2)
        for area in (AUSTRIA, UPPER_AUSTRIA):
            assert texts(asker, "t/a", area) == ["linz 2", "wels 2"]
        assert texts(asker, "t/a", consolidation=NO_CONSOLIDATION) == ["linz 2", "wels 2"]
        assert all(s.timestamp is not None for s in replies(asker, "t/a", AUSTRIA))


def test_two_storages_answer_as_one(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession
) -> None:
    with storage_at(hub) as one, storage_at(hub, areas=[UPPER_AUSTRIA]) as other:
        put(publisher, LINZ, "t/a", "linz")
        put(publisher, GRAZ, "t/a", "graz")
        wait_until(one, stored=2)
        wait_until(other, stored=1)
        assert texts(asker, "t/a", AUSTRIA) == ["graz", "linz"]
        doubled = texts(asker, "t/a", AUSTRIA, consolidation=NO_CONSOLIDATION)
        assert doubled == ["graz", "linz", "linz"]


def test_a_get_of_thousands_loses_none(hub: RouterProcess, asker: LocationSession) -> None:
    with storage_at(hub, "t") as storage:
        for i in range(3000):
            at = Coordinates(47 + i / 10_000, 14)
            put(asker, at, "t", str(i), congestion_control=zenoh.CongestionControl.BLOCK)
        wait_until(storage, stored=3000)
        found = replies(asker, "t", AUSTRIA)
        assert {int(s.payload.to_string()) for s in found} == set(range(3000))
        assert len(found) == 3000


# The end, and what comes after it.


def test_closing_leaves_no_thread_and_makes_all_durable(
    hub: RouterProcess, publisher: LocationSession, tmp_path: Path
) -> None:
    with client(hub.endpoint) as session, Store(tmp_path / "a.db") as store:
        storage = Storage(session, "t", [AUSTRIA], store)
        assert storage_threads() == 1
        put(publisher, LINZ, "t", "kept")
        wait_until(storage, stored=1)
        storage.close()
        storage.close()
        for file in tmp_path.glob("a.db*"):  # as a backup would, while the file is open
            shutil.copy(file, tmp_path / file.name.replace("a.db", "copy.db"))
        with Store(tmp_path / "copy.db") as copy:
            assert [value.payload for value in copy.find("t", None)] == [b"kept"]
        assert storage_threads() == 0
        assert replies(publisher, "t", AUSTRIA) == []


def test_a_session_that_is_closed_first(hub: RouterProcess) -> None:
    with Store(":memory:") as store:
        session = client(hub.endpoint)
        with Storage(session, "t", [AUSTRIA], store):
            session.close()


def test_topics_of_earlier_runs_stay_in_the_file(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession, tmp_path: Path
) -> None:
    with storage_at(hub, "t/*", path=tmp_path / "a.db") as storage:
        put(publisher, LINZ, "t/a", "of t")
        wait_until(storage, stored=1)
    with storage_at(hub, "u/*", path=tmp_path / "a.db") as storage:
        put(publisher, LINZ, "u/a", "of u")
        wait_until(storage, stored=1, values=2)
        assert texts(asker, "**", AUSTRIA) == ["of u"]
    with storage_at(hub, "*/a", path=tmp_path / "a.db"):
        assert texts(asker, "**", AUSTRIA) == ["of t", "of u"]


def payloads(found: list[LocatedSample]) -> list[tuple[str, Coordinates | None, str]]:
    return sorted((s.payload.to_string(), s.location, str(s.timestamp)) for s in found)


def wait_until_durable(wal: Path, session: LocationSession, topic: str) -> None:
    """Waits until all that was answered before is on disk.

    That takes 100 ms, but machines are slow: it is so once a later commit has begun and its lock
    is free again.
    """
    size = wal.stat().st_size
    put(session, LINZ, f"{topic}/1", "")
    wait_for(lambda: wal.stat().st_size > size, "a commit")
    put(session, LINZ, f"{topic}/2", "")
    wait_for(lambda: replies(session, f"{topic}/2", AUSTRIA), "the lock is free")


def test_killed_and_started_again_on_the_same_file(
    publisher: LocationSession, hub: RouterProcess, asker: LocationSession, tmp_path: Path
) -> None:
    area = "range:46,9,49,17.5"
    file = str(tmp_path / "a.db")
    command = ("storage", "k/**", "--area", area, "--db", file, "--connect", hub.endpoint)
    with Command(*command) as running:
        running.until("ready")
        put(publisher, LINZ, "k/a", "linz")
        put(publisher, GRAZ, "k/a", "graz")
        put(publisher, WELS, "k/a", "wels")
        delete(publisher, WELS, "k/a")
        wait_for(lambda: texts(asker, "k/a", AUSTRIA) == ["graz", "linz"], "two answers")
        answered = payloads(replies(asker, "k/a", AUSTRIA))
        wait_until_durable(tmp_path / "a.db-wal", publisher, "k/fence")
        running.process.kill()
        running.end()
    assert replies(asker, "k/a", AUSTRIA) == []
    with Command(*command) as running:
        running.until("ready")
        assert payloads(replies(asker, "k/a", AUSTRIA)) == answered
        put(publisher, LINZ, "k/a", "new")
        wait_for(lambda: texts(asker, "k/a", AUSTRIA) == ["graz", "new"], "the new value")


def test_a_full_disk_is_reported_and_the_storage_goes_on(
    hub: RouterProcess, publisher: LocationSession, asker: LocationSession, tmp_path: Path
) -> None:
    command = ("storage", "f/**", "--area", "range:46,9,49,17.5", "--db", str(tmp_path / "a.db"))
    with Command(*command, "--connect", hub.endpoint, "--every", "0.1") as running:
        running.until("ready")
        put(publisher, LINZ, "f/a", "small")
        wait_for(lambda: texts(asker, "f/a", AUSTRIA) == ["small"], "an answer")
        wait_until_durable(tmp_path / "a.db-wal", publisher, "f/fence")
        pid = running.process.pid
        unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (200_000, unlimited[1]))
        # So large a message is dropped easily.
        block = zenoh.CongestionControl.BLOCK
        put(publisher, GRAZ, "f/a", "x" * 500_000, congestion_control=block)
        running.until("may be lost").until("failures of the file")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        put(publisher, WELS, "f/a", "after")
        wait_for(lambda: texts(asker, "f/a", AUSTRIA) == ["after", "small"], "it goes on")
        assert running.stop(signal.SIGTERM) == 0


def test_it_goes_on_at_the_next_router(tmp_path: Path) -> None:
    """A storage whose router is killed keeps and answers again at another one."""
    address = endpoint()
    with ExitStack() as stack:
        second = stack.enter_context(router())
        first = RouterProcess(listen=address, connect=[second.endpoint])
        stack.callback(first.stop)
        first.wait_until_ready()
        keeper = stack.enter_context(client(address, second.endpoint))
        store = stack.enter_context(Store(tmp_path / "a.db"))
        storage = stack.enter_context(Storage(keeper, "t", [AUSTRIA], store))
        publisher = stack.enter_context(client(second.endpoint))
        first.kill()

        def look() -> bool:
            put(publisher, LINZ, "t", "again")
            return storage.status().stored > 0

        wait_for(look, "the storage is back")
        assert texts(publisher, "t", AUSTRIA) == ["again"]
