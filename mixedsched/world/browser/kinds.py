"""The browsers that can measure, and what each lets one measure."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from mixedsched.core.metrics import METRICS, PAGE_METRICS


class Browser(StrEnum):
    """A browser, by the name that options and study files have for it."""

    CHROMIUM = "chromium"
    FIREFOX = "firefox"

    @property
    def brand(self) -> str:
        return self.value.capitalize()

    @property
    def metrics(self) -> tuple[str, ...]:
        """Keys of the page's metrics that it has, in the order of tables."""
        return _METRICS[self]

    def lacks(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that it has no value for. Metrics of connections take a log, which Firefox does not write."""
        known = self.metrics if self is Browser.FIREFOX else [metric.key for metric in METRICS]
        return [key for key in keys if key not in known]


def browser_of(versions: Mapping[str, str]) -> str | None:
    """Which browser measured, of the versions that were stored with its loads: Chromium's version, or "Firefox" and its own.

    None if that is not known.
    """
    firefox = versions.get(Browser.FIREFOX)
    return f"{Browser.FIREFOX.brand} {firefox}" if firefox else versions.get(Browser.CHROMIUM)


_METRICS: Mapping[Browser, tuple[str, ...]] = {
    Browser.CHROMIUM: PAGE_METRICS,
    # It has neither long tasks, of which TBT and TTI are made, nor layout shifts.
    Browser.FIREFOX: tuple(key for key in PAGE_METRICS if key in {"fcp_ms", "lcp_ms", "si_ms"}),
}
