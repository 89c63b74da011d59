"""Paired statistics: how large a change is, how sure that is, how many blocks it takes, and what holds over sites. Pure."""

from mixedsched.core.stats._family import holm
from mixedsched.core.stats._paired import PairedShift, paired_shift, paired_shifts
from mixedsched.core.stats._planning import (
    ALPHA,
    POWER,
    minimum_detectable_effect,
    more_pairs_needed,
    smallest_deciding_pairs,
    spread,
)
from mixedsched.core.stats._regret import regrets, resampled_regrets
from mixedsched.core.stats._resampling import INTERVAL_LEAST, RESAMPLED_LEAST, RESAMPLES, resampled_median, resamples
from mixedsched.core.stats._sequential import Looks, crossing, sequential_interval, sequential_p
from mixedsched.core.stats._shift import CONFIDENCE, NOTHING_KNOWN, Interval, hodges_lehmann, signed_rank_interval
from mixedsched.core.stats._signed_rank import EXACT_PAIRS_MAX, smallest_p, wilcoxon_p
from mixedsched.core.stats._single import mean_interval, median_interval, share_interval
from mixedsched.core.stats._walsh import walsh_averages

__all__ = [
    "ALPHA",
    "CONFIDENCE",
    "EXACT_PAIRS_MAX",
    "NOTHING_KNOWN",
    "POWER",
    "INTERVAL_LEAST",
    "RESAMPLED_LEAST",
    "RESAMPLES",
    "Interval",
    "PairedShift",
    "Looks",
    "crossing",
    "hodges_lehmann",
    "holm",
    "mean_interval",
    "median_interval",
    "minimum_detectable_effect",
    "more_pairs_needed",
    "paired_shift",
    "paired_shifts",
    "sequential_interval",
    "sequential_p",
    "regrets",
    "resampled_median",
    "resampled_regrets",
    "resamples",
    "share_interval",
    "signed_rank_interval",
    "smallest_deciding_pairs",
    "smallest_p",
    "spread",
    "walsh_averages",
    "wilcoxon_p",
]
