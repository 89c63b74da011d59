"""A study as one HTML file: what holds over sites in words, pictures of all sites, and where each place's own page is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixedsched.core import stats
from mixedsched.core.metrics import Metric
from mixedsched.lab.comparison import Effect, Verdict
from mixedsched.lab.study.papers import PaperFigures
from mixedsched.lab.study.results import SitesSummary, StudiedPlace, StudyResult
from mixedsched.report._document import render, tables_of
from mixedsched.report._facts import fact_rows
from mixedsched.report._words import SYMBOLS, change_text, verdict_text
from mixedsched.report.study import _pictures as pictures
from mixedsched.report.study import _words as words
from mixedsched.report.study._papers import PapersView
from mixedsched.units import listed

_ROWS_IN_SIGHT = 24  # longer tables scroll
_PANELS_IN_SIGHT = 8  # schemes; pictures of more are folded


@dataclass(frozen=True, slots=True)
class PlaceCell:
    """The best scheme of a place against the baseline."""

    href: str | None  # the place's own page
    tone: str
    symbol: str
    scheme: str
    change: str
    note: str  # how much is missing
    hint: str


def render_html(
    result: StudyResult, facts: Mapping[str, Any], pages: Mapping[int, str], figures: PaperFigures | None = None
) -> str:
    """The report as text. The same input gives the same text.

    facts: `command` has a place of its own, mappings such as versions become tables. pages: addresses of places' own pages, by
    id of the place. figures: to tell it the papers' way, too.
    """
    effects = _by_question(result)
    exact = sum(place.is_exact for place in result.places)
    return render(
        "study.html.j2",
        result=result,
        study=result.study,
        labels=[arm.label for arm in result.arms],
        headlines=words.headlines(result),
        everywhere=words.everywhere(result),
        alerts=words.alerts(result),
        exact_note=words.exact_note(result.places, exact),
        tables=[(metric, metric in result.primary, _rows(result, metric)) for metric in result.metrics],
        matrix=[(site, [_cell(result, site, link, pages) for link in result.links]) for site in result.sites],
        forests=[_forests(result, metric, effects) for metric in result.primary],
        curves=[_curves(result, metric, effects) for metric in result.primary],
        papers=None if figures is None else PapersView.of(figures, [arm.label for arm in result.arms]),
        words=words,
        verdict_text=verdict_text,
        verdict_bar=pictures.verdict_bar,
        line_key=pictures.line_key,
        mark_key=pictures.mark_key,
        verdicts=list(Verdict),
        rows_in_sight=_ROWS_IN_SIGHT,
        panels_in_sight=_PANELS_IN_SIGHT,
        measured=_measured_rows(result),
        unfinished=[place for place in result.places if place.missing],
        looks=result.questions.looks,
        primary_names=listed([metric.short for metric in result.primary]),
        resamples=stats.RESAMPLES,
        interval_least=stats.INTERVAL_LEAST,
        command=str(facts.get("command") or ""),
        definition_rows=fact_rows(_definition(result)),
        fact_tables=tables_of(facts),
    )


Questions = Mapping[tuple[str, str, str], Mapping[str, Effect]]  # by (metric, link, arm), then site


def _by_question(result: StudyResult) -> Questions:
    found: dict[tuple[str, str, str], dict[str, Effect]] = {}
    wanted = {metric.key for metric in result.primary}
    for place in result.places:
        for effect in place.effects:
            if effect.metric.key in wanted:
                found.setdefault((effect.metric.key, place.link, effect.arm), {})[place.site] = effect
    return found


def _rows(result: StudyResult, metric: Metric) -> list[tuple[str, list[SitesSummary]]]:
    """By link."""
    return [
        (link, [item for item in result.summaries if item.link == link and item.metric is metric])
        for link in result.links
    ]


def _cell(result: StudyResult, site: str, link: str, pages: Mapping[int, str]) -> PlaceCell | None:
    place = result.place(site, link)
    if place is None:
        return None
    best = best_of(place, result.metrics[0])
    note = f"{len(place.blocks)} of {place.planned} blocks" if place.missing else ""
    if best is None:
        return PlaceCell(pages.get(place.id), "undecided", "", "", note or "–", "", f"{site} over {link}: nothing yet")
    hint = f"{site} over {link}: {best.arm} against {best.baseline} {change_text(best)}, {verdict_text(best.verdict)}"
    change = best.metric.format_change(best.change or 0.0)
    scheme = best.arm if len(result.arms) > 2 else ""
    return PlaceCell(pages.get(place.id), best.verdict.value, SYMBOLS[best.verdict], scheme, change, note, hint)


def best_of(place: StudiedPlace, metric: Metric) -> Effect | None:
    """The scheme that gains most, or loses least, against the baseline; the first one named of equals."""
    known = [effect for effect in place.effects if effect.metric is metric and effect.change is not None]
    return min(known, key=lambda effect: effect.change or 0.0, default=None)


def _forests(result: StudyResult, metric: Metric, effects: Questions) -> dict[str, Any]:
    """By link, a picture for each scheme, all on one scale."""
    links = []
    for link in result.links:
        own = [item for item in result.summaries if (item.metric, item.link) == (metric, link) and item.sites]
        at = {item.scheme: effects.get((metric.key, link, item.scheme), {}) for item in own}
        axis = pictures.forest_axis(metric, (effect for by_site in at.values() for effect in by_site.values()))
        panels = [(item.scheme, pictures.forest(item, at[item.scheme], axis)) for item in own]
        links.append((link, panels))
    return {"metric": metric, "links": links}


def _curves(result: StudyResult, metric: Metric, effects: Questions) -> dict[str, Any]:
    labels = [arm.label for arm in result.arms]
    links = []
    for link in result.links:
        by_arm = {
            index: pictures.points_of(found.values())
            for index, label in enumerate(labels)
            if (found := effects.get((metric.key, link, label)))
        }
        if by_arm:
            links.append((link, pictures.distribution(metric, link, by_arm, labels)))
    return {"metric": metric, "links": links}


def _measured_rows(result: StudyResult) -> list[tuple[str, int, int, int, int, int]]:
    """(link, sites, blocks complete, blocks planned, loads, loads that failed or do not count); the last row is the sum."""
    rows = [_measured(link, [place for place in result.places if place.link == link]) for link in result.links]
    return [*rows, _measured("all", result.places)] if len(rows) > 1 else rows


def _measured(name: str, places: Sequence[StudiedPlace]) -> tuple[str, int, int, int, int, int]:
    return (
        name,
        len(places),
        sum(len(place.blocks) for place in places),
        sum(place.planned for place in places),
        sum(_all(place.attempted for place in places)),
        sum(_all(place.failed for place in places)),
    )


def _all(counts: Iterable[Sequence[int]]) -> Iterable[int]:
    return (count for by_arm in counts for count in by_arm)


def _definition(result: StudyResult) -> dict[str, Any]:
    """Without what is empty, and with lists in words."""
    tables = result.study.to_dict()
    return {
        key: ", ".join(value) if isinstance(value, list) else value
        for key, value in tables.items()
        if value is not None
    }
