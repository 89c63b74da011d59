"""Why a tuning ends as it does, a sentence or two each, with the number that says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mixedsched.advice.tuner.budget import deciding_blocks
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.proof import Judgement
from mixedsched.advice.tuner.result import Dropped, Estimates, Scored
from mixedsched.advice.tuner.search import SearchResult
from mixedsched.core.metrics import metric_named
from mixedsched.lab.comparison import Comparison, Effect, Verdict
from mixedsched.lab.play.scenario import LEAST_GAIN
from mixedsched.units import format_ms

NEAR_PCT = 5.0  # of the bound, within which there is hardly anything left to gain


def confirmed_reason(
    effects: Mapping[str, Sequence[Effect]],
    bounds: Mapping[str, Estimates],
    objective: Objective,
    found: SearchResult,
    winner: Scored,
    best: str,
) -> str:
    """As "LCP is 14.2 % lower than with sequential over slow-4g (10.1 % to 17.0 %, 6 blocks).", and what room is left."""
    told = _joined(_told(name, items[0]) for name, items in effects.items())
    return f"{told}. {_room(objective, found.baselines[best], bounds, best, winner)}"


def unconfirmed_reason(
    comparisons: Mapping[str, Comparison],
    judgement: Judgement | None,
    bounds: Mapping[str, Estimates],
    objective: Objective,
    found: SearchResult,
    best: str,
) -> str:
    """What is missing for a confirmation, and how much room there was."""
    room = _room(objective, found.baselines[best], bounds, best)
    if judgement is None:
        return f"The time did not suffice for a block of proof. {room}"
    if judgement.harm:
        return f"It would do harm: {judgement.harm}. {room}"
    told = _joined(_told(name, items[0]) for name, items in judgement.effects.items())
    blocks = min(item.complete_blocks for item in comparisons.values())
    needed = deciding_blocks(len(comparisons))
    if blocks < needed:
        return f"{told}; {blocks} complete blocks prove nothing, {needed} would be the least. {room}"
    if any(items[0].verdict is Verdict.UNDECIDED for items in judgement.effects.values()):
        more = max((items[0].more_blocks or 0 for items in judgement.effects.values()), default=0)
        wanted = f"; about {more} blocks more would decide" if more else ""
        return f"{told}, which may be chance{wanted}. {room}"
    return f"{told}: no difference that would matter. {room}"


def nothing_reason(objective: Objective, found: SearchResult, best: str, bounds: Mapping[str, Estimates]) -> str:
    """No candidate is better in simulation, or what is left is within noise of the bound."""
    room = _room(objective, found.baselines[best], bounds, best)
    if not found.rungs:
        least = f"{LEAST_GAIN * 100:g} {'points of the score' if objective.points is not None else '%'}"
        return f"No order can be better than {best} by {least}, so none was searched for. {room}"
    tried = found.all_tried
    everything = f"All {tried} orders that differ were tried, none" if tried else f"None of {found.tried} candidates"
    return f"{everything} is better than {best} in simulation by more than it departs from it. {room}"


def simulated_reason(
    objective: Objective, found: SearchResult, winner: Scored, best: str, bounds: Mapping[str, Estimates]
) -> str:
    """What simulation promises."""
    key = objective.primary
    parts = []
    for name, estimates in winner.by_network.items():
        before = found.baselines[best].by_network[name].to_dict()[key]
        after = estimates.to_dict()[key]
        change = (after / before - 1) * 100 if before else 0.0
        parts.append(f"{metric_named(key).short} {change:+.1f} % against {best} over {name}".replace("-", "−", 1))
    return f"Simulated only: {_joined(parts)}. {_room(objective, found.baselines[best], bounds, best)}"


def out_raced_reason(dropped: Sequence[Dropped], best: str) -> str:
    """All candidates left the race."""
    tuned = [item for item in dropped if item.label.startswith("tuned")]
    last = tuned[-1]
    told = f"the last of them by {last.change_pct:.0f} % after {last.after} blocks"
    return f"In the race, every candidate was slower than {best}: {told}."


def at_bound(objective: Objective, baseline: Scored, bounds: Mapping[str, Estimates]) -> bool:
    """Whether the best baseline is next to the earliest that the networks allow, on all of them."""
    key = objective.primary
    return all(
        baseline.by_network[name].to_dict()[key] <= bound.to_dict()[key] * (1 + NEAR_PCT / 100)
        for name, bound in bounds.items()
    )


def _room(
    objective: Objective, baseline: Scored, bounds: Mapping[str, Estimates], best: str, winner: Scored | None = None
) -> str:
    """How far the best baseline is from the bound, in simulation, and the winner."""
    key = objective.primary
    parts = []
    for name, bound in bounds.items():
        least, now = bound.to_dict()[key], baseline.by_network[name].to_dict()[key]
        if least > 0:
            left = "" if winner is None else f", and {_above(winner.by_network[name].to_dict()[key], least)} once tuned"
            parts.append(
                f"{metric_named(key).short} with {best} over {name} is {format_ms(now)}, {_above(now, least)} above the "
                f"earliest that this network allows ({format_ms(least)}){left}"
            )
    return f"In simulation, {_joined(parts)}." if parts else ""


def _above(value_ms: float, bound_ms: float) -> str:
    return f"{max(0.0, (value_ms / bound_ms - 1) * 100):.0f} %"


def _told(network: str, effect: Effect) -> str:
    metric = effect.metric
    if effect.change is None:
        return f"nothing is known over {network}"
    direction = "lower" if effect.change < 0 else "higher"
    size = metric.format_change(effect.change, signed=False)
    interval = ""
    if effect.low is not None and effect.high is not None:
        interval = f"{min(95.0, effect.confidence * 100):.3g} % interval {metric.format_change(effect.low)} to "
        interval += f"{metric.format_change(effect.high)}, "
    blocks = f"{effect.blocks} block{'s' if effect.blocks != 1 else ''}"
    return f"{metric.short} is {size} {direction} than with {effect.baseline} over {network} ({interval}{blocks})"


def _joined(parts: Iterable[str]) -> str:
    listed = list(parts)
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]])) if listed else ""
