"""What set-up needs, and what it found or brought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from mixedsched.errors import ExitCode, MixedschedError


class SetupObserver(Protocol):
    """Is told what takes its time."""

    def say(self, text: str) -> None: ...

    def tell(self, what: str, done: int, total: int) -> None:
        """what: in a word or two. done, total: in bytes, or whatever else the work is counted in."""


@dataclass(frozen=True, slots=True)
class Found:
    """path: where a part is. detail: more of it, for people. brought: by this set-up, so that it was not there before."""

    path: Path
    detail: str = ""
    brought: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is needed. path: None if it is missing; then detail says why, and fix what to do."""

    name: str
    path: Path | None
    detail: str
    brought: bool = False
    fix: str = ""
    exit_code: ExitCode = ExitCode.DONE

    @property
    def ok(self) -> bool:
        return self.exit_code is ExitCode.DONE

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "path": str(self.path) if self.path else None, "ok": self.ok}


def part(name: str, find: Callable[[], Found]) -> Part:
    """Find or bring a part; its error is the failure."""
    try:
        found = find()
    except MixedschedError as error:
        detail = f"{error.what}: {error.why}" if error.why else error.what
        return Part(name, None, detail, fix=error.fix, exit_code=error.exit_code)
    return Part(name, found.path, found.detail, found.brought)
