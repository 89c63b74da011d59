"""Waterfalls and byte arrivals of one block, all arms on one time axis and in one order of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.experiment.model import Run
from mixedsched.report._arrivals import arrivals_chart, mean_in_progress
from mixedsched.report._lcp import lcp_element
from mixedsched.report._page_view import Response, responses_of
from mixedsched.report._waterfall import last_end_ms, waterfall


@dataclass(frozen=True, slots=True)
class ArmPage:
    """One arm's page load. in_progress: responses between their first and last byte, on average; None without a log.

    lcp_element: "" if it is not known.
    """

    arm: str
    responses: tuple[Response, ...]
    waterfall: Markup
    arrivals: Markup | None
    in_progress: float | None
    lcp_element: str

    @property
    def summary(self) -> str:
        """How the bytes came, in words."""
        if self.in_progress is None:
            return "the network log holds no arrivals"
        return f"{self.in_progress:.1f} responses in progress on average"


@dataclass(frozen=True, slots=True)
class PagePair:
    """All arms of one block, baseline first."""

    arms: tuple[ArmPage, ...]


def page_pair(runs: Mapping[str, Run], marks: Mapping[str, Mapping[str, float]]) -> PagePair:
    """Draw the page loads of one block. marks: by arm, named moments in ms. runs: by arm label, at least one."""
    responses = {arm: responses_of(run) for arm, run in runs.items()}
    ends = [last_end_ms(items) for items in responses.values()]
    ends += [at_ms for by_name in marks.values() for at_ms in by_name.values()]
    ends += [arrival.to_ms for items in responses.values() for item in items for arrival in item.arrivals]
    end_ms = max([1.0, *ends]) * 1.02
    order = _shared_order(list(responses.values()))
    return PagePair(
        tuple(
            _arm_page(arm, items, order, marks.get(arm, {}), end_ms, lcp_element(runs[arm]))
            for arm, items in responses.items()
        )
    )


def _arm_page(
    arm: str,
    responses: tuple[Response, ...],
    order: Mapping[str, int],
    marks: Mapping[str, float],
    end_ms: float,
    lcp: str,
) -> ArmPage:
    has_arrivals = any(item.arrivals for item in responses)
    return ArmPage(
        arm=arm,
        responses=responses,
        waterfall=waterfall(arm, responses, marks, end_ms),
        arrivals=arrivals_chart(arm, responses, order, marks, end_ms) if has_arrivals else None,
        in_progress=mean_in_progress(responses) if has_arrivals else None,
        lcp_element=lcp,
    )


def _shared_order(columns: Sequence[Sequence[Response]]) -> dict[str, int]:
    """Row by URL: the order of requests in the first arm, then whatever only later arms requested."""
    order: dict[str, int] = {}
    for responses in columns:
        for item in responses:
            order.setdefault(item.url, len(order))
    return order
