"""The error family: every error says what is wrong, why, and how to fix it, and has an exit code.

MixedschedError (1)
  UsageError (2)           an option or argument makes no sense
  InputError (3)           a mapping, page, profile or site is bad
    MappingError  PageError  ProfileError  BrowserModelError  SiteError  StudyError
  MissingPartError (4)     browser, Node or a privilege is missing
  PageLoadError (1)        a simulated page load cannot finish
  BusyMachineError (5)     no load counts, because this machine holds them up
"""

import difflib
from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the process."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    BAD_INPUT = 3
    MISSING_PART = 4
    INVALID_RUNS = 5  # or not decided, where that was asked for
    GATE = 6  # a gate has failed
    INTERRUPTED = 130


class MixedschedError(Exception):
    """Base of all errors shown to users. `what` is one sentence, `why` and `fix` are optional ones."""

    exit_code = ExitCode.FAILED

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        text = self.what
        if self.why:
            text += f": {self.why}"
        if self.fix:
            text += f" ({self.fix})"
        return text


class UsageError(MixedschedError):
    exit_code = ExitCode.USAGE


class InputError(MixedschedError):
    exit_code = ExitCode.BAD_INPUT


class MappingError(InputError):
    """A priority mapping is unreadable or breaks a rule."""


class PageError(InputError):
    """A page description is unreadable or breaks a rule."""


class ProfileError(InputError):
    """A network profile is unreadable or breaks a rule."""


class BrowserModelError(InputError):
    """A browser model is unreadable or breaks a rule."""


class SiteError(InputError):
    """A site is missing, incomplete or breaks a rule."""


class StudyError(InputError):
    """A study file is unreadable or breaks a rule."""


class MissingPartError(MixedschedError):
    """Something that this machine needs is missing."""

    exit_code = ExitCode.MISSING_PART


class PageLoadError(MixedschedError):
    """A simulated page load cannot finish."""


class BusyMachineError(MixedschedError):
    """No load counts, because this machine delays them."""

    exit_code = ExitCode.INVALID_RUNS


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """A sentence that lists the known names and suggests the nearest one to `name`."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    suggestion = f"did you mean '{close[0]}'? " if close else ""
    return f"{suggestion}known: {', '.join(names)}"
