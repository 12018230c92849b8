"""Where a session is registered: the keys of its node and of its own slot there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

import zenoh

from zenoh_la.errors import NodeError, ProtocolError
from zenoh_la.router_plugin import documents, protocol
from zenoh_la.router_plugin.callbacks import direct, is_receiving
from zenoh_la.router_plugin.documents import field, whole
from zenoh_la.router_plugin.node import Node

log = logging.getLogger("zenoh_la")

REQUEST_TIMEOUT_S = 5.0
HELLO_TIMEOUT_S = 2.0
_LOOK_S = 0.1

OnMessage = Callable[["Home", zenoh.Sample], None]
Place = tuple[str, int, int, str]
"""A node's id, and slot, tag and secret there."""
OnGet = Callable[["Home", zenoh.Query], None]


class Unregistered(NodeError):  # noqa: N818 - a state to act upon; users see NodeError
    """The session is not known at the node, or the node is not there: it must join anew."""


class Home:
    """A session's place at a node: a router's, or its own."""

    def __init__(
        self,
        session: zenoh.Session,
        nid: str,
        slot: int,
        tag: int,
        secret: str,
        *,
        on_message: OnMessage,
        on_get: OnGet,
        router: str | None = None,
        node: Node | None = None,
    ) -> None:
        self._session = session
        self.nid = nid
        self.slot = slot
        self.tag = tag
        self.secret = secret
        self.router = router
        self.node = node
        self._locality = None if node is None else zenoh.Locality.SESSION_LOCAL

        def message(sample: zenoh.Sample) -> None:
            on_message(self, sample)

        def get(query: zenoh.Query) -> None:
            on_get(self, query)

        self._declared: list[Any] = [
            session.declare_subscriber(
                protocol.to_session(nid, slot),
                direct(message),
            ),
            session.declare_queryable(
                protocol.get_of_session(nid, slot),
                direct(get),
                allowed_origin=self._locality,
            ),
        ]
        if node is None:
            token = session.liveliness().declare_token(protocol.alive(nid, slot))
            self._declared.append(token)

    @property
    def locality(self) -> zenoh.Locality | None:
        """Where this session's requests and messages to its node may go."""
        return self._locality

    def request(self, document: dict[str, Any]) -> dict[str, Any]:
        """Asks the node something and waits for its answer.

        Raises:
            NodeError: it refused.
            Unregistered: it did not answer in time, or does not know this session any more.
        """
        key = protocol.ask(self.nid, self.slot)
        full = {"secret": self.secret, **document}
        answer = call(self._session, key, full, REQUEST_TIMEOUT_S, self._locality)
        if answer is None:
            raise Unregistered(f"node {self.nid} did not answer within {REQUEST_TIMEOUT_S:g} s")
        if "error" in answer:
            if answer.get("registered") is False:
                raise Unregistered(f"node {self.nid} does not know this session")
            raise NodeError(f"node {self.nid} refused: {answer['error']}")
        return answer

    def take_leave(self) -> None:
        """Tells a node that this session is elsewhere, if it can be reached, and waits for nothing.

        A router whose link went silent notices it by the lease only, and delivers meanwhile.
        """
        self._session.get(
            protocol.ask(self.nid, self.slot),
            direct(lambda _: None),
            payload=documents.write({"secret": self.secret, "reset": True}),
            timeout=REQUEST_TIMEOUT_S,
        )

    def close(self) -> None:
        for declared in self._declared:
            declared.undeclare()
        self._declared.clear()
        if self.node is not None:
            self.node.close()


def check_may_wait(home: Home | None) -> None:
    """Refuses to wait for a router's answer on the thread that would have to receive it."""
    if is_receiving() and (home is None or home.node is None):
        raise NodeError(
            "inside a direct callback nothing with an area can be declared, because the router's "
            "answer would come on the same thread: use a callback with indirect=True"
        )


def call(
    session: zenoh.Session,
    key: str,
    document: dict[str, Any],
    timeout_s: float,
    destination: zenoh.Locality | None = None,
) -> dict[str, Any] | None:
    """A request and its answer, as soon as that is there; None if nobody answers."""
    answers: SimpleQueue[dict[str, Any] | None] = SimpleQueue()

    def on_reply(reply: zenoh.Reply) -> None:
        if reply.ok is not None:
            try:
                answers.put(documents.read(reply.ok.payload))
            except ProtocolError as exc:
                answers.put({"error": f"an answer that cannot be read: {exc}"})

    def on_end() -> None:
        answers.put(None)

    session.get(
        key,
        direct(on_reply, on_end),
        payload=documents.write(document),
        timeout=timeout_s,
        consolidation=zenoh.ConsolidationMode.NONE,
        congestion_control=zenoh.CongestionControl.BLOCK,
        priority=zenoh.Priority.INTERACTIVE_HIGH,
        express=True,
        allowed_destination=destination,
    )
    give_up_at = monotonic() + timeout_s + 1.0
    while True:
        try:
            return answers.get(timeout=_LOOK_S)
        except Empty:
            # A get that waits when its session is closed may not be ended by it.
            if monotonic() >= give_up_at or session.is_closed():
                return None


def hello(session: zenoh.Session, routers: list[str]) -> tuple[str, Place] | None:
    """The first location-aware one of the routers, and the place it gives."""
    for router in routers:
        whoever = {"zid": str(session.zid())}
        answer = call(session, protocol.hello(router), whoever, HELLO_TIMEOUT_S)
        if answer is None:
            continue  # a stock one
        try:
            return router, _place(answer)
        except ProtocolError as exc:
            log.warning("router %s has no place for this session: %s", router, exc)
    return None


def _place(answer: dict[str, Any]) -> Place:
    if "error" in answer:
        raise ProtocolError(answer["error"], "is what it says")
    nid = protocol.check_nid(field(answer, "nid", str))
    slot = whole(answer.get("slot"), protocol.MAX_SLOT)
    return nid, slot, whole(answer.get("tag")), field(answer, "secret", str)
