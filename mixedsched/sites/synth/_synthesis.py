"""From a page description to a site folder: `page.json` and the files under `www/`."""

import json
import mimetypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixedsched.errors import PageError
from mixedsched.model.page import PAGE_FORMAT, Page, Resource
from mixedsched.model.request import Flag, Kind
from mixedsched.sites.analysis.connections import expected_connections, registrable
from mixedsched.sites.site import MANIFEST_NAME, ROOT_NAME, load_built, site_name_of
from mixedsched.sites.site.folders import make_folder
from mixedsched.sites.synth._behaviour import LARGEST_SHIFT, work_text
from mixedsched.sites.synth._plan import plan_page
from mixedsched.sites.synth._planned import Box, Planned, SynthesisPlan
from mixedsched.sites.synth._prepare import SynthesisDeviation, prepare
from mixedsched.sites.synth._writer import RealmWriter
from mixedsched.sites.synth.assets import asset, format_name, smallest_bytes

_STEM_CHARACTERS = 12
_SUFFIXES = {"text/javascript": ".js", "application/javascript": ".js", "application/x-javascript": ".js"}
_NEAREST = "Chromium has no way to give this kind that priority"
_GUESSED = "only so has a document this priority; browsers that are told not to guess, as the lab's are, leave it out"
_ANONYMOUS_ELSEWHERE = frozenset("fFyeE")  # ways that are fetched by scripts, or preloaded as they would
_APP_MANIFEST = "w"  # the way to ask for it
_NO_ROOM = "neither its document nor a script has the bytes to ask for it"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The site that was written."""

    target: Path
    name: str
    hosts: tuple[str, ...]
    resource_count: int
    body_bytes: int
    deviations: tuple[SynthesisDeviation, ...]  # what differs from the page by construction, in request order


def synthesise(
    page: Page,
    target: Path,
    *,
    name: str | None = None,
    hosts: Sequence[str] | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Write a site that makes Chromium do what the page says, with bodies of exactly its sizes, none of them coded.

    target: the folder; it appears whole, in the place of one that was there. name: of the site; the page's by default. hosts:
    names, the page's own first; by default NAME.test, NAME-h1.test ... facts: further keys of the manifest (title,
    description, licence, source). progress: told bytes made and bytes in all. Raises PageError if the page cannot be made,
    SiteError if the folder cannot be written.
    """
    name = site_name_of(name or page.name)
    resources, deviations = prepare(page)
    host_names = tuple(hosts) if hosts is not None else _host_names(name, resources)
    if len(host_names) <= max(item.host for item in resources):
        raise PageError(f"page '{page.name}' has more hosts than the {len(host_names)} names given")

    def address(item: Resource, host: int) -> str:
        return item.path if item.host == host else f"//{host_names[item.host]}{item.path}"

    plan = plan_page(resources, page.main.id, address)
    bodies, left_out, shifting = _texts(plan, address, host_names, name)
    never_asked = {one.item.id for one in left_out}
    deviations += _deviations_of_plan(plan, never_asked)
    deviations += _deviations_of_behaviour(resources, never_asked, shifting)
    as_files = [item for item in resources if item.id not in bodies and item.id not in never_asked]
    deviations += _deviations_of_size(as_files)
    total_bytes = sum(item.body_bytes for item in resources)

    def fill(folder: Path) -> None:
        www, made_bytes = folder / ROOT_NAME, 0
        www.mkdir()
        for seed, item in enumerate(resources):
            body = bodies[item.id].encode() if item.id in bodies else _made(item, seed, plan.planned[item.id].box)
            (www / _file_name(seed, item)).write_bytes(body)
            made_bytes += len(body)
            if progress is not None:
                progress(made_bytes, total_bytes)
        manifest = _manifest(page, name, host_names, plan, facts or {})
        _write(folder, manifest)
        connections = _connection_count(plan, page.main.id, host_names)
        if expected_connections(load_built(folder)).count != connections:
            _write(folder, {**manifest, "connections": connections})

    make_folder(target, fill, is_good=lambda: False)
    order = {item.id: index for index, item in enumerate(resources)}
    told = tuple(sorted(deviations, key=lambda one: order[one.id]))
    return Synthesis(target, name, host_names, len(resources), total_bytes, told)


def _write(folder: Path, manifest: Mapping[str, Any]) -> None:
    (folder / MANIFEST_NAME).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _manifest(
    page: Page, name: str, host_names: Sequence[str], plan: SynthesisPlan, facts: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "format": PAGE_FORMAT,
        "name": name,
        "description": "files made to behave as a page description says",
        "licence": "CC0-1.0",
        "source": page.name,
        **facts,
        "hosts": list(host_names),
        "entry": plan.planned[page.main.id].item.path,
        "resources": [_entry(one, _file_name(seed, one.item)) for seed, one in enumerate(plan.planned.values())],
    }


def _host_names(name: str, resources: Sequence[Resource]) -> tuple[str, ...]:
    count = max(item.host for item in resources) + 1
    stem = name[:_STEM_CHARACTERS].strip("-")  # short, because documents must have room for them
    return (f"{name}.test", *(f"{stem}-h{number}.test" for number in range(1, count)))


def _texts(
    plan: SynthesisPlan, address: Callable[[Resource, int], str], host_names: Sequence[str], title: str
) -> tuple[dict[str, str], list[Planned], set[str]]:
    """Bodies by id, what is left out, and the ids of what shifts the layout."""
    bodies: dict[str, str] = {}
    left_out: list[Planned] = []
    shifting: set[str] = set()
    for realm in plan.realms.values():
        texts = RealmWriter(realm, plan, address, host_names, title).write()
        bodies |= texts.bodies
        left_out += texts.left_out
        shifting |= {one.item.id for one in plan.shifting(realm)} if texts.has_shifts else set()
    return bodies, left_out, shifting


