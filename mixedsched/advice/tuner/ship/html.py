"""Changes of the document itself: preloads and `fetchpriority`, from a measured look or from the page alone. Pure."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mixedsched.advice.changes.candidates import candidates_of
from mixedsched.advice.changes.change import Action, Change, Key, name_of
from mixedsched.advice.changes.findings import LateResource
from mixedsched.advice.changes.html_change import Document, TagEdit, edits_of, preload_tags, url_of
from mixedsched.advice.changes.look import Look
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind

ACTIONS = (Action.PRELOAD, Action.FETCH_FIRST, Action.FETCH_LAST)
FONTS_MOST = 2  # more preloads compete with what blocks the first paint


def changes_from_looks(
    looks: Sequence[Look], findings: Sequence[LateResource], document: Document
) -> tuple[Change, ...]:
    """Changes worth a try: those of an audit that consist of these attributes."""
    return tuple(item for item in candidates_of(looks, findings, document) if item.action in ACTIONS)


def changes_from_page(page: Page, document: Document | None = None) -> tuple[Change, ...]:
    """Changes worth a try, by the page's manifest. document: where given, only those that can really be made in it."""
    changes = (*_hero(page), *_styles(page), *_fonts(page), *_unseen(page))
    if document is None:
        return changes
    return tuple(filter(None, (_fitted(change, document) for change in changes)))


@dataclass(frozen=True, slots=True)
class Tags:
    """A change as edits of tags."""

    edits: tuple[TagEdit, ...]  # `before` is "" for a tag that is put into the head
    is_real: bool  # read from the document; else as such a tag would look


def tags_of(change: Change, page: Page, hosts: Sequence[str], document: Document | None) -> Tags:
    """The tags to write. Without a document, images are shown with nothing but what matters."""
    if document is not None:
        return Tags(tuple(edits_of(document, change)), is_real=True)
    if change.action is Action.PRELOAD:
        tags = preload_tags(Document("", page, tuple(hosts)), change)
        return Tags(tuple(TagEdit("", tag) for tag in tags), is_real=False)
    value = "high" if change.action is Action.FETCH_FIRST else "low"
    urls = [html.escape(url_of(key, hosts)) for key in change.targets]
    edits = [TagEdit(f'<img src="{url}">', f'<img fetchpriority="{value}" src="{url}">') for url in urls]
    return Tags(tuple(edits), is_real=False)


def _fitted(change: Change, document: Document) -> Change | None:
    if not document.can_be_changed:
        return None
    keys = tuple(
        key
        for key in change.targets
        if any(edit.before != edit.after for edit in edits_of(document, replace(change, targets=(key,))))
    )
    return replace(change, targets=keys) if keys else None


def _hero(page: Page) -> Iterable[Change]:
    heroes = [item for item in page.resources if Flag.HERO in item.flags and item.kind is Kind.IMAGE]
    for item in heroes[:1]:
        what = f"{name_of(_key(item))} is the largest paint"
        if item.chromium_priority.rank > ChromiumPriority.HIGH.rank:
            why = f"{what}, and browsers do not know that before layout"
            yield Change(Action.FETCH_FIRST, (_key(item),), why)
        if item.found_by not in {None, page.main.id} and Flag.PRELOAD not in item.flags:
            finder = name_of(_key(page.by_id()[str(item.found_by)]))
            yield Change(Action.PRELOAD, (_key(item),), f"{what}, and it is asked for only when {finder} is there")


def _styles(page: Page) -> Iterable[Change]:
    """Files that block the first paint and are known only when a style sheet is there."""
    by_id, blocking = page.by_id(), PaintNeeds.of(page).blocking
    late = [by_id[name] for name in blocking if by_id[name].found_by not in {None, page.main.id}]
    keys = tuple(_key(item) for item in late if Flag.PRELOAD not in item.flags)
    if keys:
        yield Change(Action.PRELOAD, keys, "nothing is painted before, and a style sheet must come before it is known")


def _fonts(page: Page) -> Iterable[Change]:
    fonts = [item for item in page.resources if item.kind is Kind.FONT and Flag.PRELOAD not in item.flags]
    late = [_key(item) for item in fonts if item.found_by not in {None, page.main.id}]
    if late:
        why = "text waits for fonts, which are asked for only when styles are there and the page is laid out"
        yield Change(Action.PRELOAD, tuple(late[:FONTS_MOST]), why)


def _unseen(page: Page) -> Iterable[Change]:
    """Images that browsers hurry although the first screen does not show them; none where it is not known which it shows."""
    images = [item for item in page.resources if item.kind is Kind.IMAGE]
    if not any(item.flags & {Flag.HERO, Flag.ABOVE_FOLD} for item in images):
        return
    hurried = [
        _key(item)
        for item in images
        if not item.flags & {Flag.HERO, Flag.ABOVE_FOLD} and item.chromium_priority.rank < ChromiumPriority.LOW.rank
    ]
    if hurried:
        why = "browsers hurry the first images of a page, seen or not"
        yield Change(Action.FETCH_LAST, tuple(dict.fromkeys(hurried)), why)


def _key(item: Resource) -> Key:
    return item.host, item.path
