"""Whether an installed browser starts here: it may lack libraries of the system, or permissions."""

import re
import shutil
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world.browser import sandbox
from mixedsched.world.system.programs import run_program

_LIMIT_S = 60.0
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_ANOTHER = "install the distribution's Chromium"
_FONTS_PACKAGE = "fonts-liberation"  # a machine without the libraries of a browser usually lacks fonts, too


def require_starts(program: Path) -> None:
    """Start the browser once. Raises MissingPartError with what it lacks."""
    libraries = missing_libraries(program)
    if libraries:
        raise MissingPartError(
            f"{program} lacks libraries", why=f"there is no {', '.join(libraries)}", fix=_libraries_fix(libraries)
        )
    complaint = _complaint(program)
    if complaint:
        raise MissingPartError(
            f"{program} does not start",
            why=complaint,
            fix=f"{sandbox.FIX}; or {_ANOTHER}"
            if "sandbox" in complaint.lower()
            else f"{_ANOTHER}, or set CHROME_PATH",
        )


def missing_libraries(program: Path) -> list[str]:
    """The shared libraries that the system lacks for it."""
    ldd = shutil.which("ldd")
    if ldd is None:
        return []
    return sorted(set(_NOT_FOUND.findall(run_program([ldd, program], _LIMIT_S).output)))


def _libraries_fix(libraries: Sequence[str]) -> str:
    known = tomllib.loads(Path(__file__).with_name("libraries.toml").read_text(encoding="utf-8"))
    packages = sorted({_package(known[library]) for library in libraries if library in known})
    if not packages or shutil.which("apt-get") is None:
        return "install the packages that contain them"
    return f"run: sudo apt-get install {' '.join(packages)} {_FONTS_PACKAGE}"


def _package(name: str) -> str:
    """The package's name in this release."""
    known = run_program(["apt-cache", "pkgnames", name], _LIMIT_S).output.split()
    return f"{name}t64" if f"{name}t64" in known else name


def _complaint(program: Path) -> str:
    """Its complaint if it cannot show an empty page; empty if it can."""
    with tempfile.TemporaryDirectory(prefix="mixedsched-trial-", ignore_cleanup_errors=True) as profile:
        command = [
            str(program),
            *(["--no-sandbox"] if sandbox.may_be_left_out() else []),
            "--headless",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--dump-dom",
            "about:blank",
        ]
        return run_program(command, _LIMIT_S).complaint
