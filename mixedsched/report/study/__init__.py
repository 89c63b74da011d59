"""The report of a study: for the terminal, and as an HTML file with a page for each place."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from mixedsched.core.metrics import Metric
from mixedsched.lab.study.papers import PaperFigures
from mixedsched.lab.study.results import SitesSummary, StudyResult
from mixedsched.report._terminal import STYLES, line, plain_table
from mixedsched.report._words import SYMBOLS
from mixedsched.report.study import _words as words
from mixedsched.report.study._papers import PapersView
from mixedsched.report.view import ResultKind
from mixedsched.units import counted

__all__ = ["render_study", "write_study"]

PLACES_NAME = "places"
_FAILURES_SHOWN = 3
_NAME_BYTES_MOST = 120


def write_study(
    result: StudyResult, facts: Mapping[str, Any], folder: Path, figures: PaperFigures | None = None
) -> Path:
    """Write the report of a study and a page for each place that has results; returns the path of the report.

    facts: `command` has a place of its own, mappings such as versions become tables. figures: to tell it the papers' way, too.
    Raises OSError if something cannot be written.
    """
    from mixedsched.report.study._document import render_html  # here, because templates take time to load
    from mixedsched.report.study._place import render_place

    report = folder / ResultKind.STUDY.report
    names = _file_names(result)
    pages: dict[int, str] = {}
    (folder / PLACES_NAME).mkdir(parents=True, exist_ok=True)
    for place in result.places:
        if place.blocks:
            pages[place.id] = f"{PLACES_NAME}/{names[place.id]}"
            text = render_place(result, place, f"../{report.name}")
            (folder / pages[place.id]).write_text(text, encoding="utf-8")
    report.write_text(render_html(result, facts, pages, figures), encoding="utf-8")
    return report


def _file_names(result: StudyResult) -> dict[int, str]:
    """By id of the place: "gupta2024-agency-4g.html"; a number is added where two would be the same."""
    taken: set[str] = set()  # in lower case, as not all file systems tell it apart
    names = {}
    for place in result.places:
        plain = re.sub(r"[^\w.@+-]+", "-", f"{place.site}-{place.link}")
        plain = name = plain.encode()[:_NAME_BYTES_MOST].decode(errors="ignore")
        number = 1
        while name.lower() in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name.lower())
        names[place.id] = f"{name}.html"
    return names


# On the terminal


def render_study(result: StudyResult, figures: PaperFigures | None = None) -> RenderableType:
    """For rich's Console.print. figures: to tell it the papers' way, too."""
    blocks = sum(len(place.blocks) for place in result.places)
    size = f"{counted(len(result.places), 'place')}, {counted(blocks, 'block')}"
    parts: list[RenderableType] = [line(f"{result.study.name} (rung {result.study.rung}): {size}", "bold"), Text()]
    for item in words.headlines(result):
        parts += [line(f"{item.chip}: {item.sentence}", STYLES[item.tone]), Text()]
    if text := words.everywhere(result):
        parts += [line(text), Text()]
    parts += [line(text, "yellow") for text in words.alerts(result)]
    parts += [line(f"  {text}", "yellow") for text in words.failures(result, _FAILURES_SHOWN)]
    parts += [_table(result, metric) for metric in result.primary]
    parts += [] if figures is None else [_papers_table(PapersView.of(figures, [arm.label for arm in result.arms]))]
    exact = sum(place.is_exact for place in result.places)
    if text := words.exact_note(result.places, exact):
        parts.append(line(text, "dim"))
    return Group(*parts)


def _table(result: StudyResult, metric: Metric) -> RenderableType:
    """A row for each scheme, by link."""
    table = plain_table(
        f"{metric.short} against {result.study.baseline}, median over sites", "scheme", "change", "95 % interval", "sites",
        numbers=["mean regret", "worst"],
    )  # fmt: skip
    for column in (1, 3, 4, 5):
        table.columns[column].no_wrap = True
    for link in result.links:
        table.add_section()
        if len(result.links) > 1:
            table.add_row(line(link, "bold"))
        for item in result.summaries:
            if (item.metric, item.link) == (metric, link):
                table.add_row(*_cells(item))
    table.caption = Text(
        "change, sites: ▼ better, ▲ worse, = equivalent, ? undecided; regret: over the best scheme of each place"
    )
    return table


def _cells(item: SitesSummary) -> list[RenderableType]:
    tell, middle = item.metric.format_change, item.spread.median
    counts = " ".join(
        f"{symbol}{item.verdicts[verdict]}" for verdict, symbol in SYMBOLS.items() if item.verdicts[verdict]
    )
    return [
        line(item.scheme),
        line("–" if middle is None else f"{SYMBOLS[item.verdict]} {tell(middle)}", STYLES[item.verdict.value]),
        line(words.ends_in_words(item)),
        line(counts),
        words.regret_in_words(item.regret_mean, item.metric),
        words.regret_in_words(item.regret_worst, item.metric),
    ]


def _papers_table(view: PapersView) -> RenderableType:
    """A row for each metric, link and scheme."""
    table = plain_table(view.title, *view.COLUMNS[:3], numbers=view.COLUMNS[3:])
    for row in view.rows:
        table.add_row(*(line(cell) for cell in row))
    table.caption = Text(view.NOTE)
    return table
