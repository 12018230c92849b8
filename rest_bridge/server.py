"""The HTTP server: a socket, uvicorn in a thread of its own, and an end."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from zenoh_la.errors import NodeError

MAX_HEAD_BYTES = 64 << 10
"""Request line and headers together: uvicorn itself keeps what comes, however much."""

_STOP_S = 5.0
_BACKLOG = 2048
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n"


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one, an empty host all addresses.

    Raises:
        NodeError: the address is not this machine's, or the port is in use.
    """
    shown = f"--listen {host}:{port}"
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as exc:
        raise NodeError(f"{shown}: {getattr(exc, 'strerror', None) or exc}") from exc


class _Protocol(HttpToolsProtocol):
    """HTTP with a bound on what comes before the body."""

    _head_bytes = 0
    _is_in_head = True

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)  # if this ends a head or a body, the count begins anew
        is_too_much = self._is_in_head and self._head_bytes > MAX_HEAD_BYTES
        if is_too_much and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_in_head, self._head_bytes = True, 0


class Server:
    """An application served on a socket, from ``with`` to its end.

    Args:
        app: the application.
        listening: the socket, from `bound`.
        on_stop: is called when it begins to stop, so that what lasts for ever can end.
        tls_cert: a certificate's file, in PEM form; HTTPS then.
        tls_key: the file of its key.

    Raises:
        NodeError: the certificate or its key cannot be used.
    """

    def __init__(
        self,
        app: ASGIApp,
        listening: socket.socket,
        *,
        on_stop: Callable[[], None] = lambda: None,
        tls_cert: Path | None = None,
        tls_key: Path | None = None,
    ) -> None:
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=_Protocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="error",
            proxy_headers=False,  # or a client could pass itself off as many
            server_header=False,
            timeout_graceful_shutdown=int(_STOP_S),
            ssl_certfile=tls_cert,
            ssl_keyfile=tls_key,
        )
        try:
            config.load()
        except (OSError, ssl.SSLError) as exc:
            files = " ".join(str(file) for file in (tls_cert, tls_key) if file is not None)
            problem = getattr(exc, "reason", None) or exc.strerror or exc
            raise NodeError(f"no certificate and key in {files}: {problem}") from exc
        self._server = uvicorn.Server(config)
        self._socket = listening
        self._on_stop = on_stop
        self._thread = threading.Thread(target=self._run, name="zenoh-la-rest-server")

    @property
    def port(self) -> int:
        found: int = self._socket.getsockname()[1]
        return found

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._on_stop()
        self._thread.join(2 * _STOP_S)
        self._socket.close()
