"""Short slices of processor time, which anybody may ask for: a process that wakes up often for moments is let in at once.

Linux 6.12 and later let a waking process with a shorter slice than the running one's run first, and count what it has used, not
how often it comes (sched_setattr(2), `sched_runtime` of SCHED_OTHER). Python has no function for it.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys

SLICE_NS = 100_000  # the shortest that Linux grants

_ATTRIBUTES = struct.Struct("=IIQiIQQQ")  # size, policy, flags, nice, priority, runtime, deadline, period
_SYSTEM_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}  # sched_setattr, sched_getattr


def ask_for_short_slices() -> bool:
    """Have this thread run in the shortest slices. Whether the system agreed; False where it knows no slices."""
    calls = _SYSTEM_CALLS.get(platform.machine())
    if sys.platform != "linux" or calls is None:
        return False
    set_attributes, get_attributes = calls
    system = ctypes.CDLL(None, use_errno=True)
    now = ctypes.create_string_buffer(_ATTRIBUTES.size)
    if system.syscall(get_attributes, 0, now, _ATTRIBUTES.size, 0) != 0:
        return False
    _, policy, flags, nice, priority, _, deadline, period = _ATTRIBUTES.unpack(now.raw)
    wanted = _ATTRIBUTES.pack(_ATTRIBUTES.size, policy, flags, nice, priority, SLICE_NS, deadline, period)
    if system.syscall(set_attributes, 0, wanted, 0) != 0:
        return False
    # An older kernel takes it without a word, and tells of no slice when asked.
    if system.syscall(get_attributes, 0, now, _ATTRIBUTES.size, 0) != 0:
        return False
    slice_ns: int = _ATTRIBUTES.unpack(now.raw)[5]
    return slice_ns == SLICE_NS
