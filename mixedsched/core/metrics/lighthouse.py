"""The metrics that Lighthouse measures. An entry of this table is all that a new one needs; most are times, as by default.

Source of the thresholds: Lighthouse 12 (p10 and median of the score curve), the same in 11 and 13.
"""

from mixedsched.core.metrics._metric import Metric, Thresholds

LIGHTHOUSE_METRICS = (
    Metric(
        key="fcp_ms",
        title="First Contentful Paint",
        short="FCP",
        event="the first content appeared",
        explanation=(
            "How long the screen stayed blank: the time until the first text or picture of the page was drawn. "
            "The document, its style sheets and scripts in the head decide it."
        ),
        audit="first-contentful-paint",
        thresholds={"mobile": Thresholds(1800, 3000), "desktop": Thresholds(934, 1600)},
    ),
    Metric(
        key="lcp_ms",
        title="Largest Contentful Paint",
        short="LCP",
        event="the main content appeared",
        explanation=(
            "The time until the largest picture or block of text of the first screen was drawn, which is about when people "
            "feel that the page is there. Often it waits for one hero image."
        ),
        audit="largest-contentful-paint",
        thresholds={"mobile": Thresholds(2500, 4000), "desktop": Thresholds(1200, 2400)},
    ),
    Metric(
        key="si_ms",
        title="Speed Index",
        short="SI",
        event="the first screen filled in",
        explanation=(
            "How quickly the first screen filled in, seen as a film: the average time at which its parts looked as they do in "
            "the end. It rewards pages that show much early, even if the rest is late."
        ),
        audit="speed-index",
        thresholds={"mobile": Thresholds(3387, 5800), "desktop": Thresholds(1311, 2300)},
    ),
    Metric(
        key="tbt_ms",
        title="Total Blocking Time",
        short="TBT",
        scale="difference",
        margin=10.0,
        event="the page was too busy to react",
        less="less",
        more="longer",
        explanation=(
            "How long, between first content and interactivity, the page was too busy to react to a tap: the parts beyond "
            "50 ms of every long task. Delivery order moves it a little, by moving when scripts run."
        ),
        audit="total-blocking-time",
        thresholds={"mobile": Thresholds(200, 600), "desktop": Thresholds(150, 350)},
    ),
    Metric(
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
        audit="cumulative-layout-shift",
        thresholds={"mobile": Thresholds(0.1, 0.25), "desktop": Thresholds(0.1, 0.25)},
    ),
    Metric(
        key="tti_ms",
        title="Time to Interactive",
        short="TTI",
        event="the page became dependably interactive",
        explanation=(
            "The time after which network and processor stayed quiet for five seconds, so that the page surely reacts. "
            "Lighthouse no longer scores it, since one late request moves it a lot; it is shown for comparison with older "
            "studies."
        ),
        audit="interactive",
        thresholds={"mobile": Thresholds(3785, 7300), "desktop": Thresholds(2468, 4500)},
    ),
)