def _made(item: Resource, seed: int, box: Box | None) -> bytes:
    if box is None:
        return asset(item.kind, item.mime, item.body_bytes, seed)
    return asset(item.kind, item.mime, item.body_bytes, seed, width_px=box.width_px, height_px=box.height_px)


def _deviations_of_plan(plan: SynthesisPlan, left_out: set[str]) -> Iterator[SynthesisDeviation]:
    for name, one in plan.planned.items():
        item = one.item
        if name in left_out:
            yield SynthesisDeviation(name, "request", "asked for", "never asked for", _NO_ROOM)
        elif one.way is not None and one.way.is_guess:
            yield SynthesisDeviation(name, "request", "asked for", "asked for ahead of a navigation", _GUESSED)
        elif one.priority is not item.chromium_priority:
            yield SynthesisDeviation(name, "priority", item.chromium_priority, one.priority, _NEAREST)
        if item.kind is Kind.IMAGE and item.flags & {Flag.HERO, Flag.ABOVE_FOLD} and one.box is None:
            yield SynthesisDeviation(name, "flags", "on the first screen", "not there", "it belongs to a frame")
        incremental = item.kind not in {Kind.STYLESHEET, Kind.SCRIPT, Kind.FONT} and one.call != _APP_MANIFEST
        if item.incremental is not incremental:
            wanted, made = ("yes", "no") if item.incremental else ("no", "yes")
            yield SynthesisDeviation(name, "incremental", wanted, made, f"Chromium decides it for {item.kind}")


def _deviations_of_behaviour(
    resources: Sequence[Resource], left_out: set[str], shifting: set[str]
) -> Iterator[SynthesisDeviation]:
    total = sum(item.late_shift for item in resources if item.id in shifting)
    for item in resources:
        if item.id in left_out:
            continue
        if item.work_ms and not work_text(item):
            yield SynthesisDeviation(
                item.id, "work_ms", f"{item.work_ms:g} ms", "none", "the script has no room for it"
            )
        if item.late_shift and item.id not in shifting:
            reason = "the page's document has no room for it, or does not see it arrive"
            yield SynthesisDeviation(item.id, "late_shift", f"{item.late_shift:g}", "none", reason)
        elif item.late_shift and total > LARGEST_SHIFT:
            made = f"{item.late_shift * LARGEST_SHIFT / total:.3g}"
            reason = f"all shifts of a page together can be {LARGEST_SHIFT:g}"
            yield SynthesisDeviation(item.id, "late_shift", f"{item.late_shift:g}", made, reason)


def _deviations_of_size(items: Iterable[Resource]) -> Iterator[SynthesisDeviation]:
    """The deviations of files with too few bytes for their formats; an empty body is as the page has it."""
    for item in items:
        least_bytes = smallest_bytes(item.kind, item.mime)
        if 0 < item.body_bytes < least_bytes:
            name = format_name(item.kind, item.mime, item.body_bytes)
            reason = f"a valid one needs {least_bytes} bytes, and this has {item.body_bytes}"
            yield SynthesisDeviation(item.id, "body", f"a {name} file", "bytes that nothing can decode", reason)


def _entry(one: Planned, file: str) -> dict[str, Any]:
    entry = one.item.model_dump(mode="json", exclude_defaults=True)
    entry |= {"host": one.item.host, "file": file, "mime": one.item.mime, "body_bytes": one.item.body_bytes}
    entry |= {"chromium_priority": one.item.chromium_priority.value, "incremental": one.item.incremental}
    entry["flags"] = sorted(one.item.flags)
    credentials = _credentials(one)
    return entry if credentials is None else {**entry, "credentials": credentials}


def _credentials(one: Planned) -> bool | None:
    """Whether cookies go along, where neither kind nor documents tell."""
    match one.call:
        case "b":  # prefetched as a navigation would be
            return True
        case "e" | "E":
            return None if one.item.host == 0 else False
        case "w":  # the web app manifest
            return False
        case _:
            return None


def _file_name(number: int, item: Resource) -> str:
    """A name that owes nothing to the address, so that it is fit for any file system."""
    essence = item.mime.partition(";")[0].strip().lower()
    return f"{number:04d}{_SUFFIXES.get(essence) or mimetypes.guess_extension(essence) or '.bin'}"


def _connection_count(plan: SynthesisPlan, main_id: str, host_names: Sequence[str]) -> int:
    """The number of connections that the page takes: here every request is known, also those that scripts make in frames.

    The rules are those of `analysis/connections.py`: requests without credentials have a connection of their own, and so
    have frames of other sites.
    """
    sites = [registrable(name) for name in host_names]
    own_site = sites[plan.planned[main_id].item.host]
    sessions = set()
    for one in plan.planned.values():
        if one.way is not None and one.way.is_guess:
            continue  # browsers of the lab do not guess
        is_document = one.item.kind is Kind.DOCUMENT
        frame_host = one.item.host if is_document else plan.planned[one.realm].item.host
        sessions.add((sites[frame_host] != own_site, _is_anonymous(one, frame_host)))
    return len(sessions)


def _is_anonymous(one: Planned, frame_host: int) -> bool:
    item = one.item
    is_anonymous = item.kind is Kind.FONT or one.call in _ANONYMOUS_ELSEWHERE
    return one.call == _APP_MANIFEST or (item.host != frame_host and is_anonymous)
