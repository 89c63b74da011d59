"""UDP sockets with large buffers, for the server and for emulated links."""

import contextlib
import socket
import sys
from typing import Any

from mixedsched.errors import UsageError

BUFFER_BYTES = 4 * 1024 * 1024

# Options that ignore the system's limit, for the privileged; the socket module has no names for them. Values of Linux.
_IS_LINUX = sys.platform == "linux"
_FORCED = {socket.SO_RCVBUF: 33, socket.SO_SNDBUF: 32} if _IS_LINUX else {}

# (level, MTU_DISCOVER, MTU, bytes of IP and UDP headers), for which the socket module has no names. Values of Linux.
_IPV4, _IPV6 = (socket.IPPROTO_IP, 10, 14, 28), (socket.IPPROTO_IPV6, 23, 24, 48)
_PROBE = 3  # never fragment, and do not take the word of ICMP messages, which anyone can forge, for the path's MTU


def open_udp_socket(host: str = "127.0.0.1", port: int = 0, *, shared: bool = False) -> socket.socket:
    """A bound, non-blocking socket. Its buffers are as large as the system allows, as what overflows there is lost unseen.

    shared: other sockets may be bound to the same port, and the kernel gives each sender's packets to one of them.
    Raises OSError if it cannot be bound.
    """
    sock = unbound_udp_socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def unbound_udp_socket(family: int) -> socket.socket:
    """A non-blocking socket with such buffers."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setblocking(False)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        if option in _FORCED:
            with contextlib.suppress(PermissionError):
                sock.setsockopt(socket.SOL_SOCKET, _FORCED[option], BUFFER_BYTES)
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


def forbid_fragments(sock: socket.socket) -> bool:
    """Have no datagram fragmented (IPv4: don't fragment). False where the system cannot promise that.

    Datagrams larger than the interface takes are then refused with EMSGSIZE.
    """
    if not _IS_LINUX:
        return False
    try:
        for level, discover, _, _ in (_IPV4,) if sock.family == socket.AF_INET else (_IPV4, _IPV6):
            sock.setsockopt(level, discover, _PROBE)
    except OSError:
        return False
    return True


def largest_payload_bytes(address: tuple[Any, ...], family: int) -> int | None:
    """The largest UDP payload that the interface of the route to an address takes; None if the system does not say.

    family: of the socket that sends, to which an IPv4 address may be written as an IPv6 one. Nothing is sent.
    """
    if not _IS_LINUX:
        return None
    mapped = family == socket.AF_INET6 and str(address[0]).startswith("::ffff:")
    level, discover, mtu, header_bytes = _IPV4 if family == socket.AF_INET or mapped else _IPV6
    where = (str(address[0]).removeprefix("::ffff:"), address[1]) if mapped else address
    try:
        with socket.socket(
            socket.AF_INET if level == socket.IPPROTO_IP else socket.AF_INET6, socket.SOCK_DGRAM
        ) as sock:
            sock.setsockopt(level, discover, _PROBE)
            sock.connect(where)
            return sock.getsockopt(level, mtu) - header_bytes
    except OSError:
        return None


def buffer_sizes(sock: socket.socket) -> tuple[int, int]:
    """How many bytes the socket's buffers hold, to receive and to send.

    Linux reports twice what it was asked for: its own bookkeeping needs room too.
    """
    share = 2 if _IS_LINUX else 1
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
