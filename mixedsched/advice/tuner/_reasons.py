"""Why a tuning ends as it does: a sentence or two for its outcome, each with the number that shows it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mixedsched.advice.tuner._proof import Judgement
from mixedsched.advice.tuner._search import SearchResult
from mixedsched.advice.tuner.job import deciding_blocks
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.result import Dropped, Scored
from mixedsched.core.metrics import metric_named
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.comparison import Comparison, Effect, Verdict
from mixedsched.lab.play.scenario import LEAST_GAIN
from mixedsched.units import counted, format_ms, listed

NEAR_PCT = 5.0  # of the bound, within which there is hardly anything left to gain


@dataclass(frozen=True, slots=True)
class Room:
    """How far the best baseline is from the earliest paints that the networks allow, in simulation."""

    objective: Objective
    best: str  # label of the best baseline
    baseline: Scored
    bounds: Mapping[str, PaintEstimate]  # by network

    @property
    def is_used_up(self) -> bool:
        """Whether the best baseline is next to the bound on all networks."""
        return all(now <= least * (1 + NEAR_PCT / 100) for _, now, least in self._times(self.baseline))

    def in_words(self, winner: Scored | None = None) -> str:
        """A sentence for all networks; "" where no bound is known."""
        metric = metric_named(self.objective.primary).short
        tuned = {name: after for name, after, _ in self._times(winner)} if winner is not None else {}
        parts = [
            f"{metric} with {self.best} over {name} is {format_ms(now)}, {_above(now, least)} above the "
            f"earliest that this network allows ({format_ms(least)})"
            + (f", and {_above(tuned[name], least)} once tuned" if tuned else "")
            for name, now, least in self._times(self.baseline)
            if least > 0
        ]
        return f"In simulation, {listed(parts)}." if parts else ""

    def _times(self, scored: Scored) -> list[tuple[str, float, float]]:
        """Name of each network, the objective's first metric there in ms, and its bound."""
        key = self.objective.primary
        times = ((name, scored.by_network[name].to_dict(), bound.to_dict()) for name, bound in self.bounds.items())
        return [(name, ours[key], bound[key]) for name, ours, bound in times]


def confirmed_reason(judgement: Judgement, room: Room, winner: Scored) -> str:
    """As "LCP is 14.2 % lower than with sequential over slow-4g (10.1 % to 17.0 %, 6 blocks).", and the room that is left."""
    return f"{_effects_in_words(judgement)}. {room.in_words(winner)}"


def unconfirmed_reason(comparisons: Mapping[str, Comparison], judgement: Judgement | None, room: Room) -> str:
    """The reason why nothing is confirmed, and how much room there was."""
    return f"{_unconfirmed(comparisons, judgement)}. {room.in_words()}"


def _unconfirmed(comparisons: Mapping[str, Comparison], judgement: Judgement | None) -> str:
    if judgement is None:
        return "There was no time to measure a single block of the proof"
    if judgement.harm:
        return f"It would do harm: {judgement.harm}"
    effects = _effects_in_words(judgement)
    blocks = min(item.complete_blocks for item in comparisons.values())
    needed = deciding_blocks(len(comparisons))
    if blocks < needed:
        few = "1 complete block proves" if blocks == 1 else f"{blocks} complete blocks prove"
        return f"{effects}; {few} nothing, at least {needed} are needed"
    if judgement.unbeaten:
        rivals = listed([f"{label} over {network}" for network, label in judgement.unbeaten.items()])
        return f"{effects}; but it is not shown to be better than {rivals}"
    winners = [items[0] for items in judgement.effects.values()]
    if any(item.verdict is Verdict.UNDECIDED for item in winners):
        more = max((item.more_blocks or 0 for item in winners), default=0)
        wanted = f"; about {counted(more, 'more block')} would decide" if more else ""
        return f"{effects}, which may be chance{wanted}"
    return _no_difference(judgement)


def _no_difference(judgement: Judgement) -> str:
    return f"{_effects_in_words(judgement)}: no difference that matters"


def equivalent_reason(judgement: Judgement, room: Room) -> str:
    """The candidate was loaded, and makes no difference."""
    return f"{_no_difference(judgement)}. {room.in_words()}"


def nothing_reason(found: SearchResult, room: Room) -> str:
    """No candidate is better in simulation, or none can be."""
    if not found.rungs:
        least = f"{LEAST_GAIN * 100:g} {'points of the score' if room.objective.points is not None else '%'}"
        why = f"No order can be better than {room.best} by {least}, so none was searched for"
    else:
        tried = f"{found.all_tried} different orders" if found.all_tried else f"{found.tried} candidates"
        why = f"None of the {tried} that were tried beats {room.best} in simulation by more than its departures cost"
    return f"{why}. {room.in_words()}"


def simulated_reason(winner: Scored, room: Room) -> str:
    """The gain that simulation promises."""
    key, parts = room.objective.primary, []
    for name, estimates in winner.by_network.items():
        before, after = room.baseline.by_network[name].to_dict()[key], estimates.to_dict()[key]
        change = (after / before - 1) * 100 if before else 0.0
        signed = f"{change:+.1f}".replace("-", "−")  # not in the whole: names have hyphens
        parts.append(f"{metric_named(key).short} {signed} % against {room.best} over {name}")
    return f"Simulated only: {listed(parts)}. {room.in_words()}"


def out_raced_reason(dropped: Sequence[Dropped], tuned: Sequence[str], best: str) -> str:
    """All candidates left the race. tuned: their labels."""
    last = [item for item in dropped if item.label in tuned][-1]
    behind = f"the last of them by {last.change_pct:.0f} % after {last.after} blocks"
    return f"In the race, every candidate was slower than {best}: {behind}."


def _above(value_ms: float, bound_ms: float) -> str:
    return f"{max(0.0, (value_ms / bound_ms - 1) * 100):.0f} %"


def _effects_in_words(judgement: Judgement) -> str:
    """The winner's effect on each network."""
    return listed([_effect_in_words(name, items[0]) for name, items in judgement.effects.items()])


def _effect_in_words(network: str, effect: Effect) -> str:
    metric = effect.metric
    if effect.change is None:
        return f"nothing is known over {network}"
    direction = "lower" if effect.change < 0 else "higher"
    size = metric.format_change(effect.change, signed=False)
    measured = counted(effect.blocks, "block")
    if interval := metric.format_range(effect.low, effect.high):
        measured = f"{min(95.0, effect.confidence * 100):.3g} % interval {interval}, {measured}"
    return f"{metric.short} is {size} {direction} than with {effect.baseline} over {network} ({measured})"
