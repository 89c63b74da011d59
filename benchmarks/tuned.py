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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._command import HOME, MIXEDSCHED, parser_of, run_to_its_end
from benchmarks._tuned_page import page_of
from mixedsched.advice.tuner.job import RUNGS
from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.report.papers.script import Countdown, run_script, tell
from mixedsched.sites.opening import recipes
from mixedsched.units import listed

RESULTS = HOME / "results" / "tuned"
LINKS = ("slow-4g", "sander-loss2")
_KEPT_FILES = ("tune.json", "tune.html")
_SHIP = "ship"
_HAVE_RESULT = (ExitCode.DONE, ExitCode.INVALID_RUNS)  # be it one with blocks missing


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
        return HOME / "runs" / "tuned" / self.name

    @property
    def command(self) -> list[str]:
        words = ["tune", self.site, "--link", self.link, *self.options, "--out", str(self.folder), "--json"]
        return [*MIXEDSCHED, *words]

    @property
    def kept(self) -> Path:
        return RESULTS / self.name


def main() -> None:
    options = _options()
    sites = options.sites or [recipe.name for recipe in recipes()]
    search = ("--budget", options.budget, "--rung", options.rung, *(options.more or ()))
    wanted = [Work(site, link, search) for site in sites for link in options.links.split(",")]
    missing = [work for work in wanted if options.again or not _is_kept(work, options.rung)]
    failed = []
    countdown = Countdown(len(missing))
    for work in missing:
        what = f"{work.site} over {work.link}"
        tell(what)
        code = run_to_its_end(work.command)
        if code in _HAVE_RESULT:
            _keep(work)
            _write_table()
        else:
            failed.append(what)
        countdown.done(what)
    _write_table()
    if failed:
        fix = "why stands above; the same command tries again"
        raise MixedschedError(f"no result for {listed(failed)}", fix=fix)


def _is_kept(work: Work, rung: str) -> bool:
    file = work.kept / _KEPT_FILES[0]
    return file.is_file() and RUNGS.index(json.loads(file.read_text(encoding="utf-8"))["rung"]) >= RUNGS.index(rung)


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


def _options() -> argparse.Namespace:
    parser = parser_of("tuned", __doc__)
    parser.add_argument("sites", nargs="*", metavar="SITE", help="by default all bundled ones")
    parser.add_argument("--links", default=",".join(LINKS), help="network profiles, with commas between")
    parser.add_argument("--budget", default="10m", help="of each tuning")
    parser.add_argument("--rung", default="browser", choices=RUNGS, help="which has the last word")
    parser.add_argument("--more", nargs=argparse.REMAINDER, help="further options of tune, last on the line")
    parser.add_argument("--again", action="store_true", help="tune also what is kept already")
    return parser.parse_args()


if __name__ == "__main__":
    run_script(main)
