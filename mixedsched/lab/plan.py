"""Decides an experiment before its first run: the same arguments give the same plan."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixedsched.core.metrics import PAGE_METRICS, metric_named
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import UsageError
from mixedsched.lab.model import AS_USUAL, Arm, Block, Conditions, Plan
from mixedsched.model.scheme import configure
from mixedsched.sites.site import Origins, Site
from mixedsched.world import catalog
from mixedsched.world.emulator.backend import RELAY
from mixedsched.world.servers import is_server, read_choice, require_server

WARM_UP_INDEX = 0  # the warm-up block; analysed ones count from 1
WITH_RULES = " (rules)"  # marks the second arm of a scheme that is compared without and with an operator's rules
AGAIN = " (again)"  # marks the second arm of a scheme that is compared with itself


def arm_of(scheme: str, mapping: str | None = None) -> Arm:
    """The arm of a scheme, as the registry parses it; `mapping` replaces its priority table, if it uses one.

    scheme: or "@" and a server of other people's, which need not be on this machine to be planned with.
    Raises UsageError for a scheme or server, InputError for a table that does not exist or cannot be read.
    """
    if is_server(scheme):
        return Arm(scheme, scheme, None, read_choice(scheme).files_digest)
    configured = configure(scheme, SCHEMES, catalog.load_mapping, mapping)
    if configured.scheme.default_mapping is None or configured.mapping is None:
        return Arm(scheme, scheme)
    return Arm(scheme, scheme, mapping, configured.mapping.digest)


def refuse_missing_servers(arms: Sequence[Arm]) -> None:
    """Raises MissingPartError for an arm whose server is not on this machine."""
    for arm in arms:
        if is_server(arm.scheme):
            require_server(read_choice(arm.scheme).kind)


def refuse_not_live(site: Site | str, backend: str, origins: Origins | None) -> None:
    """Raises UsageError for what a live page cannot have."""
    if not isinstance(site, str):
        raise UsageError(f"the site '{site.name}' is not live", fix="give the address of an application")
    if backend != RELAY:
        raise UsageError(
            f"a live page cannot be loaded over --backend {backend}",
            why="servers are in a network namespace there, from which the application on this machine cannot be reached",
            fix="leave --backend out: the relay can",
        )
    if origins is not None:
        raise UsageError(
            "--origins is not possible with --live",
            why="a live page has one host: the application's",
            fix="leave it out",
        )


def refuse_servers(arms: Sequence[Arm]) -> None:
    """Raises UsageError for an arm that is no scheme of ours: other people's servers replay files."""
    others = [arm.label for arm in arms if is_server(arm.scheme)]
    if others:
        raise UsageError(
            f"{', '.join(others)} cannot stand before a live application",
            why="other servers replay a site's files, and a live page has none",
            fix="name schemes only, or leave out --live: then the page is recorded once",
        )


def arms_of(schemes: Sequence[str], mapping: str | None = None, *, against_itself: bool = False) -> list[Arm]:
    """The arms of a comparison of schemes. against_itself: compare one scheme with itself, as a test of the laboratory.

    Raises UsageError as arm_of, and for several schemes against themselves.
    """
    arms = [arm_of(scheme, mapping) for scheme in schemes]
    if not against_itself:
        return arms
    if len(arms) > 1:
        raise UsageError("--aa compares one scheme with itself", fix="name one scheme only")
    return [arms[0], replace(arms[0], label=arms[0].label + AGAIN)]


def make_plan(
    *,
    site: str,
    site_digest: str,
    link: str,
    link_facts: Mapping[str, Any],
    form_factor: str,
    arms: Sequence[Arm],
    baseline: str,
    primary: Sequence[str],
    seed: int,
    blocks: int,
    backend: str = "relay",
    across_connections: bool = False,
    metrics: Sequence[str] = PAGE_METRICS,
    conditions: Conditions = AS_USUAL,
    warm_up: bool = True,
) -> Plan:
    """One warm-up block, then `blocks` analysed ones, each with a link seed and an order of its own.

    Orders are random, and every second block reverses the one before it, so that no arm is more often the first of a pair.
    A plan with more blocks begins with those of the shorter one. `warm_up=False` leaves the warm-up block out. Raises
    UsageError for fewer than one block or two arms, for a baseline that is not one of them, for a metric that the browser does
    not have, and for a primary one that is not asked for.
    """
    labels = [arm.label for arm in arms]
    if blocks < 1:
        raise UsageError(f"{blocks} blocks are too few", fix="a verdict needs at least 6")
    if len(labels) < 2:
        raise UsageError("there is nothing to compare", fix="name two or more schemes")
    if len(set(labels)) < len(labels):
        raise UsageError("a scheme is named twice", fix="to compare a scheme with itself, use --aa")
    if baseline not in labels:
        raise UsageError(
            f"the baseline '{baseline}' is not among the schemes", fix=f"choose one of {', '.join(labels)}"
        )
    refuse_unmeasurable([*metrics, *primary], conditions)
    _refuse_unasked(primary, metrics)
    return Plan(
        site=site,
        site_digest=site_digest,
        link=link,
        link_facts=link_facts,
        form_factor=form_factor,
        arms=tuple(arms),
        baseline=baseline,
        primary=tuple(primary),
        seed=seed,
        backend=backend,
        across_connections=across_connections,
        metrics=tuple(metrics),
        conditions=conditions,
        blocks=(
            *([Block(WARM_UP_INDEX, _link_seed(seed, WARM_UP_INDEX), tuple(labels), warm_up=True)] if warm_up else []),
            *(Block(index, _link_seed(seed, index), _order(seed, index, labels)) for index in range(1, blocks + 1)),
        ),
    )


def refuse_unmeasurable(metrics: Sequence[str], conditions: Conditions) -> None:
    """Raises UsageError for keys of metrics that the browser does not have."""
    browser = conditions.browser
    if lacking := list(dict.fromkeys(metric_named(key).short for key in browser.lacks(metrics))):
        had = ",".join(metric_named(key).short.lower() for key in browser.metrics)
        raise UsageError(f"{browser.brand} does not measure {', '.join(lacking)}", fix=f"choose among {had}")


def _refuse_unasked(primary: Sequence[str], metrics: Sequence[str]) -> None:
    """Raises UsageError for metrics to decide on that are not to be measured."""
    if unasked := [metric_named(key).short for key in primary if key in PAGE_METRICS and key not in metrics]:
        raise UsageError(
            f"{', '.join(unasked)} is to be decided on, but not measured",
            fix="name it in --metrics, or another in --primary",
        )


def attempt_seed(block: Block, attempt: int) -> int:
    """The link's seed in the n-th attempt at a block: another network, in case it was the network that failed."""
    return block.link_seed + attempt - 1


def _link_seed(seed: int, index: int) -> int:
    return random.Random(f"{seed}/link/{index}").getrandbits(48)


def _order(seed: int, index: int, labels: Sequence[str]) -> tuple[str, ...]:
    pair, is_second = divmod(index - 1, 2)
    order = list(labels)
    random.Random(f"{seed}/order/{pair}").shuffle(order)
    return tuple(reversed(order)) if is_second else tuple(order)
