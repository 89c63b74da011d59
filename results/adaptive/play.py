"""Plays browser.toml in Chromium, or goes on with it, writes what there is of its loads here, and README.md anew.

python results/adaptive/play.py [--only GLOB] [--blocks N] [--collect]

The machine must have nothing else to do; a place takes ten minutes, and may be stopped at any time. Before its first block
`adaptive` learns from five visits with beacons; these are not measured. --collect plays nothing.
"""

from __future__ import annotations

import argparse

from table import CHROMIUM, HERE, write_page

from mixedsched.lab.study.definition import read_study
from mixedsched.report.papers.script import add_playing_options, play_as_asked, run_script

RUNS = HERE.parents[1] / "runs" / "adaptive"
KEPT = ("fcp_ms", "lcp_ms", "si_ms", "finished_ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="Loads pages in Chromium by learned orders and by fixed ones.")
    add_playing_options(parser, RUNS)
    options = parser.parse_args()
    try:
        play_as_asked(options, read_study(HERE / "browser.toml"), CHROMIUM, KEPT)
    finally:
        write_page()


if __name__ == "__main__":
    run_script(main)
