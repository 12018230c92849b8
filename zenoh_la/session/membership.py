"""A session's membership of a node, kept up whatever happens to the network.

The session keeps the truth: its interests and watches. A node gets a copy of it when the session
joins, and every change after that. When the router changes, the session joins the next one before
anything located goes out again: a key with the dead router's id would swallow it without an error.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any

import zenoh

from zenoh_la.errors import NodeError, ProtocolError
from zenoh_la.router_plugin import protocol
from zenoh_la.router_plugin.documents import decimal, field, whole
from zenoh_la.router_plugin.node import Node
from zenoh_la.router_plugin.protocol import Interest
from zenoh_la.session.home import (
    HELLO_TIMEOUT_S,
    REQUEST_TIMEOUT_S,
    Home,
    OnGet,
    OnMessage,
    call,
)

log = logging.getLogger("zenoh_la")

MAX_WAITING = 1024
"""Located messages kept while the session has no node; the oldest go first."""
_RETRIES_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

Send = Callable[[Home], None]
_Place = tuple[str, int, int, str]
"""A node's id, and slot, tag and secret there."""


class Membership:
    """Joins a node, keeps it told, and joins another when the network changes.

    Args:
        session: the Zenoh session.
        mode: a client follows the router it is attached to; peers and routers are always their
            own node, and a router is its clients' node too.
    """

    def __init__(
        self, session: zenoh.Session, mode: zenoh.WhatAmI, *, on_message: OnMessage, on_get: OnGet
    ) -> None:
        self._session = session
        self._is_client = mode == zenoh.WhatAmI.CLIENT
        self._is_router = mode == zenoh.WhatAmI.ROUTER
        self._on_message = on_message
        self._on_get = on_get
        self._order = threading.RLock()
        self._gap = threading.Lock()
        self._home: Home | None = None
        self._joined = False
        self._closed = False
        self._waiting: deque[Send] = deque(maxlen=MAX_WAITING)
        self.dropped = 0
        self._numbers = count(1)
        self._interests: dict[int, Interest] = {}
        self._watches: dict[int, tuple[list[Any], Callable[[bool], None]]] = {}
        self._left: list[Home] = []
        self._events: SimpleQueue[bool] = SimpleQueue()
        self._worker: threading.Thread | None = None
        self._listener: Any = None

    @property
    def home(self) -> Home | None:
        return self._home

    def new_id(self) -> int:
        return next(self._numbers)

    def join(self) -> None:
        """Joins a node, if that has not been done: at the first use of a location."""
        if self._joined:
            return
        with self._order:
            if self._joined or self._closed:
                return
            if self._is_client:
                self._listener = self._session.info.declare_transport_events_listener(
                    zenoh.handlers.Callback(self._on_transport, indirect=False)
                )
                self._worker = threading.Thread(
                    target=self._follow, name="zenoh-la-membership", daemon=True
                )
                self._worker.start()
            routers = self._routers() if self._is_client else []
            self._settle(self._new_home(self._hello(routers)))
            self._joined = True

    def send(self, send: Send) -> None:
        """Sends something to the node, now or as soon as there is one."""
        self.join()
        home = self._home
        if home is not None:
            send(home)
            return
        with self._gap:
            home = self._home
            if home is None:
                self.dropped += len(self._waiting) == MAX_WAITING
                self._waiting.append(send)
                return
        send(home)

    def declare(self, changes: dict[int, Interest]) -> None:
        """Adds or moves interests; they are in force at the node when this returns.

        Raises:
            NodeError: the node refused or did not answer; nothing is changed then.
        """
        self.join()
        with self._order:
            before = {number: self._interests.get(number) for number in changes}
            self._interests.update(changes)
            plain = {number: interest.to_plain() for number, interest in changes.items()}
            try:
                self._tell({"interests": plain})
            except NodeError:
                for number, old in before.items():
                    if old is None:
                        self._interests.pop(number, None)
                    else:
                        self._interests[number] = old
                raise

    def undeclare(self, number: int) -> None:
        """Takes an interest back."""
        with self._order:
            if self._interests.pop(number, None) is not None:
                self._tell_if_possible({"gone": [number]})

    def watch(self, number: int, plain: list[Any], told: Callable[[bool], None]) -> None:
        """Has `told` called when somebody begins or ceases to listen."""
        self.join()
        with self._order:
            self._watches[number] = (plain, told)
            self._tell({"watch": {number: plain}})

    def unwatch(self, number: int) -> None:
        with self._order:
            if self._watches.pop(number, None) is not None:
                self._tell_if_possible({"unwatch": [number]})

    def is_matched(self, plain: list[Any]) -> bool:
        """Whether anybody listens at this moment."""
        self.join()
        home = self._home
        return home is not None and home.request({"matching": plain}).get("matching") is True

    def on_news(self, document: dict[str, Any]) -> None:
        """The node says who listens."""
        for number, matching in field(document, "watch", dict).items():
            entry = self._watches.get(decimal(number))
            if entry is not None:
                entry[1](matching is True)

    def close(self) -> None:
        self._closed = True
        if self._listener is not None:
            self._listener.undeclare()
        self._events.put(False)
        if self._worker is not None and self._worker is not threading.current_thread():
            self._worker.join(REQUEST_TIMEOUT_S + HELLO_TIMEOUT_S)
        with self._order:
            home, self._home = self._home, None
            for old in [*self._left, *([home] if home is not None else [])]:
                old.close()
            self._left.clear()

    def _tell(self, document: dict[str, Any]) -> None:
        home = self._home
        if home is None:
            return  # told when there is a node again
        try:
            answer = home.request(document)
        except NodeError:
            if self._home is not home or not self._is_reachable(home):
                return  # its router went away: the next one is told everything
            raise
        self.on_news(answer)

    def _tell_if_possible(self, document: dict[str, Any]) -> None:
        try:
            self._tell(document)
        except NodeError as exc:
            log.warning("%s", exc)

    # Following the network

    def _routers(self) -> list[str]:
        return [str(zid) for zid in self._session.info.routers_zid()]

    def _is_reachable(self, home: Home) -> bool:
        return home.router is None or home.router in self._routers()

    def _new_home(self, found: tuple[str, _Place] | None) -> Home:
        """At the router's node if it has one, else at one's own."""
        keys: dict[str, Any] = {"on_message": self._on_message, "on_get": self._on_get}
        if found is not None:
            router, at = found
            return Home(self._session, *at, router=router, **keys)
        node = Node(self._session, serves_clients=self._is_router, on_presence=self._on_presence)
        member = node.adopt()
        at = (node.nid, member.slot, member.tag, member.secret)
        return Home(self._session, *at, node=node, **keys)

    def _settle(self, home: Home) -> None:
        """Tells the node everything, then lets go out what has waited."""
        try:
            self._tell_all(home)
        except BaseException:
            home.close()
            raise
        with self._gap:
            self._home = home
            waiting, self._waiting = self._waiting, deque(maxlen=MAX_WAITING)
            for send in waiting:
                send(home)

    def _tell_all(self, home: Home) -> None:
        document: dict[str, Any] = {"reset": True}
        document["interests"] = {n: i.to_plain() for n, i in self._interests.items()}
        document["watch"] = {n: plain for n, (plain, _) in self._watches.items()}
        if document["interests"] or document["watch"]:
            self.on_news(home.request(document))

    def _on_transport(self, event: zenoh.TransportEvent) -> None:
        home = self._home
        if (
            event.kind == zenoh.SampleKind.DELETE
            and home is not None
            and home.router == str(event.transport.zid)
        ):
            with self._gap:
                self._home = None
                self._left.append(home)
        self._events.put(True)

    def _on_presence(self, zid: str) -> None:
        if self._is_client and zid in self._routers():
            self._events.put(True)  # the router turned out to be location-aware

    def _follow(self) -> None:
        """The worker: looks at the network whenever something about it changed."""
        failures = 0
        while True:
            try:
                wait_s = _RETRIES_S[min(failures, len(_RETRIES_S)) - 1] if failures else None
                goes_on = self._events.get(timeout=wait_s)
            except Empty:
                goes_on = True
            if not goes_on or self._closed:
                return
            try:
                self._reconsider()
                failures = 0
            except Exception as exc:
                if self._closed or self._session.is_closed():
                    return
                failures += 1
                log.warning("joining a node failed, trying again: %s", exc)

    def _reconsider(self) -> None:
        with self._order:
            routers = self._routers()
            home = self._home
            if not routers or (home is not None and home.router in routers):
                return
            found = self._hello(routers)
            if found is None and home is not None and home.node is not None:
                home.node.network_changed()
                return
            with self._gap:
                self._home = None
                left, self._left = self._left, []
            for old in [*left, *([home] if home is not None else [])]:
                old.close()
            self._settle(self._new_home(found))

    def _hello(self, routers: list[str]) -> tuple[str, _Place] | None:
        """The first location-aware one of the routers, and the place it gives."""
        for router in routers:
            answer = call(self._session, protocol.hello(router), {}, HELLO_TIMEOUT_S)
            if answer is None:
                continue  # a stock one
            try:
                return router, _place(answer)
            except ProtocolError as exc:
                log.warning("router %s has no place for this session: %s", router, exc)
        return None


def _place(answer: dict[str, Any]) -> _Place:
    if "error" in answer:
        raise ProtocolError(answer["error"], "is what it says")
    nid = protocol.check_nid(field(answer, "nid", str))
    slot = whole(answer.get("slot"), protocol.MAX_SLOT)
    return nid, slot, whole(answer.get("tag")), field(answer, "secret", str)
