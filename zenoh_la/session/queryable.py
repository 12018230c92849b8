"""Queryables: of a topic everywhere, and of a topic in an area."""

from __future__ import annotations

from typing import Any, TypeVar

import zenoh

from zenoh_la.keys import Role
from zenoh_la.router_plugin import frames
from zenoh_la.router_plugin.asks import Ask
from zenoh_la.router_plugin.callbacks import direct
from zenoh_la.router_plugin.match import locations_match
from zenoh_la.router_plugin.queries import Passing
from zenoh_la.session import handlers
from zenoh_la.session.core import Claim, Core, locality
from zenoh_la.session.handle import Handle
from zenoh_la.session.local import LOCAL, queryable_key
from zenoh_la.session.places import Where
from zenoh_la.session.query import LocatedQuery

_H = TypeVar("_H")
_PLAIN_TIMEOUT_MS = 3_600_000  # a query does not tell how long its caller waits


class Queryable(Handle[_H, LocatedQuery]):
    """Like `zenoh.Queryable`, of an area."""


def _is_meant(core: Core, number: int, query: LocatedQuery) -> bool:
    """Whether an area meets a queryable where that is now: other nodes hear of moves later."""
    interest, areas = core.membership.interests.get(number), query.areas
    if interest is None or areas is None:
        return True
    return any(locations_match(area, own) for area in areas for own in interest.locations)


def declare_in_area(
    core: Core,
    topic: str,
    handler: Any,
    where: Where,
    *,
    complete: bool,
    allowed_origin: zenoh.Locality | None,
) -> Queryable[Any]:
    """Reached by gets of an area that meets its own, and by plain gets of its topic."""
    origin = locality("allowed_origin", allowed_origin)
    claim = Claim("q", topic, where, Role.QUERYABLE, complete, origin)

    def change(query: zenoh.Query) -> LocatedQuery | None:
        found = LocatedQuery(query, core, where.precision)
        if where.is_ego_centric and not _is_meant(core, number, found):
            found.drop()
            return None
        return found

    def on_plain(query: zenoh.Query) -> None:
        passing = Passing(core.session, query)
        any_key = query.accepts_replies() == zenoh.ReplyKeyExpr.ANY
        ask = Ask(str(query.key_expr), "", timeout_ms=_PLAIN_TIMEOUT_MS, any_key=any_key)
        end = frames.ending(ask.write())
        passing.to(local, end, query.attachment, _PLAIN_TIMEOUT_MS, LOCAL)
        passing.done()

    number = core.numbers.take()
    local = queryable_key(number)
    native = core.session.declare_queryable(
        local, handlers.adapted(handler, change), allowed_origin=LOCAL
    )
    core.queryables[number] = local
    plain: list[Any] = []

    def end() -> None:
        for declared in plain:
            declared.undeclare()
        core.renounce(number)
        if core.queryables.pop(number, None) is not None:
            core.numbers.give_back(number)

    try:
        core.claim(number, claim)
        plain.append(core.session.declare_queryable(
            topic, direct(on_plain), complete=complete, allowed_origin=allowed_origin
        ))  # fmt: skip
    except BaseException:
        native.undeclare()
        end()
        raise
    return Queryable(native, zenoh.KeyExpr(topic), change, end)
