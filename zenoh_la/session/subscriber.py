"""Subscribers: of a topic everywhere, of a topic in an area, pulled, and moving."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.errors import ArgumentError
from zenoh_la.keys import Role
from zenoh_la.router_plugin import frames, location_bytes, protocol
from zenoh_la.router_plugin.callbacks import direct
from zenoh_la.router_plugin.forwarding import forward
from zenoh_la.session import handlers
from zenoh_la.session.arrivals import Arrivals
from zenoh_la.session.core import Claim, Core, check_length, locality
from zenoh_la.session.handle import Handle
from zenoh_la.session.local import LOCAL
from zenoh_la.session.places import Wanted, Where
from zenoh_la.session.samples import LocatedSample
from zenoh_la.values import Coordinates

_H = TypeVar("_H")

Sample = zenoh.Sample | LocatedSample

PULL_CAPACITY = 256


class _Area(NamedTuple):
    """Which interest of which session a subscriber is, and where it listens."""

    core: Core
    number: int
    where: Where


class Subscriber(Handle[_H, Sample]):
    """Like `zenoh.Subscriber`; one with an area can be given another one."""

    _area: _Area | None = None

    def update_area(
        self,
        location_shape: Wanted,
        shape_data: Mapping[str, Any] | None = None,
        *,
        precision: Precision | None = None,
    ) -> None:
        """Changes the area of a live subscriber, which is in force at its node afterwards.

        What lies in both areas is neither missed nor received twice. The arguments are those of
        `declare_subscriber`; an area about the session itself goes with it from then on.

        Args:
            location_shape: a `Shape`, an area such as `Circle(…)`, or a list of areas.
            shape_data: the data of the shape.
            precision: the encoding of the area; None keeps it.

        Raises:
            ArgumentError: the subscriber has no area, or an argument is wrong.
        """
        self._check()
        area = self._area
        if area is None:
            problem = "the subscriber was declared without an area, and has the whole network"
            raise ArgumentError("location_shape", location_shape, problem)
        chosen = area.where.precision if precision is None else precision
        where = Where.of(location_shape, shape_data, chosen)
        if where is None:
            raise ArgumentError("location_shape", location_shape, "needs an area")
        area.core.relocate(area.number, where)
        self._area = area._replace(where=where)


class MobilitySubscriber(Subscriber[_H]):
    """A subscriber whose area goes with the session."""

    def __init__(
        self,
        native: Any,
        key_expr: zenoh.KeyExpr,
        change: handlers.Change,
        end: Callable[[], None],
        core: Core,
    ) -> None:
        super().__init__(native, key_expr, change, end)
        self._core = core

    @property
    def position(self) -> Coordinates | None:
        """Where the session was when it was last asked."""
        return self._core.position.last()


class PullSubscriber(Subscriber[Any]):
    """A subscriber that hands out samples when it is asked to; the newest are kept."""

    callback: Callable[[Sample], Any] | None = None
    capacity = PULL_CAPACITY

    def pull(self) -> list[Sample]:
        """All samples that came since the last pull; a callback is called for each.

        What comes meanwhile is for the next pull: however fast that is, this one ends.
        """
        samples: list[Sample] = []
        while len(samples) < self.capacity and (sample := self.try_recv()) is not None:
            samples.append(sample)
        if self.callback is not None:
            for sample in samples:
                self.callback(sample)
        return samples


def declare_plain(
    core: Core,
    key_expr: Any,
    handler: Any,
    allowed_origin: zenoh.Locality | None,
    kind: type[Subscriber[Any]] = Subscriber,
) -> Subscriber[Any]:
    """A subscriber of the whole network: native, but a located sample shows its place."""

    def change(sample: zenoh.Sample) -> Sample | None:
        parts = frames.split_plain(sample.attachment)
        if parts is None:
            return sample
        header, user = parts
        home = core.membership.home
        if home is not None and header.is_not_for(home.nid, home.slot):
            return None
        return LocatedSample(sample, header.location, sample.key_expr, user, core.places)

    check_length(key_expr)
    native = core.session.declare_subscriber(
        key_expr, handlers.adapted(handler, change), allowed_origin=allowed_origin
    )
    return kind(native, native.key_expr, change, lambda: None)


def declare_in_area(
    core: Core,
    topic: str,
    handler: Any,
    where: Where,
    role: Role,
    allowed_origin: zenoh.Locality | None,
    *,
    include_unlocated: bool,
) -> Subscriber[Any]:
    """A subscriber of an area: native on a key of the session's own, an interest at the node."""
    claim = Claim("s", topic, where, role, origin=locality("allowed_origin", allowed_origin))

    number = core.numbers.take()
    received = Arrivals(core, number)
    local = zenoh.KeyExpr(protocol.to_subscriber(core.zid, number))
    native = core.session.declare_subscriber(local, handlers.adapted(handler, received))
    plain = None
    core.subscribers[number] = local

    def end() -> None:
        core.renounce(number)
        if core.subscribers.pop(number, None) is not None:
            core.numbers.give_back(number)
        if plain is not None:
            plain.undeclare()

    try:
        if include_unlocated:
            plain = _plain_as_well(core, topic, local, allowed_origin)
        core.claim(number, claim)
    except BaseException:
        native.undeclare()
        end()
        raise
    made = _made(role, where, native, zenoh.KeyExpr(topic), received, end, core)
    made._area = _Area(core, number, where)
    return made


def _made(
    role: Role,
    where: Where,
    native: Any,
    key_expr: zenoh.KeyExpr,
    received: handlers.Change,
    end: Callable[[], None],
    core: Core,
) -> Subscriber[Any]:
    if role is Role.PULL_SUBSCRIBER:
        return PullSubscriber(native, key_expr, received, end)
    if where.is_ego_centric:
        return MobilitySubscriber(native, key_expr, received, end, core)
    return Subscriber(native, key_expr, received, end)


def _plain_as_well(
    core: Core, topic: str, local: zenoh.KeyExpr, origin: zenoh.Locality | None
) -> Any:
    def on_sample(sample: zenoh.Sample) -> None:
        if frames.split_plain(sample.attachment) is None:  # a located one comes by its area
            tag = core.membership.own_tag
            header = frames.pack_header(location_bytes.NOWHERE, str(sample.key_expr), tag)
            end = frames.ending(header)
            forward(core.session, local, sample, frames.attached(sample.attachment, end), LOCAL)

    return core.session.declare_subscriber(topic, direct(on_sample), allowed_origin=origin)
