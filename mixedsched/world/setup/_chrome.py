"""Brings Chrome for Testing into the cache folder: an npm package plans and unpacks it, and we download it."""

import json
import platform
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mixedsched.errors import MissingPartError, UsageError
from mixedsched.world import places
from mixedsched.world.browser.own import FOLDER_NAME, OwnBrowser, own_browser, remove_note, write_note
from mixedsched.world.setup._download import DownloadFailedError, download, fetch_text
from mixedsched.world.setup._part import SetupObserver
from mixedsched.world.system.folder_lock import locked

_HELPER = "chrome-for-testing.mjs"
_HELPER_LIMIT_S = 600.0
_INDEX = "last-known-good-versions.json"  # as Google's index of builds is called; a mirror may have one, too
_MACHINES = ("x86_64", "AMD64")

Helper = Callable[[dict[str, Any]], dict[str, Any]]  # order -> answer


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to download, and where to put it."""

    build: str
    url: str
    archive: Path


def checked_mirror(mirror: str) -> str:
    """A mirror's address, to which paths can be added. Raises UsageError if it is not one."""
    parts = urlsplit(mirror)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise UsageError(
            f"'{mirror}' is not an address", fix="name an address, such as https://mirror.example/chrome-for-testing"
        )
    return mirror.rstrip("/")


def bring_chrome(node: Path, runner: Path, mirror: str | None, progress: SetupObserver) -> OwnBrowser:
    """Download and unpack the build that belongs to the lighthouse-runner, or that the mirror calls stable.

    A download that was cut off is continued; what was unpacked in part is removed. Raises MissingPartError, which says how to
    bring it by hand.
    """
    if sys.platform == "linux" and platform.machine() not in _MACHINES:
        raise MissingPartError(
            f"there is no Chrome for Testing for {platform.machine()}",
            fix="install the distribution's Chromium, for instance apt-get install chromium",
        )
    folder = places.writable_cache() / FOLDER_NAME
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder) as lock:
        there = own_browser()
        if there is not None:  # from another process, which was faster
            return there

        def helper(order: dict[str, Any]) -> dict[str, Any]:
            return _ask_helper(node, runner, {"folder": str(folder), **order}, lock)

        plan = _plan(helper, mirror)
        remove_note(folder)
        _tidy(plan)
        _provide_archive(plan, progress)
        progress.say(f"unpacking Chrome for Testing {plan.build} into {folder}")
        program = Path(helper({"op": "unpack", "build": plan.build})["program"])
        browser = OwnBrowser(plan.build, program)
        write_note(folder, browser)
        return browser


def _plan(helper: Helper, mirror: str | None) -> _Plan:
    answer = helper({"op": "plan", "mirror": mirror, "build": _stable_build(mirror) if mirror else None})
    return _Plan(answer["build"], answer["url"], Path(answer["archive"]))


def _stable_build(mirror: str) -> str | None:
    """The build that a mirror's index calls stable; None if it has no index."""
    try:
        return str(json.loads(fetch_text(f"{mirror}/{_INDEX}") or "")["channels"]["Stable"]["version"])
    except (ValueError, KeyError, TypeError):
        return None


def _tidy(plan: _Plan) -> None:
    """Remove what earlier attempts left, except for parts of this download."""
    plan.archive.parent.mkdir(parents=True, exist_ok=True)
    for path in plan.archive.parent.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.name.startswith(plan.archive.name):
            path.unlink()


def _provide_archive(plan: _Plan, progress: SetupObserver) -> None:
    """Make sure that the archive is there and intact. It may have been brought by hand."""
    if not plan.archive.exists():
        what = f"downloading Chrome for Testing {plan.build}"
        progress.say(f"{what} from {plan.url}")
        try:
            download(plan.url, plan.archive, lambda done, total: progress.tell(what, done, total))
        except DownloadFailedError as error:
            raise MissingPartError(
                f"Chrome for Testing could not be downloaded from {plan.url}",
                why=str(error),
                fix="check the network and repeat the command, which continues where it stopped; or by hand: download that "
                f"address where there is a network and copy the file here as {plan.archive}; or name a mirror with "
                "--browser-mirror; or install the distribution's Chromium",
            ) from error
    if not _is_sound(plan.archive):
        plan.archive.unlink()
        raise MissingPartError(
            "the archive of Chrome for Testing is damaged",
            why=f"what came from {plan.url} is not an intact ZIP file; it was removed",
            fix="repeat the command, or name another mirror with --browser-mirror",
        )


def _is_sound(archive: Path) -> bool:
    """Whether all its files have the right checksums, which are not checked when it is unpacked."""
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.testzip() is None
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError):
        return False


def _ask_helper(node: Path, runner: Path, order: dict[str, Any], lock: int) -> dict[str, Any]:
    """Run the lighthouse-runner's program for this. It holds the lock, too, in case we are killed."""
    command = [str(node), str(runner / _HELPER), json.dumps(order)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_HELPER_LIMIT_S, check=False, pass_fds=(lock,)
        )
    except subprocess.TimeoutExpired as error:
        raise _helper_failed(f"it was stopped after {_HELPER_LIMIT_S:.0f} s") from error
    if done.returncode != 0:
        raise _helper_failed(done.stderr.strip()[-500:] or f"exit status {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _helper_failed(why: str) -> MissingPartError:
    return MissingPartError(
        "Chrome for Testing could not be unpacked", why=why, fix="free some space, and repeat the command"
    )
