"""Where the browser loads of a calibration come from: experiments of its own, or folders of earlier ones."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mixedsched.advice.calibration.agreement import SCHEMES_LEAST
from mixedsched.advice.calibration.loads import SiteLoads, counted
from mixedsched.cli._console import say_remark
from mixedsched.cli._progress import RunProgress
from mixedsched.cli._sites import open_site
from mixedsched.errors import InputError, MissingPartError, MixedschedError
from mixedsched.lab.bench import Design, ServedArm
from mixedsched.lab.experiment import read_experiment, run_experiment
from mixedsched.lab.machine import own_versions
from mixedsched.lab.model import Arm, Plan
from mixedsched.lab.plan import arm_of
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.model.profile import Profile
from mixedsched.sites.analysis import expected_connections
from mixedsched.sites.site import Origins, Site, site_digest
from mixedsched.world import catalog

PRIMARY = ("fcp_ms", "lcp_ms")


class LeftOutError(MixedschedError):
    """Loads that cannot be compared with simulation; says why."""


def gathered(
    name: str, network: Profile, arms: Sequence[Arm], blocks: int, seed: int, form_factor: str, folder: Path
) -> tuple[Path, bool]:
    """Load a site in the browser under all schemes, or go on doing so; the folder of its results, and whether all are there."""
    site = open_site(name)
    digest = site_digest(site)
    design = Design(tuple(ServedArm(arm, site, digest) for arm in arms), PRIMARY, form_factor, seed)
    own = folder / f"{site.name.replace('/', '-')}-{network.name}"
    try:
        plan = design.plan(network, blocks)
        run_experiment(design, network, plan, own, name, RunProgress, say_remark)
    except MissingPartError:
        raise
    except MixedschedError as error:
        say_remark(f"{name}: {error}")
    try:
        return own, not read_experiment(own).missing_blocks
    except InputError:
        return own, False  # not a single load was begun


def read_loads(folder: Path, *, warm_up: bool) -> tuple[SiteLoads, list[str]]:
    """What `compare` or `calibrate` left in a folder, with remarks.

    Raises LeftOutError for what simulation cannot be compared with, and InputError where there are no results.
    """
    with tempfile.TemporaryDirectory() as aside:  # whoever is writing there is not to be disturbed
        copy = Path(aside)
        for file in sorted(folder.glob(f"{DATABASE_NAME}*")):
            if not file.name.endswith("-shm"):
                shutil.copy(file, copy)
        try:
            experiment = read_experiment(copy)
        except InputError as error:
            raise InputError(error.what.replace(str(copy), str(folder)), why=error.why, fix=error.fix) from error
    plan, facts = experiment.plan, experiment.facts
    site = _same_site(plan, facts.site_argument or plan.site, facts.origins, folder)
    network = _same_network(plan, folder)
    valid, failed = counted(plan, experiment.runs, warm_up=warm_up)
    valid = tuple(run for run in valid if run.arm in _with_same_table(plan))
    loads = SiteLoads(plan.site, site.page, site.hosts, network, plan, valid, failed, facts.to_dict(), folder.name)
    if len(loads.arms) < SCHEMES_LEAST:
        raise LeftOutError(f"{folder} is left out", why=f"only {len(loads.arms)} schemes have a load that counts")
    return loads, _remarks(loads, site, folder)


def _same_site(plan: Plan, argument: str, origins: str, folder: Path) -> Site:
    try:
        site = open_site(argument, Origins(origins) if origins in {item.value for item in Origins} else None)
    except InputError as error:
        raise LeftOutError(f"{folder} is left out", why=error.what) from error
    if site_digest(site) != plan.site_digest:
        raise LeftOutError(f"{folder} is left out", why=f"the site {plan.site} has changed since")
    return site


def _same_network(plan: Plan, folder: Path) -> Profile:
    try:
        network = catalog.load_profile(plan.link)
    except InputError as error:
        raise LeftOutError(f"{folder} is left out", why=error.what) from error
    if network.facts() != plan.link_facts:
        raise LeftOutError(f"{folder} is left out", why=f"the network {plan.link} has changed since")
    return network


def _with_same_table(plan: Plan) -> frozenset[str]:
    """The arms (labels) whose priority table is still the one that was measured."""
    return frozenset(arm.label for arm in plan.arms if arm.table_digest == arm_of(arm.scheme, arm.mapping).table_digest)


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
