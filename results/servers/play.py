"""Plays the studies of this folder, or goes on with them, writes what there is of their loads here, and README.md anew.

python results/servers/play.py [--only GLOB] [--blocks N] [--models] [--collect]

Chromium needs the machine to itself; 1,200 loads take some five hours, and may be stopped at any time. --models plays the same
places on rung stack, in minutes. --collect plays nothing.
"""

from __future__ import annotations

import argparse

from decoded import with_decoded_pages
from table import HERE, write_page

from mixedsched.lab.study.definition import read_study
from mixedsched.report.papers.script import add_playing_options, play_as_asked, run_script

RUNS = HERE.parents[1] / "runs" / "servers"
KEPT = ("fcp_ms", "lcp_ms", "si_ms", "finished_ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="Loads pages from other people's servers, or goes on with that.")
    parser.add_argument("--models", action="store_true", help="the models on rung stack, instead of Chromium")
    add_playing_options(parser, RUNS)
    options = parser.parse_args()
    name = "models" if options.models else "browser"
    try:
        study = read_study(HERE / f"{name}.toml")
        study = with_decoded_pages(study) if options.models and not options.collect else study
        play_as_asked(options, study, HERE / f"{name}.parquet", KEPT)
    finally:
        write_page()


if __name__ == "__main__":
    run_script(main)
