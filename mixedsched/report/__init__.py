"""Reports for people: a self-contained HTML report of a comparison, its table for the terminal, pictures of simulated loads.

What is named here is imported when it is asked for: comparisons need statistics and storage, for which pictures of simulated
loads (`mixedsched.report.simulation`) should not wait.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixedsched.report._html import render_report, write_report
    from mixedsched.report._misses import miss_lines
    from mixedsched.report.table import render_table

__all__ = ["miss_lines", "render_report", "render_table", "write_report"]

_MODULES = {
    "miss_lines": "_misses",
    "render_report": "_html",
    "render_table": "table",
    "write_report": "_html",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
