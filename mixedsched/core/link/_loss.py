"""Which packets a link loses or duplicates, as processes that are asked once per packet handed over.

The n-th answer depends on the seed and n alone. Each kind of decision has a stream of randomness of its own, so that adding
jitter does not change the losses.
"""

import random
from collections.abc import Callable

from mixedsched.model.profile import Direction, GilbertElliott, Loss, RandomLoss


def direction_rng(seed: int, direction: str) -> random.Random:
    """The randomness of one direction ("down" or "up") of the link with this seed. Losses are drawn from it as it is."""
    return random.Random(f"{seed}/{direction}")


def stream_beside(rng: random.Random, kind: str) -> random.Random:
    """A stream of its own for another kind of decision, made from the state of `rng`, which stays as it is."""
    twin = random.Random()
    twin.setstate(rng.getstate())
    return random.Random(f"{twin.getrandbits(128):x}/{kind}")


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


def loss_pattern(direction: Direction, seed: int, side: str, packets: int) -> list[bool]:
    """Which of the first `packets` packets handed over are lost on the way (True). side: "down" or "up".

    Packets that overflow are counted too, and a duplicate that makes up for a loss is not considered.
    """
    is_lost = loss_process(direction.loss, direction_rng(seed, side))
    return [is_lost() for _ in range(packets)]
