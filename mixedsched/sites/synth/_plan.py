"""Who asks for each resource of a page, by what way, and in which turn. Pure: nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.synth._boxes import Box, boxes_of
from mixedsched.sites.synth._order import parsed_in_order
from mixedsched.sites.synth._ways import (
    WEB_APP_MANIFEST,
    Way,
    call_way_of,
    needs_image_before,
    way_of,
)

Carrier = Literal["navigation", "tag", "call", "style"]

Address = Callable[[Resource, int], str]
"""The URL of a resource, as one writes it on a host."""

WORK_LIMIT_MS = 50.0  # what is longer would be a long task
_FONT_RULE_BYTES = 80  # without the address
_IMAGE_RULE_BYTES = 30
_MEDIUM_IMAGES = 5  # that many images of a document are hurried by the preload scanner


@dataclass(slots=True)
class Planned:
    """A resource and how it is asked for.

    carrier: a tag of its document, a call of the runtime, or a rule of a style sheet. realm: id of the document in which it is
    asked for; its own parent's realm for a document. ticket: its turn among the calls of its realm. at_ms: when it would be
    asked for if the network took no time. needs_image: whether the preload scanner must be shown an image before its tag.
    """

    item: Resource
    carrier: Carrier
    realm: str
    way: Way | None = None
    ticket: int = 0
    at_ms: float = 0.0
    wait_ms: float = 0.0
    box: Box | None = None
    is_gated: bool = False
    needs_image: bool = False

    @property
    def priority(self) -> ChromiumPriority:
        return self.way.priority if self.way is not None else ChromiumPriority.VERY_HIGH


@dataclass(slots=True)
class Realm:
    """A document that holds tags and runs scripts. tags: in order, those of the head first. calls: by ticket."""

    document: Resource
    tags: list[Planned] = field(default_factory=list)
    calls: list[Planned] = field(default_factory=list)
    styled: list[Planned] = field(default_factory=list)
    head_count: int = 0


@dataclass(frozen=True)
class Plan:
    """All of a page. work_ms: main-thread work of scripts, by id."""

    planned: Mapping[str, Planned]
    realms: Mapping[str, Realm]
    work_ms: Mapping[str, float]

    @cached_property
    def children(self) -> Mapping[str, list[Planned]]:
        """Calls by the resource that they wait for."""
        found: dict[str, list[Planned]] = {}
        for realm in self.realms.values():
            for call in realm.calls:
                if not call.is_gated and call.item.found_by is not None:
                    found.setdefault(trigger_of(call.item, self.planned), []).append(call)
        return found


def trigger_of(item: Resource, planned: Mapping[str, Planned]) -> str:
    """The resource after which this one is asked for: the parent, or who asks for that, if it is found with its request."""
    parent = item.found_by
    assert parent is not None
    while item.found_when == "requested" and (above := planned[parent].item.found_by) is not None:
        item, parent = planned[parent].item, above
    return parent


def plan_page(resources: Sequence[Resource], main_id: str, address: Address) -> Plan:
    """Decide for every resource. resources: in request order; their graph is that of a page."""
    by_id = {item.id: item for item in resources}
    parents = {item.found_by for item in resources if item.found_by is not None}
    realms = {item.id: Realm(item) for item in resources if _is_realm(item, main_id, parents)}
    home = {item.id: _home(item, by_id, realms, main_id) for item in resources}
    boxes = boxes_of([item for item in resources if home[item.id] == main_id])
    planned = {
        item.id: Planned(item, _carrier(item, by_id, realms, main_id, boxes), home[item.id], box=boxes.get(item.id))
        for item in resources
    }
    _fit_styles(planned, address)
    _keep_order(resources, planned, main_id)
    for realm in realms.values():
        _place_tags(realm, [one for one in planned.values() if one.realm == realm.document.id and one.carrier == "tag"])
    _choose_calls(planned, realms)
    work_ms = _work(resources)
    _schedule(resources, planned, realms, work_ms)
    return Plan(planned, realms, work_ms)


def _is_realm(item: Resource, main_id: str, parents: set[str]) -> bool:
    """A document that runs: not one that is only prefetched, for which nothing may depend on it."""
    if item.id == main_id:
        return True
    is_html = item.kind is Kind.DOCUMENT and item.mime.startswith("text/html")
    return is_html and (item.id in parents or not _is_prefetched(item))


def _is_prefetched(item: Resource) -> bool:
    return item.chromium_priority is ChromiumPriority.VERY_LOW


def _home(item: Resource, by_id: Mapping[str, Resource], realms: Mapping[str, Realm], main_id: str) -> str:
    while item.found_by is not None:
        if item.found_by in realms:
            return item.found_by
        item = by_id[item.found_by]
    return main_id


def _carrier(
    item: Resource,
    by_id: Mapping[str, Resource],
    realms: Mapping[str, Realm],
    main_id: str,
    boxes: Mapping[str, Box],
) -> Carrier:
    if item.id == main_id:
        return "navigation"
    parent = by_id[item.found_by] if item.found_by is not None else by_id[main_id]
    if parent.id in realms:
        return "tag" if item.found_when in {"bytes", "requested", "start"} else "call"
    if parent.kind is Kind.STYLESHEET and parent.chromium_priority is not ChromiumPriority.VERY_LOW:
        is_font = item.kind is Kind.FONT and item.chromium_priority is ChromiumPriority.VERY_HIGH
        is_low = item.chromium_priority.rank >= ChromiumPriority.LOW.rank
        is_background = item.kind is Kind.IMAGE and is_low and item.id not in boxes
        if (is_font or is_background) and not item.delay_ms:
            return "style"
    return "call"


def _fit_styles(planned: Mapping[str, Planned], address: Address) -> None:
    """What a style sheet has no room for is asked for by a call after it."""
    room: dict[str, int] = {}
    for one in planned.values():
        if one.carrier != "style" or one.item.found_by is None:
            continue
        sheet = planned[one.item.found_by].item
        rule_bytes = _FONT_RULE_BYTES if one.item.kind is Kind.FONT else _IMAGE_RULE_BYTES
        left = room.get(sheet.id, sheet.body_bytes) - rule_bytes - len(address(one.item, sheet.host))
        if left < 0:
            one.carrier = "call"
        else:
            room[sheet.id] = left


def _keep_order(resources: Sequence[Resource], planned: Mapping[str, Planned], main_id: str) -> None:
    """Turn tags of the page's own document into calls in their place where the parser would come to them much too early."""
    tags = [item for item in resources if planned[item.id].carrier == "tag" and planned[item.id].realm == main_id]
    at_layout = {item.id for item in tags if _is_found_at_layout(item)}
    at_once = {item.id for item in tags} - at_layout
    kept = parsed_in_order([item.id for item in resources], at_once)
    late = at_once - kept
    for name in late | at_layout if late else ():
        one = planned[name]
        if call_way_of(one.item.kind, one.item.chromium_priority).priority is one.item.chromium_priority:
            one.carrier, one.is_gated = "call", True


