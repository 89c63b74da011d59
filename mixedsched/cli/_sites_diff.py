"""`sites diff`: how two recordings, sites or pages differ."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from mixedsched.cli._console import out
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._sites import open_described
from mixedsched.model.page import Resource
from mixedsched.report.svg import shortened
from mixedsched.sites.analysis.difference import Described, Difference, FieldChange, ResourcePair, difference
from mixedsched.units import counted, format_bytes, printable

_MOST_SHOWN = 30  # of each list
_LONGEST_ADDRESS = 140  # characters


def diff(
    before: Annotated[str, typer.Argument(help="A site, or a page file.", metavar="A")],
    after: Annotated[str, typer.Argument(help="Another one.", metavar="B")],
    everything: Annotated[bool, typer.Option("--all", help="Show every difference, however many there are.")] = False,
    as_json: Json = False,
) -> None:
    """Show what differs between two recordings, sites or pages: resources added, removed, changed, and their order.

    Resources are matched by host and path, and among several by the most similar query.
    """
    found = difference(open_described(before), open_described(after))
    if as_json:
        say_json(found.to_dict(), indent=2)
    else:
        _print(found, None if everything else _MOST_SHOWN)


def _print(found: Difference, most: int | None) -> None:
    for sign, side in (("a", found.before), ("b", found.after)):
        totals = side.totals()
        words = f"{counted(totals['resources'], 'resource')}, {format_bytes(totals['body_bytes'])}"
        out.print(Text.assemble((f"{sign}  ", "dim"), (printable(side.page.name), "bold cyan"), f"  {words}"))
    rho = found.order_correlation
    order = f"; their order correlates with {rho:.3f} (Spearman)" if rho is not None else ""
    out.print(
        f"{len(found.pairs)} in both, {len(found.pairs) - len(found.changed)} of them unchanged{order}", soft_wrap=True
    )
    _list("only in a", "-", "red", [_item_text(found.before, item) for item in found.removed], most)
    _list("only in b", "+", "green", [_item_text(found.after, item) for item in found.added], most)
    _list("changed", "~", "yellow", [_pair_text(found.after, pair) for pair in found.changed], most)


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
