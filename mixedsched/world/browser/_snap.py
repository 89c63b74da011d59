"""Browsers that are snaps: confined so that they see neither /tmp nor hidden folders of the home, where our profiles are."""

import re
from pathlib import Path

_STARTER = "snap"  # what the names in /snap/bin lead to
_SNAP_IN_SCRIPT = re.compile(rb"/snap/bin/|\bsnap\s+run\b")
_READ_BYTES_MOST = 8192


def is_snap(program: Path) -> bool:
    """Whether it starts a snap: a link to snap itself, or a script that hands over to one, as Ubuntu's chromium-browser."""
    try:
        if program.resolve().name == _STARTER:
            return True
        with program.open("rb") as opened:
            beginning = opened.read(_READ_BYTES_MOST)
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return False
    return beginning.startswith(b"#!") and _SNAP_IN_SCRIPT.search(beginning) is not None
