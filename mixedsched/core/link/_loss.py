"""Which packets a link loses or duplicates, as processes that are asked once per packet handed over.

The n-th answer depends on the seed and n alone.
"""

import random
from collections.abc import Callable

from mixedsched.core.link._randomness import stream_beside
from mixedsched.model.profile import Direction, GilbertElliott, Loss, RandomLoss


def copies_process(direction: Direction, rng: random.Random) -> Callable[[], int]:
    """Draws how many copies of the next packet arrive: 1, one less if it is lost, one more if duplicated, as in netem."""
    if isinstance(direction.loss, RandomLoss) and not direction.duplicate_ratio:
        draw, ratio = rng.random, direction.loss.ratio
        return lambda: draw() >= ratio  # most links; one call less
    is_lost = loss_process(direction.loss, rng)
    if not direction.duplicate_ratio:
        return lambda: not is_lost()
    is_duplicated = chance(direction.duplicate_ratio, stream_beside(rng, "duplicate"))
    return lambda: 1 - is_lost() + is_duplicated()


def loss_process(loss: Loss, rng: random.Random) -> Callable[[], bool]:
    """Whether the next packet is lost, to be asked for every packet handed over."""
    if isinstance(loss, GilbertElliott):
        return _gilbert_elliott(loss, rng)
    return chance(loss.ratio, rng)


def chance(ratio: float, rng: random.Random) -> Callable[[], bool]:
    """True in this ratio of all answers, each independent of the others."""
    draw = rng.random
    if not ratio:
        return _never
    return lambda: draw() < ratio


def _never() -> bool:
    return False


def _gilbert_elliott(loss: GilbertElliott, rng: random.Random) -> Callable[[], bool]:
    """The chain of netem's `gemodel`, with the kernel's order of draws: the transition, then the loss.

    The loss is drawn with the ratio of the state that the packet meets: with the usual ratios the packet on which good turns
    bad survives, the one on which bad turns good is lost. It begins in the good state. Two draws a packet, needed or
    not, so that the ratios do not shift the chain. Source: Linux, net/sched/sch_netem.c, loss_gilb_ell().
    """
    draw = rng.random
    p, r, bad_loss_ratio, good_loss_ratio = loss.p, loss.r, loss.bad_loss_ratio, loss.good_loss_ratio
    is_bad = False

    def is_lost() -> bool:
        nonlocal is_bad
        transition, fate = draw(), draw()
        if is_bad:
            is_bad = transition >= r
            return fate < bad_loss_ratio
        is_bad = transition < p
        return fate < good_loss_ratio

    return is_lost
