"""All there is to ship, as files: `ship/` in a result folder."""

import html
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.changes.html_change import Document, TagEdit, edits_of, url_of
from mixedsched.advice.changes.own_server import KeptServer
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import HtmlLine, ServerSetting
from mixedsched.advice.tuner.ship._servers import (
    SERVERS,
    comment,
    header_list,
    in_words,
    plain,
    server_file,
    setting_file,
)
from mixedsched.advice.tuner.ship.headers import HeaderPlan
from mixedsched.model.mapping_file import dump_mapping
from mixedsched.model.page import Page
from mixedsched.sites.site.folders import make_folder

MAPPING_NAME, HEADERS_NAME, HTML_NAME, NOTHING_NAME = "mapping.toml", "headers.txt", "html.md", "nothing.txt"
_FILE_OF = {"h2o": "h2o.conf", "litespeed": "litespeed.conf"}
_NOTHING_ACTS = "There is nothing to ship that acts on %s."
_MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|!~])")


@dataclass(frozen=True, slots=True)
class Shipment:
    """A tuned order with all that its files need."""

    page: Page
    candidate: Candidate  # for our own server
    plan: HeaderPlan  # response headers for any other
    html: tuple[HtmlLine, ...] = ()  # for the document
    hosts: tuple[str, ...] = ()  # names of the page's hosts, as far as they are known
    document: Document | None = None  # the page's own, where there is one
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """For the mapping's file, as plain TOML values: where it was found, over what, by how much it gains."""
    server: KeptServer | None = None  # that it is all for; None for any
    setting: ServerSetting | None = None  # of its configuration


def ship_files(shipment: Shipment) -> dict[str, str]:
    """Texts by file name, in the order in which people should look at them; at least one."""
    plan, rules = shipment.plan, shipment.plan.rules
    if shipment.server is not None:
        return _own_files(shipment, shipment.server) or {
            NOTHING_NAME: f"{_NOTHING_ACTS % plain(shipment.server.title)}\n"
        }
    files: dict[str, str] = {}
    if rules or plan.elsewhere:
        lost = [comment(f"Not said by these headers: {text}.") for text in plan.lost]
        files[HEADERS_NAME] = "\n".join([*lost, header_list(rules, plan.elsewhere, shipment.hosts)])
    if rules:
        files |= {name: server_file(name, rules) for name in SERVERS}
    if shipment.html:
        files[HTML_NAME] = html_text(shipment)
    mapping = shipment.candidate.mapping()
    if mapping is not None:
        files[MAPPING_NAME] = dump_mapping(mapping, shipment.evidence)
    return files or {NOTHING_NAME: _nothing_text(shipment)}


def _own_files(shipment: Shipment, server: KeptServer) -> dict[str, str]:
    """Only what acts on the server that one has."""
    files: dict[str, str] = {}
    if shipment.html:
        files[HTML_NAME] = html_text(shipment)
    if shipment.plan.rules:
        name = _FILE_OF.get(server.name)
        files |= {name: server_file(name, shipment.plan.rules)} if name is not None else {}
        if server.headers == "merged":
            files[HEADERS_NAME] = header_list(shipment.plan.rules, shipment.plan.elsewhere, shipment.hosts)
    if shipment.setting is not None:
        files[f"{server.name}.conf"] = setting_file(shipment.setting, server.title)
    return files


def write_ship(folder: Path, shipment: Shipment) -> tuple[str, ...]:
    """Write the files to a folder, in the place of an earlier one, all or none; their names. Raises SiteError."""
    files = ship_files(shipment)

    def fill(fresh: Path) -> None:
        for name, text in files.items():
            (fresh / name).write_text(text, encoding="utf-8", newline="\n")

    make_folder(folder, fill, lambda: False)
    return tuple(files)


def html_text(shipment: Shipment) -> str:
    """The changes of the document for people, in Markdown."""
    parts = [f"# Changes of the document of {_escaped(shipment.page.name)}"]
    for number, line in enumerate(shipment.html, start=1):
        parts.append(f"## {number}. {_escaped(line.change.title)}")
        facts = [f"Why: {line.change.why}."]
        if line.effect_pct:
            facts.append(f"Effect of this line alone, simulated: {in_words(line.effect_pct)}.")
        if line.measured_pct:
            facts.append(f"Effect of this line alone, measured: {_measured_in_words(line)}.")
        if line.change.risk:
            facts.append(f"Mind: {line.change.risk}.")
        parts += [*map(_escaped, facts), _tags_text(line, shipment)]
    return "\n\n".join(parts) + "\n"


def _measured_in_words(line: HtmlLine) -> str:
    """As "-18.1 % (4g, interval -22.0 to -13.4)"."""
    return ", ".join(
        f"{change:+.1f} % ({name}, interval {low:+.1f} to {high:+.1f})"
        for name, (change, low, high) in line.measured_pct.items()
    )


def tags_of(change: Change, page: Page, hosts: Sequence[str], document: Document | None) -> list[TagEdit]:
    """The tags to write. Without a document, images are shown with nothing but what matters."""
    if document is not None or change.action is Action.PRELOAD:
        return edits_of(document or Document("", page, tuple(hosts)), change)
    value = "high" if change.action is Action.FETCH_FIRST else "low"
    urls = [html.escape(url_of(key, hosts)) for key in change.targets]
    return [TagEdit(f'<img src="{url}">', f'<img fetchpriority="{value}" src="{url}">') for url in urls]


def _tags_text(line: HtmlLine, shipment: Shipment) -> str:
    has = "Instead of" if shipment.document is not None else "Where the document has, with whatever other attributes,"
    shown = []
    for edit in tags_of(line.change, shipment.page, shipment.hosts, shipment.document):
        if edit.before:
            shown += [has, _fenced(edit.before), "write", _fenced(edit.after)]
        else:
            shown += ["Put into the head, before other tags that load something:", _fenced(edit.after)]
    return "\n\n".join(shown)


def _fenced(text: str) -> str:
    """A block of code that its contents cannot end. text: of a document, byte by byte as it may be."""
    with suppress(UnicodeError):  # it was text already, or is of another coding
        text = text.encode("latin-1").decode("utf-8")
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
    return f"{ticks}html\n{text}\n{ticks}"


def _escaped(text: str) -> str:
    return _MARKDOWN_SIGNS.sub(r"\\\1", plain(text))


def _nothing_text(shipment: Shipment) -> str:
    reasons = [f"- {plain(text)}" for text in shipment.plan.lost]
    own = f"Scheme '{plain(shipment.candidate.scheme)}' works with this server alone: mixedsched serve --scheme ..."
    return "\n".join(["There is nothing to ship to other servers.", *reasons, own]) + "\n"
