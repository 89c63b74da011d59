"""The browser that `mixedsched setup` brings: Chrome for Testing, kept in the cache folder.

Beside it is a record, written when the browser is complete. Without it, the browser does not count as installed.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from mixedsched.world import places

FOLDER_NAME = "browser"
NOTE_NAME = "browser.json"
_FORMAT = "mixedsched.browser/1"


@dataclass(frozen=True, slots=True)
class OwnBrowser:
    """An installed Chrome for Testing."""

    build: str
    """Its version, such as 148.0.7778.97."""
    program: Path


def own_browser() -> OwnBrowser | None:
    """The browser that was installed; None if there is none, or it is incomplete."""
    folder = places.find_kept(FOLDER_NAME, lambda folder: _read_note(folder) is not None)
    return _read_note(folder) if folder is not None else None


def write_note(folder: Path, browser: OwnBrowser) -> None:
    """Record that it is complete."""
    facts = {
        "format": _FORMAT,
        "build": browser.build,
        "program": browser.program.relative_to(folder).as_posix(),
        "program_bytes": browser.program.stat().st_size,
    }
    aside = folder / f".{NOTE_NAME}-{os.getpid()}"
    aside.write_text(json.dumps(facts), encoding="utf-8")
    aside.rename(folder / NOTE_NAME)


def remove_note(folder: Path) -> None:
    """From here on, the folder's content does not count."""
    (folder / NOTE_NAME).unlink(missing_ok=True)


def _read_note(folder: Path) -> OwnBrowser | None:
    try:
        facts = json.loads((folder / NOTE_NAME).read_bytes())
        program = folder / facts["program"]
        is_whole = facts["format"] == _FORMAT and program.stat().st_size == facts["program_bytes"]
        return OwnBrowser(str(facts["build"]), program) if is_whole and os.access(program, os.X_OK) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
