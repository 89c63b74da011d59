"""Lighthouse's accessibility score of `view`, reports and docs: `python -m benchmarks.accessibility`, after `make docs`."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._command import HOME, parser_of, say_all
from mixedsched.errors import ExitCode
from mixedsched.lab import underway
from mixedsched.lab.results import owned
from mixedsched.report.audit import write_audit
from mixedsched.report.papers.script import run_script, tell
from mixedsched.world.browser.find import find_chromium
from tests.advice.audit.made_up import made_up_audit
from tests.report.made_up_reports import experiment, report
from tests.report.view.made_up_folders import address, served, write_many

DOCS = HOME / "build/docs"
DOCS_SHOWN = ("index", "view", "measuring", "gallery", "reference/commands", "tutorials/audit-my-site")
WANTED = 95


def main() -> None:
    parser_of("accessibility", __doc__).parse_args()
    is_good = True
    with tempfile.TemporaryDirectory() as place:
        for found in _scores(Path(place)):
            is_good &= found["score"] >= WANTED
            say_all([f"{found['score']:5.0f}  {found['name']}"])
            say_all(f"       {item['id']}: {item['nodes']}" for item in found["failed"])
    if not is_good:
        sys.exit(ExitCode.FAILED)


def _scores(place: Path) -> Iterator[dict[str, Any]]:
    root = place / "runs"
    write_many(root, 40)
    (place / "compare.html").write_text(report(*experiment()))
    write_audit(made_up_audit(), place / "audit.html")
    with served(root) as (port, secrets), _files(place) as files, owned(root / "at-work"):
        underway.tell("block 3, mixed", 12, 34, "runs", 125.0)
        page = address(port, secrets)
        pages = [(f"view, {name}", page + path) for name, path in _views(page)]
        pages += [(name, f"{files}/{name}.html") for name in ("compare", "audit")]
        yield from _measured([*pages, *((f"{name}, dark", url) for name, url in pages)])
    if not DOCS.is_dir():
        tell("the documentation is left out: `make docs` makes it")
    else:
        with _files(DOCS) as files:
            names = ["index" if name == "index" else f"docs/{name}" for name in DOCS_SHOWN]
            yield from _measured(
                [(f"docs, {name}", f"{files}/{name}.html") for name in names if (DOCS / f"{name}.html").is_file()]
            )


def _views(page: str) -> list[tuple[str, str]]:
    """(what, path below the page's address)."""

    def found(pattern: str, path: str) -> list[str]:
        with urllib.request.urlopen(page + path) as answer:  # noqa: S310 - our own page
            return re.findall(pattern, answer.read().decode())

    one, other, *_ = found(r'name="r" value="(\w+)"', "")
    (history, *_) = found(r"history/(\w+)", "history")
    paths = {
        "all results": "", "running": f"result/{one}", "result": f"result/{other}", "pair": f"pair?r={one}&r={other}",
        "pages": "history", "history": f"history/{history}",
    }  # fmt: skip
    return list(paths.items())


def _measured(pages: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    launch = {
        "executablePath": str(find_chromium()),
        "headless": True,
        "args": ["--no-sandbox"] if os.getuid() == 0 else [],
    }
    job = {"launch": launch, "pages": [{"name": n, "url": url, "dark": n.endswith("dark")} for n, url in pages]}
    done = subprocess.run(
        ["node", str(HOME / "benchmarks/accessibility.mjs")],
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    yield from map(json.loads, done.stdout.splitlines())


@contextmanager
def _files(folder: Path) -> Iterator[str]:
    """A folder's files over HTTP: Lighthouse takes no others."""

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(folder))) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{files.server_port}"
        files.shutdown()


if __name__ == "__main__":
    run_script(main)
