"""Decides an experiment before its first run. Pure: the same arguments give the same plan."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from mixedsched.errors import UsageError
from mixedsched.lab.model import Arm, Block, Plan

WARM_UP_INDEX = 0  # the warm-up block; analysed ones count from 1


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
) -> Plan:
    """One warm-up block, then `blocks` analysed ones, each with a link seed and an order of its own.

    Orders are random, and every second block reverses the one before it, so that no arm is more often the first of a pair.
    A plan with more blocks begins with those of the shorter one. Raises UsageError for fewer than one block or two arms, or
    a baseline that is none of them.
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
        blocks=(
            Block(WARM_UP_INDEX, _link_seed(seed, WARM_UP_INDEX), tuple(labels), warm_up=True),
            *(Block(index, _link_seed(seed, index), _order(seed, index, labels)) for index in range(1, blocks + 1)),
        ),
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
