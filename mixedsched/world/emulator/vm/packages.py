"""Debian and Ubuntu packages, fetched and unpacked without being installed: needs no root, and changes nothing here."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world import places
from mixedsched.world.system.programs import find_program, with_path

KERNEL_CHOICES = ("linux-image-cloud-amd64", "linux-image-virtual")  # of Debian; of Ubuntu
SHELL_PACKAGE = "busybox-static"
_REAL_KERNEL = re.compile(r"^\s*Depends: linux-image-(\d\S+)$", re.MULTILINE)
_DOWNLOAD_LIMIT_S = 600.0
_INSTEAD = "or use --backend relay, which needs none of this"


def kernel_packages() -> list[str]:
    """The packages that hold the newest small kernel that the distribution offers, and its modules.

    Raises MissingPartError where there is none.
    """
    if platform.machine() != "x86_64":
        raise MissingPartError(
            "the router VM is made for x86-64", why=f"this is {platform.machine()}", fix="use --backend relay"
        )
    if find_program("apt-get") is None or find_program("dpkg-deb") is None:
        raise MissingPartError(
            "the router VM is built from Debian or Ubuntu packages",
            why="there is no apt-get or no dpkg-deb here",
            fix=f"build it on Debian or Ubuntu and copy build/router/ from there to {places.writable_cache()}, {_INSTEAD}",
        )
    for choice in KERNEL_CHOICES:
        versions = kernel_versions(_run("apt-cache", "depends", choice, may_fail=True))
        if versions:
            names = [f"{part}-{versions[0]}" for part in ("linux-image", "linux-modules", "linux-modules-extra")]
            return [name for name in names if _run("apt-cache", "show", name, may_fail=True)]
    raise MissingPartError(
        f"apt knows no kernel for the router VM ({' or '.join(KERNEL_CHOICES)})",
        fix=f"run: sudo apt-get update, {_INSTEAD}",
    )


def kernel_versions(depends_text: str) -> list[str]:
    """From what `apt-cache depends` says of a package that stands for the newest kernel, such as 6.1.0-56-cloud-amd64."""
    return _REAL_KERNEL.findall(depends_text)


def fetch(names: Sequence[str], folder: Path) -> list[Path]:
    """Download packages into a folder; returns their files. Raises MissingPartError if that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    as_root = (
        ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    )  # else it warns of folders that are not its own
    _run("apt-get", *as_root, "--quiet", "download", *names, folder=folder)
    return sorted(file for file in folder.glob("*.deb") if file.name.split("_")[0] in names)


def unpack(packages: Sequence[Path], folder: Path) -> None:
    """Unpack the packages' files below a folder."""
    for package in packages:
        _run("dpkg-deb", "--extract", str(package), str(folder))


def _run(*words: str, folder: Path | None = None, may_fail: bool = False) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            with_path(words),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_DOWNLOAD_LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise MissingPartError(f"{words[0]} does not come to an end", fix=f"look at the network, {_INSTEAD}") from error
    if done.returncode and not may_fail:
        raise MissingPartError(
            f"the router VM cannot be built: {words[0]} failed",
            why=" ".join(done.stderr.split())[-500:] or f"exit code {done.returncode}",
            fix=f"it needs the distribution's packages; run: sudo apt-get update, {_INSTEAD}",
        )
    return done.stdout if done.returncode == 0 else ""
