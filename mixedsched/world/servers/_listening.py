"""UDP ports: free ones, those that are taken, and whether a process has bound one."""

import contextlib
import re
from pathlib import Path

from mixedsched.world.system.udp import open_udp_socket

_SOCKET = re.compile(r"socket:\[(\d+)\]")


def free_port(host: str) -> int:
    """A UDP port that is free now."""
    with open_udp_socket(host) as probe:
        port: int = probe.getsockname()[1]
        return port


def is_taken(host: str, port: int) -> bool:
    """Whether this UDP port cannot be had."""
    try:
        open_udp_socket(host, port).close()
    except OSError:
        return True
    return False


def binds_udp(pid: int, port: int) -> bool:
    """Whether a process has bound this UDP port (proc(5): /proc/net/udp lists sockets by inode)."""
    inodes = {
        fields[9]
        for table in ("udp", "udp6")
        for line in _lines(Path("/proc/net") / table)
        if len(fields := line.split()) > 9 and fields[1].rpartition(":")[2] == f"{port:04X}"
    }
    return bool(inodes) and bool(inodes & _sockets_of(pid))


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []


def _sockets_of(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):  # it has ended, or closes files meanwhile
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if match := _SOCKET.match(str(link.readlink())):
                found.add(match[1])
    return found
