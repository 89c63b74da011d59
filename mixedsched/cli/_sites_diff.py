"""`sites diff`: how two recordings, sites or pages differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from mixedsched.cli._console import out
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._sites import open_described
from mixedsched.model.page import Resource
from mixedsched.report.svg import shortened
from mixedsched.sites.analysis import Described, Difference, FieldChange, ResourcePair, difference
from mixedsched.units import format_bytes, printable

_MOST_SHOWN = 30  # of each list
_LONGEST_ADDRESS = 140  # characters


def diff(
    before: Annotated[str, typer.Argument(help="A site, or a page file.", metavar="A")],
    after: Annotated[str, typer.Argument(help="Another one.", metavar="B")],
    everything: Annotated[bool, typer.Option("--all", help="Every difference, however many there are.")] = False,
    as_json: Json = False,
) -> None:
    """Tell what differs between two recordings, sites or pages: resources added, removed, changed, and their order.

    Resources are the same if host and path are; of several those whose queries have most in common.
    """
    one, other = open_described(before), open_described(after)
    found = difference(one, other)
    if as_json:
        say_json(_facts(one, other, found), indent=2)
    else:
        _print(one, other, found, None if everything else _MOST_SHOWN)


def _totals(side: Described) -> dict[str, Any]:
    items = side.page.resources
    return {"name": side.page.name, "resources": len(items), "body_bytes": sum(item.body_bytes for item in items)}


def _facts(one: Described, other: Described, found: Difference) -> dict[str, Any]:
    return {
        "a": _totals(one),
        "b": _totals(other),
        "matched": len(found.pairs),
        "unchanged": len(found.pairs) - len(found.changed),
        "order_correlation": found.order_correlation,
        "added": [_item_facts(other, item) for item in found.added],
        "removed": [_item_facts(one, item) for item in found.removed],
        "changed": [_pair_facts(one, other, pair) for pair in found.changed],
    }


def _item_facts(side: Described, item: Resource) -> dict[str, Any]:
    return {
        "id": item.id,
        "host": side.host_of(item),
        "path": item.path,
        "kind": item.kind.value,
        "body_bytes": item.body_bytes,
        "chromium_priority": item.chromium_priority.value,
    }


def _pair_facts(one: Described, other: Described, pair: ResourcePair) -> dict[str, Any]:
    return {
        "id": [pair.before.id, pair.after.id],
        "host": [one.host_of(pair.before), other.host_of(pair.after)],
        "path": [pair.before.path, pair.after.path],
        "changes": {change.what: [change.before, change.after] for change in pair.changes},
    }


def _print(one: Described, other: Described, found: Difference, most: int | None) -> None:
    for sign, side in (("a", one), ("b", other)):
        totals = _totals(side)
        words = f"{totals['resources']} resources, {format_bytes(totals['body_bytes'])}"
        out.print(Text.assemble((f"{sign}  ", "dim"), (printable(side.page.name), "bold cyan"), f"  {words}"))
    rho = found.order_correlation
    order = f"; their order correlates with {rho:.3f} (Spearman)" if rho is not None else ""
    out.print(
        f"{len(found.pairs)} in both, {len(found.pairs) - len(found.changed)} of them unchanged{order}", soft_wrap=True
    )
    _list("only in a", "-", "red", [_item_text(one, item) for item in found.removed], most)
    _list("only in b", "+", "green", [_item_text(other, item) for item in found.added], most)
    _list("changed", "~", "yellow", [_pair_text(other, pair) for pair in found.changed], most)


def _list(title: str, sign: str, style: str, lines: Sequence[str], most: int | None) -> None:
    if not lines:
        return
    out.print()
    out.print(Text(f"{title}: {len(lines)}", style="bold"))
    for line in lines[:most]:
        out.print(Text.assemble((f"{sign} ", style), printable(line)), soft_wrap=True)
    if most is not None and len(lines) > most:
        out.print(Text(f"  and {len(lines) - most} more (--all)", style="dim"))


def _item_text(side: Described, item: Resource) -> str:
    return f"{_address(side, item)}  {item.kind.value}, {format_bytes(item.body_bytes)}, {item.chromium_priority.value}"


def _pair_text(other: Described, pair: ResourcePair) -> str:
    return f"{_address(other, pair.after)}  {'; '.join(map(_change_text, pair.changes))}"


def _change_text(change: FieldChange) -> str:
    if change.what == "body_bytes":
        return f"{format_bytes(change.before)} → {format_bytes(change.after)} ({change.after - change.before:+d} bytes)"
    if change.what == "flags":
        gone = [f"-{flag}" for flag in change.before if flag not in change.after]
        return f"flags {' '.join([*gone, *(f'+{flag}' for flag in change.after if flag not in change.before)])}"
    names = {"chromium_priority": "priority"}
    return f"{names.get(change.what, change.what)} {_text(change.before)} → {_text(change.after)}"


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else shortened(str(value), _LONGEST_ADDRESS)


def _address(side: Described, item: Resource) -> str:
    return shortened(f"//{side.host_of(item)}{item.path}" if item.host else item.path, _LONGEST_ADDRESS)
