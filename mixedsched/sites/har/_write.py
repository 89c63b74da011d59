"""From a page load of a HAR to the folder of a site.

A HAR with bodies becomes a recording of them; the few that it lacks are synthesised one by one. In one without the body of
the page's document nothing refers to anything, so a browser would load nothing of such a recording: there the whole page is
synthesised from what is known of it, and is loaded as it was.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace as changed
from functools import lru_cache
from pathlib import Path

from mixedsched.errors import SiteError
from mixedsched.model.page import Page
from mixedsched.model.request import Kind
from mixedsched.sites.har._entries import HarLog
from mixedsched.sites.har._importing import ImportedPage, Progress, has_document, imported
from mixedsched.sites.har._pages import HarPage
from mixedsched.sites.recorded.records import LeftOut, RecordedExchange, RecordingFacts, RecordingSummary
from mixedsched.sites.recorded.writing import check_target, write_recording
from mixedsched.sites.site import MANIFEST_NAME, load_built
from mixedsched.sites.site.folders import make_folder
from mixedsched.sites.synth import synthesise
from mixedsched.sites.synth.assets import asset, format_name, smallest_bytes
from mixedsched.sites.synth.media import free_box

# Of the formats that take longest, the cost of a byte in bytes of JPEG.
_COST_OF_BYTE = {"jpeg": 1, "webp": 4, "avif": 20}
_BUDGET_BYTES = 4_000_000
_DRAWN_BYTES_MAX = 8192
_BOX_HEADER_BYTES = 8
_drawn = lru_cache(maxsize=64)(asset)


class Synthesiser:
    """Makes the missing bodies of one HAR, in reasonable time even where thousands are missing.

    Drawing and compressing a picture takes up to some seconds a megabyte. So when the first have used up what a page may
    cost, the pictures that follow are of a few sizes only, each drawn once and filled up to its size behind its end, where
    decoders no longer read. blank: make zeros, where only sizes count.
    """

    def __init__(self, *, blank: bool = False) -> None:
        self._is_blank = blank
        self._budget_bytes = _BUDGET_BYTES

    def __call__(self, kind: Kind, mime: str, size_bytes: int, seed: int) -> bytes:
        """A body of exactly that size; the same for the same calls in the same order."""
        if self._is_blank:
            return bytes(size_bytes)
        name = format_name(kind, mime, size_bytes)
        cost_bytes = size_bytes * _COST_OF_BYTE.get(name, 0)
        if cost_bytes <= self._budget_bytes:
            self._budget_bytes -= cost_bytes
            return asset(kind, mime, size_bytes, seed)
        return _filled_up(kind, mime, size_bytes, name)


def _filled_up(kind: Kind, mime: str, size_bytes: int, name: str) -> bytes:
    """A picture of a smaller size that is a power of two, if there is one, with what does not show behind it."""
    drawn_bytes = _DRAWN_BYTES_MAX
    while drawn_bytes and drawn_bytes > size_bytes - _BOX_HEADER_BYTES:
        drawn_bytes //= 2
    if drawn_bytes < smallest_bytes(kind, mime):
        return asset(kind, mime, size_bytes, 0)
    missing_bytes = size_bytes - drawn_bytes
    return _drawn(kind, mime, drawn_bytes, 0) + (free_box(missing_bytes) if name == "avif" else bytes(missing_bytes))


Named = Callable[[RecordingFacts], tuple[Path, RecordingFacts]]
_OK = 200


def import_page(
    log: HarLog, page: HarPage, named: Named, progress: Progress = lambda _done, _total: None, *, replace: bool = False
) -> RecordingSummary:
    """Make a site of one page load.

    named: where the site goes and its facts with name and licence, given what the HAR tells. progress: told how many of how
    many steps are done, of answers or of bytes. replace: whether a site that is there may go. Raises SiteError, and whatever
    `named` raises.
    """
    if has_document(page):
        load = imported(log, page, Synthesiser(), progress)
        target, facts = named(load.facts)
        return write_recording(target, load.exchanges, facts, replace=replace)
    load = imported(log, page, Synthesiser(blank=True))
    target, facts = named(load.facts)
    check_target(target, replace=replace)
    return _synthesised(target, load, facts, progress)


def _synthesised(target: Path, load: ImportedPage, facts: RecordingFacts, progress: Progress) -> RecordingSummary:
    """A whole page at its sizes. Its description is that of a recording, which is made aside and goes again."""

    exchanges = load.exchanges
    kept = [item for item in exchanges if item.status == _OK and item.method == "GET"]
    if not any(item.kind is Kind.DOCUMENT for item in kept):
        why = f"its document was answered with {exchanges[0].status}, and the HAR has no body of it"
        raise SiteError("the page cannot be synthesised", why=why, fix="save a HAR of a load that worked, with content")
    lost = [
        LeftOut(item.url, _why_lost(item), item.method)
        for item in exchanges
        if item.status != _OK or item.method != "GET"
    ]
    facts = changed(facts, left_out=(*facts.left_out, *lost))
    with tempfile.TemporaryDirectory(prefix="mixedsched-har-") as aside:
        recording = Path(aside) / "recording"
        summary = write_recording(recording, kept, facts)
        page = Page.from_json((recording / MANIFEST_NAME).read_bytes(), f"the description of {facts.name}")
        hosts = load_built(recording).hosts
    notes = list(summary.notes)
    if load.recorded:
        notes.append(
            f"without the page's document in the HAR nothing refers to the {load.recorded} bodies in it: all are synthesised"
        )

    def fill(folder: Path) -> None:
        told = {
            "title": facts.title or facts.name,
            "description": f"{facts.description}; all bodies are synthesised",
            "licence": facts.licence or "CC0-1.0 (synthesised contents)",
            "source": facts.source,
            "record": {"url": facts.url, **facts.record, **({"notes": notes} if notes else {})},
        }
        made = synthesise(page, folder, name=facts.name, hosts=hosts, facts=told, progress=progress)
        if made.deviations:
            one, count = made.deviations[0], len(made.deviations)
            notes.append(f"{count} things cannot be made as in the HAR, such as {one.what} of {one.id}: {one.reason}")
        load_built(folder)

    make_folder(target, fill, is_good=lambda: False)
    return changed(summary, folder=target, notes=tuple(notes))


def _why_lost(item: RecordedExchange) -> str:
    if item.status != _OK:
        return f"status {item.status}: synthesised pages have no other than {_OK}"
    return f"synthesised pages are asked for with GET only, not with {item.method}"
