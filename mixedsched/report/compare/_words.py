"""The sentences of a comparison: the verdict, and the statistics behind it."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.core import stats
from mixedsched.lab.comparison import Comparison, Effect, Family, Verdict
from mixedsched.lab.model import Plan
from mixedsched.report.facts import has_random_losses
from mixedsched.report.words import confidence_text, counted, direction_text, listed


def headline(effect: Effect) -> str:
    """One honest sentence on one effect, with its interval and number of blocks."""
    metric = effect.metric
    if effect.change is None:
        return f"Nothing can be said yet on {effect.arm} against {effect.baseline}: no block has {metric.short} in both arms."
    interval = f"{confidence_text(effect)} interval {_interval(effect)}; " if effect.blocks > 1 else ""
    basis = f"{metric.short}; {interval}{counted(effect.blocks, 'block')}"
    match effect.verdict:
        case Verdict.BETTER | Verdict.WORSE:
            said = (
                f"With {effect.arm}, {metric.event} {direction_text(effect, effect.change)} than with {effect.baseline}"
            )
            return f"{said} ({basis})."
        case Verdict.EQUIVALENT:
            margin = metric.format_change(metric.change_margin, signed=False)
            said = f"{effect.arm} and {effect.baseline} do equally well: the typical difference is within ±{margin}"
            return f"{said} ({basis})."
        case Verdict.UNDECIDED:
            said = f"Undecided: whether {effect.arm} is better or worse than {effect.baseline} cannot be told yet"
            more = f" About {effect.more_blocks} more blocks would decide." if effect.more_blocks else ""
            return f"{said} (best guess {direction_text(effect, effect.change)}; {basis}).{more}"


def _interval(effect: Effect) -> str:
    """Both ends in words; a direction that both share is named once."""
    assert effect.low is not None
    assert effect.high is not None
    tell = effect.metric.format_change
    if effect.low < effect.high < 0:
        ends = tell(effect.high, signed=False), tell(effect.low, signed=False)
        return f"{ends[0]} to {ends[1]} {effect.metric.less}"
    if 0 < effect.low < effect.high:
        return f"{tell(effect.low, signed=False)} to {tell(effect.high, signed=False)} {effect.metric.more}"
    return f"{direction_text(effect, effect.low)} to {direction_text(effect, effect.high)}"


def same_network(plan: Plan) -> str:
    """The network that the arms of a block share: the link, and its random losses if it has any."""
    losses = " with the same random losses" if has_random_losses(plan.link_facts) else ""
    return f"over the same link{losses}"


def history_note(history: object) -> str:
    """A warning about an experiment that was extended; "" for others. history: numbers of blocks planned, in time."""
    if not isinstance(history, Sequence) or isinstance(history, str):
        return ""
    counts = list(dict.fromkeys(item for item in history if isinstance(item, int)))
    if len(counts) < 2:
        return ""
    extended = ", then to ".join(str(count) for count in counts[1:])
    return (
        f"First planned with {counted(counts[0], 'block')}, extended to {extended}. Extending until a verdict appears makes "
        "false findings more frequent than p says."
    )


def statistics_in_words(comparison: Comparison) -> list[str]:
    """How numbers became verdicts, one paragraph a step."""
    primary = [effect for effect in comparison.effects if effect.family is Family.PRIMARY]
    names = ", ".join(dict.fromkeys(effect.metric.short for effect in primary))
    often_zero = listed([metric.short for metric in comparison.metrics if metric.scale == "difference"])
    return [
        (
            f"A block loads the page once with every arm, in random order, {same_network(comparison.plan)}, so that slow drift "
            "of the machine cancels out. Packets that overflow the link's queue are each arm's own, as a result of what it "
            "sends. A failed or invalid load voids its whole block, which is then repeated; warm-up blocks do not count."
        ),
        (
            "Within every block the change of a metric is taken: in per cent for times, as a plain difference for metrics that "
            f"are often zero ({often_zero}). The change shown is the Hodges–Lehmann estimate, a kind of median that one odd "
            "block cannot bend. Its interval holds the true change in 95 of 100 such experiments; with few blocks it may be "
            "fewer, which is then stated."
        ),
        (
            "An arm is better or worse only if the interval leaves out zero and the Wilcoxon signed-rank test, tightened by "
            f"Holm for the number of questions asked ({len(primary)} in the declared family: {names}), gives p < "
            f"{stats.ALPHA}. Equivalent means that the whole interval lies within the margin of changes too small to matter, "
            f"and for {often_zero} that nine of ten blocks do, too. Everything else is undecided. Metrics outside the declared "
            "family are exploratory: findings there are hints for another experiment."
        ),
    ]
