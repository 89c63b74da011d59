"""What of a site a server can replay: what is refused, what is told, and what all arms then leave out alike.

A page must be the same under all arms. So where a server cannot send encoded files, or answers that take time, no arm does;
what would make the page another one under that server alone is refused; what changes it little is told.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from mixedsched.errors import MixedschedError, SiteError
from mixedsched.model.codings import UndecodableError, decode
from mixedsched.model.request import Kind
from mixedsched.units import counted, few
from mixedsched.world.server.site import ServedSite, SiteEntry
from mixedsched.world.servers._tree import ending, file_path
from mixedsched.world.servers.answers import GET, Answer, answers_of
from mixedsched.world.servers.kind import Abilities, ServerKind

_NOT_THERE = frozenset({404, 410})
_NAME_BYTES_MOST = 255
# Which a page may not use from another host unless that allows it.
_ASK_OTHER_HOSTS = frozenset({Kind.FONT, Kind.XHR})
# Of these Chromium goes by the bytes, not the type.
_TYPE_IS_SEEN = frozenset({Kind.IMAGE, Kind.FONT, Kind.MEDIA, Kind.OTHER, Kind.SCRIPT})
_EXAMPLES = 3
_PRIORITY_QUERY = re.compile(r"[?&](?:u=[0-7]|i=[01])(?=&|$)")

_Change = Callable[[SiteEntry], SiteEntry]
_Key = Callable[[Answer], Hashable]


@dataclass(frozen=True, slots=True)
class Fit:
    """How a site fits a server. Sentences without the server's name."""

    refused: tuple[str, ...] = ()  # why it cannot be replayed
    told: tuple[str, ...] = ()  # what is different there
    fix: str = ""

    def raise_if_refused(self, server: str, site: str) -> None:
        """Raises SiteError."""
        if self.refused:
            raise SiteError(
                f"{server} cannot serve {site}", why="; ".join(self.refused), fix=self.fix or "leave this arm out"
            )


def fit_site(kind: ServerKind, site: ServedSite) -> Fit:
    """How a site, already `levelled`, fits a server."""
    able, answers = kind.abilities, answers_of(site)
    refused, told = [], []
    if not able.methods and (others := [item for item in answers if item.method != GET]):
        told.append(f"{counted(len(others), 'answer')} to other methods than GET {_are(others)} not given")
    gets = [item for item in answers if item.method == GET]
    if not able.statuses and (odd := [item for item in gets if item.status not in {200, *_NOT_THERE}]):
        refused.append(f"it gives no other status than 200, as {_named(odd)} {_need(odd)}")
    served = [item for item in gets if item.status not in _NOT_THERE]
    if not able.fields:
        if len(site.hosts) > 1 and (barred := [item for item in served if _is_barred(item, site)]):
            refused.append(f"it cannot allow other hosts to read {_named(barred)}")
        if own := [item for item in served if item.has_own_fields]:
            told.append(f"{counted(len(own), 'answer')} {_are(own)} without header fields that the site sets")
    refused += _clashes(served, able)
    if not able.types:
        refused += _wrong_types(served)
    if able.heeds_queries and (placed := [item for item in served if _PRIORITY_QUERY.search(item.target)]):
        told.append(
            f"it takes u= and i= in the {'query' if len(placed) == 1 else 'queries'} of {_named(placed)} for priorities"
        )
    if not able.says_types:
        told.append("no answer has a media type, without which browsers show no SVG image and run no module")
    fix = "try --origins merge, which makes one host of them; else leave this arm out" if len(site.hosts) > 1 else ""
    return Fit(tuple(refused), tuple(told), fix)


def levelled(site: ServedSite, abilities: Sequence[Abilities], folder: Path) -> tuple[ServedSite, tuple[str, ...]]:
    """The site without what some of the servers cannot do and all arms must then do without, and sentences about that.

    folder: for files that had to be decoded. Raises MixedschedError for one that cannot be.
    """
    words = []
    entries = [entry for of_host in site.entries.values() for entry in of_host.values()]
    entries += [item.entry for item in site.recorded or ()]
    if not all(able.codings for able in abilities) and (coded := sum(entry.encoding is not None for entry in entries)):
        site = _changed(site, _Decoder(folder).decoded)
        words.append(f"under all arms {coded} {'file is' if coded == 1 else 'files are'} sent without content coding")
    if not all(able.delays for able in abilities) and (slow := sum(entry.delay_ms > 0 for entry in entries)):
        site = _changed(site, _at_once)
        words.append(
            f"under all arms {slow} {'answer comes' if slow == 1 else 'answers come'} without the site's delay"
        )
    return site, tuple(words)


def _changed(site: ServedSite, change: _Change) -> ServedSite:
    entries = {host: {path: change(entry) for path, entry in of_host.items()} for host, of_host in site.entries.items()}
    recorded = None
    if site.recorded is not None:
        recorded = [replace(item, entry=change(item.entry)) for item in site.recorded]
    return replace(site, entries=entries, recorded=recorded)


