"""The sentences of a tuning, the same on the terminal and in the report."""

import math
from collections.abc import Mapping, Sequence

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import Contender, Dropped, Outcome, Role, Tuning
from mixedsched.lab.comparison import Effect
from mixedsched.report._words import against_text, confidence_text, expected_text, p_text, pct_text, with_minus
from mixedsched.report.tune._evidence import Evidence, primary_metric, simulated_change_pct, tuned_label, value_of
from mixedsched.units import counted, format_duration, format_ms, format_spent, listed

# By outcome: the style of the answer, and the words in front of it.
TONES = {
    Outcome.CONFIRMED: ("better", "▼ confirmed"),
    Outcome.UNCONFIRMED: ("undecided", "? not confirmed"),
    Outcome.NOTHING_TO_GAIN: ("equivalent", "= nothing to gain"),
    Outcome.SIMULATED: ("undecided", "~ simulated only"),
    Outcome.INTERRUPTED: ("undecided", "… stopped early"),
}
ROLES = {
    Role.BASELINE: "baseline",
    Role.TUNED: "tuned",
    Role.HEADERS: "response headers only",
    Role.HTML: "changed HTML only",
    Role.LINE: "a single line of HTML",
}


def headline(tuning: Tuning) -> str:
    """The verdict in a sentence or two: the number, how sure, over what, against what."""
    best = tuning.best_baseline
    measured = [text for item in tuning.networks if (text := _measured(Evidence(tuning, item)))]
    promised = _joined([text for item in tuning.networks if (text := _promised(tuning, item.name))])
    match tuning.outcome:
        case Outcome.CONFIRMED:
            return f"With {subject_words(tuning)}, {_joined(measured)}."
        case Outcome.UNCONFIRMED if measured:
            expected = f" Simulation had promised: {promised}." if promised else ""
            return f"Not confirmed, so {best} stays. With {subject_words(tuning)}, {_joined(measured)}.{expected}"
        case Outcome.UNCONFIRMED:
            expected = f" Simulation promises: {promised}." if promised else ""
            return f"Not confirmed, so {best} stays: no block of loads is complete.{expected}"
        case Outcome.NOTHING_TO_GAIN:
            shown = f" The tuned order was measured all the same: {_joined(measured)}." if measured else ""
            return f"Nothing to gain over {best}.{shown}"
        case Outcome.SIMULATED if tuning.winner is not None:
            return f"In simulation, with {subject_words(tuning)}: {promised or 'no estimate'}. No browser has confirmed it."
        case Outcome.SIMULATED:
            return f"In simulation, nothing that was tried is better than {best}."
        case Outcome.INTERRUPTED:
            so_far = f" Best so far, in simulation: {promised}." if promised else ""
            return f"Stopped early, so {best} stays.{so_far}"


def subject_words(tuning: Tuning) -> str:
    """What the verdict is about: an order of our own server, or changes for the owner's server."""
    return "the tuned order of bytes" if tuning.server is None else f"these changes on {tuning.server.title}"


def winner_words(tuning: Tuning) -> str:
    """What the winner is: an order, or lines for the owner's server."""
    if tuning.winner is None:
        return ""
    if tuning.server is None:
        return candidate_words(tuning.winner.candidate)
    parts = [counted(len(tuning.html), "change") + " of the document"] if tuning.html else []
    parts += [counted(len(tuning.headers), "header")] if tuning.headers else []
    parts += [f"{tuning.setting.directive} {tuning.setting.value}"] if tuning.setting is not None else []
    return f"{tuning.server.title} as it is, with {listed(parts)}" if parts else f"{tuning.server.title} as it is"


def setting_line(tuning: Tuning) -> str:
    """As "http3_stream_buffer_size 1048576 instead of 65536 (without it: slow-4g +12 %)"."""
    setting = tuning.setting
    if setting is None:
        return ""
    effects = effect_by_network(setting.effect_pct)
    without = f" (without it: {effects})" if effects else ""
    return f"{setting.directive} {setting.value} instead of {setting.usual}{without}"


