"""The methods of a session that ask and answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import zenoh

from zenoh_la.encoders import Precision
from zenoh_la.router_plugin import frames
from zenoh_la.session import asking, handlers, queryable
from zenoh_la.session.asking import Asking, Get
from zenoh_la.session.base import SessionBase
from zenoh_la.session.core import check_kind, check_length, topic_of
from zenoh_la.session.places import Wanted, Where
from zenoh_la.session.querier import AreaQuerier, Querier
from zenoh_la.values import Shape


class Querying(SessionBase):
    """`get`, queriers and queryables."""

    def __init__(self, session: zenoh.Session, mode: zenoh.WhatAmI, timeout_s: float) -> None:
        super().__init__(session, mode, timeout_s)
        self._asking = Asking(self._core)

    def declare_queryable(
        self,
        key_expr: Any,
        handler: Any = None,
        *,
        complete: bool | None = None,
        allowed_origin: zenoh.Locality | None = None,
        location_shape: Wanted = Shape.NONE,
        shape_data: Mapping[str, Any] | None = None,
        precision: Precision = Precision.POINT,
    ) -> Any:
        """Like `zenoh.Session.declare_queryable`; with an area, gets of areas that meet it too."""
        where = Where.of(location_shape, shape_data, precision)
        if where is None:
            check_length(key_expr)
            return self._zsession.declare_queryable(
                key_expr, handler, complete=complete, allowed_origin=allowed_origin
            )
        self._check_open()
        return queryable.declare_in_area(
            self._core,
            topic_of(key_expr),
            handler,
            where,
            complete=bool(complete),
            allowed_origin=allowed_origin,
        )

    def get(
        self,
        selector: Any,
        handler: Any = None,
        *,
        target: zenoh.QueryTarget | None = None,
        consolidation: Any = None,
        accept_replies: zenoh.ReplyKeyExpr | None = None,
        timeout: float | None = None,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        payload: Any = None,
        encoding: Any = None,
        attachment: Any = None,
        allowed_destination: zenoh.Locality | None = None,
        source_info: zenoh.SourceInfo | None = None,
        cancellation_token: Any = None,
        timestamp_instrumentation: Any = None,
        location_shape: Wanted = Shape.NONE,
        shape_data: Mapping[str, Any] | None = None,
        precision: Precision = Precision.POINT,
    ) -> Any:
        """Like `zenoh.Session.get`; with an area, from queryables whose area meets it."""
        quality = {
            "congestion_control": congestion_control,
            "priority": priority,
            "express": express,
        }
        options: dict[str, Any] = {
            "payload": payload,
            "encoding": encoding,
            "source_info": source_info,
            "cancellation_token": cancellation_token,
            "timestamp_instrumentation": timestamp_instrumentation,
            **quality,
        }
        where = Where.of(location_shape, shape_data, precision)
        check_length(selector, "selector")
        if where is None:
            return self._plain_get(selector, handler, {
                "target": target,
                "consolidation": consolidation,
                "accept_replies": accept_replies,
                "timeout": timeout,
                "attachment": attachment,
                "allowed_destination": allowed_destination,
                **options,
            })  # fmt: skip
        self._check_open()
        check_kind("selector", selector, str, zenoh.KeyExpr, zenoh.Selector)
        chosen = selector if isinstance(selector, zenoh.Selector) else zenoh.Selector(selector)
        get = Get(
            parameters=chosen.parameters,
            chunk=asking.area_chunk(self._core, where),
            attachment=frames.given(attachment),
            timeout_s=self._core.timeout_s if timeout is None else timeout,
            quality=quality,
            **asking.checked(chosen.key_expr, target, accept_replies, allowed_destination),
        )
        own = zenoh.Selector(asking.KEY, chosen.parameters)
        options["consolidation"] = consolidation
        ask = partial(self._zsession.get, own, timeout=get.timeout_s, **asking.HERE)
        return self._asking.get(get, ask, handler, options)

    def _plain_get(self, selector: Any, handler: Any, options: dict[str, Any]) -> Any:
        def change(reply: zenoh.Reply) -> Any:
            return asking.seen(self._core, reply)

        given = self._zsession.get(selector, handlers.adapted(handler, change), **options)
        return handlers.shown(given, change)

    def declare_querier(
        self,
        key_expr: Any,
        *,
        target: zenoh.QueryTarget | None = None,
        consolidation: Any = None,
        accept_replies: zenoh.ReplyKeyExpr | None = None,
        timeout: float | None = None,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        allowed_destination: zenoh.Locality | None = None,
        location_shape: Wanted = Shape.NONE,
        shape_data: Mapping[str, Any] | None = None,
        precision: Precision = Precision.POINT,
    ) -> Querier:
        """Like `zenoh.Session.declare_querier`; with an area, one that asks there."""
        quality: dict[str, Any] = {
            "congestion_control": congestion_control,
            "priority": priority,
            "express": express,
        }
        where = Where.of(location_shape, shape_data, precision)
        if where is None:
            check_length(key_expr)
            native = self._zsession.declare_querier(
                key_expr,
                target=target,
                consolidation=consolidation,
                accept_replies=accept_replies,
                timeout=timeout,
                allowed_destination=allowed_destination,
                **quality,
            )
            return Querier(self._core, native)
        self._check_open()
        return AreaQuerier(
            self._asking,
            self._core,
            where,
            self._core.timeout_s if timeout is None else timeout,
            asking.checked(key_expr, target, accept_replies, allowed_destination),
            consolidation,
            quality,
        )
