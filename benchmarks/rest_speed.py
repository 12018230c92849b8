"""Located PUTs by HTTP, beside an empty endpoint of the same framework in the same process.

One process serves both: the bridge as `zla rest` runs it alone, a router that matches included, and
a Starlette application whose one route answers with an empty response. Another process asks over
kept connections, with requests made beforehand; of each PUT the place is another one, and one in 25
is delivered. Rounds take turns; medians count.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import uvloop
import zenoh
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import zenoh_la
from zenoh_la import Circle, Coordinates
from zenoh_la.rest_bridge.app import make_app
from zenoh_la.rest_bridge.bridge import Bridge
from zenoh_la.rest_bridge.security import middleware
from zenoh_la.rest_bridge.server import Server, bound

ROUNDS, ROUND_S, CONNECTIONS, PLACES = 7, 1.0, 16, 5000


async def empty(_request: Request) -> Response:
    return Response()


def serve(endpoint: str) -> None:
    """The server's process: until its input ends."""
    config = zenoh.Config.from_json5(json.dumps({
        "mode": "router",
        "listen": {"endpoints": [endpoint]},
        "scouting": {"multicast": {"enabled": False}},
    }))  # fmt: skip
    nothing = Starlette(routes=[Route("/{path:path}", empty, methods=["PUT"])])
    with (
        zenoh_la.open(config) as session,
        Bridge(session) as bridge,
        Server(
            make_app(bridge, middleware=middleware(None, ["*"])), bound("127.0.0.1", 0)
        ) as server,
        Server(nothing, bound("127.0.0.1", 0)) as other,
    ):
        print(other.port, server.port, flush=True)
        sys.stdin.read()


class _Client(asyncio.Protocol):
    """One connection: asks, waits for the whole answer, asks again."""

    def __init__(self, next_request: Callable[[], bytes]) -> None:
        self._next = next_request
        self.answered = 0
        self.wrong = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._next())

    def data_received(self, data: bytes) -> None:
        if not (data.startswith(b"HTTP/1.1 200") and data.endswith(b"\r\n\r\n")):
            self.wrong = data  # all right answers are empty, and come in one piece
        self.answered += 1
        self._transport.write(self._next())


def _put(path: str) -> bytes:
    body = b"x" * 100
    head = f"PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n"
    return head.encode() + b"\r\n" + body


async def _rate(port: int, requests: list[bytes]) -> float:
    """Requests per second."""
    number = 0

    def following() -> bytes:
        nonlocal number
        number += 1
        return requests[number % len(requests)]

    loop = asyncio.get_running_loop()

    def stay_awake() -> None:
        loop.call_soon(stay_awake)

    stay_awake()  # to wake who asks would cost the server as much as a third of an answer
    made = [
        await loop.create_connection(lambda: _Client(following), "127.0.0.1", port)
        for _ in range(CONNECTIONS)
    ]
    await asyncio.sleep(0.2)  # it runs warm
    before, start_s = sum(client.answered for _, client in made), time.monotonic()
    await asyncio.sleep(ROUND_S)
    rate = (sum(client.answered for _, client in made) - before) / (time.monotonic() - start_s)
    for transport, client in made:
        transport.abort()
        assert not client.wrong, client.wrong
    return rate


def _free() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"tcp/127.0.0.1:{found.getsockname()[1]}"


def main() -> None:
    random_ = random.Random(1)
    places = [f"lat={random_.uniform(46, 49):.5f}&long={random_.uniform(9, 17):.5f}"
              for _ in range(PLACES)]  # fmt: skip
    contenders = {
        "empty endpoint": [_put("/bench/empty")],
        "plain PUT": [_put("/bench/plain")],
        "located PUT": [_put(f"/bench/located?{place}") for place in places],
        "located PUT, MGRS": [_put(f"/bench/mgrs?{place}&precision=mgrs") for place in places],
    }
    endpoint = _free()
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.rest_speed", endpoint],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    with server, server.stdin:
        ports = [int(port) for port in server.stdout.readline().split()]
        config = zenoh.Config.from_json5(json.dumps({
            "mode": "client",
            "connect": {"endpoints": [endpoint]},
            "scouting": {"multicast": {"enabled": False}},
        }))  # fmt: skip
        with zenoh_la.open(config) as session:
            received: Any = zenoh.handlers.Callback(lambda _: None, indirect=False)
            area = Circle(Coordinates(47.5, 13), 50_000)  # of one message in 25
            session.declare_subscriber("bench/*", received, location_shape=area)
            for _ in range(ROUNDS):
                for name, requests in contenders.items():
                    port = ports[name != "empty endpoint"]
                    rates[name].append(uvloop.run(_rate(port, requests)))
    base = statistics.median(rates["empty endpoint"])
    for name, found in rates.items():
        rate = statistics.median(found)
        print(f"{name:20} {rate:8.0f} requests/s   {rate / base:5.2f} of the empty endpoint")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(sys.argv[1])
    else:
        main()
