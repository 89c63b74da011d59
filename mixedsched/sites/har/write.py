"""From a page load of a HAR to the folder of a site.

A HAR with bodies becomes a recording of them; the few that it lacks are synthesised one by one. In one without any body no
document refers to anything, so a browser would load nothing of such a recording: there the whole page is synthesised from
what is known of it, and is loaded as it was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from pathlib import Path

from mixedsched.page import Page
from mixedsched.sites._aside import make_folder
from mixedsched.sites._load import load_site
from mixedsched.sites._site import MANIFEST_NAME
from mixedsched.sites.har.entries import HarLog
from mixedsched.sites.har.importing import Progress, imported
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

Named = Callable[[RecordingFacts], tuple[Path, RecordingFacts]]
_OK = 200


def import_page(
    log: HarLog, page: HarPage, named: Named, progress: Progress = lambda _done, _total: None, *, replace: bool = False
) -> RecordingSummary:
    """Make a site of one page load.

    named: where the site goes and its facts with name and licence, given what the HAR tells. progress: told how many of how
    many steps are done. replace: whether a site that is there may go. Raises SiteError, and whatever `named` raises.
    """
    if any(entry.response.content.text for entry in page.entries):
        load = imported(log, page, Synthesiser(), progress)
        target, facts = named(load.facts)
        return write_recording(target, load.exchanges, facts, replace=replace)
    load = imported(log, page, Synthesiser(blank=True))
    target, facts = named(load.facts)
    check_target(target, replace=replace)
    return _synthesised(target, load.exchanges, facts, progress)


def _synthesised(
    target: Path, exchanges: Sequence[Exchange], facts: RecordingFacts, progress: Progress
) -> RecordingSummary:
    """A whole page at its sizes. Its description is that of a recording, which is made aside and goes again."""
    from mixedsched.sites.synth import synthesise  # here, as few HARs need it and all its libraries

    kept = [item for item in exchanges if item.status == _OK and item.method == "GET"]
    lost = [
        LeftOut(item.url, f"status {item.status}: synthesised pages have no other than {_OK}", item.method)
        for item in exchanges
        if item.status != _OK
    ]
    facts = changed(facts, left_out=(*facts.left_out, *lost))
    with tempfile.TemporaryDirectory(prefix="mixedsched-har-") as aside:
        recording = Path(aside) / "recording"
        summary = write_recording(recording, kept, facts)
        page = Page.from_json((recording / MANIFEST_NAME).read_bytes(), f"the description of {facts.name}")
        hosts = load_site(recording).hosts
    notes = list(summary.notes)

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
        load_site(folder)

    make_folder(target, fill, is_good=lambda: False)
    return changed(summary, folder=target, notes=tuple(notes))
