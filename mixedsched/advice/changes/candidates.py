"""Changes worth a try, each by a rule that says why: from what is found on the networks, or from the page alone. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mixedsched.advice.changes.change import Action, Change, Key, name_of
from mixedsched.advice.changes.findings import HEAVY_BLOCKING_BYTES, LateResource, Reason
from mixedsched.advice.changes.html_change import Document, edits_of
from mixedsched.advice.changes.look import Look, PaintRole, SeenResource
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.model.page import Page
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.units import format_bytes

FONTS_MOST = 2  # more preloads compete with what blocks the first paint
SCRIPTS_MOST = 3
TAG_ACTIONS = (Action.PRELOAD, Action.FETCH_FIRST, Action.FETCH_LAST)  # those that only move requests
HERO_PRIORITY, UNSEEN_PRIORITY, LATE_SCRIPT_PRIORITY = "u=1, i=?0", "u=5, i", "u=4"
_WHY_FONTS = "text waits for fonts, which are requested only once the styles have arrived and the page is laid out"
_WHY_LAST = "browsers give the first images of a page a high priority, visible or not"


def candidates_of(looks: Sequence[Look], findings: Sequence[LateResource], document: Document) -> list[Change]:
    """Single changes in the order of the rules, none twice. looks: of the networks; the first says what is on the screen.

    Changes of tags that the document does not have (scripts may have made them), or that change nothing, are left out.
    """
    if not looks:
        return []
    look = looks[0]
    rules = (
        _hero(look, findings),
        _fonts(look, findings),
        _unseen_images(look),
        _blocking_scripts(look),
        _late_scripts(look),
    )
    found: dict[str, Change] = {}
    for change in _fitted((item for rule in rules for item in rule), document):
        found.setdefault(change.code, change)
    return list(found.values())


def _fitted(changes: Iterable[Change], document: Document) -> Iterator[Change]:
    """The changes, with those targets that they can really be made to."""
    for change in changes:
        if not change.is_html:
            yield change
        elif document.can_be_changed:
            targets = tuple(
                key for key in change.targets if _edits_something(replace(change, targets=(key,)), document)
            )
            if targets:
                yield replace(change, targets=targets)


def _edits_something(change: Change, document: Document) -> bool:
    if change.action is Action.PRELOAD and any(map(document.offers_choice, change.targets)):
        return False  # other screens would load it beside the file that they show
    return any(edit.before != edit.after for edit in edits_of(document, change))


def _hero(look: Look, findings: Sequence[LateResource]) -> list[Change]:
    hero = next((item for item in look.seen if item.role is PaintRole.HERO), None)
    if hero is None:
        return []
    mine = {item.reason: item for item in findings if item.key == hero.key}
    changes = []
    what = f"{name_of(hero.key)} is the largest paint"
    if Flag.LAZY in hero.resource.flags:
        changes.append(Change(Action.EAGER, (hero.key,), f"{what}, and lazy images are fetched only after layout"))
    if hero.resource.kind is Kind.IMAGE:
        changes.append(Change(Action.FETCH_FIRST, (hero.key,), f"{what}, and browsers do not know that before layout"))
    if Reason.FOUND_LATE in mine and hero.resource.kind is Kind.IMAGE:
        finders = [name_of(key) for key in mine[Reason.FOUND_LATE].chain[1:]]
        have = "has" if len(finders) == 1 else "have"
        waits = (
            f"it is requested only once {' and '.join(finders)} {have} arrived" if finders else "it is requested late"
        )
        changes.append(Change(Action.PRELOAD, (hero.key,), f"{what}, and {waits}"))
    changes.append(Change(Action.HEADER, (hero.key,), f"{what}, and it shares the link with others", HERO_PRIORITY))
    return changes


def _fonts(look: Look, findings: Sequence[LateResource]) -> list[Change]:
    """The first fonts that text waits for."""
    late = {item.key for item in findings if item.role is PaintRole.FONT and item.reason is Reason.FOUND_LATE}
    fonts = [item.key for item in look.seen if item.key in late and Flag.PRELOAD not in item.resource.flags][
        :FONTS_MOST
    ]
    return [Change(Action.PRELOAD, tuple(fonts), _WHY_FONTS)] if fonts else []


def _unseen_images(look: Look) -> list[Change]:
    """Images that the first screen does not show."""
    images = [item for item in look.seen if item.role is PaintRole.REST and item.resource.kind is Kind.IMAGE]
    if not images:
        return []
    total = format_bytes(sum(item.response.size_bytes for item in images))
    keys = _keys(images)
    why = f"the first screen does not show them, and they take {total}"
    urgent = _keys(item for item in images if item.resource.chromium_priority.rank < ChromiumPriority.LOW.rank)
    changes = [Change(Action.LAZY, keys, why)]
    if urgent:
        changes.append(Change(Action.FETCH_LAST, urgent, _WHY_LAST))
    changes.append(Change(Action.HEADER, keys, why, UNSEEN_PRIORITY))
    return changes


def _blocking_scripts(look: Look) -> list[Change]:
    """Heavy scripts of the head, largest first, each alone and all of them."""
    scripts = [item for item in look.seen if item.role is PaintRole.BLOCKING and item.resource.kind is Kind.SCRIPT]
    heavy = sorted(
        (item for item in scripts if item.response.size_bytes >= HEAVY_BLOCKING_BYTES),
        key=lambda item: (-item.response.size_bytes, item.key),
    )[:SCRIPTS_MOST]
    changes = [
        Change(
            Action.DEFER,
            (item.key,),
            f"nothing is painted before {name_of(item.key)} ({format_bytes(item.response.size_bytes)}) has arrived and run",
        )
        for item in heavy
    ]
    if len(scripts) > 1:
        changes.append(
            Change(Action.DEFER, _keys(scripts), "nothing is painted before all of them have arrived and run")
        )
    return changes


def _late_scripts(look: Look) -> list[Change]:
    """Scripts at the end of the body, which browsers hurry more than images."""
    scripts = [item for item in look.seen if item.role is PaintRole.SCRIPT]
    if not scripts:
        return []
    why = "the first screen does not need them, and browsers fetch them before images"
    return [Change(Action.DEFER, _keys(scripts), why), Change(Action.HEADER, _keys(scripts), why, LATE_SCRIPT_PRIORITY)]


def _keys(seen: Iterable[SeenResource]) -> tuple[Key, ...]:
    return tuple(item.key for item in seen)


# From the page alone


def candidates_of_page(page: Page, document: Document | None = None) -> list[Change]:
    """Changes of tags, by the page's manifest. document: where given, only those that can really be made in it."""
    changes = (*_hero_of(page), *_styles_of(page), *_fonts_of(page), *_unseen_of(page))
    return list(changes if document is None else _fitted(changes, document))


