"""Where the browser loads of a calibration come from: experiments of its own, or folders of earlier ones."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mixedsched.advice.calibration.agreement import SCHEMES_LEAST
from mixedsched.advice.calibration.loads import SiteLoads, counted
from mixedsched.cli._console import err
from mixedsched.cli._measuring import measure
from mixedsched.cli._runs import DATABASE_NAME, own_versions, owned, read_experiment
from mixedsched.cli._sites import open_site
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import InputError, MissingPartError, MixedschedError
from mixedsched.lab.lab import Scene
from mixedsched.lab.machine import machine_facts
from mixedsched.lab.model import Arm, Plan
from mixedsched.lab.plan import make_plan
from mixedsched.lab.progress import missing_blocks
from mixedsched.model.profile import Profile
from mixedsched.model.scheme import configure
from mixedsched.sites.analysis import expected_connections
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Origins, Site, site_digest
from mixedsched.world import catalog

PRIMARY = ("fcp", "lcp")


class LeftOutError(MixedschedError):
    """Loads that cannot be compared with simulation; says why."""


def gathered(
    name: str, network: Profile, arms: Sequence[Arm], blocks: int, seed: int, form_factor: str, folder: Path
) -> tuple[Path, bool]:
    """Load a site in the browser under all schemes, or go on doing so; the folder of its results, and whether all are there."""
    site = open_site(name)
    plan = make_plan(
        site=site.name,
        site_digest=site_digest(site),
        link=network.name,
        link_facts=network.facts(),
        form_factor=form_factor,
        arms=arms,
        baseline=arms[0].label,
        primary=[f"{metric}_ms" for metric in PRIMARY],
        seed=seed,
        blocks=blocks,
    )
    # No warm-up: each scheme has a server of its own, so all are equally new in the first block.
    plan = replace(plan, blocks=tuple(block for block in plan.blocks if not block.warm_up))
    own = folder / f"{site.name.replace('/', '-')}-{network.name}"
    with owned(own):
        try:
            asyncio.run(_carry_out(plan, network, site, name, own))
        except MissingPartError:
            raise
        except MixedschedError as error:
            err.print(f"{name}: {error}", style="yellow", markup=False, soft_wrap=True)
        try:
            plan, runs, _ = read_experiment(own)
        except InputError:
            return own, False  # not a single load was begun
    return own, not missing_blocks(plan, runs)


async def _carry_out(plan: Plan, network: Profile, site: Site, site_argument: str, folder: Path) -> None:
    origins = (Origins.MERGE if site.merged_hosts else Origins.KEEP).value
    scene = Scene(
        served_site(site),
        network,
        plan.form_factor,
        expected_connections(site),
        backend=plan.backend,
    )
    known = {"site_argument": site_argument, "origins": origins, "machine": machine_facts()}
    await measure(plan, scene, folder, lambda versions, _: {**known, "versions": dict(versions)})


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
            plan, runs, facts = read_experiment(copy)
        except InputError as error:
            raise InputError(error.what.replace(str(copy), str(folder)), why=error.why, fix=error.fix) from error
    site = _same_site(plan, str(facts.get("site_argument", plan.site)), str(facts.get("origins", "")), folder)
    network = _same_network(plan, folder)
    valid, failed = counted(plan, runs, warm_up=warm_up)
    valid = tuple(run for run in valid if run.arm in _with_same_table(plan))
    loads = SiteLoads(plan.site, site.page, site.hosts, network, plan, valid, failed, facts, folder.name)
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
    return frozenset(arm.label for arm in plan.arms if arm.table_digest == table_digest(arm.scheme, arm.mapping))


def table_digest(spec: str, mapping: str | None = None) -> str | None:
    """Fingerprint of the table in force under a scheme; None where it uses none."""
    configured = configure(spec, SCHEMES, catalog.load_mapping, mapping)
    if configured.scheme.default_mapping is None or configured.mapping is None:
        return None
    return configured.mapping.digest


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
