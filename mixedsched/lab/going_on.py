"""Repeats the command of a folder of results, in a process of its own that does not end with this one."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from mixedsched.errors import MixedschedError
from mixedsched.lab.underway import has_seal, is_at_work, read_underway

LOG_NAME = "again.log"  # what it says
_LOG_SHOWN_BYTES = 3000


def go_on(folder: Path) -> subprocess.Popen[bytes]:
    """Start the command that worked in a folder last, as it was given then: it goes on from what is stored.

    Raises MixedschedError unless it is certain that the command is this user's own, and nothing is at work there.
    """
    record = read_underway(folder)
    if record is None or not record.command or not has_seal(folder, record):
        raise MixedschedError(
            "the command cannot be given again from here",
            why="it is not certain that you gave it, on this machine, for this folder",
            fix="give it in a terminal",
        )
    if is_at_work(folder, record):
        raise MixedschedError("the command is at work already", fix="wait for it, or stop it first")
    words = [sys.executable, "-m", "mixedsched", *record.command]
    try:
        # Not through a link, which might lead to somebody's file.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(folder / LOG_NAME, flags, 0o644), "wb") as log:  # noqa: PTH123 - of a descriptor
            return subprocess.Popen(
                words, cwd=record.cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
    except OSError as error:
        raise MixedschedError(
            "the command cannot be started", why=str(error), fix=f"give it in a terminal, in {record.cwd}"
        ) from error


def last_words(folder: Path) -> tuple[str, float]:
    """The end of what a command that was started from here has said, and when, in seconds since 1970; ("", 0) without any."""
    try:
        file = os.open(folder / LOG_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return "", 0.0
    with open(file, "rb") as log, contextlib.suppress(OSError):  # noqa: PTH123 - of a descriptor
        about = os.fstat(file)
        log.seek(max(0, about.st_size - _LOG_SHOWN_BYTES))
        return log.read(_LOG_SHOWN_BYTES).decode("utf-8", "replace").strip(), about.st_mtime
    return "", 0.0
