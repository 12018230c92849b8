"""`zla demo` for real: its figures, its faults, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.network import wait_for
from zenoh_la.cli import link_bytes
from zenoh_la.cli.demo_drive import Run
from zenoh_la.cli.demo_figures import faults
from zenoh_la.cli.demo_scene import AROUND, CITIES, TOPICS, Message, Oracle, listeners, stops
from zenoh_la.values import Coordinates

LIMIT_S = 90
STOP = r"^ *\d+ km [●┼─]"
TELLS_BYTES = link_bytes.carried(set()) is not None


def zla(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "zenoh_la", *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env={**os.environ, "COLUMNS": "80"},
    )


def number(text: str, row: str) -> list[float]:
    """The numbers in a row of the table."""
    (line,) = re.findall(rf"^ +{re.escape(row)} +(.*)$", text, re.MULTILINE)
    return [float(found.replace(",", "")) for found in re.findall(r"-?[\d,]+(?:\.\d+)?", line)]


def test_the_table_adds_up() -> None:
    done = zla("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    published, as_many = number(done.stdout, "messages published")
    assert published == as_many > 1000
    plain, located, saved = number(done.stdout, "delivered to subscribers")
    assert plain == published * len(listeners())
    (vetoed,) = number(done.stdout, "vetoed: not their area")[-1:]
    assert located + vetoed == plain
    assert saved == pytest.approx(100 * (1 - located / plain), abs=0.51)
    inside, inside_too = number(done.stdout, "from inside their areas")
    assert inside == inside_too <= located
    assert number(done.stdout, "stopped where they enter")[-1] > 0
    check_bytes(done.stdout)
    assert min(number(done.stdout, "median latency")) > 0
    assert "Checked against geometry" in done.stdout
    assert len(re.findall(STOP, done.stdout, re.MULTILINE)) == len(stops())


def check_bytes(text: str) -> None:
    if not TELLS_BYTES:
        assert "not told" in text
        return
    total_plain, total_located, _ = number(text, "bytes on all links")
    rows = ("from stations", "between routers", "to subscribers")
    parts = [number(text, row)[:2] for row in rows]
    assert [sum(column) for column in zip(*parts, strict=True)] == [total_plain, total_located]
    assert total_located < total_plain
    plain, located = parts[1]
    assert located < plain


def test_figures_for_machines() -> None:
    done = zla("demo", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == []
    pairs = found["published"] * found["subscribers"]
    assert found["plain"]["delivered"] == pairs
    assert found["located"]["delivered"] + found["located"]["vetoed"] == pairs
    assert found["located"]["inside"] == found["plain"]["inside"] == inside_by_hand()
    for run in ("plain", "located"):
        if TELLS_BYTES:  # 200 of payload in each, and headers that are not longer
            to_subscribers = found[run]["bytes"]["subscribers"]
            assert 200 < to_subscribers / found[run]["delivered"] < 400
        else:
            assert found[run]["bytes"] is None


def inside_by_hand() -> int:
    """From the text of the demo alone: distances, no area and no encoder."""
    count = 0
    for _, car in stops():
        for city, (centre, _) in CITIES.items():
            for north, east in AROUND:
                station = Coordinates(centre.lat + north, centre.long + east)
                count += city == "Vienna"
                count += city in ("Salzburg", "Linz")
                count += car.distance_m(station) <= 15_000
    return count * len(TOPICS) * 3


def children(pid: int) -> list[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_however_it_ends(how: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "zenoh_la", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if re.match(STOP, line):
                    break
            routers = children(process.pid)
            assert len(routers) == 4
            process.send_signal(how)
            _, said = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    if how == signal.SIGINT:
        assert (process.returncode, said) == (130, "stopped\n")
    wait_for(lambda: not any(map(is_running, routers)), "the routers are gone")


def a_run(**changes: Any) -> Run:
    """A run in which all went well, and what is to be different."""
    messages = [
        Message(city, Coordinates(centre.lat + north, centre.long + east), topic, car)
        for _, car in stops()
        for city, (centre, _) in CITIES.items()
        for north, east in AROUND
        for topic in TOPICS
    ]
    oracle = Oracle()
    received = {
        one.name: [n for n, message in enumerate(messages) if oracle.is_due(message, one)]
        for one in listeners()
    }
    wanted = {n for numbers in received.values() for n in numbers}
    run = Run(messages, received, {}, None, {})
    counters = {
        "received": len(messages),
        "delivered": run.delivered,
        "vetoed": len(messages) * len(listeners()) - run.delivered,
        "stopped": len(messages) - len(wanted),
        "native": 0,
        "refused": 0,
    }
    return replace(run, counters=counters, **changes)


def plain_run() -> Run:
    run = a_run()
    return replace(run, received={one.name: list(range(len(run.messages))) for one in listeners()})


def test_it_notices_what_is_wrong() -> None:
    well = a_run()
    assert faults(well, plain_run()) == []
    car = well.received["car"]
    lost = a_run(received={**well.received, "car": car[1:]})
    assert any("car missed 1 messages" in fault for fault in faults(lost, plain_run()))
    doubled = a_run(received={**well.received, "car": sorted([*car, car[0]])})
    assert any("car received" in fault for fault in faults(doubled, plain_run()))
    astray = a_run(received={**well.received, "recorder A": list(range(len(well.messages)))})
    assert any("recorder A received" in fault for fault in faults(astray, plain_run()))
    miscounted = replace(well, counters={**well.counters, "stopped": 0})
    assert any("0 stopped" in fault for fault in faults(miscounted, plain_run()))
    assert any("without location" in fault for fault in faults(well, well))
