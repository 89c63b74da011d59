"""Changes made to the page model, so that simulation can play an edition that does not exist yet; and editions of the site.

What the model takes from a measured load beside the page itself is which requests the browser gave out only when the page
was first laid out: fonts and images of styles, which nothing else names, and images that it held back until then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mixedsched.advice.changes.change import Action, Change, Key, code_of
from mixedsched.advice.changes.html_change import Document, changed_text
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.errors import SiteError
from mixedsched.model import codings
from mixedsched.model.page import PAGE_FORMAT, Page, Resource
from mixedsched.model.priority import parse_parameters
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.site import ResponseSettings, Site
from mixedsched.world.system.files import write_whole

_SLOWEST = tuple(ChromiumPriority)[-1]


@dataclass(frozen=True, slots=True)
class PageModel:
    """A page as one network shows it."""

    page: Page
    complete_ms: Mapping[str, float]
    """When each resource was complete, by id."""
    gated: frozenset[str] = frozenset()
    """Ids of the resources that wait for the first layout."""
    hero_needs: tuple[str, ...] = ()
    """Ids of the scripts and style sheets that put the hero into the page; without them it is not drawn, however early
    it may be there.
    """

    def played(self) -> Page:
        """The page to play: what is gated is found when the last blocking resource is complete."""
        blocking = [name for name in PaintNeeds.of(self.page).blocking if name not in self.gated]
        gate = max(blocking, key=lambda name: (self.complete_ms.get(name, 0.0), name), default=self.page.main.id)
        found = {"found_by": gate, "found_when": "complete", "found_at_bytes": 0, "delay_ms": 0.0}
        resources = [item.model_copy(update=found) if item.id in self.gated else item for item in self.page.resources]
        return with_resources(self.page, resources)

    def with_changes(self, changes: Sequence[Change]) -> PageModel:
        """The model of the changed site."""
        model = self
        for change in changes:
            for key in change.targets:
                model = _changed(model, key, change)
        return model


def with_resources(page: Page, resources: Iterable[Resource]) -> Page:
    """The page made of these. A page made anew: a copy would remember which resource was its main document."""
    return Page(format=PAGE_FORMAT, name=page.name, resources=tuple(resources))


def _changed(model: PageModel, key: Key, change: Change) -> PageModel:
    item = model.page.by_path().get(key)
    if item is None or item.id == model.page.main.id:
        return model
    changed = _EDITS[change.action](model.page, item, change)
    gated = model.gated
    if change.action in {Action.PRELOAD, Action.FETCH_FIRST, Action.EAGER}:
        gated -= {item.id}
    elif change.action is Action.LAZY:
        gated |= {item.id}
    resources = [changed if other is item else other for other in model.page.resources]
    return replace(model, page=with_resources(model.page, resources), gated=gated)


def _preloaded(page: Page, item: Resource, _change: Change) -> Resource:
    """Found with the first bytes of the document. A preloaded image is a Low one unless it says otherwise, as ours does."""
    priority = {
        Kind.FONT: ChromiumPriority.HIGH,
        Kind.IMAGE: ChromiumPriority.HIGH,
        Kind.STYLESHEET: ChromiumPriority.VERY_HIGH,
    }.get(item.kind, ChromiumPriority.HIGH)
    return item.model_copy(update={**_early(page), "flags": item.flags | {Flag.PRELOAD}, "chromium_priority": priority})


def _hurried(page: Page, item: Resource, _change: Change) -> Resource:
    return item.model_copy(
        update={**_in_document(page, item), "chromium_priority": _more_urgent(item, ChromiumPriority.HIGH)}
    )


def _calmed(_page: Page, item: Resource, _change: Change) -> Resource:
    priority = max(item.chromium_priority, ChromiumPriority.LOW, key=lambda priority: priority.rank)
    return item.model_copy(update={"chromium_priority": priority})


def _eager(page: Page, item: Resource, _change: Change) -> Resource:
    priority = _more_urgent(item, ChromiumPriority.MEDIUM)
    return item.model_copy(
        update={**_in_document(page, item), "flags": item.flags - {Flag.LAZY}, "chromium_priority": priority}
    )


def _lazy(_page: Page, item: Resource, _change: Change) -> Resource:
    return item.model_copy(update={"flags": item.flags | {Flag.LAZY}, "chromium_priority": ChromiumPriority.LOW})


def _deferred(_page: Page, item: Resource, _change: Change) -> Resource:
    flags = item.flags - {Flag.CRITICAL, Flag.ASYNC} | {Flag.DEFER}
    return item.model_copy(update={"flags": flags, "chromium_priority": ChromiumPriority.LOW})


def _placed(_page: Page, item: Resource, change: Change) -> Resource:
    """A response header overrides what the request signals; in the model, the request signals it at once."""
    told = parse_parameters(change.value.encode())
    assert told is not None, "our own candidates are well-formed"
    ranks = tuple(ChromiumPriority)
    urgency = item.chromium_priority.rank if told.urgency is None else told.urgency
    return item.model_copy(
        update={
            "chromium_priority": ranks[min(urgency, _SLOWEST.rank)],
            "incremental": item.incremental if told.incremental is None else told.incremental,
        }
    )


_EDITS = {
    Action.PRELOAD: _preloaded,
    Action.FETCH_FIRST: _hurried,
    Action.FETCH_LAST: _calmed,
    Action.EAGER: _eager,
    Action.LAZY: _lazy,
    Action.DEFER: _deferred,
    Action.HEADER: _placed,
}


def _early(page: Page) -> dict[str, object]:
    """Found by a link before all others in the document."""
    main = page.main
    offsets = [
        other.found_at_bytes for other in page.resources if other.found_by == main.id and other.found_when == "bytes"
    ]
    first = min([*offsets, main.body_bytes])
    return {"found_by": main.id, "found_when": "bytes", "found_at_bytes": first, "delay_ms": 0.0}


def _in_document(page: Page, item: Resource) -> dict[str, object]:
    """Found where its tag stands in the document; unchanged where the document already names it."""
    if item.found_by == page.main.id and item.found_when == "bytes":
        return {}
    return {"found_by": page.main.id, "found_when": "bytes", "found_at_bytes": page.main.body_bytes, "delay_ms": 0.0}


def _more_urgent(item: Resource, least: ChromiumPriority) -> ChromiumPriority:
    return min(item.chromium_priority, least, key=lambda priority: priority.rank)


# What an edition serves is equal byte for byte, but for what was changed


@dataclass(frozen=True, slots=True)
class Edition:
    """A site with changes."""

    site: Site
    digest: str  # fingerprint of the changes, and of the site that they were made to


def document_of(site: Site) -> Document:
    """The page's own document, ready to be changed. Raises SiteError if its file is not in the coding that it is served in."""
    key = 0, site.entry
    body = site.files[key].read_bytes()
    try:
        plain = codings.decode(body, site.encodings[key]) if key in site.encodings else body
    except codings.UndecodableError as error:
        raise SiteError(
            f"site '{site.name}': {site.entry} cannot be read", why=str(error), fix="put the right file there"
        ) from error
    return Document(plain.decode("latin-1"), site.page, site.hosts)


