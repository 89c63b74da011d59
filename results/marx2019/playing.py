"""Plays pages under schemes over rung `pipe` and keeps their ByteIndexes, page by page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from study import BASELINE, SCHEMES

from mixedsched.core import schedulers
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.record import Recorder, Weighting
from mixedsched.errors import PageError
from mixedsched.model.page import Page, Resource
from mixedsched.model.scheme import ConfiguredScheme, configure
from mixedsched.report.papers.script import run_script
from mixedsched.world import catalog

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Indexes:
    """ByteIndexes of one scheme with one send buffer in ms, page by page."""

    all_ms: Numbers
    above_fold_ms: Numbers


def read_pages(folder: Path) -> list[Page]:
    """All page files of a folder, by file name. Raises PageError for a bad one, or if there is none."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise PageError(f"folder {folder} holds no page", fix="name a folder of files in format mixedsched.page/1")
    return [Page.from_json(file.read_bytes(), str(file)) for file in files]


def scheme_named(spec: str) -> ConfiguredScheme:
    return configure(spec, schedulers.SCHEMES, catalog.load_mapping)


def page_bytes(page: Page) -> int:
    """Of all responses, headers included."""
    return sum(item.header_bytes + item.body_bytes for item in page.resources)


def play(page: Page, spec: str, options: PipeOptions | None = None) -> PlayedLoad:
    return play_pipe(Discoveries.of(page), scheme_named(spec), options)


def play_all(
    pages: Sequence[Page],
    scheme: ConfiguredScheme,
    options: PipeOptions,
    *,
    judged_as: Sequence[Page] | None = None,
    weighting: Weighting = "bytes",
    sample_ms: float | None = None,
) -> Indexes:
    """Every page under one scheme. judged_as: the same pages with the above-the-fold sets that count, if not their own."""
    found = [
        Recorder(judge, weighting, sample_ms).byte_indexes(play_pipe(Discoveries.of(page), scheme, options))
        for page, judge in zip(pages, judged_as or pages, strict=True)
    ]
    return Indexes(np.array([item.all_ms for item in found]), np.array([item.atf_ms for item in found]))


class Scores:
    """The indexes of all schemes of the study on some pages; speed-ups over rr from them.

    buffers_bytes: the send buffers to play with. options: the pipe otherwise. The rest is play_all's.
    """

    def __init__(
        self,
        pages: Sequence[Page],
        buffers_bytes: Iterable[int] = (0,),
        options: PipeOptions | None = None,
        *,
        weighting: Weighting = "bytes",
        sample_ms: float | None = None,
    ) -> None:
        base = options or PipeOptions()
        self.names = [page.name for page in pages]
        self._indexes = {
            (spec, buffer_bytes): play_all(
                pages,
                scheme_named(spec),
                replace(base, send_buffer_bytes=buffer_bytes),
                weighting=weighting,
                sample_ms=sample_ms,
            )
            for spec in (BASELINE, *SCHEMES)
            for buffer_bytes in buffers_bytes
        }

    def above_fold_ms(self, scheme: str, buffer_bytes: int = 0) -> Numbers:
        return self._indexes[scheme, buffer_bytes].above_fold_ms

    def all_ms(self, scheme: str) -> Numbers:
        """Over all resources, without buffer."""
        return self._indexes[scheme, 0].all_ms

    def speed_up(self, scheme: str, buffer_bytes: int = 0, rr_buffer_bytes: int | None = None) -> Numbers:
        """Above the fold: index of rr over index of the scheme, page by page. rr has the same buffer unless said."""
        rr_buffer_bytes = buffer_bytes if rr_buffer_bytes is None else rr_buffer_bytes
        return self.above_fold_ms(BASELINE, rr_buffer_bytes) / self.above_fold_ms(scheme, buffer_bytes)

    def speed_up_of_all(self, scheme: str) -> Numbers:
        """As speed_up, over all resources and without buffer."""
        return self.all_ms(BASELINE) / self.all_ms(scheme)


def changed(page: Page, change: Callable[[Resource], Resource]) -> Page:
    """A page with every resource changed."""
    return page.model_copy(update={"resources": tuple(change(item) for item in page.resources)})


def run_on_folder(tables: Callable[[list[Page]], Iterable[str]], description: str | None) -> None:
    """A script that prints tables of the pages in the folder that its command line names. description: of the script."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER_OF_PAGES", help="of files in format mixedsched.page/1")
    folder = parser.parse_args().folder

    def main() -> None:
        for line in tables(read_pages(folder)):
            sys.stdout.write(f"{line}\n")

    run_script(main)
