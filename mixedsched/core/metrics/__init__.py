"""The metrics of a measured page load: Lighthouse's, and our own. Other modules of this folder compute what simulated loads or
recorded packets show instead.
"""

from mixedsched.core.metrics import hol
from mixedsched.core.metrics._metric import Metric, Rating, Scale, Thresholds
from mixedsched.core.metrics.lighthouse import LIGHTHOUSE_METRICS
from mixedsched.errors import UsageError, nearest_hint

METRICS: tuple[Metric, ...] = (*LIGHTHOUSE_METRICS, hol.METRIC)
"""In the order of tables."""

_BY_NAME = {name: item for item in METRICS for name in (item.key, item.short.lower())}


def metric_named(name: str) -> Metric:
    """The metric with this key ("lcp_ms") or short name ("LCP", in any case). Raises UsageError."""
    found = _BY_NAME.get(name) or _BY_NAME.get(name.lower())
    if found is None:
        raise UsageError(f"there is no metric '{name}'", fix=nearest_hint(name, (item.key for item in METRICS)))
    return found


__all__ = ["LIGHTHOUSE_METRICS", "METRICS", "Metric", "Rating", "Scale", "Thresholds", "metric_named"]
