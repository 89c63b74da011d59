"""What the loads of the proof say of headers and of lines of HTML by themselves: how much of the gain they keep, what each line
brings, and what is not to be shipped. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mixedsched.advice.tuner.proof import Judgement, effect_between, harm, kept
from mixedsched.advice.tuner.result import Contender, Role
from mixedsched.advice.tuner.ship.lines import HtmlLine
from mixedsched.lab.comparison import Comparison, Effect, Verdict

_ALONE = (Role.HEADERS, Role.HTML)


@dataclass(frozen=True, slots=True)
class Remains:
    """kept_pct, kept_range_pct, withheld: as in Tuning, by role."""

    kept_pct: Mapping[Role, Mapping[str, float]] = field(default_factory=dict)
    kept_range_pct: Mapping[Role, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    withheld: Mapping[Role, str] = field(default_factory=dict)


def remains(
    comparisons: Mapping[str, Comparison],
    judgement: Judgement,
    finalists: Sequence[Contender],
    best: str,
    weights: Mapping[str, float],
    seed: int,
) -> Remains:
    """comparisons: of the proof, by network. best: label of the best baseline. seed: of the intervals' resampling."""
    winner = next(item for item in finalists if item.role is Role.TUNED)
    better = [name for name, effects in judgement.effects.items() if effects[0].verdict is Verdict.BETTER]
    shares: dict[Role, dict[str, float]] = {}
    ranges: dict[Role, dict[str, tuple[float, float]]] = {}
    withheld: dict[Role, str] = {}
    if winner.is_by_headers and better:
        shares[Role.HEADERS] = dict.fromkeys(better, 100.0)
    for item in finalists:
        if item.role not in _ALONE:
            continue
        for name in better:
            found = kept(comparisons[name], winner.label, item.label, best, weights, seed)
            if found is not None:
                shares.setdefault(item.role, {})[name] = found[0]
                ranges.setdefault(item.role, {})[name] = found[1:]
        if why := _not_to_ship(comparisons, item.label, best, weights):
            withheld[item.role] = why
    return Remains(shares, ranges, withheld)


def measured_lines(
    lines: Sequence[HtmlLine],
    finalists: Sequence[Contender],
    comparisons: Mapping[str, Comparison],
    best: str,
    weights: Mapping[str, float],
) -> tuple[HtmlLine, ...]:
    """The lines with what their own arms of the proof show, where they have one."""
    arms = {item.changes: item.label for item in finalists if item.role in {Role.HTML, Role.LINE}}
    return tuple(
        replace(line, measured=label, measured_pct=_intervals(comparisons, label, best, weights))
        if (label := arms.get((line.change,))) is not None
        else line
        for line in lines
    )


def _not_to_ship(comparisons: Mapping[str, Comparison], label: str, best: str, weights: Mapping[str, float]) -> str:
    """A sentence without a stop; "" if it may be shipped: nothing is worse with it, and something is better."""
    effects = _effects(comparisons, label, best, weights)
    if why := harm(comparisons, effects, label):
        return why
    changes = [effect.change for effect in effects.values() if effect.change is not None]
    if changes and min(changes) >= 0:
        name, effect = min(effects.items(), key=lambda item: item[1].change or 0.0)
        return f"measured, it gains nothing: {effect.metric.short} is {effect.change:+.1f} % against {best} over {name}"
    return ""


def _effects(
    comparisons: Mapping[str, Comparison], label: str, best: str, weights: Mapping[str, float]
) -> dict[str, Effect]:
    return {name: effect_between(item, label, best, weights) for name, item in comparisons.items()}


def _intervals(
    comparisons: Mapping[str, Comparison], label: str, best: str, weights: Mapping[str, float]
) -> dict[str, tuple[float, float, float]]:
    found = {}
    for name, effect in _effects(comparisons, label, best, weights).items():
        if effect.change is not None and effect.low is not None and effect.high is not None:
            found[name] = (effect.change, effect.low, effect.high)
    return found
