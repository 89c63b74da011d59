"""Which lines are worth shipping: dropped where they do not contribute in simulation, each with its effect. Pure.

Every line is work for an owner, so each has to earn a little (COST); what the search of lines used for choosing is not used
for the effects that are told. Whoever plays may raise NoTime: then what was found by then is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from mixedsched.advice.changes.change import Change
from mixedsched.advice.tuner.ship.headers import HeaderPlan, covered
from mixedsched.advice.tuner.ship.lines import HeaderRule, HtmlLine
from mixedsched.model.page import Page

COST = 0.002  # of the score, for each line
LEAST_GAIN = 0.005  # of the score, below which nothing is shipped at all
HTML_LINES_MOST = 4

NOT_TRIED = "there was no time to try them, so that some may be idle"
NOT_ALL_TRIED = "there was no time to try each of them, so that some may be idle"

Line = TypeVar("Line", HeaderRule, Change)


class NoTime(Exception):  # noqa: N818 - no error: what was tried by then is told
    """There is no time to play so much."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a set of lines comes to. score: of the objective, lower is better, 0.01 being about one per cent.

    metric_ms: the objective's first metric by network, median over seeds.
    """

    score: float
    metric_ms: Mapping[str, float]


# Plays the page under plain eps with sets of lines, the empty one being the page as it is; what it gives has their order.
HeaderPlay = Callable[[Sequence[tuple[HeaderRule, ...]]], Sequence[Played]]
HtmlPlay = Callable[[Sequence[tuple[Change, ...]]], Sequence[Played]]
_Play = Callable[[Sequence[tuple[Line, ...]]], Sequence[Played]]


def best_headers(
    plans: Sequence[HeaderPlan], page: Page, play: HeaderPlay, held_out: HeaderPlay, *, keep_all: bool = False
) -> HeaderPlan:
    """The best of several plans, without the rules that do not contribute; one without rules if headers gain nothing.

    play: for choosing. held_out: over other seeds, for the effects: change of the metric if a rule alone is left out.
    keep_all: also what does not contribute, for a plan that is worth more as a whole.
    """
    try:
        none, *played = play([(), *(plan.rules for plan in plans)])
    except NoTime:
        return replace(plans[0], lost=(*plans[0].lost, NOT_TRIED))
    place = min(range(len(plans)), key=lambda index: (_penalised(played[index], plans[index].rules), index))
    plan = plans[place]
    rules, score, is_over = plan.rules, _penalised(played[place], plan.rules), True
    if not keep_all:
        rules, score, is_over = _pruned(rules, score, play)
    if score > none.score - LEAST_GAIN:
        return replace(plan, rules=(), lost=(*plan.lost, "headers gain nothing in simulation"))
    rules = covered(rules, page)
    lost = plan.lost if is_over else (*plan.lost, NOT_ALL_TRIED)
    try:
        whole, *without = held_out([rules, *_each_left_out(rules)])
    except NoTime:
        return replace(plan, rules=rules, lost=lost)
    told = [replace(rule, effect_pct=_effect(item, whole)) for rule, item in zip(rules, without, strict=True)]
    return replace(plan, rules=tuple(told), lost=lost)


def best_html(candidates: Sequence[Change], play: HtmlPlay, held_out: HtmlPlay) -> tuple[HtmlLine, ...]:
    """The best set of changes to the document, at most HTML_LINES_MOST, found as an audit finds its own; empty if none helps.

    Effects are those of each line alone, over other seeds; no line without one, so none if there is no time.
    """
    if not candidates:
        return ()
    try:
        return _best_html(candidates, play, held_out)
    except NoTime:
        return ()


def _best_html(candidates: Sequence[Change], play: HtmlPlay, held_out: HtmlPlay) -> tuple[HtmlLine, ...]:
    none, *alone = play([(), *((change,) for change in candidates)])
    in_order = [
        candidates[index] for index in sorted(range(len(candidates)), key=lambda index: (alone[index].score, index))
    ]
    best: tuple[Change, ...] = ()
    score = none.score
    for change in in_order:
        grown = (*best, change)
        found = _penalised(play([grown])[0], grown)
        if len(grown) <= HTML_LINES_MOST and found < score - LEAST_GAIN:
            best, score = grown, found
    best, score, _ = _pruned(best, score, play)
    if not best or score > none.score - LEAST_GAIN:
        return ()
    today, *singles = held_out([(), *((change,) for change in best)])
    return tuple(HtmlLine(change, _effect(item, today)) for change, item in zip(best, singles, strict=True))


def _pruned(lines: tuple[Line, ...], score: float, play: _Play[Line]) -> tuple[tuple[Line, ...], float, bool]:
    """Without what is idle: all idle ones at once if that does no harm, else one by one. Lines, their score, and whether each
    was tried."""
    while lines:
        try:
            found = _without_idle(lines, score, play)
        except NoTime:
            lines, score = _pruned_one_by_one(lines, score, play)
            return lines, score, False
        if found is None:
            break
        lines, score = found
    return lines, score, True


def _pruned_one_by_one(lines: tuple[Line, ...], score: float, play: _Play[Line]) -> tuple[tuple[Line, ...], float]:
    """For as many as there is time, the last ones first: those in front of them are of no use without them, not the reverse."""
    for line in reversed(lines):
        rest = tuple(other for other in lines if other is not line)
        try:
            found = _penalised(play([rest])[0], rest)
        except NoTime:
            break
        if found <= score:
            lines, score = rest, found
    return lines, score


def _without_idle(lines: tuple[Line, ...], score: float, play: _Play[Line]) -> tuple[tuple[Line, ...], float] | None:
    """Fewer lines and their score; None if each of them contributes."""
    smaller = _each_left_out(lines)
    scores = [_penalised(item, rest) for item, rest in zip(play(smaller), smaller, strict=True)]
    idle = [index for index, found in enumerate(scores) if found <= score]
    if not idle:
        return None
    if len(idle) > 1:
        rest = tuple(line for index, line in enumerate(lines) if index not in idle)
        found = _penalised(play([rest])[0], rest)
        if found <= min(scores):
            return rest, found
    lightest = min(idle, key=lambda index: (scores[index], -index))
    return smaller[lightest], scores[lightest]


def _each_left_out(lines: tuple[Line, ...]) -> list[tuple[Line, ...]]:
    return [lines[:index] + lines[index + 1 :] for index in range(len(lines))]


def _penalised(played: Played, lines: Sequence[object]) -> float:
    return played.score + COST * len(lines)


def _effect(changed: Played, base: Played) -> dict[str, float]:
    """Change by network in per cent; 0 where the base takes no time at all."""
    return {
        name: (changed.metric_ms[name] / value_ms - 1) * 100 if value_ms else 0.0
        for name, value_ms in base.metric_ms.items()
    }
