"""How the relay, which sleeps most of the time, wakes up in time: real-time priority, else short slices of time.

**Real-time priority** is tried in every possible way: directly (SCHED_RR) by root, with CAP_SYS_NICE, or up to the limit
RLIMIT_RTPRIO that an administrator has set (`limits.d`); else from rtkit, the service by which desktops give it to their
users' sound, asked over the system's D-Bus.

No program with such a priority may keep a processor to itself. rtkit gives it only to programs that have limited, by
RLIMIT_RTTIME, how long they run without sleeping (200 ms by default): the kernel sends SIGXCPU at the soft limit and SIGKILL at
the hard one, and starts counting again after each sleep. The relay sleeps in select() whenever no packet is due, so it stays
far below that unless it is given more than a processor can carry. At SIGXCPU, which comes at half of the hard limit, it gives
its priority back and goes on like any other process.

**Short slices** need no privilege. Linux 6.12 and later let a waking process run first if its slice is shorter than the running
one's, and count the time that it has used, not how often it runs (sched_setattr(2), `sched_runtime` of SCHED_OTHER). Python has
no function for it.
"""

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct
import sys
import threading
import time
from enum import StrEnum
from pathlib import Path

from mixedsched.world.system.precedence import Promptness
from mixedsched.world.system.programs import find_program, run_program

_PRIORITY = 1  # the lowest: ahead of all that is not real time
_LIMIT_S = 1.0  # for the whole conversation with rtkit
_BUS_SOCKETS = (Path("/run/dbus/system_bus_socket"), Path("/var/run/dbus/system_bus_socket"))
_INTERFACE = "org.freedesktop.RealtimeKit1"
_RTKIT = (_INTERFACE, "/org/freedesktop/RealtimeKit1", _INTERFACE)

SLICE_NS = 100_000  # the shortest that Linux grants

_ATTRIBUTES = struct.Struct("=IIQiIQQQ")  # size, policy, flags, nice, priority, runtime, deadline, period
_SYSTEM_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}  # sched_setattr, sched_getattr

# Linux lets timers of ordinary programs fire 50 us late, to save power.
_TIMER_SLACK = Path("/proc/self/timerslack_ns")


class RealTime(StrEnum):
    """How a process got real-time priority."""

    GRANTED = "granted"  # by the kernel itself
    RTKIT = "rtkit"
    NONE = "none"


def ask_for_promptness() -> Promptness:
    """Run ahead of other programs as far as the system lets us, with exact timers."""
    is_real_time = ask_for_real_time() is not RealTime.NONE
    has_short_slices = not is_real_time and ask_for_short_slices()
    ask_for_exact_timers()
    if is_real_time:
        return Promptness.REAL_TIME
    return Promptness.SHORT_SLICES if has_short_slices else Promptness.ORDINARY


def ask_for_exact_timers() -> None:
    """Have this process' time-outs end exactly when they should, if the system lets us."""
    with contextlib.suppress(OSError):  # not Linux, or /proc is not there
        _TIMER_SLACK.write_text("1", encoding="ascii")


def ask_for_real_time() -> RealTime:
    """Run the calling thread, which must be the main one, ahead of other programs if the system lets us.

    Takes a second at most, and prints nothing.
    """
    if not hasattr(os, "sched_setscheduler"):  # a system without it
        return RealTime.NONE
    signal.signal(signal.SIGXCPU, _give_back)
    if _set_directly():
        return RealTime.GRANTED
    return RealTime.RTKIT if _get_from_rtkit() else RealTime.NONE


def _give_back(*_: object) -> None:
    """Go on like any other process. A mark set by rtkit stays: only a privileged process may remove it."""
    mark = os.sched_getscheduler(0) & os.SCHED_RESET_ON_FORK
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER | mark, os.sched_param(0))


def _set_directly() -> bool:
    soft, hard = resource.getrlimit(resource.RLIMIT_RTPRIO)
    if soft == 0 and hard != 0:  # allowed, but our parent did not ask for it
        resource.setrlimit(resource.RLIMIT_RTPRIO, (_PRIORITY, hard))
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
    except OSError:
        return False
    return True


def _get_from_rtkit() -> bool:
    """Whether rtkit has made us real time."""
    deadline_s = time.monotonic() + _LIMIT_S
    longest = _told_by_rtkit("get-property", "RTTimeUSecMax", deadline_s=deadline_s)
    try:
        _limit_sleepless_time(int(longest.removeprefix("x ")))  # as busctl prints a 64-bit integer
    except (ValueError, OSError):
        return False
    ids = (os.getpid(), threading.get_native_id())
    words = ("MakeThreadRealtimeWithPID", "ttu", *map(str, ids), str(_PRIORITY))
    _told_by_rtkit("call", *words, deadline_s=deadline_s)
    return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR


def _limit_sleepless_time(longest_us: int) -> None:
    """SIGXCPU at half of the time that rtkit allows, or of a shorter limit that is set already."""
    hard = resource.getrlimit(resource.RLIMIT_RTTIME)[1]
    limit_us = longest_us if hard == resource.RLIM_INFINITY else min(longest_us, hard)
    resource.setrlimit(resource.RLIMIT_RTTIME, (limit_us // 2, limit_us))


def _told_by_rtkit(verb: str, *words: str, deadline_s: float) -> str:
    """Its answer, asked through systemd's `busctl`, so that nothing must be installed. Empty if there is none."""
    busctl = find_program("busctl")
    has_bus = "DBUS_SYSTEM_BUS_ADDRESS" in os.environ or any(path.exists() for path in _BUS_SOCKETS)
    if busctl is None or not has_bus:
        return ""
    limit_s = max(0.0, deadline_s - time.monotonic())
    done = run_program([busctl, "--system", f"--timeout={limit_s:.3f}", verb, *_RTKIT, *words], limit_s)
    return "" if done.complaint else done.output.strip()


def ask_for_short_slices() -> bool:
    """Have this thread run in the shortest slices. Returns whether the system agreed; False if it has no slices."""
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
    # An older kernel accepts this silently, and reports no slice when asked.
    if system.syscall(get_attributes, 0, now, _ATTRIBUTES.size, 0) != 0:
        return False
    slice_ns: int = _ATTRIBUTES.unpack(now.raw)[5]
    return slice_ns == SLICE_NS
