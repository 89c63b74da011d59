"""What the study of Marx et al. 2019 played, and the figures it published (Table 2: mean speed-up over rr)."""

from __future__ import annotations

from dataclasses import dataclass

BASELINE = "rr"
BUFFERS_BYTES = (0, 14_000, 280_000, 1_000_000)
LARGEST_BUFFER_BYTES = BUFFERS_BYTES[-1]
SLOT_US = 10_000  # the study's client sends at most one request in so much time
SAMPLE_MS = 100.0  # the study looks at the page's progress so often


@dataclass(frozen=True, slots=True)
class Published:
    """A row of Table 2. placeholders: in the dependency tree. buffered: above the fold, with 1000 kB of send buffer."""

    placeholders: int
    all: float
    above_fold: float
    buffered: float


TABLE_2 = {
    "wrr": Published(0, 1.05, 1.49, 1.28),
    "fifo": Published(0, 1.27, 1.93, 1.57),
    "dfifo": Published(5, 1.27, 2.30, 1.72),
    "firefox": Published(6, 1.07, 1.22, 1.25),
    "p+": Published(3, 1.17, 2.20, 1.64),
    "s+": Published(8, 1.14, 1.45, 1.56),
    "spdyrr": Published(5, 1.14, 1.96, 1.57),
    "bucket": Published(0, 1.20, 2.13, 1.82),
    "bucket-html": Published(0, 1.20, 2.49, 1.83),
    "zeroweight": Published(0, 1.15, 2.80, 1.90),
}
SCHEMES = tuple(TABLE_2)
