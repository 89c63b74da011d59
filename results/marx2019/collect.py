"""Plays collections of pages under the schemes of Marx et al. 2019 and keeps their ByteIndexes, page by page, in indexes.csv.

    mixedsched generate --pages 100 --seed 1 --out runs/generated
    python results/marx2019/collect.py generated=runs/generated bundled [recorded=FOLDER]

A collection is a name and a folder of page files; `bundled` alone stands for the bundled sites. Its rows are replaced, those of
other collections stay. Kept are names and numbers, no pages. Nothing here is timed: the same pages give the same numbers.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from playing import Scores, page_bytes, read_pages
from study import BASELINE, BUFFERS_BYTES, SCHEMES

from mixedsched.model.page import Page
from mixedsched.report.papers.script import run_script
from mixedsched.sites.opening import open_site, recipes

FILE = Path(__file__).parent / "indexes.csv"
BUNDLED = "bundled"
WORK_TWINS = "gupta2024-work/"  # the same pages with scripts that work, which rung `pipe` does not play
HEADS = (
    "pages",
    "page",
    "resources",
    "bytes",
    "seen_bytes",
    "scheme",
    "all_ms",
    *(f"atf_{size}_ms" for size in BUFFERS_BYTES),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="+", metavar="NAME=FOLDER", help=f"page files; or just {BUNDLED}")
    wanted = dict(word.partition("=")[::2] for word in parser.parse_args().collections)
    if nameless := [name for name, folder in wanted.items() if not folder and name != BUNDLED]:
        parser.error(f"which folder has the pages of '{nameless[0]}'? as {nameless[0]}=FOLDER")
    kept = [row for row in read_rows() if row[0] not in wanted]
    new = [row for name, folder in wanted.items() for row in _rows(name, _pages(name, folder))]
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADS)
        writer.writerows(sorted(kept + new, key=lambda row: row[0]))


def read_rows() -> list[list[str]]:
    """All rows but the heads; none without the file."""
    if not FILE.is_file():
        return []
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def _pages(name: str, folder: str) -> list[Page]:
    if name != BUNDLED:
        return read_pages(Path(folder))
    names = [item.name for item in recipes() if not item.name.startswith(WORK_TWINS)]
    return [open_site(site).page.model_copy(update={"name": site}) for site in names]


def _rows(name: str, pages: list[Page]) -> Iterator[list[str]]:
    scores = Scores(pages, BUFFERS_BYTES)
    for place, page in enumerate(pages):
        seen = sum(item.header_bytes + item.body_bytes for item in page.resources if item.is_above_fold)
        facts = [name, page.name, str(len(page.resources)), str(page_bytes(page)), str(seen)]
        for scheme in (BASELINE, *SCHEMES):
            indexes = [
                scores.all_ms(scheme)[place],
                *(scores.above_fold_ms(scheme, size)[place] for size in BUFFERS_BYTES),
            ]
            yield [*facts, scheme, *(f"{value:.1f}" for value in indexes)]


if __name__ == "__main__":
    run_script(main)
