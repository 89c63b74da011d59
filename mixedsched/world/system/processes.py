"""Processes by number, and what tells them from others that have had the same number."""

from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_STATE, _BEGAN = 0, 19  # among the fields of /proc/PID/stat behind the name, see proc(5)


def system_start() -> str:
    """Names this start of the system; empty where the system does not tell."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def began_ticks(pid: int) -> str:
    """When a process began, in ticks since the system did: a number that stays the same when clocks are set.

    Empty if there is no such process, or it has ended and only waits to be noticed.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[_STATE] in "ZX" else fields[_BEGAN]
