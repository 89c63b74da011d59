"""Which headers and lines of HTML are worth shipping: played on rung stack under plain `eps`, and dropped where idle.

Every line is work for an owner, so each has to earn a little (COST). Seeds that serve for choosing lines are not used for the
effects that are reported. Playing may raise NoTime: then what was found by then is the answer.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mixedsched.advice.changes.change import Change, code_of
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import Objective, Scorer
from mixedsched.advice.tuner.result import HeaderRule, HtmlLine, Role, Scored
from mixedsched.advice.tuner.ship.headers import HeaderPlan, as_candidate, covered, header_plans, says_all
from mixedsched.advice.tuner.ship.shipping import Shipping
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import MixedschedError
from mixedsched.lab.play.scenario import LEAST_GAIN, Scenario
from mixedsched.lab.play.task import Simulator, Task
from mixedsched.model.page import Page
from mixedsched.world import catalog

PLAIN = Candidate("eps")
COST = 0.002  # of the score, for each line
HTML_LINES_MOST = 4
WHOLE_LINES_MOST = 8  # of headers that say all of an order, which are kept as they are, since one arm then proves both

NOT_TRIED = "there was no time to try them, so that some may be idle"
NOT_ALL_TRIED = "there was no time to try each of them, so that some may be idle"

Line = TypeVar("Line", HeaderRule, Change)


class NoTime(Exception):  # noqa: N818 - not an error: what was tried by then is reported
    """There is no time to play so many loads."""


@dataclass(frozen=True, slots=True)
class Played:
    """The result of a set of lines."""

    score: float  # of the objective; lower is better, 0.01 is about one per cent
    metric_ms: Mapping[str, float]  # the objective's first metric by network, median over seeds
    paints: Mapping[str, PaintEstimate] = field(default_factory=dict)  # likewise, all of it


Lines = tuple[tuple[Change, ...], tuple[HeaderRule, ...], str]
"""Lines of HTML, headers, and the scheme with its parameters."""

# Plays the page under plain eps with sets of lines, the empty one being the page as it is; results have their order.
Play = Callable[[Sequence[tuple[Line, ...]]], Sequence[Played]]


@dataclass(frozen=True, slots=True)
class Ground:
    """Where lines are tried: the page as each network shows it, with what playing it needs."""

    scenes: tuple[Scenario, ...]
    models: tuple[PageModel, ...]  # one for each scene
    objective: Objective
    workers: Simulator[PaintEstimate | None]
    search_seeds: Sequence[int]  # of networks on which loads differ; the first few are used
    held_out_seeds: Sequence[int]  # likewise, for effects
    # Asked before loads are played, given how many seconds these will take.
    has_time: Callable[[float], bool] = lambda _: True
    load_s: float = 0.0  # of one load, as far as it is known before any is played
    clock_s: Callable[[], float] = lambda: 0.0
    plain: Candidate = PLAIN  # how the page is delivered as it is; lines are tried under its scheme


def screened(ground: Ground, winner: Scored, baseline: Scored, changes: Sequence[Change]) -> Shipping:
    """Translate the winner into headers and find lines of HTML that help. changes: to the document, worth a try.

    Raises MixedschedError if a load under plain `eps` never ends.
    """
    trials, telling = LineTrials(ground), ground.held_out_seeds
    plans = header_plans(ground.scenes[0].page, winner.candidate, catalog.load_mapping)
    keep_all = len(plans[0].rules) <= WHOLE_LINES_MOST and _says_all(ground, plans[0], winner)
    plan, html = trials.best_headers(plans, keep_all=keep_all), trials.best_html(changes)
    kept: dict[Role, Mapping[str, float]] = {}
    with suppress(NoTime):
        if plan.rules:
            kept[Role.HEADERS] = _kept(ground, trials.of_rules([plan.rules], telling)[0], winner, baseline)
        if html:
            lines = tuple(item.change for item in html)
            kept[Role.HTML] = _kept(ground, trials.of_changes([lines], telling)[0], winner, baseline)
    shares = {role: by_network for role, by_network in kept.items() if by_network}
    return Shipping(plan, html, shares, _says_all(ground, plan, winner))


def _says_all(ground: Ground, plan: HeaderPlan, winner: Scored) -> bool:
    return all(says_all(plan, scene.page, winner.candidate, catalog.load_mapping) for scene in ground.scenes)


def _kept(ground: Ground, found: Played, winner: Scored, baseline: Scored) -> dict[str, float]:
    """Share of the gain that remains in the objective's first metric, in per cent, on networks where there is a gain."""
    key = ground.objective.primary
    shares = {}
    for name in found.metric_ms:
        before, after = baseline.by_network[name].to_dict()[key], winner.by_network[name].to_dict()[key]
        if 0 < after < before:
            shares[name] = math.log(found.metric_ms[name] / before) / math.log(after / before) * 100
    return shares


# Choosing lines


