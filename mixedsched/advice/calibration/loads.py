"""The measured side: browser loads of sites under schemes, made now or earlier, and which of them count."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixedsched.advice.calibration.agreement import SCHEMES_LEAST
from mixedsched.errors import InputError, MissingPartError, MixedschedError, UsageError
from mixedsched.lab.bench import Design, Observe, Say, ServedArm
from mixedsched.lab.experiment import read_experiment, run_experiment
from mixedsched.lab.learning.taught import is_adaptive
from mixedsched.lab.machine import own_versions
from mixedsched.lab.model import Arm, Conditions, Plan, Run, RunStatus
from mixedsched.lab.plan import arm_of, attempt_seed
from mixedsched.lab.results import copied_aside
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.opening import open_site
from mixedsched.sites.site import Origins, Site, site_digest
from mixedsched.world import catalog
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.servers import is_server

METRICS = ("fcp_ms", "lcp_ms")


class LeftOutError(MixedschedError):
    """Loads that cannot be compared with simulation; says why."""


@dataclass(frozen=True, slots=True)
class SiteLoads:
    """The measured loads of a site over a network."""

    site: str
    page: Page
    hosts: tuple[str, ...]
    network: Profile
    plan: Plan
    runs: tuple[Run, ...]  # those that count, in the order in which they were made
    failed: int  # loads without a result, or not to be trusted
    facts: Mapping[str, Any]  # of the experiment: machine, versions ...
    source: str = ""  # where the loads are from

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"{self.site}, {self.network.name}"

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The schemes with a load that counts, as planned."""
        loaded = {run.arm for run in self.runs}
        return tuple(arm for arm in self.plan.arms if arm.label in loaded)

    def of(self, arm: str) -> list[Run]:
        return [run for run in self.runs if run.arm == arm]

    def medians(self, metric: str) -> dict[str, float]:
        """By scheme (label)."""
        return {arm.label: statistics.median(run.metric(metric) for run in self.of(arm.label)) for arm in self.arms}

    def repeats(self, metric: str) -> dict[str, list[tuple[str, float]]]:
        """By scheme, each value with its block; attempts at a block are blocks of their own, as they have other link seeds."""
        return {
            arm.label: [(f"{run.block}/{run.attempt}", run.metric(metric)) for run in self.of(arm.label)]
            for arm in self.arms
        }

    def seeds(self, arm: str) -> tuple[int, ...]:
        """Seeds of the links that the loads of a scheme went over."""
        blocks = {block.index: block for block in self.plan.blocks}
        return tuple(dict.fromkeys(attempt_seed(blocks[run.block], run.attempt) for run in self.of(arm)))


def counted(plan: Plan, runs: Sequence[Run], *, warm_up: bool = False) -> tuple[tuple[Run, ...], int]:
    """The loads that count, and the number of those that should count but do not.

    Every valid load counts, also in a block that another load has voided: medians of schemes are compared, not pairs.
    warm_up: whether loads of warm-up blocks count.
    """
    of_interest = {block.index for block in plan.blocks if warm_up or not block.warm_up}
    looked_at = [run for run in runs if run.block in of_interest]
    valid = tuple(run for run in looked_at if run.status is RunStatus.OK and _has_paints(run))
    return valid, len(looked_at) - len(valid)


def _has_paints(run: Run) -> bool:
    metrics = run.page_load.get("metrics", {})
    return all((metrics.get(name) or 0) > 0 for name in METRICS)


def make_loads(
    name: str,
    link: str,
    arms: Sequence[Arm],
    blocks: int,
    seed: int,
    form_factor: str,
    folder: Path,
    observe: Observe,
    say: Say,
) -> tuple[Path, bool]:
    """Load a site in the browser under all schemes, or go on doing so.

    link: the network, by name or file. Returns the folder of its results, and whether no load is missing. Raises
    MissingPartError; what else goes wrong is said.
    """
    site, network = open_site(name), catalog.load_profile(link)
    digest = site_digest(site)
    design = Design(tuple(ServedArm(arm, site, digest) for arm in arms), METRICS, form_factor, seed)
    own = folder / f"{site.name}-{network.name}".replace("/", "-")
    argument = link if link != network.name else ""
    try:
        run_experiment(design, network, design.plan(network, blocks), own, name, observe, say, link_argument=argument)
    except MissingPartError:
        raise
    except MixedschedError as error:
        say(f"{name}: {error}")
    try:
        return own, not read_experiment(own).missing_blocks
    except InputError:
        return own, False  # not a single load was begun


