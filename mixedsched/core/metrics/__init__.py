"""The browser metrics. A file in this folder with a `METRIC` is a metric; there is no other registry.

Files without one hold what is computed of simulated loads or of recorded packets instead.
"""

from __future__ import annotations

import importlib
import pkgutil

from mixedsched.core.metrics._metric import Metric, Rating, Scale, Thresholds
from mixedsched.errors import UsageError, nearest_hint


def _collect() -> tuple[Metric, ...]:
    """The METRIC of every public module of this package that has one, in the order of their `order`, then key."""
    names = (module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    found: list[Metric] = [module.METRIC for module in modules if hasattr(module, "METRIC")]
    return tuple(sorted(found, key=lambda item: (item.order, item.key)))


METRICS: tuple[Metric, ...] = _collect()

_BY_NAME = {name: item for item in METRICS for name in (item.key, item.short.lower())}


def metric_named(name: str) -> Metric:
    """The metric with this key ("lcp_ms") or short name ("LCP", in any case). Raises UsageError."""
    found = _BY_NAME.get(name) or _BY_NAME.get(name.lower())
    if found is None:
        raise UsageError(f"there is no metric '{name}'", fix=nearest_hint(name, (item.key for item in METRICS)))
    return found


__all__ = ["METRICS", "Metric", "Rating", "Scale", "Thresholds", "metric_named"]