def best_headers(
    plans: Sequence[HeaderPlan],
    page: Page,
    play: Play[HeaderRule],
    held_out: Play[HeaderRule],
    *,
    keep_all: bool = False,
) -> HeaderPlan:
    """The best of several plans, without the rules that do not contribute; one without rules if headers gain nothing.

    play: for choosing. held_out: over other seeds, for the effects: change of the metric if a rule alone is left out.
    keep_all: keep also what does not contribute, for a plan that is worth more as a whole.
    """
    try:
        none, *played = play([(), *(plan.rules for plan in plans)])
    except NoTime:
        return replace(plans[0], lost=(*plans[0].lost, NOT_TRIED))
    place = min(range(len(plans)), key=lambda index: (penalised(played[index], plans[index].rules), index))
    plan = plans[place]
    rules, score, is_over = plan.rules, penalised(played[place], plan.rules), True
    if not keep_all:
        rules, score, is_over = _pruned(rules, score, play)
    if score > none.score - LEAST_GAIN:
        return replace(plan, rules=(), lost=(*plan.lost, "headers gain nothing in simulation"))
    rules = covered(rules, page)
    lost = plan.lost if is_over else (*plan.lost, NOT_ALL_TRIED)
    with suppress(NoTime):
        whole, *without = held_out([rules, *_each_left_out(rules)])
        rules = tuple(
            replace(rule, effect_pct=effect_of(item, whole)) for rule, item in zip(rules, without, strict=True)
        )
    return replace(plan, rules=rules, lost=lost)


def best_html(candidates: Sequence[Change], play: Play[Change], held_out: Play[Change]) -> tuple[HtmlLine, ...]:
    """The best set of changes to the document, at most HTML_LINES_MOST, found as an audit finds its own; empty if none helps.

    Effects are those of each line alone, over other seeds; a line is never without one, so there are none if there is no time.
    """
    if not candidates:
        return ()
    try:
        none, *alone = play([(), *((change,) for change in candidates)])
        in_order = sorted(range(len(candidates)), key=lambda index: (alone[index].score, index))
        best: tuple[Change, ...] = ()
        score = none.score
        for index in in_order:
            if len(best) == HTML_LINES_MOST:
                break
            grown = (*best, candidates[index])
            found = penalised(play([grown])[0], grown)
            if found < score - LEAST_GAIN:
                best, score = grown, found
        best, score, _ = _pruned(best, score, play)
        if not best or score > none.score - LEAST_GAIN:
            return ()
        today, *singles = held_out([(), *((change,) for change in best)])
    except NoTime:
        return ()
    return tuple(HtmlLine(change, effect_of(item, today)) for change, item in zip(best, singles, strict=True))


def _pruned(lines: tuple[Line, ...], score: float, play: Play[Line]) -> tuple[tuple[Line, ...], float, bool]:
    """Without idle lines: all of them at once if that does no harm, else one by one. Lines, their score, and whether each was
    tried."""
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


def _pruned_one_by_one(lines: tuple[Line, ...], score: float, play: Play[Line]) -> tuple[tuple[Line, ...], float]:
    """As many as there is time for are tried, the last ones first: the rules before them may be of use only with them."""
    with suppress(NoTime):
        for line in reversed(lines):
            rest = tuple(other for other in lines if other is not line)
            found = penalised(play([rest])[0], rest)
            if found <= score:
                lines, score = rest, found
    return lines, score


def _without_idle(lines: tuple[Line, ...], score: float, play: Play[Line]) -> tuple[tuple[Line, ...], float] | None:
    """Fewer lines and their score; None if each of them contributes."""
    smaller = _each_left_out(lines)
    scores = [penalised(item, rest) for item, rest in zip(play(smaller), smaller, strict=True)]
    idle = [index for index, found in enumerate(scores) if found <= score]
    if not idle:
        return None
    if len(idle) > 1:
        rest = tuple(line for index, line in enumerate(lines) if index not in idle)
        found = penalised(play([rest])[0], rest)
        if found <= min(scores):
            return rest, found
    lightest = min(idle, key=lambda index: (scores[index], -index))
    return smaller[lightest], scores[lightest]


def _each_left_out(lines: tuple[Line, ...]) -> list[tuple[Line, ...]]:
    return [lines[:index] + lines[index + 1 :] for index in range(len(lines))]


def penalised(played: Played, lines: Sequence[object]) -> float:
    return played.score + COST * len(lines)


def effect_of(changed: Played, base: Played) -> dict[str, float]:
    """Change by network in per cent; 0 where the base takes no time at all."""
    return {
        name: (changed.metric_ms[name] / value_ms - 1) * 100 if value_ms else 0.0
        for name, value_ms in base.metric_ms.items()
    }


# Playing them

_Setting = tuple[str, Scenario, Candidate]  # code of the changes that make the scene, the scene, how it is delivered
_ByScene = tuple[tuple[PaintEstimate, ...], ...]  # then by seed


