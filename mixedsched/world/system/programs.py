"""Programs of this machine: where they are, including those for administrators, and running one to its end.

Debian and Ubuntu keep `tc`, `bridge`, `ethtool` and many servers in folders that are missing in an ordinary user's PATH. So
programs are run by the path that was found.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_COMPLAINT_CHARACTERS = 500
ADMIN_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def find_program(name: str) -> str | None:
    """The path of a program: in the PATH, else in the folders for administrators. A name with a slash is a path already."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(ADMIN_FOLDERS))


def with_path(words: Sequence[str]) -> list[str]:
    """The command with the path of its program; unchanged if there is no such program."""
    return [find_program(words[0]) or words[0], *words[1:]]


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended, or could not be run to its end."""

    output: str
    complaint: str
    """Why it failed: the end of its standard error, or what happened to it. Empty if all went well."""


def run_program(
    words: Sequence[Any], limit_s: float, *, told: str = "", folder: Path | None = None, pass_fds: Sequence[int] = ()
) -> Ended:
    """Run a command; it is killed after limit_s. Its messages are English. told: its standard input. folder: its place."""
    try:
        done = subprocess.run(
            with_path([str(word) for word in words]),
            input=told,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            timeout=limit_s,
            check=False,
            pass_fds=pass_fds,
        )
    except subprocess.TimeoutExpired:
        return Ended("", f"it did not end within {limit_s:g} s")
    except OSError as error:
        return Ended("", error.strerror or str(error))
    complaint = done.stderr.strip()[-_COMPLAINT_CHARACTERS:] or f"exit status {done.returncode}"
    return Ended(done.stdout, complaint if done.returncode else "")
