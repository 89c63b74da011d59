"""Response `priority` headers that imitate a candidate on any server that follows RFC 9218. Pure.

Header values name both parameters (`u=4, i=?0`), so that they mean the same whatever a browser signals: section 8 lets a
response override the client's signal parameter by parameter.
"""

import glob
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.tuner.candidate import PLAIN, SIGNALLED, Candidate
from mixedsched.advice.tuner.result import HeaderRule
from mixedsched.advice.tuner.ship._patterns import Wish, canonical, fits, rules_for
from mixedsched.advice.tuner.ship._translation import Translation, signals_of, translations_of
from mixedsched.core.sim.requests import signal_of
from mixedsched.model.mapping import Override
from mixedsched.model.page import Page, Resource
from mixedsched.model.priority import Priority, parse_parameters
from mixedsched.model.request import Flag, Kind
from mixedsched.model.scheme import MappingLoader

OWN_HOST = 0


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A file of another host that should have another priority."""

    id: str
    host: int  # index in the page
    path: str
    value: str


@dataclass(frozen=True, slots=True)
class HeaderPlan:
    """One way to express a candidate's order in headers."""

    rules: tuple[HeaderRule, ...]  # for the page's own host
    elsewhere: tuple[Elsewhere, ...] = ()  # what to ask of other hosts
    lost: tuple[str, ...] = ()  # what headers cannot say of the order, sentences without a stop

    def to_kept(self) -> dict[str, Any]:
        """As JSON, for a session that is continued."""
        return {
            "headers": [item.to_dict() for item in self.rules],
            "elsewhere": [asdict(item) for item in self.elsewhere],
            "lost": list(self.lost),
        }

    @classmethod
    def of_kept(cls, kept: Mapping[str, Any]) -> Self:
        """The reverse; other keys do not matter."""
        rules = (HeaderRule(**{**item, "covers": tuple(item["covers"])}) for item in kept["headers"])
        return cls(tuple(rules), tuple(Elsewhere(**item) for item in kept["elsewhere"]), tuple(kept["lost"]))


def header_value(priority: Priority) -> str:
    """The field value that leaves nothing to the client."""
    return f"u={priority.urgency}, {'i' if priority.incremental else 'i=?0'}"


def header_plans(page: Page, candidate: Candidate, load_mapping: MappingLoader) -> tuple[HeaderPlan, ...]:
    """Ways to express the candidate's order in headers, the nearest one first; at least one, perhaps without rules.

    Raises what `Candidate.configured` raises.
    """
    found = translations_of(page, candidate, load_mapping)
    if not found:
        reason = f"the order of scheme '{candidate.scheme.partition(':')[0]}' cannot be expressed as headers"
        return (HeaderPlan((), lost=(reason,)),)
    return tuple(_plan(page, item) for item in found)


def effective(rules: Sequence[HeaderRule], item: Resource) -> Priority:
    """The priority that counts for a resource: the response's parameters over what the browser signals."""
    rule = _rule_for(rules, item)
    told = parse_parameters(rule.value.encode()) if rule is not None else None
    return told.over(signal_of(item)) if told is not None else signal_of(item)


def _rule_for(rules: Sequence[HeaderRule], item: Resource) -> HeaderRule | None:
    """The rule that gives a resource its header: those of the page's own host concern no other."""
    if item.host != OWN_HOST:
        return None
    return next((rule for rule in rules if fits(rule.match, item.path)), None)


def says_all(plan: HeaderPlan, page: Page, candidate: Candidate, load_mapping: MappingLoader) -> bool:
    """Whether plain `eps` with these headers gives every response of the page the very priority that the candidate gives it."""
    if candidate.scheme != "eps" or not plan.rules:
        return False
    wanted = translations_of(page, candidate, load_mapping)[0].priorities
    return all(effective(plan.rules, item) == wanted[item.id] for item in page.resources)


def covered(rules: Sequence[HeaderRule], page: Page) -> tuple[HeaderRule, ...]:
    """The rules that apply to any resource, each with those that it applies to."""
    ids: list[list[str]] = [[] for _ in rules]
    for item in page.resources:
        if (rule := _rule_for(rules, item)) is not None:
            ids[rules.index(rule)].append(item.id)
    return tuple(replace(rule, covers=tuple(names)) for rule, names in zip(rules, ids, strict=True) if names)


