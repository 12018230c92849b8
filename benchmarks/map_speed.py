"""How soon the live map draws what is put: 1,000 publishers that move, in a browser.

    python -m benchmarks.map_speed [publishers] [messages per second of each] [seconds]

Each message says when it was put; the page notes when the frame after the one with its dot begins,
so that it has been on the screen. The clock is the same: all run on one machine.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import zenoh

from tests.network import client
from tests.rest_bridge.browser import map_page
from tests.rest_bridge.server import rest
from zenoh_la import Circle, Coordinates

AREAS = 20
_RECORD = """
window.delays = [];
zlaMap.dots.onDrawn = (fresh) => {
  const values = fresh.map((dot) => Number(dot.value));
  requestAnimationFrame(() => {
    const now = Date.now();
    for (const value of values) window.delays.push(now - value);
  });
};
"""


def publish(endpoint: str, count: int, rate: float, seconds: float) -> int:
    """Puts in even steps, and returns how many there were; in a process of its own."""
    random = Random(7)
    homes = [(random.uniform(46, 49), random.uniform(9, 17), random.random()) for _ in range(count)]
    sent = 0
    with client(endpoint) as session:
        for number in range(AREAS):
            lat, long, _ = homes[number]
            area = Circle(Coordinates(lat, long), 25_000)
            session.declare_subscriber("fleet/*", lambda _: None, location_shape=area)
        step_s = 1 / (count * rate)
        start_s = time.monotonic()
        for sent in range(1, int(seconds / step_s) + 1):
            lat, long, phase = homes[sent % count]
            turn = 2 * math.pi * (sent / count / 30 + phase)
            at = Coordinates(lat + 0.2 * math.sin(turn), long + 0.3 * math.cos(turn))
            text = str(int(time.time() * 1000))
            session.put(f"fleet/{sent % count}", text, encoding=zenoh.Encoding.TEXT_PLAIN,
                        location=at)  # fmt: skip
            ahead_s = start_s + sent * step_s - time.monotonic()
            if ahead_s > 0:
                time.sleep(ahead_s)
    return sent


def main(count: int = 1000, rate: float = 1.0, seconds: float = 20.0) -> None:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        rest() as bridge,
        map_page(Path(profile)) as page,
    ):
        page.open(bridge.url)
        page.js(_RECORD)
        command = [sys.executable, "-m", "benchmarks.map_speed", "--publish", bridge.endpoint,
                   str(count), str(rate), str(seconds)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        sent = json.loads(done.stdout)
        time.sleep(1.0)  # what was sent last is drawn well within that, or counts as not drawn
        delays = sorted(page.js("return window.delays"))
        page.save("thousand")
    share = [delays[min(len(delays) - 1, int(len(delays) * p))] for p in (0.5, 0.95, 0.99)]
    in_time = sum(delay <= 500 for delay in delays)
    print(f"{count} publishers at {rate:g}/s for {seconds:g} s: {sent} sent, {len(delays)} drawn")
    print(f"put to drawn: median {share[0]} ms, 95 % {share[1]} ms, 99 % {share[2]} ms")
    print(f"of all that were sent, {100 * in_time / sent:.2f} % were drawn within 500 ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--publish"]:
        print(publish(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])))
    else:
        main(*(float(a) if i else int(a) for i, a in enumerate(sys.argv[1:])))  # type: ignore[arg-type]
