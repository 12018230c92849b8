"""Zenoh's own examples, with `zenoh.open` replaced by `zenoh_la.open`, as real processes.

What they must print is what Zenoh's own check of them looks for.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.network import DEADLINE_S, endpoint, router, settings, wait_for
from tests.session.zenoh_source import unpacked, with_our_open

READY = "Press CTRL-C to quit..."
_LISTENER = "--add-matching-listener"


class Example:
    """A running example, and what it has printed."""

    def __init__(self, path: Path, *arguments: str) -> None:
        self.name = path.name
        self.process = subprocess.Popen(
            [sys.executable, "-u", str(path), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as out:
            self.lines += iter(out.readline, "")

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def says(self, text: str) -> None:
        """Waits until it has printed something."""
        wait_for(lambda: text in self.text or not self._reader.is_alive(), f"{self.name}: {text}")
        assert text in self.text

    def ends(self) -> str:
        """Waits for its end, which must be a good one; returns what it said."""
        code = self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        assert code == 0, f"{self.name} ended with {code}: {self.text}"
        return self.text

    def interrupted(self) -> str:
        """Ends it with Ctrl-C, which is all that may be wrong with it."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        assert code in (0, -signal.SIGINT), f"{self.name} ended with {code}: {self.text}"
        if "Traceback" in self.text:
            # What it had printed and not written yet may follow.
            last = self.text.rstrip().rpartition("\n")[2]
            assert last.startswith("KeyboardInterrupt"), self.text
        return self.text

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)


Start = Callable[..., Example]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("zenoh"))


