"""UDP sockets with large buffers, for the server and for emulated links."""

import contextlib
import socket
import sys

from mixedsched.errors import UsageError

BUFFER_BYTES = 4 * 1024 * 1024

# Options that ignore the system's limit, for the privileged; the socket module has no names for them. Values of Linux.
_FORCED = {socket.SO_RCVBUF: 33, socket.SO_SNDBUF: 32} if sys.platform == "linux" else {}


def open_udp_socket(host: str = "127.0.0.1", port: int = 0, *, shared: bool = False) -> socket.socket:
    """A bound, non-blocking socket. Its buffers are as large as the system allows, as what overflows there is lost unseen.

    shared: other sockets may be bound to the same port, and the kernel gives each sender's packets to one of them.
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
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def open_shared_udp_sockets(host: str, port: int, count: int) -> list[socket.socket]:
    """`count` sockets on one port, among which the kernel divides the senders.

    A port that another program listens on is refused even if that program would share it: half of the clients would reach it.
    Raises OSError if they cannot be bound.
    """
    with open_udp_socket(host, port) as alone:
        port = alone.getsockname()[1]
    sockets: list[socket.socket] = []
    try:
        for _ in range(count):
            sockets.append(open_udp_socket(host, port, shared=True))  # noqa: PERF401 - those opened are closed on failure
    except OSError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def buffer_sizes(sock: socket.socket) -> tuple[int, int]:
    """How many bytes the socket's buffers hold, to receive and to send.

    Linux reports twice what it was asked for: its own bookkeeping needs room too.
    """
    share = 2 if sys.platform == "linux" else 1
    receive, send = (sock.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_RCVBUF, socket.SO_SNDBUF))
    return receive // share, send // share


def host_and_port(host: str, port: int) -> str:
    """ "127.0.0.1:443", and "[::1]:443" for an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(text: str) -> tuple[str, int]:
    """Read HOST:PORT, or [HOST]:PORT. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"'{text}' is not HOST:PORT", fix="give it like 198.18.0.1:4433")
    return host.removeprefix("[").removesuffix("]"), int(port)
