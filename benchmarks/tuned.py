"""Tunes sites over networks, one after another, and keeps what was found in results/tuned/.

    python -m benchmarks.tuned [SITE ...] [--links slow-4g,sander-loss2] [--budget 10m] [--rung browser]

Without names: all bundled sites. What is kept already, of this rung or of a surer one, is left as it is, so the same command
goes on; `--again` tunes anew. Each tuning keeps `tune.json`, the report, and the files to ship where there are any. The table
of all is README.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._tuned_page import page_of
from mixedsched.advice.tuner.job import RUNGS
from mixedsched.errors import ExitCode
from mixedsched.sites.opening import recipes

RESULTS = Path("results") / "tuned"
LINKS = ("slow-4g", "sander-loss2")
_KEPT_FILES = ("tune.json", "tune.html")
_SHIP = "ship"


@dataclass(frozen=True, slots=True)
class Work:
    """One tuning to make."""

    site: str
    link: str
    options: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.site.replace('/', '-')}-{self.link}"

    @property
    def folder(self) -> Path:
        """Where it works, and goes on after an interruption."""
        return Path("runs") / "tuned" / self.name

    @property
    def kept(self) -> Path:
        return RESULTS / self.name


def main() -> None:
    options = _options()
    sites = options.sites or [recipe.name for recipe in recipes()]
    search = ("--budget", options.budget, "--rung", options.rung, *(options.more or ()))
    wanted = [Work(site, link, search) for site in sites for link in options.links.split(",")]
    missing = [work for work in wanted if options.again or not _is_kept(work, options.rung)]
    for number, work in enumerate(missing, start=1):
        sys.stderr.write(f"{number} of {len(missing)}: {work.site} over {work.link}\n")
        if _tune(work):
            _keep(work)
            _write_table()
    _write_table()


def _is_kept(work: Work, rung: str) -> bool:
    file = work.kept / _KEPT_FILES[0]
    return file.is_file() and RUNGS.index(json.loads(file.read_text(encoding="utf-8"))["rung"]) >= RUNGS.index(rung)


def _tune(work: Work) -> bool:
    """Whether there is a result, be it one with blocks missing."""
    command = [sys.executable, "-m", "mixedsched", "tune", work.site, "--link", work.link, *work.options]
    ended = subprocess.run([*command, "--out", str(work.folder), "--json"], stdout=subprocess.DEVNULL, check=False)
    if ended.returncode == ExitCode.INTERRUPTED:
        raise SystemExit(ended.returncode)
    return ended.returncode in {ExitCode.DONE, ExitCode.INVALID_RUNS}


def _keep(work: Work) -> None:
    shutil.rmtree(work.kept, ignore_errors=True)
    work.kept.mkdir(parents=True)
    for name in _KEPT_FILES:
        if (work.folder / name).is_file():
            shutil.copy(work.folder / name, work.kept)
    if (work.folder / _SHIP).is_dir():
        shutil.copytree(work.folder / _SHIP, work.kept / _SHIP)


def _write_table() -> None:
    found: list[tuple[str, dict[str, Any]]] = [
        (file.parent.name, json.loads(file.read_text(encoding="utf-8")))
        for file in sorted(RESULTS.glob(f"*/{_KEPT_FILES[0]}"))
    ]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "README.md").write_text(page_of(found), encoding="utf-8")


def _options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sites", nargs="*", metavar="SITE")
    parser.add_argument("--links", default=",".join(LINKS))
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--rung", default="browser", choices=RUNGS)
    parser.add_argument("--more", nargs=argparse.REMAINDER, help="further options of tune, last on the line")
    parser.add_argument("--again", action="store_true", help="tune also what is kept already")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
