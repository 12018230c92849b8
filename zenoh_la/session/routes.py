"""The publishers of a session that may be granted a route, and what their nodes tell them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from zenoh_la.errors import ProtocolError
from zenoh_la.router_plugin import protocol
from zenoh_la.router_plugin.agenda import Agenda
from zenoh_la.router_plugin.documents import field, whole

if TYPE_CHECKING:
    from zenoh_la.session.sender import Sender


_MAX_SHARED = 1024


class Routes:
    """Senders by number, and the thread that does what they must do later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sharing = threading.Lock()
        self._senders: WeakValueDictionary[int, Sender] = WeakValueDictionary()
        self._shared: dict[tuple[Any, ...], Sender] = {}
        self._last = 0
        self._agenda: Agenda | None = None
        self._closed = False

    @property
    def agenda(self) -> Agenda:
        with self._lock:
            if self._agenda is None:
                self._agenda = Agenda("zenoh-la-routes")
                if self._closed:
                    self._agenda.close()
            return self._agenda

    def shared(self, key: tuple[Any, ...], make: Callable[[], Sender]) -> Sender:
        """The one sender of a topic: whatever goes through it keeps its order."""
        sender = self._shared.get(key)
        if sender is None:
            with self._sharing:
                sender = self._shared.get(key)
                if sender is None:
                    if len(self._shared) >= _MAX_SHARED:
                        self._shared = {}  # publishers keep their own
                    sender = self._shared[key] = make()
        return sender

    def join(self, sender: Sender) -> int:
        """A number for a sender, from 1 on."""
        with self._lock:
            self._last += 1
            self._senders[self._last] = sender
            return self._last

    def leave(self, number: int) -> None:
        with self._lock:
            self._senders.pop(number, None)

    def told(self, document: dict[str, Any]) -> None:
        """A node grants a route, or takes some back."""
        if "route" in document:
            match document["route"]:
                case [number, serial]:
                    self._answer(number, serial, None)
                case [number, serial, str() | None as key, str(end)]:
                    self._answer(number, serial, (key, _header(key, end)))
                case other:
                    raise ProtocolError(other, "is no route")
        for pair in field(document, "revoked", list):
            match pair:
                case [number, serial]:
                    sender = self._senders.get(whole(number))
                    if sender is not None:
                        sender.revoked(whole(serial))
                case other:
                    raise ProtocolError(other, "is no route that was revoked")

    def _answer(self, number: Any, serial: Any, route: tuple[str | None, bytes] | None) -> None:
        sender = self._senders.get(whole(number))
        if sender is not None:
            sender.answered(whole(serial), route)

    def close(self) -> None:
        """Lets go out what is held, and ends the thread."""
        with self._lock:
            senders = list(self._senders.values())
        for sender in senders:
            sender.close()
        with self._lock:
            self._closed = True
            agenda = self._agenda
        if agenda is not None:
            agenda.close()


def _header(key: str | None, end: str) -> bytes:
    if key is not None and not protocol.is_delivery(key):
        raise ProtocolError(key, "is no key to which a route can lead")
    try:
        return bytes.fromhex(end)
    except ValueError as exc:
        raise ProtocolError(end, "is no header in hexadecimal") from exc
