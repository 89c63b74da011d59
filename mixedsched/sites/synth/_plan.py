"""The plan of a page's files: who asks for each resource, by what way, and in which turn. Pure: nothing is written here.

resources ─> documents that run (realms) ─> a carrier for each: tag, call or style rule
          ─> tags ordered, head first; those that the parser would find much too early become calls
          ─> a way for each: the markup or call with the nearest priority
          ─> tickets: the turns of calls among those of their document
"""

from collections.abc import Mapping, Sequence

from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.synth._planned import Address, Box, Carrier, Planned, Realm, SynthesisPlan, boxes_of
from mixedsched.sites.synth._turns import give_tickets, parents_first, parsed_in_order, script_work
from mixedsched.sites.synth._ways import WEB_APP_MANIFEST, Way, call_way_of, needs_image_before, way_of

_FONT_RULE_BYTES = 80  # without the address
_IMAGE_RULE_BYTES = 30
_MEDIUM_IMAGES = 5  # that many images of a document are hurried by the preload scanner


def plan_page(resources: Sequence[Resource], main_id: str, address: Address) -> SynthesisPlan:
    """Decide for every resource. resources: in request order; their graph is that of a page."""
    by_id = {item.id: item for item in resources}
    parents = {item.found_by for item in resources if item.found_by is not None}
    realms = {item.id: Realm(item) for item in resources if _is_realm(item, main_id, parents)}
    home: dict[str, str] = {}
    for item in parents_first(resources):
        parent = item.found_by if item.found_by is not None else main_id
        home[item.id] = parent if parent in realms else home[parent]
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
    work_ms = script_work(resources)
    give_tickets(planned, realms, work_ms)
    return SynthesisPlan(planned, realms, work_ms)


def _is_realm(item: Resource, main_id: str, parents: set[str]) -> bool:
    """A document that runs: not one that is only prefetched, for which nothing may depend on it."""
    if item.id == main_id:
        return True
    is_html = item.kind is Kind.DOCUMENT and item.mime.startswith("text/html")
    is_prefetched = item.chromium_priority is ChromiumPriority.VERY_LOW
    return is_html and (item.id in parents or not is_prefetched)


def _carrier(
    item: Resource, by_id: Mapping[str, Resource], realms: Mapping[str, Realm], main_id: str, boxes: Mapping[str, Box]
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
    """Turn rules that a style sheet has no room for into calls after it."""
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
    """Turn tags of the page's own document into calls in their place where the parser would find them much too early."""
    tags = [item for item in resources if planned[item.id].carrier == "tag" and planned[item.id].realm == main_id]
    at_layout = {
        item.id for item in tags if item.kind is Kind.FONT and item.chromium_priority is ChromiumPriority.VERY_HIGH
    }
    at_once = {item.id for item in tags} - at_layout
    kept = parsed_in_order([item.id for item in resources], at_once)
    late = at_once - kept
    for name in late | at_layout if late else ():
        one = planned[name]
        if call_way_of(one.item.kind, one.item.chromium_priority).priority is one.item.chromium_priority:
            one.carrier, one.is_gated = "call", True


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
    """The number of tags in the head: up to the last one flagged so, unless a body must begin before."""
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