def _at_once(entry: SiteEntry) -> SiteEntry:
    return replace(entry, delay_ms=0.0)


class _Decoder:
    """Decodes files into a folder, each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def decoded(self, entry: SiteEntry) -> SiteEntry:
        if entry.encoding is None or entry.file is None:
            return entry
        try:
            about = entry.file.stat()
            # An edited file is another one.
            facts = f"{entry.encoding} {entry.file} {about.st_mtime_ns} {about.st_size}"
            made = self._folder.resolve() / hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()[:24]
            if not made.exists():
                self._folder.mkdir(parents=True, exist_ok=True)
                data = decode(entry.file.read_bytes(), entry.encoding)
                made.with_suffix(".new").write_bytes(data)
                made.with_suffix(".new").replace(made)
                os.utime(made, ns=(about.st_atime_ns, about.st_mtime_ns))
        except (OSError, UndecodableError, ValueError) as error:
            raise MixedschedError(f"{entry.file} cannot be decoded", why=str(error)) from error
        headers = tuple(item for item in entry.headers if item[0].lower() != b"content-encoding")
        return replace(entry, file=made, encoding=None, headers=headers)


def _is_barred(item: Answer, site: ServedSite) -> bool:
    return item.host != site.hosts[0] and item.kind in _ASK_OTHER_HOSTS


def _clashes(answers: Sequence[Answer], able: Abilities) -> list[str]:
    """Answers that differ by what the server does not tell apart, and paths that there cannot be in a folder."""
    found: list[str] = []
    if not able.hosts:
        if alike := _several(answers, lambda item: item.path):
            hosts = {item.host for item in alike}
            by = "hosts or queries" if len(hosts) > 1 else "queries"
            found.append(f"it has one answer for a path, and {_named(alike)} differ by their {by}")
        folders = {parent for item in answers for parent in _parents(file_path(item))}
        if both := [item for item in answers if file_path(item) in folders]:
            found.append(f"it serves a folder, in which {_named(both)} cannot be a file and a folder")
        if odd := [item for item in answers if not _can_be_file(file_path(item))]:
            found.append(f"it serves a folder, in which {_named(odd)} cannot be")
    elif not able.queries:
        if alike := _several(answers, lambda item: (item.host, unquote(item.path))):
            by = "queries" if len({item.path for item in alike}) == 1 else "queries or spellings"
            found.append(f"it has one answer for a path, and {_named(alike)} differ by their {by}")
        if odd := [item for item in answers if _is_no_text(item.path)]:
            found.append(f"it compares paths as text, which {_named(odd)} {_are(odd)} not")
    elif able.target_most is not None and (long := _too_long(answers, able.target_most)):
        found.append(
            f"it tells addresses apart by {able.target_most} characters, and {_named(long)} {_need(long)} more"
        )
    return found


def _too_long(answers: Sequence[Answer], most: int) -> list[Answer]:
    """Those that others of the same path differ from beyond that."""
    alike = _several(answers, lambda item: (item.host, item.path))
    return [item for item in alike if len(item.host + item.target) > most]


def _is_no_text(path: str) -> bool:
    text = unquote(path, errors="surrogateescape")
    return "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text)


def _several(answers: Sequence[Answer], key: _Key) -> list[Answer]:
    """Answers that have a key in common but not their file."""
    files: dict[Hashable, set[tuple[Path | None, str]]] = {}
    for item in answers:
        files.setdefault(key(item), set()).add((item.file, item.mime))
    return [item for item in answers if len(files[key(item)]) > 1]


def _wrong_types(answers: Sequence[Answer]) -> list[str]:
    """Of what a browser uses only with the right type."""
    strict = [item for item in answers if item.kind not in _TYPE_IS_SEEN]
    without = [item for item in strict if not ending(file_path(item))]
    counts: dict[str, Counter[str]] = {}
    for item in answers:
        counts.setdefault(ending(file_path(item)), Counter())[item.mime.partition(";")[0]] += 1
    mixed = [item for item in strict if len(counts[ending(file_path(item))]) > 1 and item not in without]
    found = []
    if without:
        found.append(
            f"it knows types by the ending of a name, which {_named(without)} {'has' if len(without) == 1 else 'have'} not"
        )
    if mixed:
        found.append(
            f"it knows types by the ending of a name, and {_named(mixed)} {'has' if len(mixed) == 1 else 'have'} others"
        )
    return found


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _can_be_file(path: str) -> bool:
    parts = path.split("/")
    return all(part not in {"", ".", ".."} and len(part.encode()) <= _NAME_BYTES_MOST for part in parts)


def _named(answers: Sequence[Answer]) -> str:
    return few([f"https://{item.host}{item.target[:80]}" for item in answers], _EXAMPLES)


def _are(answers: Sequence[Answer]) -> str:
    return "is" if len(answers) == 1 else "are"


def _need(answers: Sequence[Answer]) -> str:
    return "needs" if len(answers) == 1 else "need"
