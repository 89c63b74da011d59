"""Ports of a namespace: tap devices, whose other end is a file descriptor, and sockets, made by a process outside of it."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world.emulator.kernel.namespaces import network_of

_TUN_DEVICE = Path("/dev/net/tun")
_TUNSETIFF = 0x400454CA  # <linux/if_tun.h>
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_NAME_BYTES, _IFREQ_BYTES = 16, 40


def udp_socket(namespace: str, host: str) -> socket.socket:
    """A UDP socket inside a namespace, bound to a free port."""
    with network_of(namespace):
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((host, 0))
    return end


def require_taps() -> None:
    """Raises MissingPartError where this user may have no tap devices."""
    if not os.access(_TUN_DEVICE, os.R_OK | os.W_OK):
        raise _no_taps("not allowed" if _TUN_DEVICE.exists() else "there is none")


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
        raise _no_taps(error.strerror or str(error)) from error
    return descriptor


def _no_taps(why: str) -> MissingPartError:
    return MissingPartError(
        "the router VM needs tap devices",
        why=f"{_TUN_DEVICE}: {why}",
        fix="run as root, load the kernel module tun, or use --backend relay",
    )
