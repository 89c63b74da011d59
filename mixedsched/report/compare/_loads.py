"""The page loads of one block: waterfalls and byte arrivals of all arms on one time axis, and what their largest paint was."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from mixedsched.lab.comparison import Comparison
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.page_view import SeenResponse, hero_of, losses_of, responses_of
from mixedsched.report._waterfall import (
    LABELS,
    WIDTH,
    Waterfall,
    draw_waterfalls,
    hint_of,
    kind_label,
    marks_of,
    moment_lines,
    response_row,
    row_order,
    time_axis,
)
from mixedsched.report.svg import Scale, drawing, element, line, rectangle, shortened, text, tooltip
from mixedsched.units import counted, format_bytes, format_ms

# Arrivals of bytes


_ROW = 17.0
_TOP = 40.0
_BINS = 260  # about 3 pixels each: finer than the eye, coarse enough to keep the file small
_KERNEL = (1, 2, 1)  # over neighbouring bins: turns shorter than a bin would else look like a comb

Bins = NDArray[np.float64]


def arrivals_chart(
    arm: str,
    responses: Sequence[SeenResponse],
    order: Mapping[str, int],
    marks: Mapping[str, float],
    end_ms: float,
    losses: Sequence[tuple[float, int]] = (),
) -> Markup:
    """One row per response. A bar's height is the response's share of the bytes that arrived in that moment.

    order: row by URL, shared by all arms so that rows can be compared; responses that are not in it come last.
    One full bar after the other means one response at a time; low bars side by side mean interleaving. The dark part of a bar
    is what had to wait for a lost packet. losses: (when they showed, packets), a row of their own above the responses.
    """
    shown = sorted(
        (item for item in responses if item.arrivals),
        key=lambda item: (order.get(item.url, len(order)), item.request_ms),
    )
    binned = [_bins(((run.from_ms, run.to_ms, run.size_bytes) for run in item.arrivals), end_ms) for item in shown]
    totals = np.sum(binned, axis=0)
    scale = Scale(0, end_ms, LABELS - 100, WIDTH - 14)
    top = _TOP + (_ROW if losses else 0)
    height = top + _ROW * len(shown) + 6
    shapes = time_axis(scale, _TOP - 4, height - 6)
    shapes += _loss_marks(losses, scale) if losses else []
    for index, (response, sizes) in enumerate(zip(shown, binned, strict=True)):
        y = top + _ROW * index
        shapes += [rectangle(0, y, WIDTH, _ROW, "row")] if index % 2 else []
        shapes += kind_label(response.kind, y)
        shapes.append(text(24, y + 13, shortened(response.name, 31), class_="name"))
        shapes.append(line(scale.start, y + _ROW - 1, scale.end, y + _ROW - 1, "lane"))
        heights = _heights(sizes, totals)
        hint = tooltip(_hint(response))
        bars = _outline(heights, scale, y, end_ms)
        shapes.append(element("path", hint, d=bars, class_=f"kind {response.kind.value}"))
        blocked = _bins(((run.from_ms, run.to_ms, run.blocked_bytes) for run in response.arrivals), end_ms)
        if blocked.any():
            dark = _outline(_parts(heights, blocked, sizes), scale, y, end_ms)
            shapes.append(element("path", hint, d=dark, class_="blocked"))
    shapes += moment_lines(marks, scale, _TOP - 4, height - 6)
    in_progress = f"{mean_in_progress(shown):.1f} of them in progress on average"
    label = f"Arrival of bytes under {arm}: {counted(len(shown), 'response')}, {in_progress}"
    return drawing(WIDTH, height, label, *shapes, class_="wide")


def mean_in_progress(responses: Sequence[SeenResponse]) -> float:
    """The number of responses between their first and last byte, averaged over the time in which any is; 0 without any."""
    spans = sorted(
        (item.arrivals[0].from_ms, max(run.to_ms for run in item.arrivals)) for item in responses if item.arrivals
    )
    busy_ms, until = 0.0, float("-inf")
    for start, end in spans:
        busy_ms += max(0.0, end - max(start, until))
        until = max(until, end)
    return sum(end - start for start, end in spans) / busy_ms if busy_ms else 0.0


def _bins(spans: Iterable[tuple[float, float, int]], end_ms: float) -> Bins:
    """Smoothed bytes per bin of time. spans: (from ms, to ms, bytes); the bytes are spread evenly over their time."""
    sizes = np.zeros(_BINS)
    for from_ms, to_ms, size_bytes in spans:
        first, last = (min(_BINS - 1, max(0, int(at_ms / end_ms * _BINS))) for at_ms in (from_ms, max(from_ms, to_ms)))
        sizes[first : last + 1] += size_bytes / (last - first + 1)
    return np.convolve(sizes, _KERNEL, mode="same")


def _heights(sizes: Bins, totals: Bins) -> Bins:
    """The heights of a row's bars in pixels; whatever came is seen."""
    shares = np.divide(sizes, totals, out=np.zeros(_BINS), where=totals > 0)
    return np.where(sizes > 0, np.maximum(3, np.rint((_ROW - 4) * shares)), 0)


def _parts(heights: Bins, blocked: Bins, sizes: Bins) -> Bins:
    """The heights of the dark parts of these bars."""
    shares = np.divide(blocked, sizes, out=np.zeros(_BINS), where=sizes > 0)
    return np.where(shares > 0, np.maximum(1, np.rint(heights * np.minimum(1, shares))), 0)


def _outline(heights: Bins, scale: Scale, y: float, end_ms: float) -> str:
    """All bars of a row as one path; neighbours of the same height are joined, which keeps long downloads short in text."""
    width_ms, bottom, parts, start = end_ms / _BINS, y + _ROW - 1, [], 0
    for index in range(1, _BINS + 1):
        if index < _BINS and heights[index] == heights[start]:
            continue
        if heights[start]:
            left, right = scale(start * width_ms), scale(index * width_ms)
            parts.append(f"M{left:.1f} {bottom:g}v-{heights[start]:.0f}H{right:.1f}v{heights[start]:.0f}z")
        start = index
    return "".join(parts)


def _hint(response: SeenResponse) -> str:
    received = format_bytes(sum(item.size_bytes for item in response.arrivals))
    blocked_bytes = sum(item.blocked_bytes for item in response.arrivals)
    waited = f"\n{format_bytes(blocked_bytes)} had to wait for lost packets" if blocked_bytes else ""
    frames = sum(item.frames for item in response.arrivals)
    return f"{hint_of(response)}\n{received} in {frames} frames{waited}"


def _loss_marks(losses: Sequence[tuple[float, int]], scale: Scale) -> list[Markup]:
    """A tick for each loss, the higher the more packets were lost at once."""
    bottom = _TOP + _ROW - 1
    shapes = [
        text(24, _TOP + 13, f"packets lost: {sum(packets for _, packets in losses)}", class_="name"),
        line(scale.start, bottom, scale.end, bottom, "lane"),
    ]
    for at_ms, packets in losses:
        height = min(_ROW - 3, 5.0 + 3 * (packets - 1))
        hint = f"{packets} lost, seen at {format_ms(at_ms)}"
        shapes.append(rectangle(scale(at_ms) - 0.7, bottom - height, 1.4, height, "loss", hint))
    return shapes


# Loads


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
        picture, summary = None, "the browser left no log of arrivals"
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
