"""Reading an event stream, as a browser does."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from tests.network import DEADLINE_S, wait_for


@dataclass(frozen=True)
class Event:
    name: str
    data: Any


def parsed(lines: Iterator[str]) -> Iterator[Event]:
    """The events in a text, by the rules of the standard as far as they are used."""
    name = "message"
    data: list[str] = []
    for line in lines:
        if line.startswith(":"):
            continue
        if not line:
            if data:
                yield Event(name, json.loads("\n".join(data)))
            name, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)


class Events:
    """A stream that is open; its events are collected as they come."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.items: list[Event] = []
        self.is_over = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            for event in parsed(self.response.iter_lines()):
                self.items.append(event)
        except (httpx.HTTPError, httpx.StreamError):
            pass  # it was closed
        finally:
            self.is_over.set()

    def samples(self) -> list[Event]:
        """Those that are samples."""
        return [event for event in self.items if event.name in ("PUT", "DELETE")]

    def values(self) -> list[Any]:
        return [event.data["value"] for event in self.samples()]

    def wait(self, count: int) -> list[Event]:
        wait_for(lambda: len(self.samples()) >= count, f"{count} events in {self.items}")
        return self.samples()

    @property
    def url(self) -> str:
        """Where the stream can be moved."""
        wait_for(lambda: self.items, "the first event")
        assert self.items[0].name == "STREAM"
        url: str = self.items[0].data["url"]
        return url

    def close(self) -> None:
        """Goes away; the thread that reads is woken by the end of its socket."""
        if not self.is_over.is_set():
            stream = self.response.extensions["network_stream"]
            with suppress(OSError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()


@contextmanager
def subscribed(http: httpx.Client, path: str, **options: Any) -> Iterator[Events]:
    """A stream that is in force, and closed afterwards."""
    headers = {"Accept": "text/event-stream", **options.pop("headers", {})}
    timeout = httpx.Timeout(DEADLINE_S, read=None)
    with httpx.Client(base_url=http.base_url, timeout=timeout, **options) as own:
        response = own.send(own.build_request("GET", path, headers=headers), stream=True)
        if response.status_code != 200:
            response.read()
        assert response.status_code == 200, response.text
        events = Events(response)
        try:
            yield events
        finally:
            events.close()
