"""Speed Index: how early the first screen looks complete, on average.

Source of the thresholds: Lighthouse 12 (p10 and median of the score curve), the same in 11 and 13.
"""

from mixedsched.core.metrics._metric import Metric, Thresholds

METRIC = Metric(
    key="si_ms",
    title="Speed Index",
    short="SI",
    unit="ms",
    scale="ratio",
    margin=0.02,
    event="the first screen filled in",
    less="sooner",
    more="later",
    explanation=(
        "How quickly the first screen filled in, seen as a film: the average time at which its parts looked as they do in "
        "the end. It rewards pages that show much early, even if the rest is late."
    ),
    order=30,
    thresholds={"mobile": Thresholds(3387, 5800), "desktop": Thresholds(1311, 2300)},
)
