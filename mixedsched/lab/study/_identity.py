"""Names of workers, from which others on the same machine can tell whether they still live."""

import os
import platform
from pathlib import Path

from mixedsched.world.system.processes import began_ticks, system_start


def worker_name() -> str:
    """Of this process: names no other one, on any machine at any time."""
    return f"{platform.node()} {_system()} {_space()} {_process(os.getpid())}"


def is_dead(name: str, *, is_of_this_machine: bool) -> bool:
    """Whether a worker has certainly ended: a process of this system that is not there any more. Of others, nobody can tell.

    is_of_this_machine: whether it cannot be of another one. Then it has ended also if the system was started again since.
    """
    parts = name.rsplit(" ", 3)
    if len(parts) < 4:  # no name of ours
        return False
    host, system, space, process = parts
    if system != _system():
        return is_of_this_machine
    number = process.partition("/")[0]
    is_near = (host, space) == (platform.node(), _space())
    return is_near and number.isdigit() and _process(int(number)) != process


def _system() -> str:
    """This start of the system."""
    return system_start() or str(_started_at_s())


def _started_at_s() -> int:
    import psutil  # in functions, because it takes a while to load, and few commands need it

    return int(psutil.boot_time())


def _process(number: int) -> str:
    """With what tells it from others of the same number; empty if there is none."""
    if Path("/proc/self/stat").exists():
        return f"{number}/{ticks}" if (ticks := began_ticks(number)) else ""
    import psutil

    try:
        return f"{number}/{psutil.Process(number).create_time():.2f}"
    except psutil.Error:
        return ""


def _space() -> str:
    """The space in which process numbers count: in containers there are several."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return "-"
