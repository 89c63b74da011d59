"""Chromium's own sandbox: when it may be left out, and what to do if it cannot be built. (Which loads leave it out is decided
in src/sandbox.mjs of the lighthouse-runner.)
"""

import os

from mixedsched.errors import MissingPartError

VARIABLE = "MIXEDSCHED_SANDBOX"
IF_POSSIBLE = "if-possible"

FIX = (
    "let programs of users make user namespaces (Ubuntu: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; "
    f"containers: docs/container.md), or, if something else keeps the browser in, set {VARIABLE}={IF_POSSIBLE}"
)


def may_be_left_out() -> bool:
    """Chromium refuses root its sandbox; other users have it unless they have asked for it only if possible."""
    return os.geteuid() == 0 or os.environ.get(VARIABLE) == IF_POSSIBLE


def no_sandbox() -> MissingPartError:
    """The error for a sandbox that is wanted and cannot be built."""
    return MissingPartError(
        "Chromium cannot build its sandbox",
        why="this system, or this container, refuses what it is made of: user namespaces and chroot",
        fix=FIX,
    )
