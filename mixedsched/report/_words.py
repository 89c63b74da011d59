"""Sentences for people: verdicts, headlines, and the statistics in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.core import stats
from mixedsched.lab.comparison import Comparison, Effect, Family, Verdict
from mixedsched.lab.model import Plan
from mixedsched.report._facts import has_random_losses

SYMBOLS = {Verdict.BETTER: "▼", Verdict.WORSE: "▲", Verdict.EQUIVALENT: "=", Verdict.UNDECIDED: "?"}


def verdict_text(effect: Effect) -> str:
    """As "▼ better"."""
    return f"{SYMBOLS[effect.verdict]} {effect.verdict.value}"


def remarks(effect: Effect, *, with_note: bool) -> str:
    """What stands below a verdict: the adjusted p, what more blocks would do, what these can notice, and the note if wanted."""
    said = ["p < 0.001" if effect.p_adjusted < 0.001 else f"p = {effect.p_adjusted:.2g}"]
    if effect.more_blocks:
        said.append(f"about {effect.more_blocks} more blocks would decide")
    if effect.detectable and effect.verdict in (Verdict.EQUIVALENT, Verdict.UNDECIDED):
        size = effect.metric.format_change(effect.detectable, signed=False)
        said.append(f"these {effect.blocks} blocks would likely notice a change of {size}")
    return "; ".join([*said, effect.note] if effect.note and with_note else said)


def headline(effect: Effect) -> str:
    """One honest sentence on one effect, with its interval and number of blocks."""
    metric = effect.metric
    if effect.change is None:
        return f"Nothing can be said yet on {effect.arm} against {effect.baseline}: no block has {metric.short} in both arms."
    interval = f"{confidence_text(effect)} interval {_interval(effect)}; " if effect.blocks > 1 else ""
    basis = f"{metric.short}; {interval}{_blocks(effect.blocks)}"
    match effect.verdict:
        case Verdict.BETTER | Verdict.WORSE:
            said = f"With {effect.arm}, {metric.event} {_directed(effect, effect.change)} than with {effect.baseline}"
            return f"{said} ({basis})."
        case Verdict.EQUIVALENT:
            margin = metric.format_change(metric.change_margin, signed=False)
            said = f"{effect.arm} and {effect.baseline} do equally well: the typical difference is within ±{margin}"
            return f"{said} ({basis})."
        case Verdict.UNDECIDED:
            said = f"Undecided: whether {effect.arm} is better or worse than {effect.baseline} cannot be told yet"
            return f"{said} (best guess {_directed(effect, effect.change)}; {basis}).{_more(effect)}"


def confidence_text(effect: Effect) -> str:
    """As "95 %"; what few blocks reach is told exactly: "87.5 %"."""
    return "95 %" if effect.confidence >= stats.CONFIDENCE else f"{effect.confidence * 100:.3g} %"


def _more(effect: Effect) -> str:
    return f" About {effect.more_blocks} more blocks would decide." if effect.more_blocks else ""


def _blocks(count: int) -> str:
    return f"{count} block" if count == 1 else f"{count} blocks"


def _directed(effect: Effect, change: float) -> str:
    """A change with its direction in words: "12.3 % sooner"; "no change" where it rounds to nothing."""
    size = effect.metric.format_change(change, signed=False)
    if effect.metric.format_change(change) == size:
        return "unchanged"
    word = effect.metric.less if change < 0 else effect.metric.more
    return f"{size} {word}"


def _interval(effect: Effect) -> str:
    """Both ends in words; the direction is said once where both share it."""
    assert effect.low is not None
    assert effect.high is not None
    tell = effect.metric.format_change
    if effect.low < effect.high < 0:
        ends = tell(effect.high, signed=False), tell(effect.low, signed=False)
        return f"{ends[0]} to {ends[1]} {effect.metric.less}"
    if 0 < effect.low < effect.high:
        return f"{tell(effect.low, signed=False)} to {tell(effect.high, signed=False)} {effect.metric.more}"
    return f"{_directed(effect, effect.low)} to {_directed(effect, effect.high)}"


def same_network(plan: Plan) -> str:
    """What the arms of a block have in common: "over the same link", with "the same random losses" only if there are any."""
    losses = " with the same random losses" if has_random_losses(plan.link_facts) else ""
    return f"over the same link{losses}"


def history_note(history: object) -> str:
    """That an experiment was extended, and why that matters; "" if it was not. history: numbers of blocks planned, in time."""
    if not isinstance(history, Sequence) or isinstance(history, str):
        return ""
    counts = list(dict.fromkeys(item for item in history if isinstance(item, int)))
    if len(counts) < 2:
        return ""
    extended = ", then to ".join(str(count) for count in counts[1:])
    return (
        f"First planned with {_blocks(counts[0])}, extended to {extended}. Extending until a verdict appears makes "
        "false findings more frequent than p says."
    )


def _listed(names: Sequence[str]) -> str:
    """As "TBT, CLS and HOL"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def statistics_in_words(comparison: Comparison) -> list[str]:
    """How numbers became verdicts, one paragraph per step."""
    primary = [effect for effect in comparison.effects if effect.family is Family.PRIMARY]
    names = ", ".join(dict.fromkeys(effect.metric.short for effect in primary))
    often_zero = _listed([metric.short for metric in comparison.metrics if metric.scale == "difference"])
    return [
        (
            f"A block loads the page once with every arm, in random order, {same_network(comparison.plan)}, so that slow drift "
            "of the machine cancels out. Packets that overflow the link's queue are each arm's own, as a result of what it "
            "sends. A failed or invalid load voids its whole block, which is then repeated; warm-up blocks do not count."
        ),
        (
            "Within every block the change of a metric is taken: in per cent for times, plainly for metrics that are often "
            f"zero ({often_zero}). The change shown is the Hodges–Lehmann estimate, a kind of median that one odd block cannot "
            "bend. Its interval holds the true change in 95 of 100 such experiments; few blocks may reach less, which is "
            "then said."
        ),
        (
            "Better or worse is said only if the interval leaves out zero and the Wilcoxon signed-rank test, tightened by "
            f"Holm for the number of questions asked ({len(primary)} in the declared family: {names}), gives p < "
            f"{stats.ALPHA}. Equivalent means that the whole interval lies within the margin of changes too small to matter, "
            f"and for {often_zero} that nine of ten blocks do, too. All else is undecided. Metrics outside the declared family "
            "are exploratory: findings there are hints for another experiment."
        ),
    ]
