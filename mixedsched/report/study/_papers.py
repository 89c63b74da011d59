"""A study the papers' way: counts over sites, distributions of relative differences, and Spearman site by site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from markupsafe import Markup

from mixedsched.core.metrics import METRICS
from mixedsched.lab.study.papers import PaperFigures, SitesCurve
from mixedsched.report._words import pct_text, with_minus
from mixedsched.report.study import _pictures as pictures

_NAMES = {**{metric.key: metric.short for metric in METRICS}, "loss_pct": "loss rate"}
_BY_KEY = {metric.key: replace(metric, scale="ratio") for metric in METRICS}  # papers give all differences in per cent


@dataclass(frozen=True, slots=True)
class PapersView:
    """What the document and the terminal show of it."""

    COLUMNS: ClassVar = ("metric", "link", "scheme", "median", "better / worse", "> 5 %", "> 25 %", "significant")
    NOTE: ClassVar = (
        "better / worse: sites by sign, beyond 5 and 25 %, and those whose difference the test calls significant"
    )

    title: str
    level: float
    rows: Sequence[Sequence[str]]  # as COLUMNS says
    curves: Sequence[tuple[str, str, Markup]]  # (metric, link, picture)
    pairs: Sequence[str]  # what is correlated: "LCP, HOL"
    correlations: Sequence[tuple[str, str, Sequence[str]]]  # (site, link, coefficients, as `pairs`)

    @classmethod
    def of(cls, figures: PaperFigures, labels: Sequence[str]) -> PapersView:
        """labels: of all arms, in the order of their colours."""
        pairs = list(dict.fromkeys(item.keys for item in figures.correlations if item.scheme is None))
        places = dict.fromkeys((item.site, item.link) for item in figures.correlations)
        rho = {(item.site, item.link, item.keys): item.rho for item in figures.correlations if item.scheme is None}
        return cls(
            f"The papers’ way: relative differences of medians; Mann-Whitney U, p < {figures.level:g}",
            figures.level,
            [_row(curve) for curve in figures.curves],
            _curves(figures, labels),
            [", ".join(_name(key) for key in keys) for keys in pairs],
            [(site, link, [_coefficient(rho.get((site, link, keys))) for keys in pairs]) for site, link in places],
        )


def _row(curve: SitesCurve) -> list[str]:
    def counts(bound_pct: float, *, significant: bool = False) -> str:
        found = (side(bound_pct, significant=significant) for side in (curve.better, curve.worse))
        return " / ".join(map(str, found))

    median = pct_text(curve.median_pct)
    facts = [_name(curve.key), curve.link, curve.scheme, median, counts(0.0), counts(5.0), counts(25.0)]
    return [*facts, counts(0.0, significant=True)]


def _curves(figures: PaperFigures, labels: Sequence[str]) -> list[tuple[str, str, Markup]]:
    groups = dict.fromkeys((curve.key, curve.link) for curve in figures.curves if len(curve.differences) > 1)
    return [
        (
            _name(key),
            link,
            pictures.distribution(
                _BY_KEY[key],
                link,
                {
                    labels.index(curve.scheme): [(change, is_certain) for change, _, is_certain in curve.points]
                    for curve in figures.curves
                    if (curve.key, curve.link) == (key, link)
                },
                labels,
            ),
        )
        for key, link in groups
        if key in _BY_KEY
    ]


def _name(key: str) -> str:
    return _NAMES.get(key, key)


def _coefficient(rho: float | None) -> str:
    return "–" if rho is None else with_minus(f"{round(rho, 2) or 0.0:+.2f}")
