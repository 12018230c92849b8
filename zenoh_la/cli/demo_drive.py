"""The demo's drive: the same messages with places and without, and what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from statistics import median
from time import sleep
from typing import Any

import zenoh

from zenoh_la.cli.demo_network import BETWEEN_ROUTERS, DemoNetwork, wait_until
from zenoh_la.cli.demo_scene import (
    AROUND,
    CAR_RADIUS_M,
    CITIES,
    PROBE,
    ROUNDS,
    TOPICS,
    Listener,
    Message,
    Oracle,
    listeners,
    payload,
    stops,
)
from zenoh_la.session import LocationSession
from zenoh_la.values import Coordinates, Shape

FROM_STATIONS, TO_SUBSCRIBERS = "stations", "subscribers"
LINKS = (FROM_STATIONS, BETWEEN_ROUTERS, TO_SUBSCRIBERS)

OnStop = Callable[["Stop"], None]
IsDue = Callable[[Message, Listener], bool]

_PACE_S = 0.001
_CAR_LIFETIME_S = 0.02


@dataclass(frozen=True, slots=True)
class Stop:
    """What the car hears at one place.

    Attributes:
        km: how far it has driven.
        inside: messages from its area, by cities.
        beyond: messages from outside of it: cells are coarser than a circle.
    """

    km: float
    inside: dict[str, int]
    beyond: int


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of the workload measured.

    Attributes:
        messages: what was published; a message's number is its place here.
        received: the numbers of what each listener received.
        latencies_ms: of all that was received, by topic.
        link_bytes: by the kind of link; None if the system does not tell.
        counters: what the routers counted, together.
    """

    messages: list[Message]
    received: dict[str, list[int]]
    latencies_ms: dict[str, list[float]]
    link_bytes: dict[str, int] | None
    counters: dict[str, int]

    @property
    def delivered(self) -> int:
        return sum(len(numbers) for numbers in self.received.values())

    @property
    def median_ms(self) -> float:
        return median(ms for some in self.latencies_ms.values() for ms in some)


