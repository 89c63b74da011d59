"""Programs that are run to their end."""

from __future__ import annotations

import subprocess

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.system.programs import with_path

_LIMIT_S = 30.0


def run(*words: str, told: str | None = None) -> str:
    """Run a command to its end and return what it printed. told: its standard input.

    Raises MixedschedError with what it said on standard error if it fails.
    """
    try:
        done = subprocess.run(
            with_path(words), input=told or "", capture_output=True, text=True, check=False, timeout=_LIMIT_S
        )
    except FileNotFoundError as error:
        raise MissingPartError(f"there is no {words[0]} here", fix="install iproute2") from error
    except subprocess.TimeoutExpired as error:
        raise MixedschedError(f"{' '.join(words)} does not come to an end") from error
    if done.returncode:
        raise MixedschedError(f"{' '.join(words)} failed", why=done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout
