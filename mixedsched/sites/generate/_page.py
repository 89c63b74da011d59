"""A whole page from a size class and a seed, and its page file."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mixedsched.errors import UsageError, nearest_hint
from mixedsched.model.page import PAGE_FORMAT, Page, derive_incremental
from mixedsched.sites.generate._amounts import POINTS, PagePart, Totals, draw_parts
from mixedsched.sites.generate._distributions import SizeClass, distributions, from_quantiles
from mixedsched.sites.generate._finding import (
    PartDiscovery,
    find_parts,
    with_room_for_markup,
    with_visible_files,
    with_visible_images,
)
from mixedsched.sites.site.wire import suffix_of_mime

_PARSING_MS = 100  # of a document, in the guess that puts requests in order


def generate_page(size_class: str, seed: int, *, totals: Totals | None = None, name: str = "") -> Page:
    """A random page that is made like real ones; the same for the same arguments.

    size_class: of the distributions, such as "small". totals: what it is to consist of, to the byte, instead of what the class
    says; its mix of priorities, content types and discovery is drawn all the same. name: by default class and seed.
    Raises UsageError for an unknown class, ValueError for totals that leave less than a byte for a body.
    """
    facts = distributions()
    if size_class not in facts.classes:
        raise UsageError(f"there is no size class '{size_class}'", fix=nearest_hint(size_class, facts.classes))
    rng = random.Random(f"{size_class} {seed}")
    parts = draw_parts(facts, facts.classes[size_class], totals, rng)
    found = with_visible_images(parts, find_parts(parts, facts, rng))
    parts = with_visible_files(parts, found, from_quantiles(facts.hero_rank_pct, POINTS, rng) / 100)
    found = with_room_for_markup(parts, found)
    order = _request_order(found)
    hosts = _hosts(order, facts.classes[size_class], totals, rng)
    paths = _paths(parts, order)
    resources = [_entry(parts, found[index], paths, index, hosts[index]) for index in order]
    page = {"format": PAGE_FORMAT, "name": name or f"{size_class}-{seed}", "resources": resources}
    return Page.from_dict(page, "the generated page")


def _request_order(found: Sequence[PartDiscovery]) -> list[int]:
    """Indices as requests would leave with a fast network; the finder of a part comes before it."""
    asked_ms: dict[int, float] = {}

    def ask(index: int) -> float:
        if index not in asked_ms:
            item = found[index]
            if item.parent is None:
                asked_ms[index] = 0.0
            elif item.when == "bytes":
                asked_ms[index] = ask(item.parent) + _PARSING_MS * (1 + item.at_share)
            else:
                asked_ms[index] = ask(item.parent) + 2 * _PARSING_MS + item.delay_ms
        return asked_ms[index]

    return sorted(range(len(found)), key=lambda index: (ask(index), index))


def _hosts(order: Sequence[int], size_class: SizeClass, totals: Totals | None, rng: random.Random) -> list[int]:
    """Host of each part: the page's own for a drawn share of them, few others for most of the rest. Numbered as they occur."""
    count = round(from_quantiles(size_class.hosts, POINTS, rng))
    if totals is not None and totals.hosts is not None:
        count = totals.hosts
    own_share = from_quantiles(size_class.own_host_pct, POINTS, rng) / 100
    others = range(1, count)
    weights = [1 / number for number in others]  # as in Zipf's law
    hosts, numbers = [0] * len(order), {0: 0}
    for index in order[1:]:
        if others and rng.uniform(0, 1) >= own_share:
            host = rng.choices(others, weights)[0]
            hosts[index] = numbers.setdefault(host, len(numbers))
    return hosts


def _paths(parts: Sequence[PagePart], order: Sequence[int]) -> list[str]:
    """`/img/7.png` and the like, counted by folder in request order; `/` for the main document."""
    paths, counts = ["/"] * len(parts), Counter[str]()
    for index in order[1:]:
        folder = distributions().kinds[parts[index].kind].folder
        counts[folder] += 1
        paths[index] = f"/{folder}/{counts[folder]}{suffix_of_mime(parts[index].mime)}"
    return paths


def _entry(
    parts: Sequence[PagePart], found: PartDiscovery, paths: Sequence[str], index: int, host: int
) -> dict[str, Any]:
    part = parts[index]
    entry: dict[str, Any] = {
        "id": paths[index].strip("/") or "html",
        "host": host,
        "path": paths[index],
        "kind": part.kind,
        "mime": part.mime,
        "body_bytes": part.body_bytes,
        "chromium_priority": part.priority,
        "incremental": derive_incremental(part.kind),
        "found_by": None,
        "found_when": "start",
        "flags": sorted(found.flags),
    }
    if found.parent is None or found.when is None:
        return entry
    entry |= {"found_by": paths[found.parent].strip("/") or "html", "found_when": found.when}
    if found.when == "bytes":
        entry["found_at_bytes"] = round(found.at_share * parts[found.parent].body_bytes)
    return {**entry, "delay_ms": found.delay_ms} if found.delay_ms else entry


def page_text(page: Page, **facts: str) -> str:
    """The page in the format mixedsched.page/1, a resource on each line. facts: further keys for people, such as source."""
    resources = [item.model_dump(mode="json", exclude_defaults=True) for item in page.resources]
    lines = [
        json.dumps(_in_full(fields, item.incremental)) for fields, item in zip(resources, page.resources, strict=True)
    ]
    head = json.dumps({"format": page.format, "name": page.name, **facts}, ensure_ascii=False)
    return head[:-1] + ', "resources": [\n ' + ",\n ".join(lines) + "\n]}\n"


def _in_full(fields: dict[str, Any], incremental: bool) -> dict[str, Any]:
    """With what is worth saying though it is the default; flags in a fixed order."""
    return {
        "id": fields["id"],
        "host": 0,
        "chromium_priority": "Low",
        "found_by": None,
        "found_when": "start",
        **fields,
        "incremental": incremental,
        "flags": sorted(fields.get("flags", ())),
    }
