"""The scheme finder's result on the terminal: the answer, the matrix of winners, the regret of each scheme."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from mixedsched.advice.finder.result import FinderResult
from mixedsched.report._terminal import line, lines, plain_table
from mixedsched.report._words import objective_text
from mixedsched.report.finder import _words


def render_finding(finding: FinderResult, notes: Sequence[str] = ()) -> RenderableType:
    """For rich's Console.print. What comes from page files cannot do anything to the terminal."""
    answer = lines(_words.headlines(finding), "bold cyan")
    alerts = lines([*_words.failed_words(finding), *notes], "yellow")
    return Group(*answer, *alerts, Text(), _matrix(finding), _regrets(finding))


def _matrix(finding: FinderResult) -> RenderableType:
    title = f"Best scheme for each place in simulation, by {objective_text(finding.objective)}"
    table = plain_table(title, "site", *finding.networks)
    for site in finding.sites:
        cells = [_words.winner_words(finding.place(site, network)) for network in finding.networks]
        table.add_row(line(site), *lines(cells))
    return table


def _regrets(finding: FinderResult) -> RenderableType:
    networks = list(finding.by_network) if len(finding.by_network) > 1 else []
    failed = any(item.failed_loads for item in finding.regrets)
    names = ["mean", "worst", *networks, "best at", "or ties", *(["failed loads"] if failed else [])]
    table = plain_table("Regret of one scheme everywhere, over the best of each place", "scheme", numbers=names)
    table.columns[0].no_wrap = True
    by_network = {name: {item.scheme: item for item in finding.by_network[name]} for name in networks}
    for item in finding.regrets:
        table.add_row(
            line(item.scheme),
            _words.pct(item.mean_pct),
            _words.pct(item.worst_pct),
            *(_words.pct(by_network[name][item.scheme].mean_pct) for name in networks),
            str(item.wins),
            str(item.ties),
            *([str(item.failed_loads)] if failed else []),
        )
    if networks:
        table.caption = Text("mean and worst over all places; mean of each network; places where it is best, or ties")
    return table
