"""The main job as a function: load a page under several schemes in a real browser, and see which is better."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mixedsched.core.metrics import metric_named, page_metrics
from mixedsched.errors import ExitCode, InputError, UsageError
from mixedsched.lab._served import opened_site, planned_arms, served_arms
from mixedsched.lab.analysis import analyse
from mixedsched.lab.bench import Bench, Design, Observe, Say, unobserved
from mixedsched.lab.comparison import Comparison
from mixedsched.lab.diagnostics import held_up_of, misses_of
from mixedsched.lab.engine import always, missing_blocks, stored_runs
from mixedsched.lab.gates import (
    Gate,
    GateResult,
    GateVerdict,
    is_decided,
    judge,
    looks_of,
    note_on_gates,
    until_decided,
)
from mixedsched.lab.live import LiveView, live_view
from mixedsched.lab.machine import machine_facts, own_versions
from mixedsched.lab.model import Conditions, Plan, Run
from mixedsched.lab.plan import refuse_missing_servers, refuse_not_live
from mixedsched.lab.results import DATABASE_NAME, ExperimentFacts, continued, folder_of, open_store, owned
from mixedsched.model.profile import Profile
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.application import LiveOptions
from mixedsched.sites.site import Origins, Site
from mixedsched.world import catalog
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.browser.pageload import Throttling
from mixedsched.world.emulator.backend import RELAY
from mixedsched.world.store import Store
from mixedsched.world.system.loops import run_to_end

DEFAULT_SCHEMES = ("sequential", "mixed")
DEFAULT_LINK = "4g"


@dataclass(frozen=True)
class Experiment:
    """An experiment as stored in a folder of results, finished or not."""

    folder: Path
    plan: Plan
    runs: tuple[Run, ...]  # all attempts, in the order in which they were made
    facts: ExperimentFacts

    @cached_property
    def comparison(self) -> Comparison:
        """The results of the analysis."""
        return analyse(self.plan, self.runs)

    @cached_property
    def gates(self) -> tuple[GateResult, ...]:
        """The outcome of each gate, for each arm."""
        gates = [Gate.parse(condition) for condition in self.facts.gates]
        return judge(gates, self.comparison.effects, self.plan.looks)

    @cached_property
    def is_decided(self) -> bool:
        """Whether all gates are; without any, whether each primary effect is better, worse or equivalent."""
        return is_decided(self.comparison, [Gate.parse(condition) for condition in self.facts.gates])

    @property
    def missing_blocks(self) -> tuple[int, ...]:
        """Indices of the analysed blocks that are not complete; once it is decided, of those that were given up before."""
        missing = missing_blocks(self.plan, self.runs)
        if self.plan.looks is None or not self.is_decided:
            return missing
        last = max(self.comparison.block_indices, default=0)
        return tuple(index for index in missing if index < last)

    @cached_property
    def live(self) -> LiveView | None:
        """What the loads of a live page had in common, and what not; None for other sites."""
        return live_view(self.runs, self.facts.live["url"]) if self.facts.live else None

    @property
    def exit_code(self) -> ExitCode:
        """GATE where one has failed, else INVALID_RUNS where something is undecided or missing that was asked for."""
        if any(result.verdict is GateVerdict.FAILED for result in self.gates):
            return ExitCode.GATE
        asks_for_decision = bool(self.gates) or self.plan.looks is not None
        lacks_blocks = self.plan.looks is None and bool(self.missing_blocks)
        return ExitCode.INVALID_RUNS if lacks_blocks or (asks_for_decision and not self.is_decided) else ExitCode.DONE

    def to_dict(self, report: str | None = None) -> dict[str, Any]:
        """The JSON contract of `compare --json`. report: path of the HTML report."""
        labels = [arm.label for arm in self.comparison.arms]
        facts = {
            **self.comparison.to_dict(report),
            "misses": [item.to_dict() for item in misses_of(self.runs, labels)],
            "held_up": [item.to_dict() for item in held_up_of(self.runs, labels)],
        }
        if self.plan.looks is not None:
            looks, made = self.plan.looks, self.comparison.looks_made
            facts["stopping"] = {"least": looks.first, "most": looks.last, "looks": made, "decided": self.is_decided}
        if self.live is not None:
            facts["live"] = {**self.facts.live, **self.live.to_dict()}
        if self.gates:
            facts["gates"] = [result.to_dict() for result in self.gates]
        return facts


def compare(
    site: Site | str,
    schemes: Sequence[str] = DEFAULT_SCHEMES,
    *,
    link: Profile | str = DEFAULT_LINK,
    blocks: int = 8,
    until: str | None = None,
    max_blocks: int | None = None,
    fail_if: Sequence[str] = (),
    baseline: str = "",
    mapping: str | None = None,
    primary: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    form_factor: str = "mobile",
    seed: int = 1,
    origins: Origins | None = None,
    backend: str = RELAY,
    across_connections: bool = False,
    congestion_control: str = "cubic",
    cpu_slowdown: float = 1.0,
    throttling: Throttling = "provided",
    browser: str = Browser.CHROMIUM,
    against_itself: bool = False,
    packet_log: bool = False,
    live: LiveOptions | None = None,
    folder: Path | str | None = None,
    observe: Observe = unobserved,
    say: Say = lambda _: None,
) -> Experiment:
    """Load a page under several schemes in a real browser, in paired blocks; Experiment.comparison has the result.

    Every run is stored at once: after an interruption the same call continues where it stopped, and with more blocks it
    adds to the stored ones.

    Args:
        site: A site, or an argument of `load_site`.
        schemes: Names with parameters: "mixed:alpha=0.5".
        link: A network profile, or its name or file.
        blocks: Paired repeats; 6 decide on one metric of two schemes, 8 on all seven.
        until: "decided" to make more blocks until each primary effect, or each gate, is decided; see docs/statistics.md.
        max_blocks: With `until`: the maximum; three times `blocks` by default.
        fail_if: Gates, such as "lcp > +2%"; Experiment.gates has their outcome.
        baseline: The scheme that others are measured against; the first by default.
        mapping: Name or file of a priority table for all schemes that use one, instead of their own.
        primary: Metrics to decide on ("lcp", "fcp" ...), and those of gates; the others are exploratory. By default LCP.
        metrics: Those of the page to measure, by default all that the browser has; without "tti" a load ends some 4 s sooner.
        form_factor: "mobile" or "desktop".
        seed: For the order of loads and the network's losses.
        origins: For a named site with several hosts: keep them, or merge them into the first; by default as the site says.
        backend: What emulates the network: "relay", "netns" or "vm".
        across_connections: Whether the server schedules across the connections of a client.
        congestion_control: Of the server: "cubic", "reno" or "cubic-2022".
        cpu_slowdown: DevTools' multiplier of the time that the page's own work takes.
        throttling: "provided" for observed metrics; "simulate" for those that Lighthouse's model of a slow device computes
            from the load, to repeat studies that used it.
        browser: "chromium", scored by Lighthouse, or "firefox", which has FCP, LCP and Speed Index.
        against_itself: Compare one scheme with itself, as a test of the laboratory.
        packet_log: Store the fate of every packet with the results; for the relay only.
        live: For the URL of an application that runs on this machine: each arm is an edge in front of it, and nothing is
            recorded. With rules and one scheme, the scheme is compared without and with them; several schemes all use them.
        folder: For the results; by default one in runs/ that is named after the comparison.
        observe: Watches the runs; called with the number of remaining ones.
        say: Receives remarks, a line each, such as limitations of the emulated network.

    Raises:
        MixedschedError: UsageError for bad arguments, and for a folder with another experiment or runs of other versions;
            MissingPartError without Node or the browser; others if the page cannot be loaded.
    """
    network = catalog.load_profile(link) if isinstance(link, str) else link
    conditions = Conditions.of(congestion_control, cpu_slowdown, throttling, browser)
    if live is not None:
        refuse_not_live(site, backend, origins)
    arms = planned_arms(schemes, mapping, live, against_itself=against_itself)
    refuse_missing_servers(arms)
    gates = [Gate.parse(condition) for condition in fail_if]
    keys = dict.fromkeys([metric_named(name.strip()).key for name in primary] + [gate.metric.key for gate in gates])
    primary = tuple(keys) or ("lcp_ms",)
    looks = looks_of(until, blocks, max_blocks, len(primary) * max(1, len(arms) - 1))
    asked = conditions.browser.metrics if metrics is None else page_metrics(name.strip() for name in metrics)
    served = served_arms(arms, opened_site(site, origins, live, say))  # last, because it may have to be built
    design = Design(served, primary, form_factor, seed, baseline, backend, across_connections, asked, conditions)
    plan = replace(design.plan(network, blocks if looks is None else looks.last, warm_up=True), looks=looks)
    if packet_log and backend != RELAY:
        raise UsageError("only the relay logs the fate of packets", fix="leave --packet-log or --backend out")
    if looks is None and (note := note_on_gates(gates, blocks, len(arms))):
        say(f"warning: {note}")
    folder = Path(folder) if folder is not None else _default_folder(plan)
    named = site if isinstance(site, str) else site.name
    try:
        return run_experiment(
            design,
            network,
            plan,
            folder,
            named,
            observe,
            say,
            link_argument=link if isinstance(link, str) and link != network.name else "",
            packet_log=packet_log,
            gates=gates,
        )
    except KeyboardInterrupt:
        say(f"stopped; all finished runs are stored in {folder}, the same command continues")
        raise


def run_experiment(
    design: Design,
    network: Profile,
    plan: Plan,
    folder: Path,
    site_argument: str,
    observe: Observe = unobserved,
    say: Say = lambda _: None,
    *,
    link_argument: str = "",
    packet_log: bool = False,
    gates: Sequence[Gate] = (),
) -> Experiment:
    """Make the runs of a plan of a design that the folder does not hold yet, and return all that is known then.

    site_argument, link_argument: how site and network were named, for reports. The rest, and the errors, are as in `compare`.
    """
    facts = replace(_facts(design.arms[-1].site, site_argument), link_argument=link_argument)
    conditions = tuple(gate.condition for gate in gates)

    async def measure() -> None:
        with open_store(folder) as store:
            kept = continued(plan, next(iter(store.experiments()), None))
            async with Bench(design, store, folder, facts, observe, say=say, packet_log=packet_log) as bench:
                is_wanted = always if plan.looks is None else until_decided(kept, gates)
                await bench.carry_out(kept, network, is_wanted=is_wanted)
            _note_gates(store, conditions)

    with owned(folder):
        run_to_end(measure())
        return read_experiment(folder)


def _note_gates(store: Store, conditions: tuple[str, ...]) -> None:
    """Store which gates the last start was to decide, so that a report says what is shown of them."""
    (stored,) = store.experiments()
    facts = replace(ExperimentFacts.from_dict(stored.facts), gates=conditions)
    store.save_plan(stored.digest, stored.plan, facts.to_dict())


def _default_folder(plan: Plan) -> Path:
    return folder_of(f"{plan.site}-{plan.link}", plan.digest, own_versions())


def read_experiment(folder: Path) -> Experiment:
    """The experiment stored in a folder. Raises InputError if there is none, or more than one."""
    if not (folder / DATABASE_NAME).is_file():
        raise InputError(
            f"{folder} contains no results",
            why=f"there is no {DATABASE_NAME} in it",
            fix="name a folder that compare made",
        )
    with open_store(folder) as store:
        experiments = store.experiments()
        if len(experiments) != 1:
            raise InputError(
                f"{folder} holds {len(experiments)} experiments",
                why="a report is made of exactly one",
                fix="give the command that made the folder again: it continues, and writes its report",
            )
        stored = experiments[0]
        runs = tuple(stored_runs(store, stored.digest))
        return Experiment(folder, Plan.from_dict(stored.plan), runs, ExperimentFacts.from_dict(stored.facts))


def _facts(site: Site, site_argument: str) -> ExperimentFacts:
    application = site.application
    return ExperimentFacts(
        live=application.facts(site.url) if application is not None else {},
        site_argument=site_argument,
        title=site.title or site.name,
        origins=_origins(site),
        connections=str(expected_connections(site)) if application is None else "as many as the page takes",
        licence=site.licence,
        machine=machine_facts(),
        versions=own_versions(),
    )


def _origins(site: Site) -> str:
    """What became of its hosts; "" for a site that has but one."""
    if site.merged_hosts:
        return Origins.MERGE.value
    return Origins.KEEP.value if len(site.hosts) > 1 else ""
