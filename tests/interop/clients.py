"""The clients that fetch a site. Each says which version it is, or why it cannot run here, and what it got.

Programs that are built and packages that are installed for this go to build/interop; the project does not depend on them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world.browser.find import find_chromium, find_node
from tests.interop.target import HOST_NAME, Target

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "interop"

CURL_CFFI = "0.16.3"
_BUILD_LIMIT_S = 1200
_FETCH_LIMIT_S = 180


class NotRun(Exception):  # noqa: N818 -- it says what happened, as everywhere here
    """The client is not there and cannot be had. Its text says why."""


@dataclass(frozen=True, slots=True)
class Got:
    """A response: status, 0 where the client does not tell it, and SHA-256 of its body."""

    status: int
    sha256: str


Fetched = dict[str, Got]


@dataclass(frozen=True, slots=True)
class Client:
    """prepare: makes the client ready and returns its version. fetch: all paths of the target's site, all at once."""

    name: str
    prepare: Callable[[], str]
    fetch: Callable[[Target], Fetched]


def run(*command: str | Path, cwd: Path | None = None, limit_s: float = _FETCH_LIMIT_S, **variables: str) -> str:
    """The output of a program. Raises RuntimeError with the end of what it complained about if it fails."""
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    if ended.returncode != 0:
        last = (ended.stderr.strip() or ended.stdout.strip() or "no output").splitlines()[-1]
        raise RuntimeError(f"{Path(command[0]).name} ended with {ended.returncode}: {last}")
    return ended.stdout


def find_program(name: str, remedy: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise NotRun(f"no `{name}` in the PATH ({remedy})")
    return path


# gtlsclient: ngtcp2 and nghttp3


def prepare_gtlsclient() -> str:
    find_program("gtlsclient", "Debian: apt-get install ngtcp2-client")
    try:
        return "ngtcp2-client " + run("dpkg-query", "--show", "--showformat=${Version}", "ngtcp2-client")
    except (OSError, RuntimeError):
        return "of unknown version"


def gtlsclient(target: Target, paths: Iterable[str], *options: str) -> Fetched:
    """Fetch some paths on one connection; options are gtlsclient's own. Its answers have no status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(
            *("gtlsclient", "--quiet", "--exit-on-all-streams-close", "--timeout=20s", f"--download={folder}"),
            *("--no-quic-dump", "--no-http-dump", f"--sni={HOST_NAME}", *options, target.host, str(target.port)),
            *(f"https://{HOST_NAME}{path}" for path in paths),
        )
        files = ((path, folder / path.strip("/")) for path in paths)
        return {path: Got(0, _sha256(file.read_bytes())) for path, file in files if file.exists()}


# curl_cffi: libcurl with ngtcp2, nghttp3 and BoringSSL


def prepare_curl() -> str:
    python = BUILD / "curl" / "bin" / "python"
    try:
        if not python.exists():
            run(sys.executable, "-m", "venv", BUILD / "curl")
        run(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"curl_cffi=={CURL_CFFI}",
            limit_s=300,
        )
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        raise NotRun(f"curl_cffi {CURL_CFFI} cannot be installed: {error}") from error
    return run(python, HERE / "curl_fetch.py", "--version").strip()


def fetch_with_curl(target: Target) -> Fetched:
    python = BUILD / "curl" / "bin" / "python"
    return _from_lines(run(python, HERE / "curl_fetch.py", *_arguments(target)))


# quic-go


def prepare_quic_go() -> str:
    go = find_program("go", "1.26 or later")
    module = HERE / "quicgo"
    try:
        run(go, "build", "-mod=readonly", "-o", BUILD / "quicgo", ".", cwd=module, limit_s=_BUILD_LIMIT_S)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        raise NotRun(f"it cannot be built: {error}") from error
    return run(BUILD / "quicgo", "--version").strip()


def fetch_with_quic_go(target: Target) -> Fetched:
    return _from_lines(run(BUILD / "quicgo", *_arguments(target)))


# Chromium


def prepare_chromium() -> str:
    try:
        chromium = find_chromium()
        find_node()
    except MissingPartError as error:
        raise NotRun(str(error)) from error
    if not (HERE.parents[1] / "lighthouse-runner" / "node_modules" / "puppeteer-core").exists():
        raise NotRun("the lighthouse-runner is not installed (scripts/setup)")
    return run(chromium, "--version").strip().partition(" built on")[0]


def fetch_with_chromium(target: Target) -> Fetched:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        job = {
            "chromium": str(find_chromium()),
            "profile_dir": profile,
            "url": f"https://{HOST_NAME}/",
            "hosts": {HOST_NAME: target.port},
            "address": target.host,
            "spki_sha256": [target.spki_sha256],
            "paths": target.site.paths,
        }
        result = json.loads(run(str(find_node()), HERE / "chromium.mjs", json.dumps(job)))
    if result["protocols"] != ["h3"]:
        raise RuntimeError(f"not everything came over h3: {result['protocols']}")
    return {path: Got(status, sha256) for path, status, sha256 in result["found"]}


CLIENTS = (
    Client("gtlsclient", prepare_gtlsclient, lambda target: gtlsclient(target, target.site.paths)),
    Client("curl_cffi", prepare_curl, fetch_with_curl),
    Client("quic-go", prepare_quic_go, fetch_with_quic_go),
    Client("Chromium", prepare_chromium, fetch_with_chromium),
)


def _arguments(target: Target) -> list[str]:
    return [target.host, str(target.port), HOST_NAME, *target.site.paths]


def _from_lines(output: str) -> Fetched:
    """What our small programs print: {"path": ..., "status": ..., "sha256": ...} for each response."""
    lines = [json.loads(line) for line in output.splitlines()]
    return {line["path"]: Got(line["status"], line["sha256"]) for line in lines}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
