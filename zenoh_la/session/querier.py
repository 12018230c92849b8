"""Queriers: of the whole network, and of an area."""

from __future__ import annotations

from typing import Any, Self

import zenoh

from zenoh_la.router_plugin import frames
from zenoh_la.session import handlers
from zenoh_la.session.asking import HERE, KEY, Asking, Get, area_chunk, check_area, seen
from zenoh_la.session.core import Core
from zenoh_la.session.matching import listen, status_now
from zenoh_la.session.places import Where


class Querier:
    """Like `zenoh.Querier`; a reply that carries a place shows it."""

    def __init__(self, core: Core, native: zenoh.Querier) -> None:
        self._core = core
        self._native = native

    @property
    def id(self) -> zenoh.EntityGlobalId:
        return self._native.id

    @property
    def key_expr(self) -> zenoh.KeyExpr:
        return self._native.key_expr

    @property
    def accept_replies(self) -> zenoh.ReplyKeyExpr:
        return self._native.accept_replies

    def get(
        self,
        handler: Any = None,
        *,
        parameters: Any = None,
        payload: Any = None,
        encoding: Any = None,
        attachment: Any = None,
        source_info: zenoh.SourceInfo | None = None,
        cancellation_token: Any = None,
        timestamp_instrumentation: Any = None,
    ) -> Any:
        options = {
            "payload": payload,
            "encoding": encoding,
            "source_info": source_info,
            "cancellation_token": cancellation_token,
            "timestamp_instrumentation": timestamp_instrumentation,
        }
        return self._get(handler, parameters, attachment, options)

    def _get(self, handler: Any, parameters: Any, attachment: Any, options: dict[str, Any]) -> Any:
        def change(reply: zenoh.Reply) -> Any:
            return seen(self._core, reply)

        given = self._native.get(
            handlers.adapted(handler, change),
            parameters=parameters,
            attachment=attachment,
            **options,
        )
        return handlers.shown(given, change)

    @property
    def matching_status(self) -> Any:
        return self._native.matching_status

    def declare_matching_listener(self, handler: Any = None) -> Any:
        return self._native.declare_matching_listener(handler)

    def undeclare(self) -> None:
        self._native.undeclare()

    def __enter__(self) -> Self:
        self._native.__enter__()
        return self

    def __exit__(self, *_args: Any, **_kwargs: Any) -> None:
        self._native.__exit__(*_args, **_kwargs)

    def __repr__(self) -> str:
        return f"Querier({self._native!r})"


class AreaQuerier(Querier):
    """One that asks an area. Its native querier asks the session's own queryable of gets.

    Args:
        asked: what all its gets have in common, from `asking.checked`.
        consolidation: as Zenoh takes it.
        quality: how they travel.
    """

    def __init__(
        self,
        asking: Asking,
        core: Core,
        where: Where,
        timeout_s: float,
        asked: dict[str, Any],
        consolidation: Any,
        quality: dict[str, Any],
    ) -> None:
        check_area(core, where)
        native = core.session.declare_querier(
            KEY, timeout=timeout_s, consolidation=consolidation, **HERE, **quality
        )
        super().__init__(core, native)
        self._asking = asking
        self._where = where
        self._asked = {"timeout_s": timeout_s, "quality": quality, **asked}
        self._key_expr = zenoh.KeyExpr(asked["topic"])

    @property
    def key_expr(self) -> zenoh.KeyExpr:
        self._check()
        return self._key_expr

    @property
    def accept_replies(self) -> zenoh.ReplyKeyExpr:
        self._check()
        given: zenoh.ReplyKeyExpr | None = self._asked["accept_replies"]
        return zenoh.ReplyKeyExpr.DEFAULT if given is None else given

    def _check(self) -> None:
        _ = self._native.key_expr  # Zenoh's own error if it was undeclared

    def _get(self, handler: Any, parameters: Any, attachment: Any, options: dict[str, Any]) -> Any:
        self._check()
        if not isinstance(parameters, zenoh.Parameters):
            parameters = zenoh.Parameters(parameters)
        get = Get(
            parameters=parameters,
            chunk=area_chunk(self._core, self._where),
            attachment=frames.given(attachment),
            **self._asked,
        )
        return self._asking.get(
            get, self._native.get, handler, {"parameters": parameters, **options}
        )

    def _watched(self) -> list[Any]:
        chunk = area_chunk(self._core, self._where)
        return ["q", str(self._key_expr), chunk, self._asked["destination"]]

    @property
    def matching_status(self) -> Any:
        """Whether any queryable's area meets this one's."""
        self._check()
        return status_now(self._core, self._watched())

    def declare_matching_listener(self, handler: Any = None) -> Any:
        self._check()
        return listen(self._core, self._watched, handler)
