"""Whether anybody listens: for publishers and queriers that are located."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import zenoh

from zenoh_la.errors import ZenohLaError
from zenoh_la.session import handlers
from zenoh_la.session.core import Core
from zenoh_la.session.handle import Receiver
from zenoh_la.session.local import LOCAL, listener_key

_H = TypeVar("_H")

Watched = Callable[[], list[Any]]
"""What is watched, as the node reads it: it may change with the session's position."""


@dataclass(frozen=True, slots=True)
class MatchingStatus:
    """Like `zenoh.MatchingStatus`."""

    matching: bool

    def __bool__(self) -> bool:
        return self.matching


class MatchingListener(Receiver[_H, MatchingStatus]):
    """Like `zenoh.MatchingListener`."""

    def _check(self) -> None:
        if self._end is None:
            raise zenoh.ZError("Undeclared matching listener")


def listen(core: Core, watched: Watched, handler: Any) -> MatchingListener[Any]:
    """A listener of what ``watched`` says; it is asked again when the session moves."""
    number = core.numbers.take()
    local = listener_key(number)
    native = core.session.declare_subscriber(
        local, handlers.adapted(handler, _status), allowed_origin=LOCAL
    )
    last = False
    plain: list[Any] = []

    def told(matching: bool) -> None:
        nonlocal last
        if matching != last:  # as in Zenoh, the first news is that somebody listens
            last = matching
            core.session.put(local, bytes([matching]), allowed_destination=LOCAL)

    def watch() -> None:
        nonlocal plain
        now = watched()
        if now != plain:
            plain = now
            core.membership.watch(number, now, told)

    def end() -> None:
        core.mobility.no_longer(watch)
        core.membership.unwatch(number)
        core.numbers.give_back(number)

    try:
        watch()
    except BaseException:
        native.undeclare()
        end()
        raise
    core.mobility.also(watch)
    return MatchingListener(native, _status, end)


def _status(sample: Any) -> MatchingStatus:
    return MatchingStatus(sample.payload.to_bytes() == b"\x01")


def status_now(core: Core, plain: list[Any]) -> MatchingStatus:
    """Asks the node."""
    try:
        return MatchingStatus(core.membership.is_matched(plain))
    except ZenohLaError:
        return MatchingStatus(False)  # no node: nobody can be reached
