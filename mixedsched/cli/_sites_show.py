"""`sites show`: a page's structure as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.columns import Columns
from rich.padding import Padding
from rich.text import Text

from mixedsched.cli._console import out, say_written
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._sites import open_described
from mixedsched.errors import UsageError
from mixedsched.model.page import Resource
from mixedsched.report.sites import structure_table, sums_table, write_site
from mixedsched.report.sites.structure import Node, Structure, Sum, is_above_fold, largest, priority_sums, sums
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.analysis.difference import Described
from mixedsched.units import counted, format_bytes, printable

_SHOWN_CHILDREN = 12
_WIDTH = 140  # where there is no terminal, in characters
_KEY = "▲ above the fold, ★ its hero (the LCP element); found: at which point of its parent; i: incremental"


def show(
    site: Annotated[str, typer.Argument(help="A site, or a page file.", metavar="SITE|PAGE.json")],
    everything: Annotated[
        bool, typer.Option("--all", help="Show every resource, however many one document has.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Also draw it into an HTML file.", metavar="FILE")] = None,
    as_json: Json = False,
) -> None:
    """Show what a page is made of: who discovers what, sizes, kinds, priorities, what is above the fold."""
    if html is not None and html.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"no picture can be written as '{html.suffix}'", fix="its name must end in .html")
    described = open_described(site)
    if as_json:
        say_json(facts(described), indent=2)
    else:
        _print(described, None if everything else _SHOWN_CHILDREN)
    if html is not None:
        from mixedsched.lab.results import writing_to  # here, because it takes databases, of which others have no use

        with writing_to(html):
            write_site(described, html)
        say_written("picture", html)


def _print(described: Described, most: int | None) -> None:
    page = described.page
    total_bytes = sum(item.body_bytes for item in page.resources)
    hosts = len({described.host_of(item) for item in page.resources})
    facts = f"{counted(len(page.resources), 'resource')}, {format_bytes(total_bytes)}, {counted(hosts, 'host')}"
    out.print(Text.assemble((printable(page.name), "bold cyan"), f"  {facts}"))
    for label, text in _lines(described).items():
        out.print(Padding(Text.assemble((f"{label}: ", "dim"), printable(text)), (0, 0, 0, 4)))
    out.print()
    width = out.width if out.is_terminal else _WIDTH
    out.print(
        structure_table(described, Structure(page).rows(most), width), crop=False, no_wrap=True, overflow="ignore"
    )
    out.print(Text(_KEY, style="dim"))
    out.print()
    tables = [sums_table("kinds", kind_sums(page.resources))]
    if hosts > 1:
        by_host = sums((described.host_of(item), item) for item in page.resources)
        tables.append(sums_table("hosts", largest(by_host, most or len(by_host))))
    tables.append(sums_table("priorities", priority_sums(page.resources)))
    tables.append(sums_table("screen", _screen_sums(page.resources)))
    out.print(Columns(tables, padding=(0, 4)))


def _lines(described: Described) -> dict[str, str]:
    lines = {label: described.facts[label] for label in ("title", "licence", "source") if label in described.facts}
    return lines if described.site is None else {**lines, "connections": str(expected_connections(described.site))}


def kind_sums(items: Sequence[Resource]) -> list[Sum]:
    return sums((item.kind.value, item) for item in items)


def _screen_sums(items: Sequence[Resource]) -> list[Sum]:
    found = sums(("above the fold" if is_above_fold(item) else "all others", item) for item in items)
    return sorted(found, key=lambda item: item.name)


def facts(described: Described) -> dict[str, Any]:
    """The JSON of `sites show`."""
    page, site = described.page, described.site
    totals = {
        "resources": len(page.resources),
        "body_bytes": sum(item.body_bytes for item in page.resources),
        "kinds": _by_name(kind_sums(page.resources)),
        "hosts": _by_name(sums((described.host_of(item), item) for item in page.resources)),
        "priorities": _by_name(priority_sums(page.resources)),
        "above_fold": _by_name(_screen_sums(page.resources)).get("above the fold", {"resources": 0, "body_bytes": 0}),
    }
    return {
        "name": page.name,
        "description": "",
        "source": "",
        **described.facts,
        "hosts": list(described.hosts),
        "connections": expected_connections(site).count if site is not None else None,
        "replay": site.replay if site is not None else None,
        "totals": totals,
        "resources": [_resource_facts(described, node) for node in Structure(page).nodes()],
    }


def _by_name(found: Sequence[Sum]) -> dict[str, dict[str, int]]:
    return {item.name: {"resources": item.resources, "body_bytes": item.body_bytes} for item in found}


def _resource_facts(described: Described, node: Node) -> dict[str, Any]:
    """A resource as its page file has it, with its place in the tree, and what only sites know."""
    item, site = node.item, described.site
    own, key = item.model_dump(mode="json"), item.key
    served: dict[str, Any] = {}
    if site is not None:
        served = {"encoding": site.encodings.get(key), "status": site.status(key)}
    return {
        **own,
        "flags": sorted(own["flags"]),
        "host_name": described.host_of(item),
        "urgency": item.chromium_priority.rank,
        "above_fold": is_above_fold(item),
        "depth": node.depth,
        "children": list(node.children),
        **served,
    }