def _is_found_at_layout(item: Resource) -> bool:
    return item.kind is Kind.FONT and item.chromium_priority is ChromiumPriority.VERY_HIGH


def _place_tags(realm: Realm, tags: list[Planned]) -> None:
    """Order the tags of a document, choose their ways, and say where its head ends."""
    tags = _head_first(tags)
    realm.head_count = _head_length(tags)
    is_late, is_described, hurried = False, False, 0
    for one in tags:
        item = one.item
        one.needs_image = needs_image_before(item.kind, item.chromium_priority) and not is_late
        is_late = is_late or one.needs_image
        one.way = way_of(item.kind, item.chromium_priority, is_late=is_late, flags=item.flags, mime=item.mime)
        if item.kind is Kind.OTHER and item.chromium_priority is ChromiumPriority.MEDIUM and not is_described:
            one.way, is_described = WEB_APP_MANIFEST, True
        hurries = item.kind is Kind.IMAGE and one.way.priority is ChromiumPriority.MEDIUM
        hurried += hurries
        if not one.way.tag or (hurries and hurried > _MEDIUM_IMAGES):
            one.carrier, one.is_gated = "call", True
        is_late = is_late or (item.kind is Kind.IMAGE and one.carrier == "tag")
    realm.tags = tags


def _head_first(tags: list[Planned]) -> list[Planned]:
    """Tags that only a body can hold come behind those of the head, if they are few."""
    last = max((index for index, one in enumerate(tags) if Flag.IN_HEAD in one.item.flags), default=-1)
    early = [one for one in tags[: last + 1] if not _fits_head(one)]
    if (
        len(early) * (last + 1) > len(tags) ** 2 // 30 + 20
    ):  # too many to move: what follows them is asked for in the body
        return tags
    return [one for one in tags[: last + 1] if _fits_head(one)] + early + tags[last + 1 :]


def _fits_head(one: Planned) -> bool:
    if needs_image_before(one.item.kind, one.item.chromium_priority):
        return False
    return one.item.kind in {Kind.SCRIPT, Kind.STYLESHEET} or (
        one.item.kind is Kind.FONT and one.item.chromium_priority is not ChromiumPriority.VERY_HIGH
    )