def read_loads(folder: Path, say: Say, *, warm_up: bool) -> tuple[SiteLoads, list[str]]:
    """The loads that `compare` or `calibrate` left in a folder, with remarks.

    Raises LeftOutError for what simulation cannot be compared with, and InputError where there are no results.
    """
    with copied_aside(folder) as copy:  # a process that is writing there must not be disturbed
        try:
            experiment = read_experiment(copy)
        except InputError as error:
            raise InputError(error.what.replace(str(copy), str(folder)), why=error.why, fix=error.fix) from error
    plan, facts = experiment.plan, experiment.facts
    if why := _why_beyond_simulation(plan.conditions):
        raise LeftOutError(f"{folder} is left out", why=why)
    try:
        site = _same_site(plan, facts.site_argument or plan.site, facts.origins, say)
        network = _same_network(plan, facts.link_argument or plan.link)
    except InputError as error:
        raise LeftOutError(f"{folder} is left out", why=error.what) from error
    valid, failed = counted(plan, experiment.runs, warm_up=warm_up)
    playable = _playable(plan)
    valid = tuple(run for run in valid if run.arm in playable)
    loads = SiteLoads(plan.site, site.page, site.hosts, network, plan, valid, failed, facts.to_dict(), folder.name)
    if len(loads.arms) < SCHEMES_LEAST:
        raise LeftOutError(f"{folder} is left out", why=f"only {len(loads.arms)} schemes have a load that counts")
    return loads, _remarks(loads, site, folder)


def _why_beyond_simulation(conditions: Conditions) -> str:
    """Why the browser model cannot be fitted to loads under these conditions; "" if it can."""
    if conditions.browser is not Browser.CHROMIUM:
        return f"its loads were made in {conditions.browser.brand}, and the browser model is one of Chromium"
    if conditions.throttling == "simulate":
        return "its metrics come from Lighthouse's model of a slow network and were not measured"
    return ""


def _same_site(plan: Plan, argument: str, origins: str, say: Say) -> Site:
    site = open_site(argument, Origins(origins) if origins in {item.value for item in Origins} else None, say)
    if site_digest(site) != plan.site_digest:
        raise InputError(f"the site {plan.site} has changed since")
    return site


def _same_network(plan: Plan, argument: str) -> Profile:
    network = catalog.load_profile(argument)
    if json.loads(json.dumps(network.facts())) != plan.link_facts:  # as they are stored: a trace is a list there
        raise InputError(f"the network {plan.link} has changed since")
    return network


def _playable(plan: Plan) -> frozenset[str]:
    """The arms (labels) that simulation can play as they were measured.

    Those are of our own schemes, but for the one that had learned from visits before it was measured, and their priority table
    is still the same.
    """
    ours = (arm for arm in plan.arms if not is_server(arm.scheme) and not is_adaptive(arm.scheme))
    return frozenset(arm.label for arm in ours if _has_its_table(arm))


def _has_its_table(arm: Arm) -> bool:
    try:
        return arm.table_digest == arm_of(arm.scheme, arm.mapping).table_digest
    except (InputError, UsageError):  # the file is gone; or the scheme was another version's
        return False


def _remarks(loads: SiteLoads, site: Site, folder: Path) -> list[str]:
    remarks = []
    versions = dict(loads.facts.get("versions", {}))
    if versions.get("code") not in {None, own_versions()["code"]}:
        remarks.append(f"{folder.name}: measured with another version of the source ({versions['code']})")
    connections = str(expected_connections(site))
    if len(site.hosts) > 1 and not connections.startswith("1,"):
        remarks.append(f"{loads.site}: in the browser {connections}; in simulation one connection for all hosts")
    missing = [arm.label for arm in loads.plan.arms if arm not in loads.arms]
    if missing:
        remarks.append(f"{loads.name}: no load counts under {', '.join(missing)}")
    return remarks
