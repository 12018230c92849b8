"""An hour's worth of trouble, sped up: clients that stay are compared with the oracle all the time.

Two location-aware routers that stay, and a third that is killed and started again. At the two,
clients that stay, move and publish; everywhere clients that come and are killed or closed. What the
ones that stay must get from each other follows from the oracle alone: nothing that happens beside
them may add to it or take from it.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import Any

import zenoh

import zenoh_la
from tests.network import DEADLINE_S, RouterProcess, client, converged, native_client, wait_for
from tests.survival.processes import Child
from zenoh_la import Circle, Coordinates, Shape

BLOCK = zenoh.CongestionControl.BLOCK
RETRY: dict[str, Any] = {"connect__retry": {"period_init_ms": 50, "period_max_ms": 200}}
RADIUS_M = 20_000.0
TOPICS = ["soak/a", "soak/b"]
_GUEST = """
import sys, zenoh
from itertools import count
from random import Random
from tests.network import Inbox, client
from zenoh_la import Circle, Coordinates, Shape
random, turn = Random(sys.argv[2]), count()
session = client(sys.argv[1])
place = lambda: Coordinates(random.uniform(47, 49), random.uniform(13, 15))
session.declare_position_handler(0, place)
for topic in ("soak/a", "soak/*", "guest/*"):
    ego = {"location_shape": Shape.CIRCLE, "shape_data": {"r": 50_000}}
    session.declare_subscriber(topic, Inbox(), **ego)
session.declare_queryable("guest/q", Inbox(), location_shape=Circle(place(), 70_000))
publisher = session.declare_publisher("guest/a")
publisher.declare_matching_listener(Inbox())
print("ready", flush=True)
if sys.argv[3] == "closed":
    for _ in range(200):
        publisher.put("x")
    session.close()
    print("closed", flush=True)
else:
    while True:
        publisher.put("x")
"""


def any_place(random: Random) -> Coordinates:
    return Coordinates(random.uniform(47.5, 48.5), random.uniform(13.5, 14.5))


@dataclass
class Resident:
    """A client that stays: it publishes, moves, and knows what it must have got."""

    session: zenoh_la.LocationSession
    random: Random
    place: Coordinates
    got: list[str] = field(default_factory=list)
    due: Counter[str] = field(default_factory=Counter)
    publishers: list[Any] = field(default_factory=list)
    checked: int = 0

    @classmethod
    def at(cls, endpoint: str, random: Random) -> Resident:
        made = cls(client(endpoint), random, any_place(random))
        session = made.session
        session.declare_position_handler(3600, lambda: made.place)
        take: Any = zenoh.handlers.Callback(
            lambda sample: made.got.append(sample.payload.to_string()), indirect=False
        )
        session.declare_subscriber(
            "soak/*", take, location_shape=Shape.CIRCLE, shape_data={"r": RADIUS_M}
        )
        made.publishers = [
            session.declare_publisher(topic, congestion_control=BLOCK) for topic in TOPICS
        ]
        return made

    def move(self) -> None:
        moves = self.session._core.mobility.moves
        self.place = any_place(self.random)
        self.session.declare_position_handler(3600, lambda: self.place)
        assert self.session.position == self.place
        wait_for(lambda: self.session._core.mobility.moves > moves, "it has moved")

    def hears(self, place: Coordinates) -> bool:
        return Circle(self.place, RADIUS_M).contains(place)


class Soak:
    """The network, and what happens to it; all of it follows from a seed."""

    def __init__(self, stack: ExitStack, seed: int) -> None:
        self._random = Random(seed)
        self._stack = stack
        first = self._router()
        self.routers = [first, self._router(first.endpoint)]
        self.passing = self._router(self.routers[1].endpoint)
        self.residents = [Resident.at(self.routers[n % 2].endpoint, self._random) for n in range(6)]
        for resident in self.residents:
            stack.callback(resident.session.close)
        self.observer = stack.enter_context(native_client(self.routers[0].endpoint))
        self.messages = self.moves = self.kills = self.guests = self.delivered = 0
        self._round = 0

    def _router(self, *connect: str, listen: str | None = None) -> RouterProcess:
        started = RouterProcess(listen=listen, connect=list(connect), **RETRY)
        self._stack.callback(started.stop)
        return started.wait_until_ready()

    def run_round(self) -> None:
        """Guests and kills go on while residents publish; then all is compared."""
        self._round += 1
        random = self._random
        for resident in random.sample(self.residents, 3):
            resident.move()
            self.moves += 1
        self._settle()
        trouble = threading.Thread(target=self._trouble, args=(random.random(),))
        trouble.start()
        while trouble.is_alive():
            self._publish(100)
        trouble.join()
        self._publish(100)
        self._compare()

    def _settle(self) -> None:
        """Both routers know where all are; then nobody moves until all is compared."""

        converged(self.observer, 3)

    def _publish(self, count: int) -> None:
        for _ in range(count):
            sender = self._random.choice(self.residents)
            publisher = self._random.choice(sender.publishers)
            self.messages += 1
            text = f"{self.messages} from {self.residents.index(sender)} on {publisher.key_expr}"
            publisher.put(text)
            for resident in self.residents:
                if resident.hears(sender.place):
                    resident.due[text] += 1

    def _compare(self) -> None:
        """All that was due has come, and nothing else, and nothing twice."""
        for number, resident in enumerate(self.residents):
            total = resident.due.total()
            with suppress(AssertionError):  # what is missing is said below
                wait_for(lambda r=resident, t=total: len(r.got) >= t, "all that is due")  # type: ignore[misc]
            got = Counter(resident.got)
            missing, more = resident.due - got, got - resident.due
            what = f"round {self._round}, resident {number} of {resident.due.total()}"
            assert not missing, f"{what}: missing {len(missing)}, {list(missing)[:9]}"
            assert not more, f"{what}: too many {len(more)}, {list(more)[:9]}"
            self.delivered += total
            resident.got.clear()
            resident.due.clear()

    def _trouble(self, seed: float) -> None:
        """Guests that come, are closed or killed; the router that does not stay, killed too."""
        random = Random(seed)
        endpoints = [router.endpoint for router in (*self.routers, self.passing)]
        guests = []
        for end in ("closed", "killed", random.choice(["closed", "killed"])):
            guest = Child(_GUEST, random.choice(endpoints), random.random(), end)
            guests.append((guest, end))
            self.guests += 1
        for guest, _ in guests:
            assert guest.says() == "ready"
        if random.random() < 0.6:
            self.kills += 1
            self.passing.kill()
            self.passing = self._router(self.routers[1].endpoint, listen=self.passing.endpoint)
        for guest, end in guests:
            if end == "closed" and guest.process.poll() is None:
                guest.process.wait(DEADLINE_S)
            else:
                self.kills += end == "killed"
            guest.kill()

    def run(self, seconds: float) -> int:
        """Rounds until the time is over; returns how many."""
        end_s = monotonic() + seconds
        rounds = 0
        while monotonic() < end_s:
            self.run_round()
            rounds += 1
        return rounds
