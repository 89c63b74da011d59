"""The sentences of a comparison: the verdict, and notes on the plan."""

from collections.abc import Sequence

from mixedsched.core import stats
from mixedsched.lab.comparison import SCORE, ArmSummary, Comparison, Effect, Verdict
from mixedsched.lab.model import Plan
from mixedsched.report._facts import has_random_losses
from mixedsched.report._words import against_text, confidence_text, direction_text
from mixedsched.units import counted


def headline(effect: Effect) -> str:
    """One honest sentence on one effect, with its interval and number of blocks."""
    metric = effect.metric
    if effect.change is None:
        return f"No result yet for {effect.arm} against {effect.baseline}: no block has {metric.short} in both arms."
    interval = f"{confidence_text(effect)} interval {_interval(effect)}; " if effect.low is not None else ""
    basis = f"{metric.short}; {interval}{counted(effect.blocks, 'block')}"
    match effect.verdict:
        case Verdict.BETTER | Verdict.WORSE:
            moved = against_text(metric, effect.change, effect.baseline)
            return f"With {effect.arm}, {metric.event} {moved} ({basis})."
        case Verdict.EQUIVALENT:
            margin = metric.format_change(metric.change_margin, signed=False)
            said = f"{effect.arm} and {effect.baseline} do equally well: the typical difference is within ±{margin}"
            return f"{said} ({basis})."
        case Verdict.UNDECIDED:
            said = f"Undecided: whether {effect.arm} is better or worse than {effect.baseline} is not known yet"
            more = f" About {counted(effect.more_blocks, 'more block')} would decide." if effect.more_blocks else ""
            return f"{said} (best guess {direction_text(effect.metric, effect.change)}; {basis}).{more}"


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
    return f"{direction_text(effect.metric, effect.low)} to {direction_text(effect.metric, effect.high)}"


def scores_in_words(arms: Sequence[ArmSummary]) -> str:
    """Lighthouse's overall score of each arm; "" where it is not known."""
    said = [f"{arm.label} {middle:.0f}" for arm in arms if (middle := arm.median.get(SCORE)) is not None]
    return f"Lighthouse's performance score, median: {', '.join(said)}" if said else ""


def same_network(plan: Plan) -> str:
    """The network that the arms of a block share: the link, and its random losses if it has any."""
    losses = " with the same random losses" if has_random_losses(plan.link_facts) else ""
    return f"over the same link{losses}"


def by_model(plan: Plan) -> str:
    """A warning about metrics that were computed by a model; "" where they were observed."""
    if plan.conditions.throttling == "provided":
        return ""
    return (
        "These metrics were not observed: FCP, LCP, TBT, Speed Index and TTI are what Lighthouse's model of a slow "
        f"{plan.form_factor} device and network makes of loads over this link (throttling = simulate). The model does not "
        "replay the order in which bytes arrived. Do not compare them with observed ones. Films and waterfalls show what "
        "really happened."
    )


def stopping_note(comparison: Comparison) -> str:
    """How it was decided when to stop; "" where the number of blocks was decided before."""
    looks = comparison.plan.looks
    if looks is None:
        return ""
    made = counted(comparison.looks_made, "look")
    return (
        f"Sequential stopping: after each block from number {looks.first} on it was checked whether that is enough ({made} so "
        f"far, at most {looks.last - looks.first + 1}). Intervals and p hold for all looks and declared questions together, "
        f"with an error rate of {stats.ALPHA * 100:.0f} %; a change that ends it early tends to look larger than it is."
    )


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