def _hero_of(page: Page) -> Iterable[Change]:
    heroes = [item for item in page.resources if Flag.HERO in item.flags and item.kind is Kind.IMAGE]
    for item in heroes[:1]:
        what = f"{name_of(item.key)} is the largest paint"
        if item.chromium_priority.rank > ChromiumPriority.HIGH.rank:
            why = f"{what}, and browsers do not know that before layout"
            yield Change(Action.FETCH_FIRST, (item.key,), why)
        if item.found_by not in {None, page.main.id} and Flag.PRELOAD not in item.flags:
            finder = name_of(page.by_id()[str(item.found_by)].key)
            yield Change(Action.PRELOAD, (item.key,), f"{what}, and it is requested only once {finder} has arrived")


def _styles_of(page: Page) -> Iterable[Change]:
    """Files that block the first paint and are known only when a style sheet is there."""
    by_id, blocking = page.by_id(), PaintNeeds.of(page).blocking
    late = [by_id[name] for name in blocking if by_id[name].found_by not in {None, page.main.id}]
    keys = tuple(item.key for item in late if Flag.PRELOAD not in item.flags)
    if keys:
        why = "the first paint waits for this, and the browser learns of it only from a style sheet"
        yield Change(Action.PRELOAD, keys, why)


def _fonts_of(page: Page) -> Iterable[Change]:
    fonts = [item for item in page.resources if item.kind is Kind.FONT and Flag.PRELOAD not in item.flags]
    late = [item.key for item in fonts if item.found_by not in {None, page.main.id}]
    if late:
        yield Change(Action.PRELOAD, tuple(late[:FONTS_MOST]), _WHY_FONTS)


def _unseen_of(page: Page) -> Iterable[Change]:
    """Images that browsers hurry although the first screen does not show them; none where it is not known which it shows."""
    images = [item for item in page.resources if item.kind is Kind.IMAGE]
    if not any(item.flags & {Flag.HERO, Flag.ABOVE_FOLD} for item in images):
        return
    hurried = [
        item.key
        for item in images
        if not item.flags & {Flag.HERO, Flag.ABOVE_FOLD} and item.chromium_priority.rank < ChromiumPriority.LOW.rank
    ]
    if hurried:
        yield Change(Action.FETCH_LAST, tuple(dict.fromkeys(hurried)), _WHY_LAST)
