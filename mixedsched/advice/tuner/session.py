"""A tuning from its first load to its result: look, bound, search, race, ship, prove. Every load is stored at once."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixedsched.advice.changes.own_server import KeptServer
from mixedsched.advice.tuner._conclude import Known, concluded
from mixedsched.advice.tuner._contest import Contest, bench_of, by_headers, entrants, finalists, plain_eps, promising
from mixedsched.advice.tuner._looks import View, bounds, look, view_of_manifest
from mixedsched.advice.tuner._own import OWN_ARMS, as_seen_by, find_lines, in_order_of_interest, search_orders
from mixedsched.advice.tuner._search import SearchResult, best_so_far, run_search
from mixedsched.advice.tuner.candidate import PLAIN, Candidate
from mixedsched.advice.tuner.job import (
    BROWSER,
    PIPE,
    REPORT_S,
    STACK,
    VGPRIO,
    Decisions,
    Shares,
    TuneJob,
    TuneSurroundings,
    deciding_blocks,
    proof_arms,
    proof_least_s,
    share_out,
)
from mixedsched.advice.tuner.objective import BASELINES
from mixedsched.advice.tuner.outputs import ship
from mixedsched.advice.tuner.result import Contender, Role, Tuning
from mixedsched.advice.tuner.ship.headers import as_changes
from mixedsched.advice.tuner.ship.own_lines import plain_of
from mixedsched.advice.tuner.ship.screening import PLAIN as AS_BROWSERS_ASK
from mixedsched.advice.tuner.ship.screening import Ground, screened
from mixedsched.advice.tuner.ship.shipping import Shipping
from mixedsched.advice.tuner.trials import Limit, Options, Trials
from mixedsched.advice.tuner.vgprio import ITERATIONS, run_vgprio
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.costs import START_S, fitting_blocks
from mixedsched.lab.engine import stored_runs
from mixedsched.lab.play.scenario import SEEDS
from mixedsched.lab.results import DATABASE_NAME, open_store, spent_before_s
from mixedsched.units import counted
from mixedsched.world.store import Store, file_address

PIPE_SHARE, PIPE_SHARE_ALONE = 0.25, 0.7  # of the time for simulations; where rung pipe is the last to be asked
PIPE_TRIALS, STACK_TRIALS = 20_000, 2_000  # at most, however much time there is
PIPE_PER_STACK = 16  # candidates of rung pipe for each that rung stack is to try, where not time limits them
RACING_MOST = 4  # candidates
SHIPPING_SHARE = 0.1  # of the time left, that trying what is shipped may take even from the proof
OWN_SHARE = 0.4  # the same for one's own server, where it is all of the search
RACE_AND_PROOF = 2.0  # of the least time that a proof takes
PIPE_FINALISTS = 24  # of rung pipe, that are played on rung stack, so that all reported numbers are of one kind
ORDERS_SHARE = 0.6  # of the search's time, where lines of HTML for one's own server are to be tried, too
SIMULATED_SEARCH_SHARE = 0.7  # of what bounds leave, where no browser is asked; the rest is for trying what is shipped


def carry_out(job: TuneJob, world: TuneSurroundings, facts: Mapping[str, Any]) -> Tuning:
    """Tune, or continue a tuning, until it ends or is interrupted, and write what is to be shipped.

    facts: further keys of the result. Raises UsageError where the folder holds something else, MixedschedError where the page
    cannot be loaded or no load ends.
    """
    facts = {
        **facts,
        "versions": dict(job.versions),
        "browser_model": {"name": job.model.name, "source": job.model.source},
        "schemes": list(job.schemes),
        "penalty": job.penalty,
        "seeds": {phase: job.seed_of(phase) for phase in ("look", "race", "proof")},
    }
    with open_store(job.folder) as store:
        session, is_interrupted = TuneSession(job, world, store), False
        try:
            asyncio.run(session.run())
        except KeyboardInterrupt:
            is_interrupted = True
        return ship(session.result(facts, interrupted=is_interrupted), session.known)


class TuneSession:
    """The steps of a tuning. First `run`; then `result`, which after an interruption gives the best so far."""

    def __init__(self, job: TuneJob, world: TuneSurroundings, store: Store) -> None:
        self._job = job
        self._world = world
        self._decisions = Decisions(job.folder, job.digest)
        self._store = store
        self.known = Known(job)
        self._began_s = world.began_s

    @property
    def _spent_s(self) -> float:
        return self._world.clock_s() - self._began_s

    @property
    def _left_s(self) -> float:
        return self._job.budget_s - self._spent_s

    def result(self, facts: Mapping[str, Any], *, interrupted: bool) -> Tuning:
        """The tuning as it is known now."""
        known, view = self.known, self.known.view
        is_of_tables = self._job.space != VGPRIO and self._job.server is None
        if interrupted and known.search is None and view is not None and is_of_tables:
            space = view.space(self._job.schemes)
            known.search = best_so_far(space, view.scenes, self._job.objective, self._options(None))
            known.candidates = promising(known.search) if known.search is not None else ()
        known.runs = {
            key: tuple(stored_runs(self._store, plan.digest))
            for phase, plans in (("race", known.raced.plans), ("proof", known.proof_plans))
            for key, plan in (((phase, name), plan) for name, plan in plans.items())
        }
        stored = next((dict(item.facts["versions"]) for item in self._store.experiments()), {})  # that made the loads
        versions = {**facts.get("versions", {}), **stored}
        found = concluded(known, self._spent_s, {**facts, "versions": versions}, interrupted=interrupted)
        if found.proved_blocks >= deciding_blocks(len(self._job.networks)):
            self._decisions.make("looked", lambda: found.proved_blocks)
        return found

    async def run(self) -> None:
        """Carry the tuning out. Raises MixedschedError where the page cannot be loaded, or no load ends."""
        self._began_s -= spent_before_s(self._store, self._job.work)
        self._decisions.make("job", lambda: self._job.digest)
        kept = self._decisions.known()
        self.known.chosen, self.known.looked = kept.get("chosen"), kept.get("looked")
        view = await self._look()
        self.known.view = view
        self._bound(view)
        shares = self._shares(view)
        if self._job.server is not None:
            await self._find_for_own(self._job.server, view, shares)
            return
        if self._job.space == VGPRIO:
            await self._learn(view, shares)
            return
        self._search(view, shares)
        if not self.known.candidates:
            return
        if self._job.rung != BROWSER:
            self._ship(view)
            return
        await self._race(view, shares)
        if self.known.raced.has_dropped([item.label for item in self.known.racing if item.role is Role.TUNED]):
            return
        self._ship(view)
        await self._prove(view)

    async def _look(self) -> View:
        if self._job.rung == BROWSER:
            return as_seen_by(self._job.server, await look(self._job, self._world, self._store))
        return as_seen_by(self._job.server, view_of_manifest(self._job))

    def _shares(self, view: View) -> Shares:
        """By costs of the looks, which are stored, so that a session that is continued decides alike."""
        budget_s = self._job.budget_s
        if not view.costs_s:
            return Shares(max(0.0, self._left_s - REPORT_S) * SIMULATED_SEARCH_SHARE, 0, 0, 0.0)
        looked_s = sum(view.costs_s.values()) + START_S * len(view.costs_s)
        return share_out(budget_s - looked_s, view.costs_s, len(BASELINES) + RACING_MOST, budget_s)

    # Simulation

    def _options(self, seconds: float | None) -> Options:
        """The number of candidates is kept, so that a search that was finished is not continued."""
        job = self._job
        tried = self._decisions.known().get("tried")
        most = PIPE_FINALISTS if job.rung == PIPE else STACK_TRIALS
        share = PIPE_SHARE_ALONE if job.rung == PIPE else PIPE_SHARE
        pipe_s, stack_s = (None, None) if seconds is None else (seconds * share, seconds * (1 - share))
        on_pipe = PIPE_TRIALS if job.candidates is None else min(PIPE_TRIALS, job.candidates * PIPE_PER_STACK)
        stack = Limit(tried, None) if tried is not None else Limit(job.candidates or most, stack_s)
        return Options(
            seed=job.seed,
            pipe=Limit(on_pipe, pipe_s),
            stack=stack,
            penalty=job.penalty,
            storage=file_address(job.folder / DATABASE_NAME),
            subject=f"{job.digest} {sorted(job.versions.items())}",
        )

    def _bound(self, view: View) -> None:
        seeds = self._options(None).held_out_seeds
        self.known.bounds = bounds(view.scenes, lambda scene: scene.seeds_of(seeds[:SEEDS]), self._world.workers)

    def _search(self, view: View, shares: Shares) -> None:
        job, world, known = self._job, self._world, self.known
        space = view.space(job.schemes)
        world.say(f"searching among {space.size_in_words} orders of delivery")

        def searched(seconds: float | None) -> SearchResult:
            return run_search(
                space, view.scenes, job.objective, world.workers, self._options(seconds),
                clock_s=world.clock_s, watch=world.watch, bounds=known.bounds,
            )  # fmt: skip

        found = searched(None if job.candidates is not None else shares.search_s)
        if not promising(found) and (spare_s := self._spare_s(view, found)) > shares.search_s:
            world.say("nothing better was found yet, and there is time: continuing the search")
            found = searched(spare_s)
        self._decisions.make("tried", lambda: found.tried_on_stack)
        known.search, known.candidates = found, promising(found)
        self._lower_bounds(found)

    def _lower_bounds(self, found: SearchResult) -> None:
        """With losses, a page of fewer packets loses other ones; and lines of HTML may do what no order can."""
        scored = [*found.baselines.values(), *found.best]
        for name, bound in self.known.bounds.items():
            self.known.bounds[name] = PaintEstimate.earliest_of([bound, *(item.by_network[name] for item in scored)])

    async def _learn(self, view: View, shares: Shares) -> None:
        """Learn as VGPrio does: the best by its own loads is the candidate, better than the baselines or not. It goes straight
        to the proof, as VGPrio has neither guard nor race, and ships a list."""
        job, world, known = self._job, self._world, self.known
        world.say("learning as VGPrio: image clusters and late scripts, by Speed Index")
        seconds = None if job.candidates is not None else shares.search_s
        tried = self._decisions.known().get("tried")
        limit = Limit(job.candidates or ITERATIONS, seconds) if tried is None else Limit(tried)
        options = replace(self._options(seconds), stack=limit)
        space = view.space((PLAIN,))
        known.search = found = run_vgprio(
            Trials(space, view.scenes, job.objective, world.workers, options, world.clock_s, world.watch, BASELINES)
        )
        self._decisions.make("tried", lambda: found.tried_on_stack)
        known.candidates = found.best
        if job.rung == BROWSER and known.candidates:
            known.entrants = entrants(known.search, known.candidates)
            await self._prove(view)

    async def _find_for_own(self, server: KeptServer, view: View, shares: Shares) -> None:
        """Find what acts on the server that one has, and prove it there."""
        job, known = self._job, self.known
        seconds = None if job.candidates is not None else shares.search_s * ORDERS_SHARE
        found = search_orders(server, job, self._world, view, self._options(seconds))
        if found is not None:
            self._decisions.make("tried", lambda: found.tried_on_stack)
        ground = self._ground(view, found.load_s if found is not None else 0.0, plain_of(server))
        kept = self._decisions.known().get("lines")
        own, known.search = find_lines(server, self._world, view, ground, found, kept)
        self._decisions.make("lines", own.to_kept)
        known.own, known.shipping = own, Shipping(own.plan, own.html, {})
        known.candidates = known.search.best
        self._lower_bounds(known.search)
        if known.candidates and job.rung == BROWSER:
            known.entrants = in_order_of_interest(server, own, known.page)
            await self._prove(view)

    def _spare_s(self, view: View, found: SearchResult) -> float:
        """Time for more of a search that found nothing: what race and proof would leave; 0 where more of it is of no use."""
        is_limited = self._job.candidates is not None or "tried" in self._decisions.known()
        was_cut_short = any(item.rung == STACK and not item.is_whole for item in found.rungs)
        if self._job.rung != BROWSER or is_limited or not was_cut_short:
            return 0.0
        return self._left_s - RACE_AND_PROOF * proof_least_s(view.costs_s)

    def _ship(self, view: View) -> None:
        """Choose the winner, and what can be shipped of it to any server; what an earlier start has chosen stays."""
        known = self.known
        known.chosen = self._decisions.make("chosen", lambda: [known.winner_label, known.best_baseline])
        kept = self._decisions.make("shipping", lambda: self._screened(view).to_kept())
        known.shipping = Shipping.of_kept(kept, view.changes)

    def _screened(self, view: View) -> Shipping:
        search, winner = self.known.search, self.known.winner
        assert search is not None
        assert winner is not None, "there are candidates"
        self._world.say("trying headers and lines of HTML that express the order on any server")
        ground = self._ground(view, search.load_s)
        return screened(ground, winner, search.baselines[self.known.best_baseline], view.changes)

    def _ground(self, view: View, load_s: float, plain: Candidate = AS_BROWSERS_ASK) -> Ground:
        """Where lines are tried, as long as the proof can still decide. load_s: of one load, as far as it is known."""
        options, world = self._options(None), self._world
        share = SHIPPING_SHARE if self._job.server is None else OWN_SHARE
        until_s = min(proof_least_s(view.costs_s), (1 - share) * self._left_s)
        return Ground(
            view.scenes, view.models, self._job.objective, world.workers, options.search_seeds,
            options.held_out_seeds, lambda seconds: self._left_s - seconds > until_s, load_s, world.clock_s, plain,
        )  # fmt: skip

    # Browser

    async def _race(self, view: View, shares: Shares) -> None:
        known, job = self.known, self._job
        assert known.search is not None
        wanted = entrants(known.search, known.candidates[:RACING_MOST])
        labels = self._decisions.make("racing", lambda: [item.label for item in wanted[: shares.arms]])
        laps = self._decisions.make("laps", lambda: shares.laps)
        known.entrants = wanted
        known.racing = tuple(item for item in wanted if item.label in labels)
        if not laps:
            known.racing = ()
            return
        self._world.say(f"racing {', '.join(labels)}: {laps} laps")
        async with bench_of(job, self._world, self._store, "race", known.racing) as bench:
            least_s = proof_least_s(view.costs_s) if known.chosen is None else math.inf  # what is proved already stays
            contest = Contest(bench, job.networks, lambda: self._left_s > least_s)
            await contest.race([item.label for item in known.racing], laps, job.objective.weights, known.raced)

    async def _prove(self, view: View) -> None:
        known, job = self.known, self._job
        assert known.search is not None
        wanted = finalists(
            known.entrants, known.winner_label, known.best_baseline, self._shipped(), known.search.baselines
        )
        if known.shipping is not None and known.shipping.says_all:
            wanted = by_headers(wanted)
        least = sum(item.role in {Role.TUNED, Role.BASELINE} for item in wanted)
        count = proof_arms(self._left_s, view.costs_s, least, len(wanted))
        labels = self._decisions.make("proof", lambda: [item.label for item in wanted[:count]])
        known.finalists = tuple(item for item in wanted if item.label in labels)
        blocks = fitting_blocks(self._left_s, view.costs_s, len(labels))
        self._world.say(f"proving over new seeds: {', '.join(labels)}, about {counted(blocks, 'block')}")
        costs_s = list(view.costs_s.values())
        async with bench_of(job, self._world, self._store, "proof", known.finalists) as bench:
            contest = Contest(bench, job.networks, lambda: self._left_s > 0)
            await contest.prove(
                lambda loads: (loads - 1) * self._cost_s(costs_s) < self._left_s, blocks, known.proof_plans
            )

    def _cost_s(self, looked_s: Sequence[float]) -> float:
        """Mean cost of a load: of those of the proof so far, else of the looks."""
        runs = [run for plan in self.known.proof_plans.values() for run in stored_runs(self._store, plan.digest)]
        costs_s = [run.cost_s for run in runs] or list(looked_s)
        return sum(costs_s) / len(costs_s)

    def _shipped(self) -> tuple[Contender, ...]:
        """Arms with headers, with lines of HTML, and with each line alone where there are several."""
        shipping, view = self.known.shipping, self.known.view
        if self._job.server is not None:
            return self.known.entrants[OWN_ARMS:]
        if shipping is None:
            return ()
        assert view is not None
        found = []
        if shipping.plan.rules:
            found.append(plain_eps("headers", Role.HEADERS, as_changes(shipping.plan.rules, view.scenes[0].page)))
        if shipping.html:
            found.append(plain_eps("html", Role.HTML, [item.change for item in shipping.html]))
        if len(shipping.html) > 1:
            found += [
                plain_eps(f"html line {place}", Role.LINE, [item.change])
                for place, item in enumerate(shipping.html, start=1)
            ]
        return tuple(found)
