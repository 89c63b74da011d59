"""A simulated load as a JSON object, with the same keys for both rungs."""

from dataclasses import dataclass
from typing import Any, Literal

from mixedsched.core.metrics.after_paint import AfterPaint
from mixedsched.core.metrics.byte_index import byte_index_ms
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page, Resource

Weighting = Literal["bytes", "count"]

DECIMALS = 3  # of milliseconds: simulated time is whole microseconds, more digits would be dust of floats


@dataclass(frozen=True, slots=True)
class ByteIndexes:
    """The index over all resources and over the above-the-fold set, in ms."""

    all_ms: float
    atf_ms: float


class Recorder:
    """Makes records of loads of one page.

    weighting, sample_ms: of the ByteIndex; sample_ms None = unsampled. model: of the browser that the loads were played with,
    for their paints.
    """

    def __init__(
        self, page: Page, weighting: Weighting = "bytes", sample_ms: float | None = None, model: BrowserModel = IDEAL
    ) -> None:
        self._sample_ms = sample_ms
        self._weights = {item.id: weight_of(item, weighting) for item in page.resources}
        self._above_fold = above_fold_ids(page)
        self._paint_needs = PaintNeeds.of(page)
        self._after_paint = AfterPaint.of(page)
        self._model = model

    def byte_indexes(self, load: PlayedLoad) -> ByteIndexes:
        """A set without any bytes falls back on counts. Raises ValueError for a sample interval below a nanosecond."""
        everything = [(self._weights[item.id], item.complete_ms) for item in load.resources]
        above = [(self._weights[item.id], item.complete_ms) for item in load.resources if item.id in self._above_fold]
        return ByteIndexes(byte_index_ms(everything, self._sample_ms), byte_index_ms(above, self._sample_ms))

    def values(self, load: PlayedLoad) -> dict[str, float]:
        """The metrics of a load, flat, with the estimated ones under the names of measured ones. Times are in ms, to the
        microsecond. `tbt_ms` and `cls` only if the page tells the work of scripts, and shifts.
        """
        indexes = self.byte_indexes(load)
        complete_ms = {item.id: item.complete_ms for item in load.resources}
        paints = self._paint_needs.estimate(
            {item.id: item.first_byte_ms for item in load.resources}, complete_ms, self._model
        )
        times_ms = {
            **paints.to_dict(),
            **self._after_paint.estimate(complete_ms, paints.fcp_ms, self._model),
            "finished_ms": load.finished_ms,
            "byte_index_ms": indexes.all_ms,
            "byte_index_atf_ms": indexes.atf_ms,
        }
        return {**{key: round(time_ms, DECIMALS) for key, time_ms in times_ms.items()}, "hol_bytes": load.hol_bytes}

    def record(self, load: PlayedLoad) -> dict[str, Any]:
        """The JSON object of `simulate --json`. Times are in ms, to the microsecond; `order` is run-length coded.

        `estimate_ms` are the estimated paints; also `tbt`, and `estimate_cls` beside, where the page says what they depend on.
        `browser_model` is left out where it is ideal. The rung's own facts (PlayedLoad.facts) stand under their own keys.
        """
        values = self.values(load)
        return {
            "page": load.page.name,
            "scheme": load.scheme,
            "rung": load.rung,
            "send_buffer_bytes": load.send_buffer_bytes,
            "finished_ms": values["finished_ms"],
            "byte_index_ms": {"all": values["byte_index_ms"], "atf": values["byte_index_atf_ms"]},
            "estimate_ms": {"fcp": values["fcp_ms"], "lcp": values["lcp_ms"], "si": values["si_ms"]}
            | ({"tbt": values["tbt_ms"]} if "tbt_ms" in values else {}),
            **({"estimate_cls": values["cls"]} if "cls" in values else {}),
            **({} if self._model.is_ideal else {"browser_model": self._model.name}),
            "hol_bytes": load.hol_bytes,
            "packets": load.packets,
            **load.facts,
            "resources": [
                {
                    "id": item.id,
                    "requested_ms": round(item.requested_ms, DECIMALS),
                    "first_byte_ms": round(item.first_byte_ms, DECIMALS),
                    "complete_ms": round(item.complete_ms, DECIMALS),
                }
                for item in load.resources
            ],
            "order": load.order,
        }


def byte_indexes(load: PlayedLoad, weighting: Weighting = "bytes", sample_ms: float | None = None) -> ByteIndexes:
    """The ByteIndexes of a single load, as a Recorder computes them."""
    return Recorder(load.page, weighting, sample_ms).byte_indexes(load)


def weight_of(resource: Resource, weighting: Weighting = "bytes") -> int:
    """A resource's weight in the index: header_bytes + body_bytes, or 1 for weighting `count`."""
    return resource.header_bytes + resource.body_bytes if weighting == "bytes" else 1


def above_fold_ids(page: Page) -> frozenset[str]:
    """The above-the-fold set: main document, critical, hero, and every font."""
    return frozenset(item.id for item in page.resources if item.is_above_fold) | {page.main.id}
