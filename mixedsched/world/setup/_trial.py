"""Whether an installed browser starts here: it may lack libraries of the system, or permissions."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world.browser import sandbox

_LIMIT_S = 60.0
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_COMPLAINT_CHARACTERS_MOST = 500
_ANOTHER = "install the distribution's Chromium"
_FONTS_PACKAGE = "fonts-liberation"  # a machine without the libraries of a browser usually lacks fonts, too

# Library -> package of Debian and Ubuntu. Newer releases have some of them with a `t64` at the end of the name.
_PACKAGES = {
    "libX11.so.6": "libx11-6",
    "libXcomposite.so.1": "libxcomposite1",
    "libXdamage.so.1": "libxdamage1",
    "libXext.so.6": "libxext6",
    "libXfixes.so.3": "libxfixes3",
    "libXrandr.so.2": "libxrandr2",
    "libasound.so.2": "libasound2",
    "libatk-1.0.so.0": "libatk1.0-0",
    "libatk-bridge-2.0.so.0": "libatk-bridge2.0-0",
    "libatspi.so.0": "libatspi2.0-0",
    "libcairo.so.2": "libcairo2",
    "libcups.so.2": "libcups2",
    "libdbus-1.so.3": "libdbus-1-3",
    "libdrm.so.2": "libdrm2",
    "libexpat.so.1": "libexpat1",
    "libgbm.so.1": "libgbm1",
    "libgio-2.0.so.0": "libglib2.0-0",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgobject-2.0.so.0": "libglib2.0-0",
    "libnspr4.so": "libnspr4",
    "libnss3.so": "libnss3",
    "libnssutil3.so": "libnss3",
    "libpango-1.0.so.0": "libpango-1.0-0",
    "libsmime3.so": "libnss3",
    "libudev.so.1": "libudev1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon.so.0": "libxkbcommon0",
}


def require_starts(program: Path) -> None:
    """Start the browser once. Raises MissingPartError with what it lacks."""
    libraries = missing_libraries(program)
    if libraries:
        raise MissingPartError(
            f"{program} lacks libraries", why=f"there is no {', '.join(libraries)}", fix=_libraries_fix(libraries)
        )
    complaint = _complaint(program)
    if complaint is not None:
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
    printed = subprocess.run([ldd, program], capture_output=True, text=True, check=False).stdout
    return sorted(set(_NOT_FOUND.findall(printed)))


def _libraries_fix(libraries: Sequence[str]) -> str:
    packages = sorted({_package(library) for library in libraries if library in _PACKAGES})
    if not packages or shutil.which("apt-get") is None:
        return "install the packages that contain them"
    return f"run: sudo apt-get install {' '.join(packages)} {_FONTS_PACKAGE}"


def _package(library: str) -> str:
    """The package's name in this release."""
    name = _PACKAGES[library]
    known = subprocess.run(["apt-cache", "pkgnames", name], capture_output=True, text=True, check=False).stdout.split()
    return f"{name}t64" if f"{name}t64" in known else name


def _complaint(program: Path) -> str | None:
    """Its complaint if it cannot show an empty page; None if it can."""
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
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT_S, check=False
            )
        except OSError as error:
            return error.strerror or str(error)
        except subprocess.TimeoutExpired:
            return f"it shows no empty page within {_LIMIT_S:.0f} s"
    return (
        None
        if done.returncode == 0
        else done.stderr.strip()[-_COMPLAINT_CHARACTERS_MOST:] or f"exit status {done.returncode}"
    )
