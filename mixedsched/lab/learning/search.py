"""The search for a learned page's order: proposals are simulated over the classes of networks that its visitors come by."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from mixedsched.core.learning.guard import is_left
from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.memory import PageMemory
from mixedsched.core.learning.networks import NetworkClass, usual
from mixedsched.core.learning.plan import SAFE, OrderPlan, with_plan
from mixedsched.core.learning.proposals import SAFE_RECIPE, OrderRecipe, first_round, next_round, plan_of
from mixedsched.core.learning.state import Proposal
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.scenario import pipe_of, varied, with_round_trips
from mixedsched.lab.play.task import LoadTimes
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.profile import Profile
from mixedsched.model.scheme import ConfiguredScheme, configure

LEAST_GAIN, LEAST_GAIN_UNDER_LOSS = 0.01, 0.025
"""Of a score, a logarithm: below that the safe order stays. Where losses are random, more is needed."""
FCP_MOST = 0.02
"""How much later the first paint may come than by the safe order."""
FCP_WEIGHT = 0.1
SEEDS, SEEDS_UNDER_LOSS = 2, 4
"""Simulated loads of each proposal on each network, each on a slightly different one; of a network with random losses."""
REFINED = 4
"""How many proposals, the safe order among them, are played on rung `stack`; all are on rung `pipe`."""
_SEEDS_FROM = 5_000_000


def adaptive_scheme(spec: str = "adaptive") -> ConfiguredScheme:
    """The scheme without a memory. spec: as users write it, with parameters. Raises UsageError for wrong ones."""
    return configure(spec, SCHEMES, _no_mapping)


def _no_mapping(name: str, _switches: Mapping[str, str]) -> PriorityMapping:
    raise AssertionError(f"no mapping {name} is used")


def search(
    memory: PageMemory,
    classes: Sequence[NetworkClass],
    model: BrowserModel,
    *,
    pipe: PipeOptions | None = None,
    goes_on: Callable[[], bool] = lambda: True,
    left: Mapping[str, str] | None = None,
) -> list[Proposal]:
    """Proposals for a page, the best first; those that are not better than the safe order are left out.

    pipe: simulate on this pipe instead of the classes. goes_on: asked before each order that is played. left: names of orders
    that the guard has left. Empty where too little is known.
    """
    learned = LearnedPage.of(memory, model)
    if learned is None:
        return []
    page, awaited = learned.page, learned.awaited
    usually = [] if pipe is not None else usual(classes)
    quick = _Trials(learned, model, goes_on, left)
    if pipe is not None:
        quick.add(Discoveries.of(page, model, awaited), pipe, 1.0)
    for item, share in usually:
        slowed = with_round_trips(page, item.profile.rtt_ms)
        quick.add(Discoveries.of(slowed, model, awaited), pipe_of(item.profile), share)
    for recipe in first_round(is_told=learned.is_told):
        quick.try_out(recipe)
    for recipe in next_round(quick.best, is_told=learned.is_told):
        quick.try_out(recipe)
    trials = quick
    if usually:
        trials, discoveries = _Trials(learned, model, goes_on, left), Discoveries.of(page, model, awaited)
        for item, share in usually:
            trials.add(discoveries, item.profile, share)
        for recipe in quick.to_refine():
            trials.try_out(recipe)
    if not trials.has_safe:
        return []
    least = LEAST_GAIN_UNDER_LOSS if any(item.profile.is_random for item, _ in usually) else LEAST_GAIN
    places = [next(at for at, own in enumerate(classes) if own is item) for item, _ in usually]
    found = [trials.proposal(recipe, places, least) for recipe in trials.ranked()]
    useful = [
        each
        for each in found
        if each.plan.name != SAFE and (each.everywhere or any(ratio < 1 for ratio in each.by_network.values()))
    ]
    return sorted(useful, key=lambda each: not each.everywhere)


def _ratios(own: tuple[float, float], safe: tuple[float, float]) -> tuple[float, float]:
    """Of FCP and LCP to those by the safe order, from logarithms."""
    return math.exp(own[0] - safe[0]), math.exp(own[1] - safe[1])


def _is_good(fcp_ratio: float, lcp_ratio: float, least: float) -> bool:
    """Whether an order is worth leaving the safe one for."""
    return math.log(lcp_ratio) < -least and fcp_ratio <= 1 + FCP_MOST


class _Trials:
    """Recipes and what simulation says of them."""

    def __init__(
        self, learned: LearnedPage, model: BrowserModel, goes_on: Callable[[], bool], left: Mapping[str, str] | None
    ) -> None:
        self._learned = learned
        self._model = model
        self._goes_on = goes_on
        self._left = left or {}
        self._scheme = adaptive_scheme()
        self._networks: list[tuple[Discoveries, Profile | PipeOptions, float]] = []
        self._logs: dict[OrderRecipe, tuple[float, float]] = {}  # mean logarithms of FCP and LCP
        self._each: dict[OrderRecipe, list[tuple[float, float]]] = {}  # the same for each network
        self._plans: dict[OrderRecipe, OrderPlan] = {}
        self._same: dict[tuple[object, ...], OrderRecipe] = {}

    def add(self, discoveries: Discoveries, network: Profile | PipeOptions, share: float) -> None:
        """A network to play on, and what it counts."""
        self._networks.append((discoveries, network, share))

    @property
    def has_safe(self) -> bool:
        """Whether the safe order was played, with which all are compared."""
        return SAFE_RECIPE in self._logs

    @property
    def best(self) -> OrderRecipe:
        return self.ranked()[0] if self._logs else SAFE_RECIPE

    def ranked(self) -> list[OrderRecipe]:
        """The best first; of equals the one that was tried first."""
        return sorted(self._logs, key=self._score)

    def to_refine(self) -> list[OrderRecipe]:
        """The safe order, the best over all networks, and the best over each."""
        others = [item for item in self.ranked() if item != SAFE_RECIPE]
        chosen = dict.fromkeys([SAFE_RECIPE, *others[: REFINED - 1]])
        for place in range(len(self._networks)):
            chosen[min(others, key=lambda item: self._each[item][place][1], default=SAFE_RECIPE)] = None
        return list(chosen)

    def proposal(self, recipe: OrderRecipe, places: Sequence[int], least: float) -> Proposal:
        """places: of the networks among the classes. least: logarithm that is worth leaving the safe order for."""
        ratios = _ratios(self._logs[recipe], self._logs[SAFE_RECIPE])
        by_network: dict[int, float] = {}
        if len(places) > 1:
            for place, own, safe in zip(places, self._each[recipe], self._each[SAFE_RECIPE], strict=True):
                fcp_ratio, lcp_ratio = _ratios(own, safe)
                by_network[place] = lcp_ratio if _is_good(fcp_ratio, lcp_ratio, least) else max(1.0, lcp_ratio)
        return Proposal(self._plans[recipe], *ratios, by_network, _is_good(*ratios, least))

    def try_out(self, recipe: OrderRecipe) -> None:
        if recipe in self._logs or is_left(recipe.name, self._left) or not self._goes_on():
            return
        plan = plan_of(recipe, self._learned)
        turns = tuple(role.turn for role in plan.roles)
        if turns in self._same:
            return
        logs = self._played(plan, recipe)
        if logs is not None:
            self._same[turns] = recipe
            self._plans[recipe], self._logs[recipe] = plan, logs

    def _score(self, recipe: OrderRecipe) -> float:
        fcp, lcp = self._logs[recipe]
        worse = max(0.0, fcp - self._logs[SAFE_RECIPE][0] - FCP_MOST) if SAFE_RECIPE in self._logs else 0.0
        return lcp + FCP_WEIGHT * fcp + 10 * worse

    def _played(self, plan: OrderPlan, recipe: OrderRecipe) -> tuple[float, float] | None:
        each: list[tuple[float, float]] = []
        for discoveries, network, _ in self._networks:
            loads, fcp, lcp = self._loads(plan, discoveries, network), 0.0, 0.0
            for load in loads:
                if load is None:
                    return None
                times = LoadTimes.of(load)
                fcp_ms, lcp_ms = self._learned.paints(times.first_byte_ms, times.complete_ms, self._model)
                fcp += math.log(max(fcp_ms, 1e-3)) / len(loads)
                lcp += math.log(max(lcp_ms, 1e-3)) / len(loads)
            each.append((fcp, lcp))
        self._each[recipe] = each
        shares = [share for _, _, share in self._networks]
        fcp = sum(share * own[0] for share, own in zip(shares, each, strict=True))
        return fcp, sum(share * own[1] for share, own in zip(shares, each, strict=True))

    def _loads(
        self, plan: OrderPlan, discoveries: Discoveries, network: Profile | PipeOptions
    ) -> Sequence[PlayedLoad | None]:
        """One load for each seed; None for one that never ends."""
        scheme = with_plan(self._scheme, plan if plan.roles else None)
        if isinstance(network, PipeOptions):
            return [play_pipe(discoveries, scheme, network)]
        from mixedsched.core.sim.stack import play_stack  # here: aioquic takes longer to import than a page to play

        loads: list[PlayedLoad | None] = []
        for seed in range(_SEEDS_FROM, _SEEDS_FROM + (SEEDS_UNDER_LOSS if network.is_random else SEEDS)):
            try:
                loads.append(play_stack(discoveries, scheme, varied(network, seed), seed=seed))
            except PageLoadError:
                loads.append(None)
        return loads
