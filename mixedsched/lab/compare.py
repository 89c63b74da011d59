"""The main job as a function: load a page under several schemes in real Chromium, and see which is better."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixedsched.core.metrics import metric_named
from mixedsched.lab.bench import Design, Observe, Say, ServedArm, unobserved
from mixedsched.lab.experiment import Experiment, run_experiment
from mixedsched.lab.model import Arm
from mixedsched.lab.plan import arms_of
from mixedsched.model.profile import Profile
from mixedsched.sites.opening import open_site
from mixedsched.sites.site import Site, site_digest
from mixedsched.world import catalog
from mixedsched.world.emulator.backend import RELAY

DEFAULT_SCHEMES = ("sequential", "mixed")
DEFAULT_LINK = "4g"


def primary_keys(names: Sequence[str]) -> tuple[str, ...]:
    """The keys of metrics to decide on ("lcp" means "lcp_ms"), each once. Raises UsageError."""
    return tuple(dict.fromkeys(metric_named(name.strip()).key for name in names))


def designed(site: Site, arms: Sequence[Arm], **options: Any) -> Design:
    """A comparison of arms on one site. options: the other fields of a Design."""
    digest = site_digest(site)
    return Design(tuple(ServedArm(arm, site, digest) for arm in arms), **options)


def compare(
    site: Site | str,
    schemes: Sequence[str] = DEFAULT_SCHEMES,
    *,
    link: Profile | str = DEFAULT_LINK,
    blocks: int = 8,
    baseline: str = "",
    mapping: str | None = None,
    primary: Sequence[str] = ("lcp",),
    form_factor: str = "mobile",
    seed: int = 1,
    backend: str = RELAY,
    across_connections: bool = False,
    against_itself: bool = False,
    folder: Path | str | None = None,
    observe: Observe = unobserved,
    say: Say = lambda _: None,
) -> Experiment:
    """Load a page under several schemes in real Chromium, in paired blocks; see Experiment.comparison for what that shows.

    Every run is stored at once: after an interruption the same call goes on where it stopped, and with more blocks it adds
    to what is there.

    Args:
        site: A site, or what `load_site` takes.
        schemes: Names with parameters: "mixed:alpha=0.5".
        link: A network profile, or its name or file.
        blocks: Paired repeats; 6 decide on one metric of two schemes, 8 on all seven.
        baseline: The scheme that others are measured against; the first by default.
        mapping: Name or file of a priority table for all schemes that use one, instead of their own.
        primary: Metrics to decide on ("lcp", "fcp" ...); the others are exploratory.
        form_factor: "mobile" or "desktop".
        seed: Of the order of loads and of the network's losses.
        backend: What emulates the network: "relay", "netns" or "vm".
        across_connections: Whether the server schedules across the connections of a client.
        against_itself: Compare one scheme with itself, as a test of the laboratory.
        folder: For the results; by default one in runs/ that is named after the comparison.
        observe: Watches the runs; called with the number of those that are left.
        say: Takes remarks, such as what the emulated network cannot do.

    Raises:
        MixedschedError: for bad arguments, a missing browser, a page that cannot be loaded.
    """
    network = catalog.load_profile(link) if isinstance(link, str) else link
    arms = arms_of(schemes, mapping, against_itself=against_itself)
    keys = primary_keys(primary)
    opened = open_site(site) if isinstance(site, str) else site  # last, because it may have to be built
    design = designed(
        opened,
        arms,
        primary=keys,
        form_factor=form_factor,
        seed=seed,
        baseline=baseline,
        backend=backend,
        across_connections=across_connections,
    )
    return run_experiment(
        design,
        network,
        blocks,
        Path(folder) if folder is not None else None,
        site_argument=site if isinstance(site, str) else site.name,
        observe=observe,
        say=say,
    )
