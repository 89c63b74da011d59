"""Estimates of Total Blocking Time and Cumulative Layout Shift, for pages that tell how long scripts work, and what shifts.

The main thread runs one script after the other, each in one task from its start to its end. Left out is all other work: layout,
style, parsing beyond what the browser model says, timers and events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from mixedsched.core.metrics.paint import work_ms
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Flag, Kind

LONG_TASK_MS = 50.0  # longer tasks block by what is beyond it; Lighthouse's definition
WINDOW_GAP_MS, WINDOW_MOST_MS = 1000.0, 5000.0  # a session window of CLS ends at such a gap, or when it is so long


@dataclass(frozen=True, slots=True)
class AfterPaint:
    """What the work and the shifts of a page depend on; made once for many loads."""

    main: str  # id of the document
    scripts: tuple[Resource, ...]  # in the page's order; none where no script says how long it works
    shifts: Mapping[str, float]  # scores by id; empty where nothing shifts
    finders: Mapping[str, Kind]  # of the scripts, by id

    @classmethod
    def of(cls, page: Page) -> Self:
        kinds = {item.id: item.kind for item in page.resources}
        scripts = tuple(item for item in page.resources if item.kind is Kind.SCRIPT)
        return cls(
            page.main.id,
            scripts if any(item.work_ms for item in scripts) else (),
            {item.id: item.late_shift for item in page.resources if item.late_shift},
            {item.id: kinds[item.found_by] for item in scripts if item.found_by is not None},
        )

    def estimate(
        self, complete_ms: Mapping[str, float], fcp_ms: float, model: BrowserModel = IDEAL
    ) -> dict[str, float]:
        """`tbt_ms` and `cls` of a load with these times by id, each only if the page says what it depends on."""
        found = {"tbt_ms": self._blocked_ms(complete_ms, fcp_ms, model)} if self.scripts else {}
        return found | ({"cls": self._shifted(complete_ms, fcp_ms)} if self.shifts else {})

    def _blocked_ms(self, complete_ms: Mapping[str, float], fcp_ms: float, model: BrowserModel) -> float:
        """As Lighthouse counts it: of tasks that last into the time after the first paint, only what is in it."""
        ready = sorted(self._ready_ms(complete_ms), key=lambda one: one[0])  # stable: equal times in the page's order
        blocked_ms = free_ms = 0.0
        for at_ms, script in ready:
            start_ms = max(at_ms, free_ms)
            free_ms = start_ms + work_ms(script, model)
            blocked_ms += max(0.0, free_ms - max(start_ms, fcp_ms) - LONG_TASK_MS)
        return blocked_ms

    def _ready_ms(self, complete_ms: Mapping[str, float]) -> Iterator[tuple[float, Resource]]:
        """When each script may run. Those of the document run in its order; deferred ones once it is complete."""
        in_turn_ms, deferred_ms = 0.0, complete_ms[self.main]
        for script in self.scripts:
            at_ms = complete_ms[script.id]
            if Flag.DEFER in script.flags:
                at_ms = deferred_ms = max(deferred_ms, at_ms)
            elif Flag.ASYNC not in script.flags and self.finders.get(script.id) is Kind.DOCUMENT:
                at_ms = in_turn_ms = max(in_turn_ms, at_ms)
            yield at_ms, script

    def _shifted(self, complete_ms: Mapping[str, float], fcp_ms: float) -> float:
        """The largest sum of a session window (web.dev/articles/cls). What has come before the first paint shifts nothing."""
        largest = window = 0.0
        began_ms = last_ms = -WINDOW_MOST_MS
        for at_ms, score in sorted((complete_ms[name], score) for name, score in self.shifts.items()):
            if at_ms <= fcp_ms:
                continue
            if at_ms - last_ms >= WINDOW_GAP_MS or at_ms - began_ms >= WINDOW_MOST_MS:
                window, began_ms = 0.0, at_ms
            window, last_ms = window + score, at_ms
            largest = max(largest, window)
        return largest
