"""The parts of a set-up: what is needed, and what was found or brought."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.world.places import CACHE_VARIABLE


class SetupObserver(Protocol):
    """Shows what takes long."""

    def say(self, text: str) -> None: ...

    def tell(self, what: str, done: int, total: int) -> None:
        """what: in a word or two. done, total: in bytes, or another unit of the work."""


@dataclass(frozen=True, slots=True)
class Found:
    """A part that is there."""

    path: Path
    detail: str = ""
    """More about it, for people."""
    brought: bool = False
    """By this set-up: it was not there before."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is needed."""

    name: str
    path: Path | None
    """None if it is missing; then detail says why, and fix what to do."""
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
    except OSError as error:
        detail = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        fix = f"make it writable for this user, or free some space, or set {CACHE_VARIABLE} to another folder"
        return Part(name, None, detail, fix=fix, exit_code=ExitCode.MISSING_PART)
    return Part(name, found.path, found.detail, found.brought)
