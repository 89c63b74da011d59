"""Largest Contentful Paint: when the main content is on the screen.

Source of the thresholds: Lighthouse 12 (p10 and median of the score curve), the same in 11 and 13.
"""

from mixedsched.core.metrics._metric import Metric, Thresholds

METRIC = Metric(
    key="lcp_ms",
    title="Largest Contentful Paint",
    short="LCP",
    unit="ms",
    scale="ratio",
    margin=0.02,
    event="the main content appeared",
    less="sooner",
    more="later",
    explanation=(
        "The time until the largest picture or block of text of the first screen was drawn, which is about when people feel "
        "that the page is there. Often it waits for one hero image."
    ),
    order=20,
    thresholds={"mobile": Thresholds(2500, 4000), "desktop": Thresholds(1200, 2400)},
)
