"""Waterfalls and byte arrivals of one block, all arms on one time axis and in one order of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.lab.model import Run
from mixedsched.lab.page_view import SeenResponse, losses_of, responses_of
from mixedsched.report._arrivals import arrivals_chart, mean_in_progress
from mixedsched.report._lcp import lcp_element
from mixedsched.report._waterfall import last_end_ms, waterfall
from mixedsched.units import format_bytes


@dataclass(frozen=True, slots=True)
class ArmPage:
    """One arm's page load. in_progress: responses between their first and last byte, on average; None without a log.

    lcp_element: "" if it is not known. blocking: what losses did, in words; "" if it is not known.
    """

    arm: str
    responses: tuple[SeenResponse, ...]
    waterfall: Markup
    arrivals: Markup | None
    in_progress: float | None
    lcp_element: str
    blocking: str

    @property
    def summary(self) -> str:
        """How the bytes came, in words."""
        if self.in_progress is None:
            return "the network log holds no arrivals"
        said = f"{self.in_progress:.1f} responses in progress on average"
        return f"{said}; {self.blocking}" if self.blocking else said


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
        tuple(_arm_page(arm, runs[arm], items, order, marks.get(arm, {}), end_ms) for arm, items in responses.items())
    )


def _arm_page(
    arm: str,
    run: Run,
    responses: tuple[SeenResponse, ...],
    order: Mapping[str, int],
    marks: Mapping[str, float],
    end_ms: float,
) -> ArmPage:
    has_arrivals = any(item.arrivals for item in responses)
    return ArmPage(
        arm=arm,
        responses=responses,
        waterfall=waterfall(arm, responses, marks, end_ms),
        arrivals=arrivals_chart(arm, responses, order, marks, end_ms, losses_of(run)) if has_arrivals else None,
        in_progress=mean_in_progress(responses) if has_arrivals else None,
        lcp_element=lcp_element(run),
        blocking=_blocking_text(run),
    )


def _blocking_text(run: Run) -> str:
    """As "78 of 3512 packets were lost on the way, 772 kB had to wait"."""
    seen = [item.packets_seen for item in run.quic if item.packets_seen is not None]
    lost = [item.packets_lost for item in run.quic if item.packets_lost is not None]
    if not seen or run.hol_bytes is None:
        return ""
    if not sum(lost):
        return "no packet was lost on the way"
    return f"{sum(lost)} of {sum(seen) + sum(lost)} packets were lost on the way, {format_bytes(run.hol_bytes)} had to wait"


def _shared_order(columns: Sequence[Sequence[SeenResponse]]) -> dict[str, int]:
    """Row by URL: the order of requests in the first arm, then whatever only later arms requested."""
    order: dict[str, int] = {}
    for responses in columns:
        for item in responses:
            order.setdefault(item.url, len(order))
    return order
