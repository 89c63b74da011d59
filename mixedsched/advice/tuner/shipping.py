"""What of a tuned order can be shipped to any server: headers and lines of HTML, screened on rung stack under plain `eps`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mixedsched.advice.changes.change import Change, code_of
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.play import Task, Workers
from mixedsched.advice.tuner.result import Estimates, Role, Scored
from mixedsched.advice.tuner.scene import Scene
from mixedsched.advice.tuner.scoring import Judge, typical
from mixedsched.advice.tuner.ship.headers import HeaderPlan, as_candidate, header_plans, says_all
from mixedsched.advice.tuner.ship.lines import HeaderRule, HtmlLine
from mixedsched.advice.tuner.ship.trying import NoTime, Played, best_headers, best_html
from mixedsched.errors import MixedschedError
from mixedsched.world import catalog

PLAIN = Candidate("eps")
LARGE_BYTES = 3_000_000  # pages beyond that are played over fewer seeds
SEEDS, SEEDS_OF_LARGE_PAGES = 4, 2
WHOLE_LINES_MOST = 8  # of headers that say all of an order, which are kept as they are, since one arm then proves both


@dataclass(frozen=True, slots=True)
class Ground:
    """Where lines are tried: the page as each network shows it, with what playing it needs.

    names: of scenes. search_seeds, held_out_seeds: of networks on which loads differ; the first few are used. has_time: asked
    before loads are played, given how long these will take. load_s: of one load, as far as it is known before any is played;
    clock_s: tells more.
    """

    scenes: tuple[Scene, ...]
    models: tuple[PageModel, ...]
    names: tuple[str, ...]
    objective: Objective
    workers: Workers
    search_seeds: Sequence[int]
    held_out_seeds: Sequence[int]
    has_time: Callable[[float], bool] = lambda _: True
    load_s: float = 0.0
    clock_s: Callable[[], float] = lambda: 0.0


@dataclass(frozen=True, slots=True)
class Shipping:
    """plan: the headers with what they cannot say. html: lines for the document. kept_pct: of the winner's simulated gain over
    the best baseline, by role and network. says_all: plain `eps` with the headers is the winner, on every network."""

    plan: HeaderPlan
    html: tuple[HtmlLine, ...]
    kept_pct: Mapping[Role, Mapping[str, float]]
    says_all: bool = False


def screened(ground: Ground, winner: Scored, baseline: Scored, changes: Sequence[Change]) -> Shipping:
    """Translate the winner into headers and find lines of HTML that help. changes: to the document, worth a try."""
    page, trials = ground.scenes[0].page, _Trials(ground)
    choosing, telling = ground.search_seeds, ground.held_out_seeds
    plans = header_plans(page, winner.candidate, catalog.load_mapping)
    kept: dict[Role, Mapping[str, float]] = {}
    plan = best_headers(
        plans,
        page,
        lambda sets: trials.of_rules(sets, choosing),
        lambda sets: trials.of_rules(sets, telling),
        keep_all=len(plans[0].rules) <= WHOLE_LINES_MOST and _says_all(ground, plans[0], winner),
    )
    if plan.rules:
        with suppress(NoTime):
            kept[Role.HEADERS] = _kept(ground, trials.of_rules([plan.rules], telling)[0], winner, baseline)
    html = best_html(
        changes, lambda sets: trials.of_changes(sets, choosing), lambda sets: trials.of_changes(sets, telling)
    )
    if html:
        lines = tuple(item.change for item in html)
        with suppress(NoTime):
            kept[Role.HTML] = _kept(ground, trials.of_changes([lines], telling)[0], winner, baseline)
    return Shipping(
        plan, html, {role: shares for role, shares in kept.items() if shares}, _says_all(ground, plan, winner)
    )


def _says_all(ground: Ground, plan: HeaderPlan, winner: Scored) -> bool:
    return all(says_all(plan, scene.page, winner.candidate, catalog.load_mapping) for scene in ground.scenes)


_ByScene = tuple[tuple[Estimates, ...], ...]  # then by seed
_Play = tuple[str, Scene, Candidate]  # what it is called, where, how


class _Trials:
    """Plays sets of lines against the page as it is under plain eps; each load once."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._known: dict[tuple[str, str, str, int], Estimates] = {}  # by set, network, candidate and seed
        self._load_s = ground.load_s

    def of_rules(self, sets: Sequence[tuple[HeaderRule, ...]], seeds: Sequence[int]) -> list[Played]:
        scenes = self._ground.scenes
        return self._judged(
            [[("", scene, as_candidate(rules, scene.page)) for scene in scenes] for rules in sets], seeds
        )

    def of_changes(self, sets: Sequence[tuple[Change, ...]], seeds: Sequence[int]) -> list[Played]:
        plays = []
        for changes in sets:
            of_set = []
            for scene, model in zip(self._ground.scenes, self._ground.models, strict=True):
                changed = model.with_changes(changes)
                played = replace(scene, page=changed.played(), hero_needs=changed.hero_needs)
                of_set.append((code_of(changes), played, PLAIN))
            plays.append(of_set)
        return self._judged(plays, seeds)

    def _judged(self, plays: Sequence[Sequence[_Play]], seeds: Sequence[int]) -> list[Played]:
        ground = self._ground
        plain, *found = self._played([[("", scene, PLAIN) for scene in ground.scenes], *plays], seeds)
        judge = Judge.of(ground.objective, (ground.scenes[0].page,), 0.0, ground.names, {"eps": plain})
        judged = []
        for item in found:
            value = judge.value(item)
            assert value is not None, "all loads ended"
            judged.append(Played(value, _metric(ground, item)))
        return judged

    def _played(self, plays: Sequence[Sequence[_Play]], seeds: Sequence[int]) -> list[_ByScene]:
        """Raises MixedschedError if a load never ends."""
        scenes = [scene for of_set in plays for _, scene, _ in of_set]
        keys = [
            (code, scene.network.name, candidate.code, seed)
            for of_set in plays
            for code, scene, candidate in of_set
            for seed in _seeds_on(scene, seeds)
        ]
        tasks = [
            Task(place, candidate, "stack", seed)
            for place, (_, scene, candidate) in enumerate(item for of_set in plays for item in of_set)
            for seed in _seeds_on(scene, seeds)
        ]
        missing = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self._known}
        for key, result in zip(missing, self._results(scenes, list(missing.values())), strict=True):
            if result is None:
                raise MixedschedError(
                    f"a load under plain eps never ends over {key[1]}",
                    why="the network loses too much, or is too slow for the page",
                    fix="choose another --link",
                )
            self._known[key] = result
        known = iter([self._known[key] for key in keys])
        return [
            tuple(tuple(next(known) for _ in _seeds_on(scene, seeds)) for _, scene, _ in of_set) for of_set in plays
        ]

    def _results(self, scenes: Sequence[Scene], tasks: Sequence[Task]) -> Sequence[Estimates | None]:
        """Raises NoTime if they would take too long."""
        if not tasks:
            return ()
        if not self._ground.has_time(self._load_s * len(tasks)):
            raise NoTime
        began_s = self._ground.clock_s()
        results = self._ground.workers.play(scenes, tasks)
        self._load_s = max(self._load_s, (self._ground.clock_s() - began_s) / len(tasks))
        return results


def _seeds_on(scene: Scene, seeds: Sequence[int]) -> Sequence[int]:
    size_bytes = sum(item.body_bytes for item in scene.page.resources)
    return scene.seeds_of(seeds[: SEEDS_OF_LARGE_PAGES if size_bytes > LARGE_BYTES else SEEDS])


def _metric(ground: Ground, found: _ByScene) -> dict[str, float]:
    key = ground.objective.primary
    return {name: typical(of_scene).to_dict()[key] for name, of_scene in zip(ground.names, found, strict=True)}


def _kept(ground: Ground, found: Played, winner: Scored, baseline: Scored) -> dict[str, float]:
    """In the objective's first metric; of networks on which there is a gain to keep."""
    key = ground.objective.primary
    shares = {}
    for name in ground.names:
        before, after = baseline.by_network[name].to_dict()[key], winner.by_network[name].to_dict()[key]
        if 0 < after < before:
            shares[name] = math.log(found.metric_ms[name] / before) / math.log(after / before) * 100
    return shares
