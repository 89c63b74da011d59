"""What the measurements say, over all networks together: Holm over the whole declared family, then one word for the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from mixedsched.core import stats
from mixedsched.core.metrics import metric_named
from mixedsched.lab.comparison import Comparison, Effect, Verdict

PRIMARY = "lcp_ms"


class AuditVerdict(StrEnum):
    """good: nothing that was tried is better. improvable: the changes are confirmed better on a network, and worse on none.
    mixed: better on one network, worse on another. open: they promise to help, but the time did not suffice to tell.
    unmeasured: they promise to, and not one block is complete."""

    GOOD = "good"
    IMPROVABLE = "improvable"
    MIXED = "mixed"
    OPEN = "open"
    UNMEASURED = "unmeasured"


def family_effects(comparisons: Mapping[str, Comparison]) -> dict[str, tuple[Effect, ...]]:
    """The primary effects of every network, their p adjusted over all networks and contenders at once, by network."""
    effects = [
        (network, effect)
        for network, comparison in comparisons.items()
        for effect in comparison.effects
        if effect.metric is metric_named(PRIMARY)
    ]
    adjusted = stats.holm([effect.p for _, effect in effects])
    found: dict[str, list[Effect]] = {network: [] for network in comparisons}
    for (network, effect), p in zip(effects, adjusted, strict=True):
        found[network].append(_judged(effect, p, len(effects)))
    return {network: tuple(items) for network, items in found.items()}


def _judged(effect: Effect, p_adjusted: float, family_size: int) -> Effect:
    """The effect with the p of the larger family: what it does not carry any more becomes undecided, or equivalent."""
    verdict = effect.verdict
    if verdict in {Verdict.BETTER, Verdict.WORSE} and p_adjusted >= stats.ALPHA:
        margin = effect.metric.change_margin
        low, high = effect.low, effect.high
        within = low is not None and high is not None and -margin <= low and high <= margin
        verdict = Verdict.EQUIVALENT if within else Verdict.UNDECIDED
    more = None
    if verdict is Verdict.UNDECIDED:
        steps = [math.log1p(change / 100) for _, change in effect.differences]
        more = stats.more_pairs_needed(steps, math.log1p(effect.metric.margin), family_size)
    return replace(effect, p_adjusted=p_adjusted, verdict=verdict, more_blocks=more)


def outcome_of(effects: Mapping[str, Sequence[Effect]], contender: str, *, promises: bool) -> AuditVerdict:
    """One word for the page, by its best contender. promises: whether simulation expects a gain beyond the margin."""
    mine = [effect for items in effects.values() for effect in items if effect.arm == contender]
    verdicts = {effect.verdict for effect in mine}
    if not any(effect.blocks for effect in mine):
        return AuditVerdict.UNMEASURED
    if Verdict.BETTER in verdicts:
        return AuditVerdict.MIXED if Verdict.WORSE in verdicts else AuditVerdict.IMPROVABLE
    decided = verdicts <= {Verdict.EQUIVALENT, Verdict.WORSE}
    return AuditVerdict.GOOD if decided or not promises else AuditVerdict.OPEN


def best_contender(effects: Mapping[str, Sequence[Effect]], contenders: Sequence[str]) -> str | None:
    """Of those that are confirmed better somewhere and worse nowhere, the one with the largest gain; else the first planned."""

    def gain(label: str) -> float:
        changes = [item.change or 0.0 for items in effects.values() for item in items if item.arm == label]
        return sum(changes) / len(changes) if changes else 0.0

    confirmed = [label for label in contenders if outcome_of(effects, label, promises=False) is AuditVerdict.IMPROVABLE]
    if confirmed:
        return min(confirmed, key=gain)
    return contenders[0] if contenders else None
