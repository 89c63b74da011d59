"""UDP sockets with large buffers, for the server and for emulated links."""

from __future__ import annotations

import contextlib
import socket
import sys

BUFFER_BYTES = 4 * 1024 * 1024

# Beyond the system's limit, for the privileged; the socket module has no names for them. Values of Linux.
_FORCED = {socket.SO_RCVBUF: 33, socket.SO_SNDBUF: 32} if sys.platform == "linux" else {}


def open_udp_socket(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A bound, non-blocking socket. Its buffers are as large as the system allows: what overflows there is lost unseen.

    Raises OSError if it cannot be bound.
    """
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
            if option in _FORCED:
                with contextlib.suppress(PermissionError):
                    sock.setsockopt(socket.SOL_SOCKET, _FORCED[option], BUFFER_BYTES)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def host_and_port(host: str, port: int) -> str:
    """ "127.0.0.1:443", and "[::1]:443" for an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