def as_candidate(rules: Sequence[HeaderRule], page: Page, scheme: str = PLAIN) -> Candidate:
    """Plain `eps` with these headers, to be played: each file of the page that they make differ from its cell, by its path.

    scheme: another one that places by a table.
    """
    overrides: dict[str, Override] = {}
    for item in sorted(page.resources, key=lambda item: item.host):
        told = effective(rules, item)
        if told != SIGNALLED[item.chromium_priority, item.kind]:
            overrides.setdefault(item.path, Override(glob.escape(item.path), told))
    return Candidate(scheme, overrides=tuple(overrides.values()))


def as_changes(rules: Sequence[HeaderRule], page: Page) -> tuple[Change, ...]:
    """The same headers as changes of a site, file by file, to be served and loaded."""
    changes = []
    for rule in covered(rules, page):
        names = frozenset(rule.covers)
        keys = dict.fromkeys(item.key for item in page.resources if item.id in names)
        changes.append(Change(Action.HEADER, tuple(keys), rule.why, rule.value))
    return tuple(changes)


def _plan(page: Page, wanted: Translation) -> HeaderPlan:
    priorities, signals, by_id = wanted.priorities, signals_of(page), page.by_id()
    wishes, unclear = _wishes(page, priorities, signals)
    rules = covered([HeaderRule(item.match, item.value, (), "", {}) for item in rules_for(wishes)], page)
    elsewhere = [
        Elsewhere(item.id, item.host, item.path, header_value(priorities[item.id]))
        for item in page.resources
        if item.host != OWN_HOST and priorities[item.id] != signals[item.id]
    ]
    return HeaderPlan(
        tuple(replace(rule, why=_reason(rule, [by_id[name] for name in rule.covers], signals)) for rule in rules),
        tuple(elsewhere),
        (*wanted.lost, *unclear),
    )


def _wishes(
    page: Page, priorities: Mapping[str, Priority], signals: Mapping[str, Priority]
) -> tuple[list[Wish], tuple[str, ...]]:
    """The value that every path should get. Files that differ by their query alone and want different values get none."""
    by_path: dict[str, list[Resource]] = {}
    for item in page.resources:
        if item.host == OWN_HOST:
            by_path.setdefault(canonical(item.path), []).append(item)
    wishes, unclear = [], []
    for path, items in by_path.items():
        wanted = list(dict.fromkeys(priorities[item.id] for item in items))
        is_needed = any(signals[item.id] != priorities[item.id] for item in items)
        is_document = any(item.kind is Kind.DOCUMENT for item in items)
        if len(wanted) == 1:
            wishes.append(Wish(path, header_value(wanted[0]), is_needed, is_document))
            continue
        wishes.append(Wish(path, None, is_needed=False, is_document=is_document))
        if is_needed:
            unclear.append(f"{path} is several files that differ in their query, which path patterns cannot express")
    return wishes, tuple(unclear)


def _reason(rule: HeaderRule, items: Sequence[Resource], signals: Mapping[str, Priority]) -> str:
    """As "the largest paint: sooner than the browser asks (u=2, i)"."""
    told = parse_parameters(rule.value.encode())
    assert told is not None, "our own values are well-formed"
    asked = dict.fromkeys(signals[item.id] for item in items if told.over(signals[item.id]) != signals[item.id])
    if not asked:
        return f"{_what(items)}: as the browser asks, and not as a rule below says"
    words = [_difference(told.over(signal), signal) for signal in asked]
    plain = ", ".join(str(signal).replace(", ", " ") for signal in asked)
    return f"{_what(items)}: {' or '.join(dict.fromkeys(words))} than the browser asks ({plain})"


def _what(items: Sequence[Resource]) -> str:
    if any(Flag.HERO in item.flags for item in items) and len(items) == 1:
        return "the largest paint"
    if len(items) == 1:
        kind = items[0].kind
        return "a file" if kind is Kind.OTHER else f"an {kind}" if kind in {Kind.IMAGE, Kind.XHR} else f"a {kind}"
    kinds = dict.fromkeys(
        f"{item.kind}s" if item.kind not in {Kind.OTHER, Kind.MEDIA, Kind.XHR} else "files" for item in items
    )
    return f"{len(items)} {' and '.join(kinds)}"


def _difference(told: Priority, signal: Priority) -> str:
    if told.urgency != signal.urgency:
        return "sooner" if told.urgency < signal.urgency else "later"
    return "more evenly" if told.incremental else "more in one piece"