class Drive:
    """The stations, the listeners and the car, on a network."""

    def __init__(self, network: DemoNetwork) -> None:
        self._network = network
        self._oracle = Oracle()
        self._stations: list[tuple[str, Coordinates, LocationSession]] = []
        for city, (centre, router) in CITIES.items():
            for north, east in AROUND:
                position = Coordinates(centre.lat + north, centre.long + east)
                session = network.open(router, FROM_STATIONS)
                session.declare_position_handler(inf, partial(_stays_at, position))
                self._stations.append((city, position, session))
        self._car = stops()[0][1]
        self._is_located = False
        self._sessions: dict[str, LocationSession] = {}
        for listener in listeners():
            session = network.open(listener.router, TO_SUBSCRIBERS)
            self._sessions[listener.name] = session
        self._sessions["car"].declare_position_handler(_CAR_LIFETIME_S, lambda: self._car)

    def located(self, on_stop: OnStop) -> Run:
        """Everybody says where; ``on_stop`` is told what the car hears."""
        listening = listeners()
        handles = [self._subscribe_in_area(listener, t) for listener in listening for t in TOPICS]
        publishers = self._publishers(located=True)
        for publisher in publishers:
            _ = publisher.matching_status  # joins the router's sessions, if it has not yet
        self._network.wait_until_informed()
        self._is_located = True
        run = self._run(publishers, listening, self._oracle.is_due, on_stop)
        self._is_located = False
        for handle in [*handles, *publishers]:
            handle.undeclare()
        return run

    def plain(self) -> Run:
        """The same without places: who wants a topic gets all of it."""
        listening = listeners()
        handles = [
            self._sessions[listener.name].declare_subscriber(topic, _direct(listener))
            for listener in listening
            for topic in TOPICS
        ]
        publishers = self._publishers(located=False)
        self._probe(publishers, listening)
        run = self._run(publishers, listening, lambda _m, _l: True, lambda _stop: None)
        for handle in [*handles, *publishers]:
            handle.undeclare()
        return run

    def _subscribe_in_area(self, listener: Listener, topic: str) -> Any:
        session, precision = self._sessions[listener.name], TOPICS[topic]
        if listener.name == "car":
            return session.declare_subscriber(
                topic,
                _direct(listener),
                location_shape=Shape.CIRCLE,
                shape_data={"r": CAR_RADIUS_M},
                precision=precision,
            )
        area = listener.area(self._car)
        return session.declare_subscriber(
            topic, _direct(listener), location_shape=area, precision=precision
        )

    def _publishers(self, *, located: bool) -> list[Any]:
        return [
            session.declare_publisher(topic, precision=precision if located else None)
            for _, _, session in self._stations
            for topic, precision in TOPICS.items()
        ]

    def _probe(self, publishers: list[Any], listening: list[Listener]) -> None:
        """Publishes until every listener hears everybody: native declarations take a moment."""
        for publisher in publishers:
            before = [listener.probes for listener in listening]

            def all_heard(publisher: Any = publisher, before: list[int] = before) -> bool:
                publisher.put(payload(PROBE))
                return all(one.probes > n for one, n in zip(listening, before, strict=True))

            wait_until(all_heard, "everybody hears every station")

    def _run(
        self, publishers: list[Any], listening: list[Listener], is_due: IsDue, on_stop: OnStop
    ) -> Run:
        messages: list[Message] = []
        due = dict.fromkeys((listener.name for listener in listening), 0)
        bytes_before, counted_before = self._network.bytes_by_link(), self._counted()
        for km, place in stops():
            self._move_car(place)
            first = len(messages)
            for _ in range(ROUNDS):
                self._publish_all(publishers, messages)
            for listener in listening:
                due[listener.name] += sum(is_due(new, listener) for new in messages[first:])
            wait_until(lambda: _have_all(listening, due), "what is due has arrived")
            on_stop(self._heard_by(listening[-1], messages, first, km))
        self._wait_for_counters(counted_before, len(messages))
        return Run(
            messages,
            {listener.name: sorted(n for n, _ in listener.heard) for listener in listening},
            _latencies_ms(messages, listening),
            _difference(self._network.bytes_by_link(), bytes_before),
            _difference(self._counted(), counted_before) or {},
        )

    def _heard_by(self, car: Listener, messages: list[Message], first: int, km: float) -> Stop:
        heard = [messages[number] for number, _ in car.heard if number >= first]
        inside = [message for message in heard if self._oracle.is_inside(message, car)]
        cities = Counter(message.city for message in inside)
        return Stop(km, dict(cities), len(heard) - len(inside))

    def _wait_for_counters(self, before: dict[str, int], published: int) -> None:
        """Routers count after they send, and tell nobody of what they stop."""
        if self._is_located:
            wait_until(
                lambda: self._counted()["received"] - before["received"] >= published,
                "the routers have seen all messages",
            )

    def _publish_all(self, publishers: list[Any], messages: list[Message]) -> None:
        """One message of each station on each topic, in the order of the publishers."""
        sources = [(city, at, topic) for city, at, _ in self._stations for topic in TOPICS]
        for publisher, (city, position, topic) in zip(publishers, sources, strict=True):
            publisher.put(payload(len(messages)))
            messages.append(Message(city, position, topic, self._car))
            sleep(_PACE_S)

    def _move_car(self, place: Coordinates) -> None:
        """Moves it, and waits until every router knows where it listens now."""
        if place == self._car:
            return
        if not self._is_located:
            self._car = place
            return
        router = listeners()[-1].router
        version = self._network.statuses()[router]["version"]
        self._car = place
        wait_until(
            lambda: self._network.statuses()[router]["version"] > version, "the car has moved"
        )
        self._network.wait_until_informed()

    def _counted(self) -> dict[str, int]:
        """The routers' counters, together."""
        total: Counter[str] = Counter()
        for status in self._network.statuses().values():
            total.update(status["counters"])
        return dict(total)


def _stays_at(position: Coordinates) -> Coordinates:
    return position


def _direct(listener: Listener) -> zenoh.handlers.Callback[Any]:
    return zenoh.handlers.Callback(listener.on_sample, indirect=False)


def _have_all(listening: list[Listener], due: dict[str, int]) -> bool:
    return all(len(listener.heard) >= due[listener.name] for listener in listening)


def _latencies_ms(messages: list[Message], listening: list[Listener]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {topic: [] for topic in TOPICS}
    for listener in listening:
        for number, latency_ns in listener.heard:
            found[messages[number].topic].append(latency_ns / 1e6)
    return found


def _difference(
    after: dict[str, int] | None, before: dict[str, int] | None
) -> dict[str, int] | None:
    if after is None or before is None:
        return None
    return {name: count - before.get(name, 0) for name, count in after.items()}
