"""Bytes that TCP connections carried, as the kernel counts them (Linux: netlink, sock_diag)."""

from __future__ import annotations

import socket
import struct
from collections import defaultdict
from collections.abc import Iterator

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_INET_DIAG_INFO = 2
_ESTABLISHED = 1 << 1
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_PORTS = struct.Struct("!HH")
_SOCKET_BYTES = 72  # struct inet_diag_msg; its ports are at 4
_RECEIVED_AT = 128  # tcpi_bytes_received in struct tcp_info

Link = tuple[int, int]
"""The ports of its two ends, the smaller first."""


def carried(ports: set[int]) -> dict[Link, int] | None:
    """What each connection to or from one of these ports carried, both directions together.

    None if this system does not tell.
    """
    try:
        found: defaultdict[Link, int] = defaultdict(int)
        for one, other, received in _sockets():
            if one in ports or other in ports:
                found[min(one, other), max(one, other)] += received
        return dict(found)
    except (AttributeError, OSError):
        return None


def _sockets() -> Iterator[tuple[int, int, int]]:
    """Own port, the other's port, and bytes received, of each connection of this system."""
    asked = _REQUEST.pack(
        socket.AF_INET, socket.IPPROTO_TCP, 1 << _INET_DIAG_INFO - 1, _ESTABLISHED
    )
    header = _HEADER.pack(_HEADER.size + len(asked), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(1.0)
        kernel.send(header + asked)
        while True:
            answer = kernel.recv(1 << 18)
            at = 0
            while at < len(answer):
                length, kind, *_ = _HEADER.unpack_from(answer, at)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    raise OSError("the kernel refuses to list sockets")
                yield _socket(answer[at + _HEADER.size : at + length])
                at += (length + 3) & ~3


def _socket(message: bytes) -> tuple[int, int, int]:
    own, other = _PORTS.unpack_from(message, 4)
    at = _SOCKET_BYTES
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == _INET_DIAG_INFO and length >= 4 + _RECEIVED_AT + 8:
            return own, other, struct.unpack_from("=Q", message, at + 4 + _RECEIVED_AT)[0]
        at += max((length + 3) & ~3, 4)
    raise OSError("the kernel says nothing of the bytes of a socket")
