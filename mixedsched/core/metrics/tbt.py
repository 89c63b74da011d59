"""Total Blocking Time: how long the page was too busy to react.

Source of the thresholds: Lighthouse 12 (p10 and median of the score curve), the same in 11 and 13.
"""

from mixedsched.core.metrics._metric import Metric, Thresholds

METRIC = Metric(
    key="tbt_ms",
    title="Total Blocking Time",
    short="TBT",
    unit="ms",
    scale="difference",
    margin=10.0,
    event="the page was too busy to react",
    less="for less time",
    more="for longer",
    explanation=(
        "How long, between first content and interactivity, the page was too busy to react to a tap: the parts beyond 50 ms "
        "of every long task. Delivery order moves it a little, by moving when scripts run."
    ),
    order=40,
    thresholds={"mobile": Thresholds(200, 600), "desktop": Thresholds(150, 350)},
)