class LineTrials:
    """Plays sets of lines against the page as it is, under plain eps or what the ground has instead; each load once."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._known: dict[tuple[str, str, str, int], PaintEstimate] = {}  # by changes, network, candidate and seed
        self._load_s = ground.load_s
        self.hurries = True  # whether loads are left out for which there is no time

    @property
    def loads(self) -> int:
        """How many were played."""
        return len(self._known)

    def best_headers(self, plans: Sequence[HeaderPlan], *, keep_all: bool = False) -> HeaderPlan:
        return best_headers(plans, self._ground.scenes[0].page, *self._plays(self.of_rules), keep_all=keep_all)

    def best_html(self, changes: Sequence[Change]) -> tuple[HtmlLine, ...]:
        return best_html(changes, *self._plays(self.of_changes))

    def _plays(
        self, of: Callable[[Sequence[tuple[Line, ...]], Sequence[int]], list[Played]]
    ) -> tuple[Play[Line], Play[Line]]:
        """A function for choosing, and one for the effects that are reported."""
        choosing, telling = self._ground.search_seeds, self._ground.held_out_seeds
        return lambda sets: of(sets, choosing), lambda sets: of(sets, telling)

    def of_rules(self, sets: Sequence[tuple[HeaderRule, ...]], seeds: Sequence[int]) -> list[Played]:
        return self.of_lines([((), rules, self._ground.plain.scheme) for rules in sets], seeds)

    def of_changes(self, sets: Sequence[tuple[Change, ...]], seeds: Sequence[int]) -> list[Played]:
        return self.of_lines([(changes, (), self._ground.plain.scheme) for changes in sets], seeds)

    def of_lines(self, sets: Sequence[Lines], seeds: Sequence[int]) -> list[Played]:
        return self._results_of([self._settings(*lines) for lines in sets], seeds)

    def _settings(self, changes: tuple[Change, ...], rules: tuple[HeaderRule, ...], scheme: str) -> list[_Setting]:
        """Headers are told of the page as it is: what they are for goes by its path."""
        ground, found = self._ground, []
        for scene, model in zip(ground.scenes, ground.models, strict=True):
            candidate = as_candidate(rules, scene.page, scheme) if rules else replace(ground.plain, scheme=scheme)
            found.append((code_of(changes), changed_scene(scene, model, changes), candidate))
        return found

    def _results_of(self, sets: Sequence[Sequence[_Setting]], seeds: Sequence[int]) -> list[Played]:
        ground = self._ground
        names = tuple(scene.name for scene in ground.scenes)
        plain, *found = self._played([[("", scene, ground.plain) for scene in ground.scenes], *sets], seeds)
        scorer = Scorer.of(ground.objective, (ground.scenes[0].page,), 0.0, names, {"eps": plain})
        results = []
        for item in found:
            value = scorer.value(item)
            assert value is not None, "all loads ended"
            paints = dict(zip(names, map(PaintEstimate.median_of, item), strict=True))
            times_ms = {name: each.to_dict()[ground.objective.primary] for name, each in paints.items()}
            results.append(Played(value, times_ms, paints))
        return results

    def _played(self, sets: Sequence[Sequence[_Setting]], seeds: Sequence[int]) -> list[_ByScene]:
        """Raises MixedschedError if a load never ends, NoTime if there is no time for all of them."""
        missing = {
            (code, scene.network.name, candidate.code, seed): Task(scene, candidate, seed)
            for of_set in sets
            for code, scene, candidate in of_set
            for seed in scene.few_seeds_of(seeds)
            if (code, scene.network.name, candidate.code, seed) not in self._known
        }
        results = self._results(list(missing.values()))
        for key, result in zip(missing, results, strict=True):
            if result is None:
                raise MixedschedError(
                    f"a load under {self._ground.plain.scheme} never ends over {key[1]}",
                    why="the network loses too much, or is too slow for the page",
                    fix="choose another --link",
                )
            self._known[key] = result
        return [tuple(self._paints(setting, seeds) for setting in of_set) for of_set in sets]

    def _paints(self, setting: _Setting, seeds: Sequence[int]) -> tuple[PaintEstimate, ...]:
        code, scene, candidate = setting
        return tuple(self._known[code, scene.network.name, candidate.code, seed] for seed in scene.few_seeds_of(seeds))

    def _results(self, tasks: Sequence[Task]) -> Sequence[PaintEstimate | None]:
        if not tasks:
            return ()
        if self.hurries and not self._ground.has_time(self._load_s * len(tasks)):
            raise NoTime
        began_s = self._ground.clock_s()
        results = self._ground.workers.play(tasks)
        self._load_s = max(self._load_s, (self._ground.clock_s() - began_s) / len(tasks))
        return results


def changed_scene(scene: Scenario, model: PageModel, changes: tuple[Change, ...]) -> Scenario:
    """The scene of the changed site. model: of the page as it is."""
    if not changes:
        return scene
    changed = model.with_changes(changes)
    return replace(scene, page=changed.played(), hero_needs=changed.hero_needs)
