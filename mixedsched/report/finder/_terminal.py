"""What the scheme finder found, on the terminal: the answer, the matrix of winners, the regret of each scheme."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mixedsched.advice.finder.result import FinderResult
from mixedsched.report.finder import _words


def render_finding(finding: FinderResult, notes: Sequence[str] = ()) -> RenderableType:
    """For rich's Console.print. What comes from page files cannot do anything to the terminal."""
    parts: list[RenderableType] = [_line(text, "bold cyan") for text in _words.headlines(finding)]
    parts += [_line(text, "yellow") for text in (*_words.failed_words(finding), *notes)]
    return Group(*parts, Text(), _matrix(finding), _regrets(finding))


def _line(words: str, style: str = "") -> Text:
    """Text with its control characters made visible; markup means nothing in a Text."""
    return Text("".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in words), style=style)


def _matrix(finding: FinderResult) -> RenderableType:
    title = f"Best scheme for each place, by {_words.objective_words(finding.objective)}"
    table = Table(title=_line(title), title_justify="left", box=box.SIMPLE, pad_edge=False)
    table.add_column("site", overflow="fold")
    for network in finding.networks:
        table.add_column(_line(network), overflow="fold")
    for site in finding.sites:
        cells = [_words.winner_words(finding.place(site, network)) for network in finding.networks]
        table.add_row(_line(site), *(_line(cell) for cell in cells))
    return table


def _regrets(finding: FinderResult) -> RenderableType:
    networks = list(finding.by_network) if len(finding.by_network) > 1 else []
    table = Table(
        title=_line("Regret of one scheme everywhere, over the best of each place"),
        title_justify="left",
        box=box.SIMPLE,
        pad_edge=False,
    )
    failed = any(item.failed_loads for item in finding.regrets)
    table.add_column("scheme", no_wrap=True)
    for name in ("mean", "worst", *networks, "best at", "or ties", *(["failed loads"] if failed else [])):
        table.add_column(_line(name), justify="right")
    by_network = {name: {item.scheme: item for item in finding.by_network[name]} for name in networks}
    for item in finding.regrets:
        table.add_row(
            _line(item.scheme),
            _words.pct(item.mean_pct),
            _words.pct(item.worst_pct),
            *(_words.pct(by_network[name][item.scheme].mean_pct) for name in networks),
            str(item.wins),
            str(item.ties),
            *([str(item.failed_loads)] if failed else []),
        )
    if networks:
        table.caption = Text("mean and worst over all places; mean of each network; places where it is best, or ties")
        table.caption_justify = "left"
    return table
