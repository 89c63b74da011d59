"""Plays the studies of this folder, or goes on with them, writes what there is of their loads here, and README.md anew.

python results/servers/play.py [--only GLOB] [--blocks N] [--models] [--collect]

Chromium needs the machine to itself; 1,200 loads take some five hours, and may be stopped at any time. --models plays the same
places on rung stack, in minutes. --collect plays nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from table import HERE, write_readme

from mixedsched.lab.study.definition import read_study
from mixedsched.lab.study.kept import play_kept
from mixedsched.report.papers.script import run_script, tell

RUNS = HERE.parents[1] / "runs" / "servers"
KEPT = ("fcp_ms", "lcp_ms", "si_ms", "finished_ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="Loads pages from other people's servers, or goes on with that.")
    parser.add_argument("--only", help="a glob over sites, or SITE@LINK")
    parser.add_argument("--blocks", type=int, help="so many repeats, instead of those of the study")
    parser.add_argument("--models", action="store_true", help="the models on rung stack, instead of Chromium")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where the databases are")
    parser.add_argument("--collect", action="store_true", help="play nothing, write what there is")
    options = parser.parse_args()
    name = "models" if options.models else "browser"
    try:
        play_kept(
            read_study(HERE / f"{name}.toml"),
            HERE / f"{name}.parquet",
            KEPT,
            folder=options.runs / name,
            only=options.only,
            blocks=options.blocks,
            play=not options.collect,
            say=tell,
        )
    finally:
        write_readme()


if __name__ == "__main__":
    run_script(main)
