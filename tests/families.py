"""Processes that commands start: nothing of them may stay."""

import subprocess
from contextlib import suppress

import psutil


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The process's descendants: server, relay, worker, browser."""
    return psutil.Process(process.pid).children(recursive=True)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(is_alive(process) for process in processes)


def has_browser(process: subprocess.Popen[str]) -> bool:
    for child in family(process):
        with suppress(psutil.NoSuchProcess):
            if "chrom" in child.name():
                return True
    return False
