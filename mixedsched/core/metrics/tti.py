"""Time to Interactive: when the page dependably reacts.

Source of the thresholds: Lighthouse 12 (p10 and median of the score curve), the same in 11 and 13.
"""

from mixedsched.core.metrics._metric import Metric, Thresholds

METRIC = Metric(
    key="tti_ms",
    title="Time to Interactive",
    short="TTI",
    unit="ms",
    scale="ratio",
    margin=0.02,
    event="the page became dependably interactive",
    less="sooner",
    more="later",
    explanation=(
        "The time after which network and processor stayed quiet for five seconds, so that the page surely reacts. "
        "Lighthouse no longer scores it, since one late request moves it a lot; it is shown for comparison with older studies."
    ),
    order=60,
    thresholds={"mobile": Thresholds(3785, 7300), "desktop": Thresholds(2468, 4500)},
)