def _head_length(tags: Sequence[Planned]) -> int:
    """How many of the tags stand in the head: up to the last one flagged so, unless a body must begin before."""
    flagged = max((index for index, one in enumerate(tags) if Flag.IN_HEAD in one.item.flags), default=-1) + 1
    body = next((index for index, one in enumerate(tags) if not _fits_head(one)), len(tags))
    return min(flagged, body)


def _choose_calls(planned: Mapping[str, Planned], realms: Mapping[str, Realm]) -> None:
    described: set[str] = {one.realm for one in planned.values() if one.way is WEB_APP_MANIFEST}
    for one in planned.values():
        realm, item = realms[one.realm], one.item
        if one.carrier == "style":
            one.way = Way(item.chromium_priority if item.kind is Kind.FONT else ChromiumPriority.LOW)
            realm.styled.append(one)
        if one.carrier != "call":
            continue
        one.way = call_way_of(item.kind, item.chromium_priority, item.mime)
        if item.kind is Kind.DOCUMENT and item.id in realms:
            one.way = call_way_of(Kind.DOCUMENT, ChromiumPriority.VERY_HIGH)
        if item.kind is Kind.OTHER and item.chromium_priority is ChromiumPriority.MEDIUM and one.realm not in described:
            one.way = WEB_APP_MANIFEST
            described.add(one.realm)
        realm.calls.append(one)


def _work(resources: Sequence[Resource]) -> dict[str, float]:
    """Main-thread work of scripts: the think time that all their children have in common, if it is no long task."""
    scripts = {item.id for item in resources if item.kind is Kind.SCRIPT}
    shortest: dict[str, float] = {}
    for item in resources:
        if item.found_by in scripts and item.found_by is not None and item.found_when != "requested":
            shortest[item.found_by] = min(item.delay_ms, shortest.get(item.found_by, WORK_LIMIT_MS))
    return shortest


def _schedule(
    resources: Sequence[Resource],
    planned: Mapping[str, Planned],
    realms: Mapping[str, Realm],
    work_ms: Mapping[str, float],
) -> None:
    """Give tickets in the order of the manifest, parents before children, and say how long each may have to wait."""
    times = _Times(planned, realms, work_ms)
    turn: dict[str, tuple[int, int]] = {}
    position = {item.id: index for index, item in enumerate(resources)}

    def turn_of(item: Resource) -> tuple[int, int]:
        chain = [item]
        while chain[-1].found_by is not None and chain[-1].id not in turn:
            chain.append(planned[chain[-1].found_by].item)
        for one in reversed(chain):
            if one.id not in turn:
                parent, depth = turn.get(one.found_by or "", (-1, -1))
                turn[one.id] = max(position[one.id], parent), depth + 1
        return turn[item.id]

    for realm in realms.values():
        realm.calls.sort(key=lambda one: (*turn_of(one.item), position[one.item.id]))
        latest_ms = 0.0
        for ticket, one in enumerate(realm.calls):
            one.ticket, one.at_ms = ticket, times.of(one.item.id)
            one.wait_ms = max(0.0, latest_ms - one.at_ms)
            latest_ms = max(latest_ms, one.at_ms)


class _Times:
    """When each resource would be asked for, ms from the start, if the network took no time and work were all that does."""

    def __init__(
        self, planned: Mapping[str, Planned], realms: Mapping[str, Realm], work_ms: Mapping[str, float]
    ) -> None:
        self._planned = planned
        self._work_ms = work_ms
        self._known: dict[str, float] = {}
        self._parsed_ms: dict[str, float] = {}
        self._run_ms: dict[str, float] = {}
        for realm in realms.values():
            passed_ms = 0.0
            for one in realm.tags:
                passed_ms += work_ms.get(one.item.id, 0.0)
                self._run_ms[one.item.id] = passed_ms
            self._parsed_ms[realm.document.id] = passed_ms

    def of(self, name: str) -> float:
        chain = [name]
        while chain[-1] not in self._known:
            parent = self._planned[chain[-1]].item.found_by
            if parent is None:
                self._known[chain[-1]] = 0.0
                break
            chain.append(parent)
        for one in reversed(chain):
            if one not in self._known:
                self._known[one] = self._after_parent(one)
        return self._known[name]

    def _after_parent(self, name: str) -> float:
        one = self._planned[name]
        assert one.item.found_by is not None
        start_ms = self._known[one.item.found_by]
        if one.carrier == "tag" or one.is_gated:
            return start_ms
        return (
            start_ms
            + self._run_ms.get(one.item.found_by, self._parsed_ms.get(one.item.found_by, 0.0))
            + one.item.delay_ms
        )
