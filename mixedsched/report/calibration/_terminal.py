"""A calibration on the terminal: agreement site by site, over all sites, then the constants."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mixedsched.advice.calibration.agreement import RANKING_ALPHA, TIE_RATIO
from mixedsched.advice.calibration.result import METRIC_NAMES, STAGES, Calibration, SiteResult, Summary
from mixedsched.model.browser_model import BrowserModel
from mixedsched.report._terminal import lines, plain_table
from mixedsched.units import counted, printable

STAGE_WORDS = {"manifest": "listed", "observed": "seen", "fitted": "fitted", "left_out": "others"}
_CONSTANTS = ("document_ms_per_kb", "style_ms_per_kb", "script_ms_per_kb", "decode_ms_per_kb", "paint_ms", "ask_ms")
_LIMITS = ("early_low", "early_medium", "low_per_host", "low_per_page", "finds_at_layout")


def render_calibration(found: Calibration) -> RenderableType:
    """For rich's Console.print. Names of sites cannot do anything to the terminal."""
    parts: list[RenderableType] = []
    for metric in METRIC_NAMES:
        parts.append(_table(found, metric))
        parts += lines(_medians(found, metric), "bold")
        parts.append(Text())
    notes = [f"note: {note}" for note in found.notes]
    return Group(*parts, *lines([*_reading(), *_constants(found.model), *notes]))


def _table(found: Calibration, metric: str) -> Table:
    title = f"{metric.upper()}: rank agreement of stack with the browser (Spearman over schemes)"
    table = plain_table(title, "site", numbers=[*STAGE_WORDS.values(), "error", "itself", "spread", "n"])
    table.columns[0].min_width = 20
    for site in found.sites:
        table.add_row(*_row(site, metric), style="" if site.browser[metric].has_ranking else "dim")
    return table


def _row(site: SiteResult, metric: str) -> list[str]:
    ranking = site.browser[metric]
    agreements = [number_words(site.agreement[stage][metric].spearman) for stage in STAGES]
    name = printable(f"{site.site}, {site.link}") + ("" if ranking.has_ranking else " (no ranking)")
    error = f"{site.agreement['fitted'][metric].error_pct:.0f} %"
    spread = f"{ranking.spread_ratio * 100:.0f} %"
    return [name, *agreements, error, number_words(ranking.reliability), spread, str(site.loads)]


def _medians(found: Calibration, metric: str) -> list[str]:
    return [f"{STAGE_WORDS[stage]:6} median {median_words(found.summary[stage][metric])}" for stage in STAGES]


def number_words(value: float | None) -> str:
    """A correlation, or a dash where there is none."""
    return "–" if value is None else f"{value:.2f}"


def median_words(summary: Summary) -> str:
    """Median with its interval over sites, and the number of these."""
    if summary.median is None:
        return f"– (no site); of all sites {number_words(summary.median_of_all)}"
    interval = "" if summary.low is None else f" ({summary.low:.2f} to {summary.high:.2f})"
    others = f"with ties {number_words(summary.median_with_ties)}; of all {number_words(summary.median_of_all)}"
    return f"{summary.median:.2f}{interval}, {counted(summary.sites, 'site')}; {others}"


def _reading() -> tuple[str, ...]:
    stages = (
        "listed: page as in the manifest, ideal browser; seen: page as one load showed it; fitted: page as loads showed it, "
        "fitted browser; others: browser fitted to all other sites. error: median error of fitted. n: loads."
    )
    rules = (
        f"no ranking: schemes do not differ by more than repeats do (F test at {RANKING_ALPHA:.0%}); not in the medians. "
        f"with ties: values closer than {TIE_RATIO:.1%} count as equal. itself: of the browser with itself."
    )
    return stages, rules


def _constants(model: BrowserModel) -> tuple[str, ...]:
    work = ", ".join(f"{name} {getattr(model, name):g}" for name in _CONSTANTS)
    limits = ", ".join(f"{name} {_limit_words(getattr(model, name))}" for name in _LIMITS)
    return (f"fitted: {work}", f"limits: {limits}")


def _limit_words(value: int | bool | None) -> str:
    return "none" if value is None else str(value).lower()
