"""Processes that commands start: nothing of them may stay."""

import subprocess
from collections.abc import Iterable
from contextlib import suppress

import psutil


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The process's descendants: server, relay, worker, browser."""
    return psutil.Process(process.pid).children(recursive=True)


def is_alive(process: psutil.Process) -> bool:
    """What nobody has taken note of yet has ended, too: in a container nobody may."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def has_ended(pid: int) -> bool:
    try:
        return not is_alive(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return True


def all_gone(processes: Iterable[psutil.Process]) -> bool:
    return not any(is_alive(process) for process in processes)


def has_browser(process: subprocess.Popen[str]) -> bool:
    for child in family(process):
        with suppress(psutil.NoSuchProcess):
            if "chrom" in child.name():
                return True
    return False
