"""A session's membership of a node, kept up whatever happens to the network.

The session keeps the truth: its interests and watches. A node gets a copy of it when the session
joins, and every change after that. When the router changes, the session joins the next one before
anything located goes out again: a key with the dead router's id would swallow it without an error.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import zenoh

from zenoh_la.errors import NodeError
from zenoh_la.router_plugin.callbacks import is_receiving, seldom
from zenoh_la.router_plugin.documents import decimal, field
from zenoh_la.router_plugin.members import new_tag
from zenoh_la.router_plugin.node import Node
from zenoh_la.router_plugin.protocol import Interest
from zenoh_la.session.follower import Follower
from zenoh_la.session.home import (
    HELLO_TIMEOUT_S,
    REQUEST_TIMEOUT_S,
    Home,
    OnGet,
    OnMessage,
    Place,
    Unregistered,
    check_may_wait,
    hello,
)
from zenoh_la.session.waiting import Send, Waiting

log = logging.getLogger("zenoh_la")

_PATIENCE = 4
"""So often a router that does not say hello is asked again, if the last one was location-aware:
one that has just started says it a moment after it can be reached."""


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
        self.own_tag = new_tag()
        # What came by an earlier home may still wait in a channel of the application.
        self.tags: set[int] = {self.own_tag}
        self._joined = False
        self._closed = False
        self.waiting = Waiting()
        self._patience = 0
        self.interests: dict[int, Interest] = {}
        self._watches: dict[int, tuple[list[Any], Callable[[bool], None]]] = {}
        self._left: list[Home] = []
        self._forsaken: list[Home] = []  # they may not have noticed, and deliver still
        self._follower = Follower(self._reconsider, lambda: self._closed or session.is_closed())
        self._follows = False
        self._listener: Any = None

    @property
    def home(self) -> Home | None:
        return self._home

    def join(self, *, to_wait: bool = False) -> None:
        """Joins a node, if that has not been done: at the first use of a location."""
        if self._is_client and (to_wait or not self._joined) and is_receiving():
            if to_wait:
                check_may_wait(self._home)
            self._start_to_follow()
            return
        if self._joined:
            return
        with self._order:
            if self._joined or self._closed:
                return
            if self._is_client:
                self._start_to_follow()
                try:
                    self._reconsider()
                except NodeError as exc:
                    log.warning("joining a node failed, trying again: %s", exc)
                    self._follower.wake()
            else:
                self._settle(self._new_home(None))
            self._joined = True

    def _start_to_follow(self) -> None:
        with self._gap:
            if self._follows or self._closed:
                return
            self._follows = True
        events = self._session.info.declare_transport_events_listener(seldom(self._on_transport))
        self._listener = events
        self._follower.start()
        self._follower.wake()

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
                if self._closed:
                    raise zenoh.ZError("session closed")
                self.waiting.add(send)
                return
        send(home)

    def declare(self, changes: dict[int, Interest]) -> None:
        """Adds or moves interests; they are in force at the node when this returns.

        Raises:
            NodeError: the node refused or did not answer; nothing is changed then.
        """
        self.join(to_wait=True)
        with self._order:
            before = {number: self.interests.get(number) for number in changes}
            self.interests.update(changes)
            plain = {number: interest.to_plain() for number, interest in changes.items()}
            try:
                self._tell({"interests": plain})
            except NodeError:
                for number, old in before.items():
                    if old is None:
                        self.interests.pop(number, None)
                    else:
                        self.interests[number] = old
                raise

    def move(self, changes: dict[int, Interest]) -> None:
        """Moves those of the interests that have not been taken back meanwhile."""
        with self._order:
            left = {n: interest for n, interest in changes.items() if n in self.interests}
            if left:
                self.declare(left)

    def undeclare(self, number: int) -> None:
        """Takes an interest back."""
        self._take_back(self.interests, "gone", number)

    def watch(self, number: int, plain: list[Any], told: Callable[[bool], None]) -> None:
        """Has `told` called when somebody begins or ceases to listen."""
        self.join(to_wait=True)
        with self._order:
            self._watches[number] = (plain, told)
            self._tell({"watch": {number: plain}})

    def unwatch(self, number: int) -> None:
        self._take_back(self._watches, "unwatch", number)

    def _take_back(self, kept: dict[int, Any], what: str, number: int) -> None:
        if is_receiving() and self._follows:
            if kept.pop(number, None) is not None:
                self._follower.leave_to(partial(self._tell_gone, kept, what, number))
            return
        with self._order:
            if kept.pop(number, None) is not None:
                self._tell_if_possible({what: [number]})

    def _tell_gone(self, kept: dict[int, Any], what: str, number: int) -> None:
        with self._order:
            if number not in kept:  # else it is somebody else's by now
                self._tell_if_possible({what: [number]})

    def is_matched(self, plain: list[Any]) -> bool:
        """Whether anybody listens at this moment."""
        self.join(to_wait=True)
        home = self._home
        if home is None:
            return False
        return self._request(home, {"matching": plain}).get("matching") is True

    def on_news(self, document: dict[str, Any], home: Home | None = None) -> None:
        """The node says who listens, or that it has forgotten this session."""
        if home is not None and document.get("gone") is True:
            self._leave(home)
            self._follower.wake()
        for number, matching in field(document, "watch", dict).items():
            entry = self._watches.get(decimal(number))
            if entry is not None:
                entry[1](matching is True)

    def stop(self) -> None:
        """Has the worker end, and does not wait for it."""
        self._closed = True
        self._follower.stop()
        home = self._home
        if home is not None and home.node is not None:
            home.node.stop()

    def close(self) -> None:
        """To be called when the Zenoh session is closed, so that nobody waits for an answer."""
        self.stop()
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.undeclare()
        self._follower.join(REQUEST_TIMEOUT_S + HELLO_TIMEOUT_S)
        with self._order:
            if self._home is not None:
                self._leave(self._home)
            self._close_left()
            self.waiting.clear()

    def _tell(self, document: dict[str, Any]) -> None:
        home = self._home
        if home is not None:  # else it is told when there is a node again
            self.on_news(self._request(home, document))

    def _request(self, home: Home, document: dict[str, Any]) -> dict[str, Any]:
        """Asks the node; if that has lost this session, joins anew and tells it everything."""
        try:
            return home.request(document)
        except Unregistered as exc:
            if self._closed or not self._is_client:
                raise
            log.info("joining anew: %s", exc)
            self._leave(home)
            try:
                self._reconsider()
            except NodeError:
                self._follower.wake()  # the worker tries again
            return {}

    def _tell_if_possible(self, document: dict[str, Any]) -> None:
        try:
            self._tell(document)
        except NodeError as exc:
            log.warning("%s", exc)

    # Following the network

    def _routers(self) -> list[str]:
        return [str(zid) for zid in self._session.info.routers_zid()]

    def _leave(self, home: Home) -> None:
        with self._gap:
            if self._home is home:
                self._home = None
                self._left.append(home)

    def _close_left(self) -> None:
        with self._gap:
            left, self._left = self._left, []
        for old in left:
            old.close()
        self._forsaken += [old for old in left if old.node is None]

    def _new_home(self, found: tuple[str, Place] | None) -> Home:
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
        self.tags.add(home.tag)  # before the answer: messages may come sooner
        try:
            self._tell_all(home)
            if home.router is not None and home.router not in self._routers():
                raise Unregistered(f"router {home.router} went away")
        except BaseException:
            self.tags.discard(home.tag)
            home.close()
            raise
        while self._forsaken:
            self._forsaken.pop().take_leave()
        while True:
            with self._gap:
                send = self.waiting.next()
                if send is None:  # till then who sends waits in line, handlers too
                    self._home = home
                    return
            self.waiting.let_out(send, home)

    def _tell_all(self, home: Home) -> None:
        """Also if there is nothing to tell: the answer says that the registration is good."""
        document: dict[str, Any] = {"reset": True}
        document["interests"] = {n: i.to_plain() for n, i in list(self.interests.items())}
        document["watch"] = {n: plain for n, (plain, _) in list(self._watches.items())}
        self.on_news(home.request(document))

    def _on_transport(self, event: zenoh.TransportEvent) -> None:
        home = self._home
        lost = str(event.transport.zid) if event.kind == zenoh.SampleKind.DELETE else None
        if home is not None and lost is not None and home.router == lost:
            self._leave(home)
        self._follower.wake()

    def _on_presence(self, zid: str) -> None:
        if self._is_client and zid in self._routers():
            self._follower.wake()  # the router turned out to be location-aware

    def _reconsider(self) -> None:
        """Joins the node that is right for the network as it is, if this session is not there."""
        with self._order:
            if self._closed:
                return
            routers = self._routers()
            home = self._home
            if home is not None and home.router is not None:
                if home.router in routers:
                    return
                self._leave(home)
                home = None
            # Goodbyes go first: the next place may be the same slot at the same router.
            self._close_left()
            if not routers and (home is not None or not self._session.info.peers_zid()):
                return  # no way to anybody: what is sent waits
            found = hello(self._session, routers)
            if found is not None:
                self._patience = _PATIENCE
            elif home is not None and home.node is not None:
                home.node.network_changed()
                return
            elif self._patience:
                self._patience -= 1
                raise NodeError("the router does not say whether it is location-aware")
            if home is not None:
                self._leave(home)
                self._close_left()
            self._settle(self._new_home(found))
