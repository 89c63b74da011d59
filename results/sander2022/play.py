"""Plays the studies of this folder, or goes on with them, and writes what there is of their loads into data/.

python results/sander2022/play.py [bundled|generated|chromium|FOLDER ...] [--studies bursts,...] [--blocks N] [--collect]

`generated` are 60 pages that `mixedsched generate` makes up, the same ones everywhere; `chromium` loads browser.toml instead,
in a real browser. A folder of page files is played as `recorded`: its pages are not copied, only what was measured of them.
What data/ has already is not played again. --collect plays nothing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from data import DATA, HERE, HOL, LOSS, SI
from sizes import SIZES, read_sizes

from mixedsched.lab.study.definition import Study, read_study
from mixedsched.lab.study.places import sites_of
from mixedsched.report.papers.script import add_playing_options, play_as_asked, run_script
from mixedsched.sites.generate import distributions, generate_page, page_text
from mixedsched.sites.pages import load_page

STUDIES = HERE / "studies"
RUNS = HERE.parents[1] / "runs" / "sander2022"
PAGES = HERE.parents[1] / "build" / "pages" / "sander2022"  # collections of pages that are not part of the project
CHROMIUM = "chromium"
SIZE_CLASSES, PAGES_OF_A_CLASS = ("small", "medium", "large"), 20
KEPT = ("fcp_ms", "lcp_ms", SI, HOL, "finished_ms", "byte_index_ms", "byte_index_atf_ms", LOSS)


def pages_named(text: str) -> str:
    """An argument that names a collection of pages."""
    if text not in ("bundled", "generated", CHROMIUM) and not Path(text).is_dir():
        known = f"bundled, generated, {CHROMIUM}, or a folder of page files"
        raise argparse.ArgumentTypeError(f"there is no collection of pages '{text}', only {known}")
    return text


def collection(named: str) -> str:
    """Make a collection of pages ready; returns its name."""
    if named in ("bundled", CHROMIUM):
        return named
    name = "generated" if named == "generated" else "recorded"
    folder = PAGES / name
    if name == "recorded":
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.unlink(missing_ok=True)
        folder.symlink_to(Path(named).absolute(), target_is_directory=True)
        return name
    folder.mkdir(parents=True, exist_ok=True)
    for size_class in SIZE_CLASSES:
        for seed in range(1, PAGES_OF_A_CLASS + 1):
            page = generate_page(size_class, seed)
            text = page_text(page, source=f"generated from {distributions().source}")
            (folder / f"{size_class}-{seed}.json").write_text(text)
    return name


def study_of(name: str, pages: str) -> Study:
    """A study for a collection of pages."""
    study = read_study((HERE if pages == CHROMIUM else STUDIES) / f"{name}.toml")
    if pages in ("bundled", CHROMIUM):
        return study
    return Study.from_dict({**study.to_dict(), "sites": [pages], "name": f"{study.name}-{pages}"}, PAGES)


def note_sizes(study: Study, pages: str) -> None:
    """Write how large the pages of a study are."""
    if pages == CHROMIUM:  # it loads bundled ones
        return
    sizes = read_sizes()
    known = sizes.setdefault(pages, {})
    for site in sites_of(study):
        if site.name not in known:
            known[site.name] = sum(item.header_bytes + item.body_bytes for item in load_page(site.opened_as).resources)
    SIZES.write_text(json.dumps(sizes, indent=1, sort_keys=True) + "\n")


def main() -> None:
    simulated = sorted(path.stem for path in STUDIES.glob("*.toml"))
    parser = argparse.ArgumentParser(description="Plays the studies of Sander et al. 2022, or goes on with them.")
    parser.add_argument(
        "pages",
        nargs="*",
        default=["bundled"],
        type=pages_named,
        help="bundled, generated, chromium, or a folder of page files",
    )
    parser.add_argument("--studies", default=",".join(simulated), help="some of them; all by default")
    add_playing_options(parser, RUNS)
    options = parser.parse_args()
    studies = options.studies.split(",")
    if unknown := [name for name in studies if name not in simulated]:
        parser.error(f"there is no study '{unknown[0]}', only {', '.join(simulated)}")
    for pages in map(collection, options.pages):
        for name in ["browser"] if pages == CHROMIUM else studies:
            study, kept = study_of(name, pages), DATA / f"{pages}-{name}.parquet"
            try:
                play_as_asked(options, study, kept, KEPT)
            finally:
                if kept.exists():
                    note_sizes(study, pages)


if __name__ == "__main__":
    run_script(main)
