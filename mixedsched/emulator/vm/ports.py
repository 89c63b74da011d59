"""Ports of a namespace: tap devices, whose other end is a file descriptor, and sockets, made by a process outside of it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from mixedsched.errors import MissingPartError, MixedschedError

_TUN_DEVICE = "/dev/net/tun"
_TUNSETIFF = 0x400454CA  # <linux/if_tun.h>
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_NAME_BYTES, _IFREQ_BYTES = 16, 40
_CLONE_NEWNET = 0x40000000  # <linux/sched.h>
_NAMESPACE_FOLDER = Path("/var/run/netns")  # where iproute2 keeps them


@contextlib.contextmanager
def network_of(namespace: str) -> Iterator[None]:
    """What this thread opens meanwhile, devices and sockets, belongs to the namespace, for good."""
    with Path("/proc/thread-self/ns/net").open("rb") as ours, (_NAMESPACE_FOLDER / namespace).open("rb") as theirs:
        _enter(theirs.fileno())
        try:
            yield
        finally:
            _enter(ours.fileno())


def _enter(descriptor: int) -> None:
    """As os.setns of Python 3.12."""
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
        raise MixedschedError("a network namespace cannot be entered", why=os.strerror(ctypes.get_errno()))


def udp_socket(namespace: str, host: str) -> socket.socket:
    """A UDP socket inside a namespace, bound to a free port."""
    with network_of(namespace):
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((host, 0))
    return end


def open_tap(name: str) -> int:
    """Make a tap device; returns the descriptor of its other end. The device is gone once nobody has that open.

    Frames pass as they are: without the header by which a kernel would hand over bundles of packets. Raises MissingPartError
    where the system has no such devices, or does not let us.
    """
    try:
        descriptor = os.open(_TUN_DEVICE, os.O_RDWR | os.O_CLOEXEC)
        request = struct.pack(f"{_NAME_BYTES}sH", name.encode(), _IFF_TAP | _IFF_NO_PI).ljust(_IFREQ_BYTES, b"\0")
        fcntl.ioctl(descriptor, _TUNSETIFF, request)
    except OSError as error:
        raise MissingPartError(
            "the router VM needs tap devices",
            why=f"{_TUN_DEVICE}: {error.strerror}",
            fix="run as root, load the kernel module tun, or use --backend relay",
        ) from error
    return descriptor
