"""From a page load of a HAR to the folder of a site.

A HAR with bodies becomes a recording of them; the few that it lacks are synthesised one by one. In one without the bodies of
documents nothing refers to anything, so a browser would load nothing of such a recording: there the whole page is synthesised
from what is known of it, and is loaded as it was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path

from mixedsched.errors import SiteError
from mixedsched.model.page import Page
from mixedsched.model.request import Kind
from mixedsched.sites.har.entries import HarLog
from mixedsched.sites.har.importing import ImportedPage, Progress, imported
from mixedsched.sites.har.kinds import kind_of
from mixedsched.sites.har.pages import HarPage
from mixedsched.sites.har.synthesis import Synthesiser
from mixedsched.sites.recorded import (
    Exchange,
    LeftOut,
    RecordingFacts,
    RecordingSummary,
    check_target,
    write_recording,
)
from mixedsched.sites.site import MANIFEST_NAME, load_built
from mixedsched.sites.site.folders import make_folder

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
    if any(entry.response.content.text and kind_of(entry) is Kind.DOCUMENT for entry in page.entries):
        load = imported(log, page, Synthesiser(), progress)
        target, facts = named(load.facts)
        return write_recording(target, load.exchanges, facts, replace=replace)
    load = imported(log, page, Synthesiser(blank=True))
    target, facts = named(load.facts)
    check_target(target, replace=replace)
    return _synthesised(target, load, facts, progress)


def _synthesised(target: Path, load: ImportedPage, facts: RecordingFacts, progress: Progress) -> RecordingSummary:
    """A whole page at its sizes. Its description is that of a recording, which is made aside and goes again."""
    from mixedsched.sites.synth import synthesise  # here, as few HARs need it and all its libraries

    exchanges = load.exchanges
    kept = [item for item in exchanges if item.status == _OK and item.method == "GET"]
    if not any(item.kind is Kind.DOCUMENT for item in kept):
        why = f"its document was answered with {exchanges[0].status}, and the HAR has no body of it"
        raise SiteError("the page cannot be synthesised", why=why, fix="save the HAR with content")
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
            f"without a document in the HAR nothing refers to the {load.recorded} bodies in it: all are synthesised"
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


def _why_lost(item: Exchange) -> str:
    if item.status != _OK:
        return f"status {item.status}: synthesised pages have no other than {_OK}"
    return f"synthesised pages are asked for with GET only, not with {item.method}"
