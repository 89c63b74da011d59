"""Versions of programs, from what they say of themselves, or else from their files."""

import hashlib
import os
import re
import subprocess

from mixedsched.world.servers.kind import Program, Version
from mixedsched.world.system.programs import find_program, run_program

_LIMIT_S = 10.0


def said_by(program: Program, *arguments: str) -> str:
    """All that a program prints; empty if it does not run."""
    try:
        done = subprocess.run(
            [program.path, *arguments],
            env={**os.environ, "LC_ALL": "C", **program.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def number_in(text: str, pattern: str) -> str | None:
    """The first group of a pattern."""
    found = re.search(pattern, text)
    return found[1] if found else None


def packaged_version(program: Program) -> Version:
    """The upstream version of the distribution's package that a program belongs to; else "unknown", with a fingerprint."""
    if find_program("dpkg-query") is not None:
        owner = run_program(["dpkg-query", "--search", program.path.resolve()], _LIMIT_S).output.partition(":")[0]
        if owner:
            version = run_program(["dpkg-query", "--show", "--showformat", "${Version}", owner], _LIMIT_S).output
            if number := number_in(version, r"^(?:\d+:)?(\d+(?:\.\d+)*)"):
                return Version(number)
    try:
        return Version(f"unknown ({hashlib.sha256(program.path.read_bytes()).hexdigest()[:8]})")
    except OSError:
        return Version("unknown")
