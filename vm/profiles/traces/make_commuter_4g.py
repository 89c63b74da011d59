"""Makes commuter-4g-down.trace and commuter-4g-up.trace beside itself: a synthetic 4G link, seen from a moving train.

    python vm/profiles/traces/make_commuter_4g.py

Nothing here was measured. The rate changes every 100 ms: its logarithm wanders around a mean (an AR(1) process, half
forgotten after about two seconds), and there are two gaps, for a tunnel and for a change of cells. Both directions share
gaps and wandering. The seed is fixed, so the files can be made again.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

SEED = 4
DURATION_MS = 40_000
STEP_MS = 100
PACKET_BITS = 1500 * 8  # what one line of a packet-delivery trace lets pass
MEDIAN_BPS = {"down": 3_300_000, "up": 1_000_000}
SPREAD = 0.7  # standard deviation of the rate's natural logarithm
MEMORY = 0.966  # of that logarithm, from one step to the next
GAPS_MS = ((13_000, 14_200), (29_500, 29_900))  # nothing passes: a tunnel, a change of cells


def strengths(rng: random.Random) -> list[float]:
    """The link's rate in each step, as a multiple of its median."""
    found, logarithm = [], 0.0
    for start_ms in range(0, DURATION_MS, STEP_MS):
        logarithm = MEMORY * logarithm + rng.gauss(0, SPREAD * math.sqrt(1 - MEMORY**2))
        is_gap = any(gap_start_ms <= start_ms < gap_end_ms for gap_start_ms, gap_end_ms in GAPS_MS)
        found.append(0.0 if is_gap else math.exp(logarithm))
    return found


def opportunities_ms(rates_bps: list[float]) -> list[int]:
    """The moments at which a packet may pass, spread evenly over each step; the last one ends the trace."""
    found, saved_bits = [], 0.0
    for time_ms in range(1, DURATION_MS + 1):
        saved_bits += rates_bps[(time_ms - 1) // STEP_MS] / 1000
        while saved_bits >= PACKET_BITS:
            saved_bits -= PACKET_BITS
            found.append(time_ms)
    return found if found[-1] == DURATION_MS else [*found, DURATION_MS]


def main() -> None:
    """Write both files."""
    of_both = strengths(random.Random(SEED))
    for side, median_bps in MEDIAN_BPS.items():
        times_ms = opportunities_ms([strength * median_bps for strength in of_both])
        file = Path(__file__).with_name(f"commuter-4g-{side}.trace")
        file.write_text("".join(f"{time_ms}\n" for time_ms in times_ms), encoding="ascii")


if __name__ == "__main__":
    main()
