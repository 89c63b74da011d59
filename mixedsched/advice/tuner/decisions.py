"""What a session decided: it stays decided when the session goes on, whatever its budget is then."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mixedsched.errors import UsageError

DECISIONS_NAME = "decisions.json"


class Decisions:
    """A file in the session's folder, written whole each time. digest: of the session's job."""

    def __init__(self, folder: Path, digest: str) -> None:
        self._file = folder / DECISIONS_NAME
        self._digest = digest

    def known(self) -> dict[str, Any]:
        """By name; nothing where there is no readable file. Raises UsageError for those of another job."""
        try:
            found = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        if isinstance(found, dict) and found.get("job") == self._digest:
            return found
        raise UsageError(
            "the folder holds another tuning",
            why="it was not made for this page, network, objective, seed and schemes",
            fix="choose another folder with --out",
        )

    def make(self, what: str, decide: Callable[[], Any]) -> Any:
        """What was decided before, else what is decided now."""
        decisions = {"job": self._digest, **self.known()}
        if what not in decisions:
            decisions[what] = decide()
            aside = self._file.with_suffix(".json.new")
            aside.write_text(json.dumps(decisions, indent=1), encoding="utf-8")
            aside.replace(self._file)
        return decisions[what]