@pytest.fixture(scope="module")
def start(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts examples as clients of one router; all are ended."""
    folder = tmp_path_factory.mktemp("examples")
    with_our_open(source / "examples", folder)
    with ExitStack() as stack:
        at = stack.enter_context(router()).endpoint

        def start(name: str, *arguments: str) -> Example:
            to = ["--mode", "client", "--connect", at, "--no-multicast-scouting"]
            example = Example(folder / f"{name}.py", *to, *arguments)
            stack.callback(example.close)
            return example

        yield start


@pytest.fixture(scope="module")
def running(start: Start) -> dict[str, Example]:
    """Those that go on until they are interrupted, side by side, ready."""
    found = {
        name: start(name, *arguments)
        for name, *arguments in [
            ("z_advanced_pub", "--key", "advanced", "--history=1000"),
            ("z_sub", "--key", "s/**"),
            ("z_storage", "--key", "s/**"),
            ("z_queryable", "--key", "q"),
            ("z_sub_queued", "--key", "p"),
            ("z_pull", "--key", "p", "--size=1", "--interval=1"),
            ("z_sub_thr", "--key", "thr", "--number=1000"),
            ("z_sub_shm", "--key", "shm"),
            ("z_pong",),
            ("z_info",),
        ]
    }
    for name, example in found.items():
        example.says("press Ctrl+C to exit" if name == "z_info" else READY)
    return found


def test_put_delete_and_storage(start: Start, running: dict[str, Example]) -> None:
    subscriber, storage = running["z_sub"], running["z_storage"]
    publisher = start(
        "z_pub", "--key", "s/pub", "--iter=2", "--interval=0", "--add-matching-listener"
    )
    start("z_put", "--key", "s/one").ends()
    start("z_put_float", "--key", "float").ends()
    put = "Received SampleKind.PUT ('s/one': 'Put from Python!')"
    subscriber.says(put)
    storage.says(put)
    publisher.ends()
    for listener in (subscriber, storage):
        listener.says("Received SampleKind.PUT ('s/pub': '[   1] Pub from Python!')")
    stored = "Received ('s/one': 'Put from Python!')"
    assert stored in start("z_get", "--selector=s/one").ends()
    storage.says("Received Query 's/one'")
    start("z_delete", "--key", "s/one").ends()
    storage.says("Received SampleKind.DELETE ('s/one': '')")
    subscriber.says("Received SampleKind.DELETE ('s/one': '')")
    assert stored not in start("z_get", "--selector=s/one").ends()
    storage.interrupted()
    subscriber.interrupted()


def test_gets_and_queriers(start: Start, running: dict[str, Example]) -> None:
    querier = start(
        "z_querier", "--selector=q?a=1", "-p=value", "--iter=2", "--add-matching-listener"
    )
    get = start("z_get", "--selector=q?b=2", "--target=ALL", "-p=mine")
    answer = "Received ('q': 'Queryable from Python!')"
    assert answer in get.ends()
    said = querier.ends()
    assert said.count(answer) == 2
    assert "Querier has matching queryables." in said
    queryable = running["z_queryable"].interrupted()
    assert "Received Query 'q?b=2' with payload: 'mine'" in queryable
    for number in range(2):
        assert f"Received Query 'q?a=1' with payload: '[   {number}] value'" in queryable


def test_pulled_and_queued(start: Start, running: dict[str, Example]) -> None:
    start("z_pub", "--key", "p", "--iter=2", "--interval=0.2").ends()
    for number in range(2):
        line = f"Received SampleKind.PUT ('p': '[   {number}] Pub from Python!')"
        running["z_sub_queued"].says(line)
    running["z_pull"].says("Received SampleKind.PUT ('p': '[   1] Pub from Python!')")
    running["z_sub_queued"].interrupted()
    running["z_pull"].interrupted()


def test_liveliness(start: Start) -> None:
    subscriber = start("z_sub_liveliness", "--key", "group1/**", "--history=1")
    token = start("z_liveliness", "--key", "group1/mine")
    token.says(READY)
    subscriber.says("New alive token ('group1/mine')")
    assert "Alive token ('group1/mine')" in start("z_get_liveliness", "--key", "group1/**").ends()
    token.interrupted()
    subscriber.says("Dropped token ('group1/mine')")
    subscriber.interrupted()


def test_ping_throughput_and_shared_memory(start: Start, running: dict[str, Example]) -> None:
    ping = start("z_ping", "--warmup=0.1", "--samples=20", "8")
    shared = start("z_pub_shm", "--key", "shm", "--iter=4", "--interval=0.3")
    assert "8 bytes: seq=19 rtt=" in ping.ends()
    running["z_pong"].interrupted()
    shared.ends()
    running["z_sub_shm"].says("Received SampleKind.PUT ('shm': '[")
    running["z_sub_shm"].interrupted()
    sender = start("z_pub_thr", "--key", "thr", "128")
    running["z_sub_thr"].says("msgs/sec")
    sender.interrupted()
    assert "messages in" in running["z_sub_thr"].interrupted()


def test_advanced_and_information(start: Start, running: dict[str, Example]) -> None:
    subscriber = start("z_advanced_sub", "--key", "advanced/**")
    for number in range(3):
        line = f"Received SampleKind.PUT ('advanced': '[   {number}] Pub from Python!')"
        subscriber.says(line)
    running["z_advanced_pub"].interrupted()
    subscriber.interrupted()
    info = running["z_info"].interrupted()
    assert "zid: " in info
    assert "routers: [" in info


_ABORTED = "FATAL: exception not rethrown"


@pytest.mark.long
def test_the_examples_of_zenohs_documentation(source: Path, tmp_path: Path) -> None:
    """Each checks itself. One after the other, as they use the same topics."""
    with_our_open(source / "docs" / "examples", tmp_path)
    (tmp_path / "scouting.py").unlink()  # needs multicast and no session
    paths = sorted(tmp_path.glob("*.py"))
    assert len(paths) > 20
    with router() as started:
        own = f"zenoh.Config.from_json5({settings('client', connect=[started.endpoint])!r})"
        for path in paths:
            path.write_text(path.read_text().replace("zenoh.Config()", own))
            example = Example(path)
            try:
                example.process.wait(DEADLINE_S)
                # Some leave a thread inside Zenoh at their end: with Zenoh alone that aborts too.
                if _ABORTED not in example.text:
                    example.ends()
            finally:
                example.close()


@pytest.mark.long
def test_zenohs_own_tests(source: Path, tmp_path: Path) -> None:
    """Sessions, cancellation, timestamps: as Zenoh tests them, on ports that are free."""
    with_our_open(source / "tests", tmp_path)
    for path in tmp_path.glob("*.py"):
        text = path.read_text()
        for at in set(re.findall(r"tcp/127\.0\.0\.1:\d+", text)):
            text = text.replace(at, endpoint())
        path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path,
         *[tmp_path / f"test_{name}.py" for name in _TESTS]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


_TESTS = ["session", "cancellation_token", "serializer", "timestamp_stack"]
