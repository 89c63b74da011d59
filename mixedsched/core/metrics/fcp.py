"""First Contentful Paint: when anything of the page is on the screen.

Source of the thresholds: Lighthouse 12 (p10 and median of the score curve), the same in 11 and 13.
"""

from mixedsched.core.metrics._metric import Metric, Thresholds

METRIC = Metric(
    key="fcp_ms",
    title="First Contentful Paint",
    short="FCP",
    unit="ms",
    scale="ratio",
    margin=0.02,
    event="the first content appeared",
    less="sooner",
    more="later",
    explanation=(
        "How long the screen stayed blank: the time until the first text or picture of the page was drawn. "
        "The document, its style sheets and scripts in the head decide it."
    ),
    order=10,
    thresholds={"mobile": Thresholds(1800, 3000), "desktop": Thresholds(934, 1600)},
)
