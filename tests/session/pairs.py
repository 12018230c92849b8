"""Two sessions that reach each other, of three sorts, so that one test can compare them.

``native`` is Zenoh itself, ``plain`` are location-aware sessions that use no location, ``located``
ones are in one place and ask for an area around it. What a test does is written once, as a
function of a pair; what the native pair answers is what the others must answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Any

import zenoh

import zenoh_la
from tests.network import DEADLINE_S, config, endpoint, router, wait_for
from zenoh_la import Circle, Coordinates

HERE = Coordinates(48.3, 14.3)
AWAY = Coordinates(47.07, 15.44)
AROUND = Circle(HERE, 5000)
AROUND_AWAY = Circle(AWAY, 5000)

_topics = count()


class Pair:
    """Sessions ``a`` and ``b``; both may publish, subscribe, ask and answer.

    Attributes:
        sort: ``"native"``, ``"plain"`` or ``"located"``.
        area: the location arguments of subscribers, queryables, gets and queriers.
    """

    def __init__(self, sort: str, deployment: str, opened: Callable[[], Any]) -> None:
        self.sort = sort
        self.deployment = deployment
        self.area: dict[str, Any] = {"location_shape": AROUND} if sort == "located" else {}
        self._opened = opened
        self._fence = ""
        self._passed: list[Any] = []
        self.a, self.b = self.open(), self.open()

    def open(self) -> Any:
        """One more session that reaches the others."""
        session = self._opened()
        if self.sort == "located":
            session.declare_position_handler(math.inf, lambda: HERE)
        return session

    def topic(self) -> str:
        """A topic that nobody has used, of the same length for all pairs."""
        return f"test/{next(_topics):06}"

    def flush(self) -> None:
        """Returns when all that ``a`` has put so far has come to ``b``: messages keep their order.

        That holds for one priority and for congestion control that drops.
        """
        if not self._fence:
            self._fence = f"fence/{next(_topics):06}"
            self.b.declare_subscriber(self._fence, self._passed.append, **self.area)
            self.reached(self._fence)
        number = str(next(_topics))
        self.a.put(self._fence, number)
        wait_for(lambda: any(s.payload.to_string() == number for s in self._passed), "the fence")

    def close(self) -> None:
        self.a.close()
        self.b.close()

    def reached(self, topic: str, session: Any = None) -> None:
        """Waits until a subscriber of ``b`` is known to ``a``."""
        with (session or self.a).declare_publisher(topic) as publisher:
            wait_for(lambda: matching(publisher), f"{self.sort}: a subscriber of {topic}")

    def answered(self, topic: str, session: Any = None) -> None:
        """Waits until a queryable of ``b`` is known to ``a``."""
        with (session or self.a).declare_querier(topic, **self.area) as querier:
            wait_for(lambda: matching(querier), f"{self.sort}: a queryable of {topic}")


def matching(handle: Any) -> bool:
    """Whether a publisher or querier is matched."""
    found: bool = handle.matching_status.matching
    return found


def outcome(action: Callable[[], Any]) -> Any:
    """What an action returns, or how it fails, to be compared."""
    try:
        return action()
    except Exception as exc:
        return type(exc).__name__, str(exc)


def received(channel: Any, count: int) -> list[Any]:
    """So many items from a channel, before the deadline."""
    found: list[Any] = []

    def look() -> bool:
        while (item := channel.try_recv()) is not None:
            found.append(item)
        return len(found) >= count

    wait_for(look, f"{count} items", DEADLINE_S)
    return found


@contextmanager
def pairs(deployment: str) -> Iterator[dict[str, Pair]]:
    """The three pairs in one network: clients of a router, or peers without one."""
    with ExitStack() as stack:
        if deployment == "clients":
            at = stack.enter_context(router()).endpoint
            settings = config("client", connect=[at])
            found = _pairs(deployment, stack, lambda _: settings)
        else:
            known: dict[str, list[str]] = {"native": [], "plain": [], "located": []}

            def peer(sort: str) -> zenoh.Config:
                own = endpoint()
                others = list(known[sort])
                known[sort].append(own)
                return config("peer", listen=[own], connect=others)

            found = _pairs(deployment, stack, peer)
        yield found


def _pairs(
    deployment: str, stack: ExitStack, settings: Callable[[str], zenoh.Config]
) -> dict[str, Pair]:
    found = {}
    for sort in ("native", "plain", "located"):
        opens: Callable[[zenoh.Config], Any] = zenoh.open if sort == "native" else zenoh_la.open
        found[sort] = Pair(sort, deployment, partial(_opened, opens, settings, sort))
        stack.callback(found[sort].close)
    return found


def _opened(opens: Callable[[zenoh.Config], Any], settings: Any, sort: str) -> Any:
    return opens(settings(sort))


class Comparison:
    """Runs one scenario with native Zenoh and with another pair: they must answer the same."""

    def __init__(self, native: Pair, ours: Pair) -> None:
        self.native = native
        self.ours = ours

    def __call__(self, scenario: Callable[[Pair], Any]) -> Any:
        expected = scenario(self.native)
        found = scenario(self.ours)
        who = f"{self.ours.sort} {self.ours.deployment}"
        if type(found) is type(expected) is list:  # only what differs is worth reading
            other = [(o, e) for o, e in zip(found, expected, strict=False) if o != e]
            assert not other, f"{who}, ours and Zenoh's: {other}"
        assert found == expected, f"{who}, ours: {found}; Zenoh's: {expected}"
        return found


def described(sample: Any, topic: str) -> dict[str, Any]:
    """All that a sample has and that does not differ by itself between two runs."""
    attachment = sample.attachment
    return {
        "topic": str(sample.key_expr).replace(topic, "T"),
        "payload": sample.payload.to_bytes(),
        "kind": sample.kind,
        "encoding": str(sample.encoding),
        "attachment": None if attachment is None else attachment.to_bytes(),
        "congestion_control": sample.congestion_control,
        "priority": sample.priority,
        "express": sample.express,
        # Zenoh's routers stamp puts, a location-aware one also deletes.
        "stamped": sample.kind == zenoh.SampleKind.PUT and sample.timestamp is not None,
        "source": sample.source_info is not None and sample.source_info.source_sn,
    }
