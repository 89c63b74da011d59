"""Words that reports share: verdicts, changes with their intervals, objectives."""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mixedsched.core import stats
from mixedsched.core.metrics import Metric, metric_named
from mixedsched.lab.comparison import Effect, Verdict
from mixedsched.units import counted

if TYPE_CHECKING:  # comparisons need none of the advice
    from mixedsched.advice.changes.own_server import KeptServer

UNCHANGED = "unchanged"
SYMBOLS = {Verdict.BETTER: "▼", Verdict.WORSE: "▲", Verdict.EQUIVALENT: "=", Verdict.UNDECIDED: "?"}


def verdict_text(verdict: Verdict) -> str:
    """For example "▼ better"."""
    return f"{SYMBOLS[verdict]} {verdict.value}"


def change_text(effect: Effect) -> str:
    """The change with its 95 % interval, "−12.3 % (−16.4 % to −8.1 %)"; a lower confidence is named, "(87.5 %: ...)"."""
    if effect.change is None:
        return "no paired value"
    interval = effect.metric.format_range(effect.low, effect.high)
    if not interval:
        return f"{effect.metric.format_change(effect.change)} ({'exact' if effect.is_exact else 'no interval'})"
    lower = "" if effect.confidence >= stats.CONFIDENCE else f"{confidence_text(effect)}: "
    return f"{effect.metric.format_change(effect.change)} ({lower}{interval})"


def confidence_text(effect: Effect) -> str:
    """For example "95 %"; few blocks may reach less, which is given exactly: "87.5 %"."""
    return "95 %" if effect.confidence >= stats.CONFIDENCE else f"{effect.confidence * 100:.3g} %"


def direction_text(metric: Metric, change: float) -> str:
    """A change of a metric in words: "12.3 % sooner"; "unchanged" if it rounds to nothing."""
    size = metric.format_change(change, signed=False)
    if metric.format_change(change) == size:
        return UNCHANGED
    return f"{size} {metric.less if change < 0 else metric.more}"


def against_text(metric: Metric, change: float, baseline: str) -> str:
    """What a sentence about an arm ends with: "12.3 % sooner than with eps", "just as with eps" where it rounds to 0."""
    moved = direction_text(metric, change)
    return f"just as with {baseline}" if moved == UNCHANGED else f"{moved} than with {baseline}"


def p_text(p: float) -> str:
    """For example "p = 0.031"."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def remarks(effect: Effect, *, with_note: bool = True) -> str:
    """The small print of a verdict: the adjusted p, how many more blocks would decide, what these can notice, the note."""
    said = [] if effect.is_exact else [p_text(effect.p_adjusted)]
    if effect.more_blocks:
        said.append(f"about {counted(effect.more_blocks, 'more block')} would decide")
    if effect.detectable and effect.verdict in (Verdict.EQUIVALENT, Verdict.UNDECIDED):
        size = effect.metric.format_change(effect.detectable, signed=False)
        said.append(f"these {effect.blocks} blocks would likely notice a change of {size}")
    return "; ".join([*said, effect.note] if effect.note and with_note else said)


def expected_text(change_pct: float | None) -> str:
    """A simulated change in whole per cent, as simulation is no finer; a dash if there is none."""
    if change_pct is None or not math.isfinite(change_pct):
        return "–"
    rounded = round(change_pct)
    return "±0 %" if rounded == 0 else with_minus(f"{rounded:+d} %")


def pct_text(change_pct: float) -> str:
    """A change in the form that metrics use: "−12.3 %", "+4.0 %", and "0.0 %" without a sign."""
    text = with_minus(f"{change_pct:+.1f} %")
    return text[1:] if text[1:] == "0.0 %" else text


def objective_text(weights: Mapping[str, float]) -> str:
    """For example "LCP", "0.7 LCP + 0.3 FCP". weights: by metric key."""
    if len(weights) == 1:
        return metric_named(next(iter(weights))).short
    total = sum(weights.values()) or 1.0
    return " + ".join(f"{weight / total:.2g} {metric_named(key).short}" for key, weight in weights.items())


def server_lines(server: "KeptServer | None", *, is_loaded: bool) -> list[str]:
    """What is known about the owner's server, and how the results for it were obtained; [] where advice is for ours.

    is_loaded: whether a browser made loads, and not simulation alone.
    """
    if server is None:
        return []
    return [f"For {server.title}: {server.words}.", f"How this is known: {server.proof_words(is_loaded=is_loaded)}."]


def with_minus(text: str) -> str:
    """With a minus sign in front of negative numbers, but not for the hyphen of "slow-4g"."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)