def _measured(evidence: Evidence) -> str:
    """For example "the main content appeared 18.2 % sooner than with eps over slow-4g: 2.29 s instead of 2.80 s (...)"."""
    tuning, metric = evidence.tuning, evidence.decision
    label, best = tuned_label(tuning), tuning.best_baseline
    effect = evidence.effect(label, best, metric.key)
    if effect is None or effect.change is None or label is None:
        return ""
    medians = evidence.medians(metric.key)
    values = ""
    if label in medians and best in medians:  # a weighted metric has none
        values = f": {metric.format(medians[label])} instead of {metric.format(medians[best])}"
    moved = against_text(effect.metric, effect.change, best)
    return f"{metric.event} {moved} over {evidence.network.name}{values} ({_basis(effect)})"


def _basis(effect: Effect) -> str:
    """For example "LCP; 95 % interval −22.0 % to −14.3 %; 8 blocks; p = 0.031"."""
    blocks, interval = counted(effect.blocks, "block"), effect.metric.format_range(effect.low, effect.high)
    if not interval:
        return f"{effect.metric.short}, {blocks}, no interval"
    parts = (effect.metric.short, f"{confidence_text(effect)} interval {interval}", blocks, p_text(effect.p_adjusted))
    return "; ".join(parts)


def _promised(tuning: Tuning, network: str) -> str:
    """For example "LCP −18 % against eps over slow-4g, 2.29 s instead of 2.80 s"."""
    baseline = tuning.baselines.get(tuning.best_baseline)
    metric = primary_metric(tuning)
    if tuning.winner is None or baseline is None:
        return ""
    change = simulated_change_pct(tuning.winner, baseline, network, metric.key)
    if change is None:
        return ""
    after = value_of(tuning.winner.by_network[network], metric.key)
    before = value_of(baseline.by_network[network], metric.key)
    return (
        f"{metric.short} {expected_text(change)} against {tuning.best_baseline} over {network}, "
        f"{metric.format(after)} instead of {metric.format(before)}"
    )


def candidate_words(candidate: Candidate) -> str:
    """The scheme of a candidate, and how its table differs from the browser's signals."""
    if candidate.published is not None:
        return f"{candidate.scheme} with the published table {candidate.published}"
    if not candidate.uses_mapping:
        return candidate.scheme
    if not candidate.cells and not candidate.overrides:
        return f"{candidate.scheme}, as the browser signals"
    parts = [counted(len(candidate.cells), "cell")] if candidate.cells else []
    parts += [counted(len(candidate.overrides), "path")] if candidate.overrides else []
    return f"{candidate.scheme}, {' and '.join(parts)} different from what the browser signals"


def contender_words(tuning: Tuning, contender: Contender) -> str:
    """The candidate of an arm of the browser rung."""
    if contender.on and tuning.server is not None:
        return f"{contender.on}, with these changes" if contender.changes else f"{contender.on}, the page as it is"
    if contender.is_by_headers and tuning.winner is not None:
        return (
            f"{candidate_words(tuning.winner.candidate)}: loaded as plain eps with response headers that say the same"
        )
    return candidate_words(contender.candidate)


def search_line(tuning: Tuning) -> str:
    """For example "1840 candidates in 3120 simulated loads, 95 s: pipe 1600, stack 220, held out 20"."""
    if not tuning.rungs:
        return "nothing was searched"
    tried = sum(item.tried for item in tuning.rungs)
    loads = sum(item.loads for item in tuning.rungs)
    seconds = sum(item.seconds for item in tuning.rungs)
    parts = ", ".join(f"{item.rung} {item.tried}" for item in tuning.rungs)
    return f"{counted(tried, 'candidate')} in {counted(loads, 'simulated load')}, {format_duration(seconds)}: {parts}"