def make_edition(site: Site, site_digest: str, changes: Sequence[Change], folder: Path) -> Edition:
    """The site with changes: priorities are set, and a changed document is written to a file in `folder`.

    site_digest: fingerprint of what the site serves. Raises SiteError if the document cannot be read, OSError if it cannot be
    written.
    """
    digest = hashlib.sha256(f"{site_digest} {code_of(changes)}".encode()).hexdigest()[:16]
    site = _with_priorities(site, changes)
    document = document_of(site)
    text = changed_text(document, changes)
    return Edition(site if text == document.text else _with_document(site, text, folder / digest), digest)


def _with_priorities(site: Site, changes: Sequence[Change]) -> Site:
    settings = dict(site.settings)
    for change in changes:
        for key in change.targets if change.action is Action.HEADER else ():
            before = settings.get(key, ResponseSettings())
            headers = {**dict(before.headers), "priority": (change.value,)}
            settings[key] = replace(before, headers=tuple(headers.items()))
    return replace(site, settings=settings)


def _with_document(site: Site, text: str, file: Path) -> Site:
    """The site with another text in the place of the page's own document."""
    key = 0, site.entry
    body = text.encode("latin-1")
    body = codings.encode(body, site.encodings[key]) if key in site.encodings else body
    if not file.is_file():  # kept, so that the server says the same of its time whenever an experiment goes on
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, body)
    return replace(site, files={**site.files, key: file}, page=_with_size(site.page, site.entry, len(body)))


def _with_size(page: Page, path: str, body_bytes: int) -> Page:
    """The page whose document at this path has another size; what it names is found in it still."""
    document = page.by_path().get((0, path))
    if document is None:
        return page
    resources = []
    for item in page.resources:
        if item is document:
            item = item.model_copy(update={"body_bytes": body_bytes})
        elif item.found_by == document.id and item.found_when == "bytes":
            item = item.model_copy(update={"found_at_bytes": min(item.found_at_bytes, body_bytes)})
        resources.append(item)
    return with_resources(page, resources)
