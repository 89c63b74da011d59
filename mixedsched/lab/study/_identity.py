"""Names of workers, from which others on the same machine can tell whether they still live."""

import os
import platform
from pathlib import Path


def worker_name() -> str:
    """Of this process: names no other one, on any machine at any time."""
    return f"{_system()} {_process(os.getpid())}"


def is_dead(name: str) -> bool:
    """Whether a worker has certainly ended: a process of this system that is not there any more. Of others, nobody can tell."""
    system, _, process = name.rpartition(" ")
    if system != _system():
        return False
    number = process.partition("/")[0]
    return number.isdigit() and _process(int(number)) != process


def _system() -> str:
    """Host, start of the system, and the space in which process numbers count: in containers there are several."""
    return f"{platform.node()} {_text('/proc/sys/kernel/random/boot_id') or _started_at_s()} {_space()}"


def _started_at_s() -> int:
    import psutil  # in functions, because it takes a while to load, and few commands need it

    return int(psutil.boot_time())


def _process(number: int) -> str:
    import psutil

    try:
        return f"{number}/{psutil.Process(number).create_time():.2f}"
    except psutil.Error:
        return ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return "-"
