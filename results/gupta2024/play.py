"""Plays the studies of this folder, or goes on with them, and writes what there is of their loads into data/.

python results/gupta2024/play.py [stack|chromium ...] [--studies cells,...] [--only GLOB] [--blocks N] [--collect]

`stack` is simulated, in three quarters of an hour; `chromium` takes seven hours, and may be stopped at any time. What data/ has
already is not played again. --collect plays nothing.
"""

from __future__ import annotations

import argparse
import json

from draw import PAGES
from loads import HERE, STAND_INS, file_of
from published import SITES

from mixedsched.lab.study.definition import read_study
from mixedsched.report.papers.script import add_playing_options, play_as_asked, run_script
from mixedsched.sites.pages import load_page

STUDIES = HERE / "studies"
RUNS = HERE.parents[1] / "runs" / "gupta2024"
# In the order of how much they tell.
GROUPS = {
    "stack": ("cells", "stack-work", "stack"),
    "chromium": ("browser-slow-4g", "browser", "work", "simulate", "browser-4g"),
}
KEPT = ("fcp_ms", "lcp_ms", "tti_ms", "tbt_ms", "si_ms", "cls", "hol_bytes", "score", "finished_ms")


def count_resources() -> None:
    """Write number and bytes of the stand-ins' resources by kind, for figure 3."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for site in SITES:
        kinds: dict[str, tuple[int, int]] = {}
        for resource in load_page(f"{STAND_INS}{site}").resources:
            number, size_bytes = kinds.get(str(resource.kind), (0, 0))
            kinds[str(resource.kind)] = number + 1, size_bytes + resource.body_bytes
        found[site] = dict(sorted(kinds.items()))
    PAGES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Plays the studies of Gupta and Bartos 2024, or goes on with them.")
    parser.add_argument("groups", nargs="*", default=["stack"], help=f"some of {', '.join(GROUPS)}; stack by default")
    parser.add_argument("--studies", help="some of these groups', in any order; all by default")
    add_playing_options(parser, RUNS)
    options = parser.parse_args()
    unknown = [group for group in options.groups if group not in GROUPS]
    if unknown:
        parser.error(f"there is no group '{unknown[0]}', only {', '.join(GROUPS)}")
    known = [name for group in options.groups for name in GROUPS[group]]
    asked = known if options.studies is None else options.studies.split(",")
    if unknown := [name for name in asked if name not in known]:
        parser.error(f"there is no study '{unknown[0]}' in {', '.join(options.groups)}, only {', '.join(known)}")
    count_resources()
    for name in (name for name in known if name in asked):
        play_as_asked(options, read_study(STUDIES / f"{name}.toml"), file_of(name), KEPT)


if __name__ == "__main__":
    run_script(main)
