"""Measures page files and prints the tables of mixedsched/sites/generate/distributions.toml.

python scripts/measure_pages.py FOLDER
"""

# ruff: noqa: T201 - it prints tables
from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from mixedsched.errors import PageError
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Kind
from mixedsched.report.papers.script import run_script

POINTS_PCT = (0, 10, 25, 50, 75, 90, 100)
CLASSES = {"small": (1, 30), "medium": (31, 80), "large": (81, 10_000)}  # resources
MIMES = 5  # of a kind, the most frequent ones


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of files in the format mixedsched.page/1")
    folder = parser.parse_args().folder
    pages = [Page.from_json(file.read_bytes(), str(file)) for file in sorted(folder.glob("*.json"))]
    if not pages:
        raise PageError(f"folder {folder} holds no page", fix="name a folder of files in format mixedsched.page/1")
    for name, (fewest, most) in CLASSES.items():
        print_class(name, [page for page in pages if fewest <= len(page.resources) <= most])
    for kind in Kind:
        print_kind(kind, pages)


def print_class(name: str, pages: Sequence[Page]) -> None:
    rest = [item for page in pages for item in page.resources if item is not page.main]
    print(f"[classes.{name}]\npages = {len(pages)}")
    print(f"resources = {quantiles(len(page.resources) for page in pages)}")
    print(f"body_bytes = {quantiles(sum(item.body_bytes for item in page.resources) for page in pages)}")
    print(f"main_bytes = {quantiles(page.main.body_bytes for page in pages)}")
    print(f"hosts = {quantiles(len({item.host for item in page.resources}) for page in pages)}")
    print(f"own_host_pct = {quantiles(round(100 * own_share(page)) for page in pages)}")
    for kind in Kind:
        sizes = [item.body_bytes for item in rest if item.kind is kind]
        if sizes:
            share_pct = round(100 * len(sizes) / len(rest), 1)
            print(f"kinds.{kind} = {{ share_pct = {share_pct}, body_bytes = {quantiles(sizes)} }}")
    print()


def own_share(page: Page) -> float:
    return sum(item.host == 0 for item in page.resources) / len(page.resources)


def print_kind(kind: Kind, pages: Sequence[Page]) -> None:
    mimes: Counter[str] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    positions_pct, delays_ms = [], []
    for page in pages:
        by_id = page.by_id()
        for item in page.resources:
            if item.kind is not kind or item is page.main or item.found_by is None:
                continue
            parent = by_id[item.found_by]
            mimes[item.mime.lower()] += 1
            found[finder(page, parent), item.found_when] += 1
            if item.found_when == "bytes" and parent.body_bytes:
                positions_pct.append(round(100 * item.found_at_bytes / parent.body_bytes))
            if item.found_when == "complete":
                delays_ms.append(round(item.delay_ms))
    print(f"[kinds.{kind}]")
    print(f"mimes = {[list(pair) for pair in mimes.most_common(MIMES)]}")
    print(f"found = {[[*way, times] for way, times in found.most_common()]}")
    print(f"at_pct = {quantiles(positions_pct)}\ndelay_ms = {quantiles(delays_ms)}\n")


def finder(page: Page, parent: Resource) -> str:
    return "main" if parent is page.main else str(parent.kind)


def quantiles(values: Iterable[int]) -> list[int]:
    """At POINTS_PCT, each a value that occurs."""
    ordered = sorted(values) or [0]
    found = [ordered[round(point / 100 * (len(ordered) - 1))] for point in POINTS_PCT]
    assert all(low <= high for low, high in pairwise(found))
    return found


if __name__ == "__main__":
    run_script(main)
