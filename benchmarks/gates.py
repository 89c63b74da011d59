"""How often decisions that are made while blocks come in are wrong, and how many blocks they take. Seeded; in seven minutes:

    python -m benchmarks.gates

Paired differences are logarithms of ratios of two loads, as blocks have them. `--until decided` goes by `crossing` of
`mixedsched.core.stats`. Beside it stand ways that were not chosen: planned looks whose levels add up to 5 %, bets (a
nonnegative martingale on signs and ranks, valid at any time, for any number of blocks), and one look at the end.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks._command import run_alone
from mixedsched.core import stats
from mixedsched.core.stats import ALPHA, Looks

EXPERIMENTS = 10_000  # so that a share of 5 % is known to half a per cent
EXPERIMENTS_OF_COMPARISON = 500
LOOKS = Looks(8, 24)
MARGIN = math.log1p(0.02)
PLANNED_LOOKS = (8, 10, 12, 15, 19, 24)
STAKES = (0.5, 1.0, 2.0, 4.0, 8.0)

Series = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Series]  # noise of so many blocks with a standard deviation of about 1


def normal(rng: np.random.Generator, blocks: int) -> Series:
    return rng.standard_normal(blocks)


def heavy_tails(rng: np.random.Generator, blocks: int) -> Series:
    return rng.standard_t(3, blocks) / math.sqrt(3)


def outliers(rng: np.random.Generator, blocks: int) -> Series:
    """One block in twenty is eight times as noisy."""
    return rng.standard_normal(blocks) * np.where(rng.random(blocks) < 0.05, 8, 1)


def slow_machine(rng: np.random.Generator, blocks: int) -> Series:
    """Every third block is made by a machine that is five times as noisy."""
    return rng.standard_normal(blocks) * np.where(np.arange(blocks) % 3 == 2, 5, 1)


def late_machine(rng: np.random.Generator, blocks: int) -> Series:
    """A machine that is a hundred times as noisy joins after twelve blocks: the hardest case for looks that hang together."""
    return rng.standard_normal(blocks) * np.where(np.arange(blocks) < 12, 1, 100)


def ties(rng: np.random.Generator, blocks: int) -> Series:
    """Mostly nothing, else a step: as CLS."""
    return rng.choice([-1.0, 0.0, 0.0, 0.0, 1.0], blocks)


NOISES: tuple[Draw, ...] = (normal, heavy_tails, outliers, slow_machine, late_machine, ties)

Test = Callable[[Series], int]  # of all differences so far: 1 shown above zero, -1 below, 0 neither


def every_block(differences: Series) -> int:
    return stats.crossing(differences, LOOKS)


def planned_looks(differences: Series) -> int:
    for before, blocks in zip((0, *PLANNED_LOOKS), PLANNED_LOOKS, strict=False):
        seen = differences[:blocks]
        if len(seen) == blocks and stats.wilcoxon_p(seen.tolist()) <= ALPHA * (blocks - before) / LOOKS.last:
            return 1 if stats.hodges_lehmann(seen.tolist()) > 0 else -1
    return 0


def bets(differences: Series) -> int:
    sizes = np.abs(differences)
    shares = np.array([np.mean(sizes[: place + 1] <= size) for place, size in enumerate(sizes)])
    for sign in (1, -1):
        won = [
            stake * sign * np.sign(differences) * shares - np.log(np.cosh(stake * shares))
            for stake in map(float, STAKES)
        ]
        if np.mean(np.exp(np.cumsum(won, axis=1)), axis=0).max(initial=0.0) >= 2 / ALPHA:
            return sign
    return 0


def at_the_end(differences: Series) -> int:
    if len(differences) < LOOKS.last or stats.wilcoxon_p(differences.tolist()) >= ALPHA:
        return 0
    return 1 if stats.hodges_lehmann(differences.tolist()) > 0 else -1


def blocks_until(is_decided: Callable[[int], bool]) -> int | None:
    """The first number of blocks at which it is decided, which it then stays; None for never."""
    return next((blocks for blocks in range(1, LOOKS.last + 1) if is_decided(blocks)), None)


def is_decided(test: Test, differences: Series) -> bool:
    """Whether it is better or worse, or equivalent."""
    return test(differences) != 0 or (test(differences - MARGIN) < 0 < test(differences + MARGIN))


def of_experiments(rng: np.random.Generator, count: int, noise: Draw, scale: float, shift: float) -> Iterator[Series]:
    for _ in range(count):
        yield shift + scale * noise(rng, LOOKS.last)


def errors(rng: np.random.Generator) -> Iterator[str]:
    """Shares of A/A experiments with a false finding: one question, and any of four with half of their noise in common."""
    yield f"{'false findings, A/A':22} {'one question':>14} {'any of four':>14}   (stated: at most {ALPHA:.1%})"
    for noise in NOISES:
        one = [every_block(item) != 0 for item in of_experiments(rng, EXPERIMENTS, noise, 0.03, 0.0)]
        four = []
        for _ in range(EXPERIMENTS):
            shared = noise(rng, LOOKS.last)
            questions = [shared + noise(rng, LOOKS.last) for _ in range(4)]
            four.append(any(stats.crossing(item, LOOKS, ALPHA / 4) for item in questions))
        yield f"{noise.__name__:22} {np.mean(one):14.2%} {np.mean(four):14.2%}"


def costs(rng: np.random.Generator) -> Iterator[str]:
    """Blocks until better, worse or equivalent (margin 2 %), and the share of experiments that are decided by the last."""
    tests: Sequence[Test] = (every_block, planned_looks, bets, at_the_end)
    yield f"{'blocks (decided)':34} " + " ".join(f"{test.__name__:>15}" for test in tests)
    for noise in (normal, heavy_tails, outliers, slow_machine):
        for scatter, effect in ((0.01, 0.0), (0.03, 0.0), (0.03, 0.02), (0.03, 0.05), (0.10, 0.05)):
            series = list(of_experiments(rng, EXPERIMENTS_OF_COMPARISON, noise, scatter, math.log1p(effect)))
            cells = [
                in_cell([blocks_until(lambda n, t=test, s=item: is_decided(t, s[:n])) for item in series])
                for test in tests
            ]
            yield f"{noise.__name__:14} {scatter:4.0%}, change {effect:3.0%}   " + " ".join(f"{it:>15}" for it in cells)


def bounds(rng: np.random.Generator) -> Iterator[str]:
    """Blocks until a gate is decided, and the share of experiments in which it is, by normal noise."""
    cases = ((0.02, 0.0), (0.05, 0.0), (0.02, 0.05), (0.02, 0.10))
    titles = [f"> {bound:+.0%}, change {change:.0%}" for bound, change in cases]
    yield f"{'blocks (decided)':18} " + " ".join(f"{title:>18}" for title in titles)
    for scatter in (0.01, 0.02, 0.03, 0.05, 0.10):
        cells = []
        for bound, change in cases:
            shift = math.log1p(change) - math.log1p(bound)
            series = list(of_experiments(rng, EXPERIMENTS_OF_COMPARISON, normal, scatter, shift))
            cells.append(in_cell([blocks_until(lambda n, s=item: every_block(s[:n]) != 0) for item in series]))
        yield f"scatter {scatter:4.0%}       " + " ".join(f"{cell:>18}" for cell in cells)


def in_cell(ends: Sequence[int | None]) -> str:
    """The mean number of blocks, and the share of experiments that ended."""
    mean = statistics.fmean(LOOKS.last if end is None else end for end in ends)
    return f"{mean:.1f} ({np.mean([end is not None for end in ends]):.0%})"


def run(seed: int = 1) -> Iterator[str]:
    rng = np.random.default_rng(seed)
    yield from errors(rng)
    yield ""
    yield from bounds(rng)
    yield ""
    yield from costs(rng)


if __name__ == "__main__":
    run_alone("gates", __doc__, run)
