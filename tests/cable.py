"""A TCP link that can be cut, silenced and mended: it runs through this process."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class Cable:
    """Leads to an endpoint; who connects to `endpoint` is connected to that.

    `cut` resets what is connected and refuses who comes; `silence` leaves all connections open and
    lets nothing through, as a radio link does that is out of reach; `mend` ends both.
    """

    def __init__(self, to: str) -> None:
        host, _, port = to.removeprefix("tcp/").rpartition(":")
        self._to = (host, int(port))
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._is_cut = False
        self._closed = False
        self._flows = threading.Event()
        self._flows.set()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp/127.0.0.1:{self._door.getsockname()[1]}"
        self._start(self._accept)

    def _start(self, *work: object) -> None:
        target, *args = work
        thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def cut(self) -> None:
        with self._lock:
            self._is_cut = True
            self._drop_all()

    def silence(self) -> None:
        self._flows.clear()

    def mend(self) -> None:
        with self._lock:
            self._is_cut = False
            if not self._flows.is_set():
                self._drop_all()  # what was on its way is lost
        self._flows.set()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._drop_all()
        self._flows.set()
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._door.close()
        for thread in self._threads:
            thread.join(5.0)

    def _drop_all(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._door.accept()
            except OSError:
                return
            far = None
            with contextlib.suppress(OSError):
                far = socket.create_connection(self._to, timeout=5.0)
            with self._lock:
                is_good = far is not None and not self._is_cut and not self._closed
                if far is not None and is_good:
                    far.settimeout(None)
                    self._ends |= {near, far}
            if far is not None and is_good:
                self._start(self._pump, near, far)
                self._start(self._pump, far, near)
            else:
                near.close()
                if far is not None:
                    far.close()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._ends.discard(source)
        source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
