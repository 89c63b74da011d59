"""Brings Chrome for Testing into the cache folder: an npm package plans and unpacks it, and we download it."""

import http.client
import json
import platform
import re
import shutil
import sys
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mixedsched.errors import MissingPartError, UsageError
from mixedsched.world import places
from mixedsched.world.browser.find import FOLDER_NAME, OwnBrowser, own_browser, remove_note, write_note
from mixedsched.world.places import locked
from mixedsched.world.setup._part import SetupObserver
from mixedsched.world.system.programs import run_program

_HELPER = "chrome-for-testing.mjs"
_HELPER_LIMIT_S = 600.0
_INDEX = "last-known-good-versions.json"  # as Google's index of builds is called; a mirror may have one, too
_ADDRESS_CHARACTERS = re.compile(r"[!-~]+")
_MACHINES = ("x86_64", "AMD64")

Helper = Callable[[dict[str, Any]], dict[str, Any]]  # order -> answer

# Downloads
_SILENCE_MOST_S = 20.0
_ATTEMPTS_IN_VAIN_MOST = 2
_PIECE_BYTES = 1 << 18
_PARTIAL, _NOTHING_LEFT = 206, 416  # statuses

Tell = Callable[[int, int], None]  # bytes that are there, bytes that there will be


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to download, and where to put it."""

    build: str
    url: str
    archive: Path


def checked_mirror(mirror: str) -> str:
    """A mirror's address, to which paths can be added. Raises UsageError if it is not one."""
    try:
        parts = urlsplit(mirror)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, or a port that is none
        is_address = False
    if not is_address or not _ADDRESS_CHARACTERS.fullmatch(mirror):
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
    done = run_program([node, runner / _HELPER, json.dumps(order)], _HELPER_LIMIT_S, pass_fds=(lock,))
    if done.complaint:
        raise MissingPartError(
            "Chrome for Testing could not be unpacked",
            why=done.complaint,
            fix="free some space, and repeat the command",
        )
    answer: dict[str, Any] = json.loads(done.output)
    return answer


class DownloadFailedError(Exception):
    """Its text says why. What has come so far is kept for the next attempt."""


def download(url: str, target: Path, tell: Tell) -> None:
    """Fetch a file. Until it is complete, it is target.part.

    Proxies are those of the environment. After a broken connection it tries again as long as that brings anything. Raises
    DownloadFailedError.
    """
    part = target.with_name(f"{target.name}.part")
    in_vain = 0
    while True:
        before_bytes = _size_bytes(part)
        try:
            total_bytes = _attempt(url, part, before_bytes, tell)
        except (OSError, http.client.HTTPException) as error:
            problem = _reason(error)
            is_final = isinstance(error, urllib.error.HTTPError)
        else:
            if _size_bytes(part) == total_bytes:
                part.rename(target)
                return
            problem, is_final = "the connection was closed in the middle", False
        in_vain = in_vain + 1 if _size_bytes(part) <= before_bytes else 0
        if is_final or in_vain == _ATTEMPTS_IN_VAIN_MOST:
            raise DownloadFailedError(problem)


def fetch_text(url: str) -> str | None:
    """A small file; None if it is not available."""
    try:
        with _open(url, 0) as answer:
            return str(answer.read(_PIECE_BYTES).decode(errors="replace"))
    except (OSError, http.client.HTTPException):
        return None


def _attempt(url: str, part: Path, begin_bytes: int, tell: Tell) -> int:
    """Fetch what is missing, or as much of it as comes; returns the size of the whole file."""
    try:
        answer = _open(url, begin_bytes)
    except urllib.error.HTTPError as error:
        if error.code != _NOTHING_LEFT:
            raise
        part.unlink()  # it is not the beginning of the server's file
        answer = _open(url, 0)
    with answer:
        begin_bytes = begin_bytes if answer.status == _PARTIAL else 0
        total_bytes = begin_bytes + int(answer.headers["Content-Length"] or 0)
        with part.open("ab" if begin_bytes else "wb") as file:
            while piece := answer.read(_PIECE_BYTES):
                file.write(piece)
                tell(file.tell(), total_bytes)
            size_bytes = file.tell()
    return total_bytes if answer.headers["Content-Length"] else size_bytes


def _open(url: str, begin_bytes: int) -> http.client.HTTPResponse:
    if not url.startswith(("https://", "http://")):
        raise OSError("it is not an http address")
    headers = {"User-Agent": "mixedsched", **({"Range": f"bytes={begin_bytes}-"} if begin_bytes else {})}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked above
    return urllib.request.urlopen(request, timeout=_SILENCE_MOST_S)  # type: ignore[no-any-return]  # noqa: S310


def _size_bytes(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__