def time_line(tuning: Tuning) -> str:
    """For example "9 min 48 s of 10 min"."""
    return format_spent(tuning.spent_s, tuning.budget_s)


def dropped_line(item: Dropped) -> str:
    """Which arm left the race, when and why."""
    text = f"{item.label} left after {counted(item.after, 'block')}: {item.change_pct:+.1f} % against {item.leader}"
    return with_minus(f"{text} ({p_text(item.p)})")


def kept_lines(tuning: Tuning) -> list[str]:
    """How much of the gain remains on servers that only follow headers, or with changed HTML alone."""
    lines = []
    for role, by_network in tuning.kept_pct.items():
        if role is Role.HEADERS and any(item.is_by_headers for item in tuning.contenders):
            lines.append(
                "These headers under plain eps are what was loaded as the tuned order: the whole gain is theirs."
            )
            continue
        for network, share in by_network.items():
            low, high = tuning.kept_range_pct.get(role, {}).get(network, (math.nan, math.nan))
            interval = f" (95 % interval {_whole(low)} to {_whole(high)} %)" if low <= high else ""
            remains = f"{_whole(share)} % of the gain remains" if share > 0 else "nothing of the gain remains"
            where = "plain eps and" if tuning.server is None else f"{tuning.best_baseline} and"
            lines.append(f"With {where} {ROLES[role]}, {remains} over {network}{interval if share > 0 else ''}.")
    return [*lines, *_unloaded_lines(tuning)]


def _unloaded_lines(tuning: Tuning) -> list[str]:
    """What is to be shipped although no load had it by itself; for the owner's server, all of it was proved together."""
    if tuning.server is not None or tuning.rung != "browser":
        return []
    loaded = {Role.HEADERS if item.is_by_headers else item.role for item in tuning.contenders}
    wanted = [role for role, lines in ((Role.HEADERS, tuning.headers), (Role.HTML, tuning.html)) if lines]
    return [
        f"There was no time to load the page with {ROLES[role]}: what that does is simulated."
        for role in wanted
        if role not in loaded
    ]


def _whole(value: float) -> str:
    return with_minus(f"{value:.0f}")


def bound_line(evidence: Evidence) -> str:
    """How near the tuned order, or else the best baseline, is to what the network allows."""
    metric = primary_metric(evidence.tuning)
    bound = value_of(evidence.network.bound, metric.key)
    if not bound:
        return ""
    least_ms = min(evidence.medians(metric.key).values(), default=math.inf)
    beside = (
        "Loads in the browser were even faster: simulation is a little slow here."
        if least_ms < bound
        else "A browser adds its own work to that."
    )
    return (
        f"With nothing on the link but what the largest paint waits for, {metric.short} would be {format_ms(bound)} over "
        f"{evidence.network.name}: according to simulation, no order of bytes is faster. {beside}"
    )


def effect_by_network(effects: Mapping[str, float]) -> str:
    """For example "slow-4g +12 %, 4g +3 %". effects: in per cent."""
    return ", ".join(f"{name} {expected_text(change)}" for name, change in effects.items())


def measured_by_network(measured: Mapping[str, tuple[float, float, float]]) -> str:
    """For example "slow-4g −18.1 % (−22.0 % to −13.4 %)"."""
    told = ((name, *map(pct_text, found)) for name, found in measured.items())
    return ", ".join(f"{name} {change} ({low} to {high})" for name, change, low, high in told)


def withheld_lines(tuning: Tuning) -> list[str]:
    """Recommendations of the simulation for other servers and pages that measured loads did not confirm."""
    return [with_minus(f"Not recommended: {ROLES[role]}; {why}.") for role, why in tuning.withheld.items()]


def _joined(parts: Sequence[str]) -> str:
    return "; ".join(parts) if any("," in part or ":" in part for part in parts) else " and ".join(parts)
