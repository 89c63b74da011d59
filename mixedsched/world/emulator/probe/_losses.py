"""Losses, overtaking and duplicates of a probed link, from which numbers arrived. Pure: numbers in, findings out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mixedsched.core.stats import Interval, share_interval
from mixedsched.model.profile import Direction, GilbertElliott
from mixedsched.world.emulator.probe.findings import (
    CERTAIN,
    Integers,
    LinkFinding,
    LinkVerdict,
    ProbeArrivals,
    Quantity,
)

_LEAST_EXPECTED = 5.0  # per cell of a chi-square test


def loss_finding(arrivals: ProbeArrivals, direction: Direction, side: str, overflowed: int) -> LinkFinding:
    """The share of packets that never came. Losses in bursts hang together and count as fewer trials."""
    quantity = Quantity("loss", side, "ratio")
    if overflowed:
        return quantity.not_applicable(f"{overflowed} packets met a full queue")
    sent, lost = arrivals.sending.total_packets, len(arrivals.missing)
    nominal = direction.loss.mean_ratio * (1 - direction.duplicate_ratio)  # a second copy makes up for the first
    inflation = _inflation(direction)
    interval, certain = (share_interval(lost / inflation, sent / inflation, level) for level in (0.95, CERTAIN))
    note = "" if inflation == 1 else f"as sure as {sent / inflation:.0f} packets that are lost independently"
    found = lost / sent, interval, certain
    return quantity.judged(nominal, found, note, by_chance=True, sent=sent, lost=lost, inflation=round(inflation, 3))


def burst_finding(arrivals: ProbeArrivals, direction: Direction, side: str, overflowed: int) -> LinkFinding:
    """How many packets are lost in a row, on average, and whether the lengths are geometric as the model says."""
    from scipy.stats import chi2  # takes a while to load, and few links need it

    quantity, loss = Quantity("burst length", side, "packets"), direction.loss
    if not isinstance(loss, GilbertElliott) or (loss.bad_loss_ratio, loss.good_loss_ratio) != (1.0, 0.0):
        return quantity.not_applicable("losses do not come in whole bursts")
    if overflowed or direction.duplicate_ratio:
        return quantity.not_applicable("other packets are missing or doubled too")
    lengths = burst_lengths(arrivals.missing)
    if not lengths:
        return quantity.nothing_came()
    bursts, lost = len(lengths), sum(lengths)
    intervals = mean_length_interval(bursts, lost, 0.95), mean_length_interval(bursts, lost, CERTAIN)
    statistic, freedom = geometric_misfit(lengths, loss.r)
    chance = float(chi2.sf(statistic, freedom)) if freedom else 1.0
    found = quantity.judged(
        1 / loss.r,
        (lost / bursts, *intervals),
        f"{bursts} bursts; geometric: p = {chance:.3f}",
        by_chance=True,
        bursts=bursts,
        lengths={str(length): count for length, count in sorted(Counter(lengths).items())},
        chi_square=round(statistic, 3),
        degrees_of_freedom=freedom,
        p=round(chance, 5),
    )
    return found if chance >= 1 - CERTAIN else replace(found, verdict=LinkVerdict.OFF)


def overtaking_finding(arrivals: ProbeArrivals, direction: Direction, side: str) -> LinkFinding:
    """The share of arrivals that were not delayed, and so overtook others; without such a setting, the share out of order."""
    quantity = Quantity("overtaking", side, "ratio")
    if direction.jitter_us and not direction.keeps_order:
        return quantity.not_applicable("the jitter reorders too")
    if direction.reorder_ratio:
        early = int((arrivals.delays_ms < (direction.delay_us - direction.jitter_us) / 2000).sum())
    else:
        early = int((np.diff(arrivals.numbers) < 0).sum())
    return _share_judged(quantity, direction.reorder_ratio, early, len(arrivals.numbers))


def duplicates_finding(arrivals: ProbeArrivals, direction: Direction, side: str) -> LinkFinding:
    """The share of packets that came twice. One that is lost and doubled comes once."""
    twice = len(arrivals.numbers) - len(np.unique(arrivals.numbers))
    nominal = direction.duplicate_ratio * (1 - direction.loss.mean_ratio)
    return _share_judged(Quantity("duplicates", side, "ratio"), nominal, twice, arrivals.sending.total_packets)


def repeat_finding(first: ProbeArrivals, again: ProbeArrivals, side: str, overflowed: int) -> LinkFinding:
    """How many packets met another fate when the same seed was used again: none should."""
    quantity = Quantity("same seed", side, "other fates")
    if overflowed:
        return quantity.not_applicable(f"{overflowed} packets met a full queue")
    packets = min(first.sending.total_packets, again.sending.total_packets)
    fates = [set(item.missing[item.missing < packets].tolist()) for item in (first, again)]
    differing = len(fates[0] ^ fates[1])
    return LinkFinding(
        quantity.name,
        side,
        quantity.unit,
        LinkVerdict.OFF if differing else LinkVerdict.OK,
        nominal=0.0,
        measured=float(differing),
        note=f"of {packets} packets, {len(fates[0])} lost",
    )


def burst_lengths(missing: Integers) -> list[int]:
    """Lengths of the runs of neighbouring numbers, in order."""
    if not len(missing):
        return []
    starts = np.flatnonzero(np.diff(missing, prepend=missing[0] - 2) != 1)
    return [int(length) for length in np.diff(starts, append=len(missing))]


def geometric_misfit(lengths: Sequence[int], r: float) -> tuple[float, int]:
    """(chi-square, degrees of freedom) of lengths against the geometric distribution with mean 1/r.

    Neighbouring lengths share a cell until at least five bursts are expected in each; (0, 0) if they all fit in one.
    """
    total, cells = len(lengths), []
    counts = Counter(lengths)
    expected, seen, survival = 0.0, 0, 1.0
    for length in range(1, max(lengths) + 1):
        expected += total * survival * r
        seen += counts[length]
        survival *= 1 - r
        if expected >= _LEAST_EXPECTED and total * survival >= _LEAST_EXPECTED:
            cells.append((seen, expected))
            expected, seen = 0.0, 0
    rest = total - sum(count for count, _ in cells), total - sum(wanted for _, wanted in cells)
    if rest[1] > 0:
        cells.append(rest)
    if len(cells) < 2:
        return 0.0, 0
    return sum((count - wanted) ** 2 / wanted for count, wanted in cells), len(cells) - 1


def _inflation(direction: Direction) -> float:
    """How many packets count as one trial: the variance of a two-state chain's share over that of independent draws."""
    loss = direction.loss
    if not isinstance(loss, GilbertElliott) or not 0 < loss.mean_ratio < 1 or loss.p + loss.r == 0:
        return 1.0
    kept = 1 - loss.p - loss.r
    bad_share = loss.p / (loss.p + loss.r)
    of_states = bad_share * (1 - bad_share) * (loss.bad_loss_ratio - loss.good_loss_ratio) ** 2
    spread = loss.mean_ratio * (1 - loss.mean_ratio)
    return max(1.0, 1 + 2 * kept / (1 - kept) * of_states / spread)


def mean_length_interval(bursts: int, lost: int, level: float) -> Interval:
    """An interval for the mean length of bursts: each lost packet is a trial whose success ends its burst."""
    ends = share_interval(bursts, lost, level)
    return Interval(1 / ends.high, 1 / ends.low, level)


def _share_judged(quantity: Quantity, nominal: float, hits: int, trials: int) -> LinkFinding:
    if not trials:
        return quantity.nothing_came()
    found = hits / trials, share_interval(hits, trials), share_interval(hits, trials, CERTAIN)
    return quantity.judged(nominal, found, by_chance=True, packets=trials, counted=hits)
