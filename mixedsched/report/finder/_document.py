"""The scheme finder's answer as one HTML file that needs no network, no script and no other file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixedsched.advice.finder.result import FinderResult, PlaceResult, Standing
from mixedsched.core.schedulers import SCHEMES
from mixedsched.report._document import render, tables_of
from mixedsched.report._words import objective_text
from mixedsched.report.finder import _words
from mixedsched.units import format_ms

# Upper ends of the shades of the heat map, in per cent of regret; what is beyond has the last one.
SHADES_PCT = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A square of the heat map."""

    text: str
    mark: str  # style of the winner, ties and failures
    shade: int  # 0 for none, up to len(SHADES_PCT)
    hint: str


def render_html(finding: FinderResult, notes: Sequence[str], facts: Mapping[str, Any]) -> str:
    """The report as text. The same finding gives the same text."""
    return render(
        "finder.html.j2",
        finding=finding,
        objective=objective_text(finding.objective),
        headlines=_words.headlines(finding),
        alerts=[*_words.failed_words(finding), *notes],
        matrix=[
            (site, [(_words.winner_words(place), _tied(place)) for place in _places(finding, site)])
            for site in finding.sites
        ],
        rows=_regret_rows(finding),
        networks=list(finding.by_network),
        maps=[_heat_map(finding, network) for network in finding.by_network],
        shades=_legend(),
        command=str(facts.get("command") or ""),
        fact_tables=tables_of(facts),
    )


def _places(finding: FinderResult, site: str) -> list[PlaceResult | None]:
    return [finding.place(site, network) for network in finding.networks]


def _tied(place: PlaceResult | None) -> str:
    return f"ties: {', '.join(place.ties)}" if place is not None and place.ties else ""


def _regret_rows(finding: FinderResult) -> list[dict[str, Any]]:
    """Each scheme over all places."""
    most = max((item.mean_pct for item in finding.regrets if item.mean_pct is not None), default=0.0) or 1.0
    by_network = [{item.scheme: item for item in regrets} for regrets in finding.by_network.values()]
    return [
        {
            "regret": item,
            "mean": _words.pct(item.mean_pct),
            "worst": _words.pct(item.worst_pct),
            "at": str(item.worst_at or ""),
            "width": (item.mean_pct or 0.0) / most * 100,  # of the bar for its mean
            "by_network": [_words.pct(regrets[item.scheme].mean_pct) for regrets in by_network],
            "needs": SCHEMES[item.scheme.partition(":")[0]].needs,  # what a server must know to use it
        }
        for item in finding.regrets
    ]


def _heat_map(finding: FinderResult, network: str) -> dict[str, Any]:
    """Sites x schemes on one network; schemes by their mean regret there, which is the bottom row."""
    regrets = finding.by_network[network]
    schemes = [item.scheme for item in regrets]
    places = [place for site in finding.sites if (place := finding.place(site, network)) is not None]
    return {
        "network": network,
        "schemes": schemes,
        "rows": [(place.site, [_cell(place, place.of(scheme)) for scheme in schemes]) for place in places],
        "means": [
            HeatCell(_short(item.mean_pct), "", _shade(item.mean_pct), f"{item.scheme}: mean") for item in regrets
        ],
    }


def _cell(place: PlaceResult, standing: Standing) -> HeatCell:
    if standing.regret_pct is None or standing.cost_ms is None:
        return HeatCell(
            _words.FAILED, "failed", 0, f"{standing.scheme}: {standing.failed} of {place.seeds} loads never ended"
        )
    mark = "winner" if standing.scheme == place.winner else "tie" if standing.ties else ""
    text = {"winner": _words.WINNER, "tie": f"{_words.TIE} {_short(standing.regret_pct)}"}.get(mark)
    hint = f"{standing.scheme}: {format_ms(standing.cost_ms)}, regret {_words.pct(standing.regret_pct)}"
    return HeatCell(text or _short(standing.regret_pct), mark, _shade(standing.regret_pct), hint)


def _short(value: float | None) -> str:
    """A regret without its unit, as whole per cent."""
    return "–" if value is None else f"{value:.0f}"


def _shade(value: float | None) -> int:
    return 0 if value is None else sum(value > limit for limit in SHADES_PCT)


def _legend() -> list[tuple[int, str]]:
    limits = [f"{limit:g}" for limit in SHADES_PCT]
    words = [f"up to {limits[0]} %", *(f"to {limit} %" for limit in limits[1:]), f"above {limits[-1]} %"]
    return list(enumerate(words))
