"""Cumulative Layout Shift: how much the layout jumps about while it loads.

Source of the thresholds: Lighthouse 12 (p10 and median of the score curve), the same in 11 and 13.
"""

from mixedsched.core.metrics._metric import Metric, Thresholds

METRIC = Metric(
    key="cls",
    title="Cumulative Layout Shift",
    short="CLS",
    unit="",
    scale="difference",
    margin=0.01,
    event="the layout jumped",
    less="less",
    more="more",
    explanation=(
        "How much of the screen jumped, and how far, while the page loaded; 0 is perfectly still. Late fonts, styles and "
        "images without reserved room cause it."
    ),
    order=50,
    thresholds={"mobile": Thresholds(0.1, 0.25), "desktop": Thresholds(0.1, 0.25)},
)
