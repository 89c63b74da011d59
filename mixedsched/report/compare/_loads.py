"""The page loads of one block: waterfalls and byte arrivals of all arms on one time axis, and what their largest paint was."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mixedsched.lab.comparison import Comparison
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.page_view import SeenResponse, hero_of, losses_of, responses_of
from mixedsched.report._waterfall import Waterfall, draw_waterfalls, marks_of, response_row, row_order
from mixedsched.report.compare._arrivals import arrivals_chart, mean_in_progress
from mixedsched.report.svg import shortened
from mixedsched.units import format_bytes

_ELEMENT_CHARACTERS = 160


def _waterfall(arm: str, run: Run, responses: Sequence[SeenResponse]) -> Waterfall:
    hero = hero_of(run, responses)
    rows = []
    for item in responses:
        note = item.signal or (f"({item.chromium_priority})" if item.chromium_priority else "–")
        first_ms = item.first_byte_ms if item.first_byte_ms is not None else item.request_ms
        rows.append(response_row(item, note, ((first_ms, item.end_ms),), is_hero=item is hero))
    return Waterfall(arm, "signalled", rows, marks_of(run))


def block_loads(runs: Mapping[str, Run]) -> list[dict[str, Any]]:
    """The loads of one block, baseline first. runs: by arm."""
    responses = {arm: responses_of(run) for arm, run in runs.items()}
    order = row_order((item.url for item in items) for items in responses.values())
    marks = {arm: marks_of(run) for arm, run in runs.items()}
    ends = [item.end_ms for items in responses.values() for item in items]
    ends += [at_ms for by_name in marks.values() for at_ms in by_name.values()]
    ends += [arrival.to_ms for items in responses.values() for item in items for arrival in item.arrivals]
    end_ms = max([1.0, *ends]) * 1.02
    waterfalls = dict(draw_waterfalls([_waterfall(arm, run, responses[arm]) for arm, run in runs.items()]))
    loads = []
    for arm, run in runs.items():
        items = responses[arm]
        picture, summary = None, "the network log holds no arrivals"
        blocking = _blocking_text(run)
        if any(item.arrivals for item in items):
            picture = arrivals_chart(arm, items, order, marks[arm], end_ms, losses_of(run))
            summary = f"{mean_in_progress(items):.1f} responses in progress on average"
            summary += f"; {blocking}" if blocking else ""
        loads.append(
            {
                "arm": arm,
                "responses": items,
                "waterfall": waterfalls[arm],
                "arrivals": picture,  # None without a network log
                "summary": summary,  # how the bytes came, in words
                "lcp_element": _lcp_element(run),
                "has_losses": bool(blocking),
            }
        )
    return loads


def _blocking_text(run: Run) -> str:
    """For example "78 of 3512 packets were lost on the way, 772 kB had to wait"; "" if it is not known."""
    seen = [item.packets_seen for item in run.quic if item.packets_seen is not None]
    lost = [item.packets_lost for item in run.quic if item.packets_lost is not None]
    if not seen or run.hol_bytes is None:
        return ""
    if not sum(lost):
        return "no packet was lost on the way"
    return f"{sum(lost)} of {sum(seen) + sum(lost)} packets were lost on the way, {format_bytes(run.hol_bytes)} had to wait"


def _lcp_element(run: Run) -> str:
    """The element as Lighthouse writes it, its middle left out where it is long; "" if it is not known."""
    element = run.page_load.get("lcp_element")
    return shortened(element, _ELEMENT_CHARACTERS) if isinstance(element, str) else ""


def lcp_elements(comparison: Comparison, runs: Sequence[Run]) -> dict[str, list[tuple[str, int]]]:
    """By arm: the elements and in how many runs each was the LCP, most frequent first; {} where all runs agree.

    Counted are the ok runs of complete blocks in which it is known: two arms may have hurried, or waited for, different ones.
    """
    counted = [run for run in runs if run.status is RunStatus.OK and run.block in comparison.block_indices]
    by_arm = {
        arm.label: Counter(element for run in counted if run.arm == arm.label and (element := _lcp_element(run)))
        for arm in comparison.arms
    }
    if len({element for counts in by_arm.values() for element in counts}) < 2:
        return {}
    return {
        label: sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        for label, counts in by_arm.items()
        if counts
    }
