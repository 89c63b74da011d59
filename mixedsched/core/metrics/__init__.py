"""The metrics of a measured page load: Lighthouse's, and our own. Other modules of this folder compute what simulated loads or
recorded packets show instead.
"""

from collections.abc import Iterable

from mixedsched.core.metrics import hol
from mixedsched.core.metrics._metric import Metric, Rating, Scale, Thresholds
from mixedsched.core.metrics.lighthouse import LIGHTHOUSE_METRICS
from mixedsched.errors import UsageError, nearest_hint

METRICS: tuple[Metric, ...] = (*LIGHTHOUSE_METRICS, hol.METRIC)
"""In the order of tables."""

PAGE_METRICS = tuple(item.key for item in LIGHTHOUSE_METRICS)
"""Keys of all that Lighthouse can measure."""

TTI = "tti_ms"
"""The one that makes a load wait for 5 s of quiet; without it a load ends as soon as the others are final."""

QUICK_METRICS = tuple(key for key in PAGE_METRICS if key != TTI)

_BY_NAME = {name: item for item in METRICS for name in (item.key, item.short.lower())}


def metric_named(name: str) -> Metric:
    """The metric with this key ("lcp_ms") or short name ("LCP", in any case). Raises UsageError."""
    found = _BY_NAME.get(name) or _BY_NAME.get(name.lower())
    if found is None:
        raise UsageError(f"there is no metric '{name}'", fix=nearest_hint(name, (item.key for item in METRICS)))
    return found


def page_metrics(names: Iterable[str]) -> tuple[str, ...]:
    """Keys of those of Lighthouse's metrics that are named as in `metric_named`, in the order of tables. Raises UsageError."""
    keys = {metric_named(name).key for name in names}
    if not keys or not keys <= set(PAGE_METRICS):
        raise UsageError(
            "these are not metrics of a page" if keys else "no metric is named",
            fix=f"choose among {', '.join(item.short.lower() for item in LIGHTHOUSE_METRICS)}",
        )
    return tuple(key for key in PAGE_METRICS if key in keys)


__all__ = [
    "LIGHTHOUSE_METRICS",
    "METRICS",
    "PAGE_METRICS",
    "QUICK_METRICS",
    "TTI",
    "page_metrics",
    "Metric",
    "Rating",
    "Scale",
    "Thresholds",
    "metric_named",
]
