"""The order in which bytes of each response arrived: what a scheduler does, made visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from mixedsched.lab.model import Arrival
from mixedsched.lab.page_view import SeenResponse
from mixedsched.report.svg import Scale, drawing, element, line, rectangle, shortened, text, tooltip
from mixedsched.report.waterfall import LABELS, WIDTH, hint_of, kind_label, moment_lines, time_axis
from mixedsched.units import format_bytes, format_ms

_ROW = 17.0
_TOP = 40.0
_BINS = 260  # about 3 pixels each: finer than the eye, coarse enough to keep the file small
_KERNEL = (1, 2, 1)  # over neighbouring bins: turns shorter than a bin would else look like a comb


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
    binned = [_smoothed(_bins(item.arrivals, end_ms, _size)) for item in shown]
    totals = [sum(column) for column in zip(*binned, strict=True)]
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
        shapes.append(
            element("path", hint, d=_outline(heights, scale, y, end_ms), class_=f"kind {response.kind.value}")
        )
        blocked = _smoothed(_bins(response.arrivals, end_ms, _blocked))
        if any(blocked):
            shapes.append(
                element("path", hint, d=_outline(_parts(heights, blocked, sizes), scale, y, end_ms), class_="blocked")
            )
    shapes += moment_lines(marks, scale, _TOP - 4, height - 6)
    in_progress = f"{mean_in_progress(shown):.1f} of them in progress on average"
    label = f"Arrival of bytes under {arm}: {len(shown)} responses, {in_progress}"
    return drawing(WIDTH, height, label, *shapes, class_="wide")


def mean_in_progress(responses: Sequence[SeenResponse]) -> float:
    """How many responses are between their first and last byte, averaged over the time in which any is; 0 without any."""
    spans = sorted(
        (item.arrivals[0].from_ms, max(run.to_ms for run in item.arrivals)) for item in responses if item.arrivals
    )
    busy_ms, until = 0.0, float("-inf")
    for start, end in spans:
        busy_ms += max(0.0, end - max(start, until))
        until = max(until, end)
    return sum(end - start for start, end in spans) / busy_ms if busy_ms else 0.0


def _smoothed(sizes: Sequence[float]) -> list[float]:
    reach = len(_KERNEL) // 2
    padded = [0.0] * reach + list(sizes) + [0.0] * reach
    return [sum(weight * padded[index + place] for place, weight in enumerate(_KERNEL)) for index in range(len(sizes))]


def _size(item: Arrival) -> float:
    return item.size_bytes


def _blocked(item: Arrival) -> float:
    return item.blocked_bytes


def _bins(arrivals: Sequence[Arrival], end_ms: float, bytes_of: Callable[[Arrival], float]) -> list[float]:
    """Bytes per bin of time; a run of frames is spread evenly over its time."""
    sizes = [0.0] * _BINS
    if end_ms <= 0:
        return sizes
    for item in arrivals:
        first = _bin(item.from_ms, end_ms)
        last = max(first, _bin(item.to_ms, end_ms))
        for index in range(first, last + 1):
            sizes[index] += bytes_of(item) / (last - first + 1)
    return sizes


def _bin(at_ms: float, end_ms: float) -> int:
    return min(_BINS - 1, max(0, int(at_ms / end_ms * _BINS)))


def _heights(sizes: Sequence[float], totals: Sequence[float]) -> list[int]:
    """Of the bars of a row, by bin; whatever came is seen."""
    full = _ROW - 4
    return [max(3, round(full * size / total)) if size > 0 else 0 for size, total in zip(sizes, totals, strict=True)]


def _parts(heights: Sequence[int], blocked: Sequence[float], sizes: Sequence[float]) -> list[int]:
    """Of the dark parts of these bars."""
    return [
        max(1, round(height * min(1.0, part / size))) if part > 0 and size > 0 else 0
        for height, part, size in zip(heights, blocked, sizes, strict=True)
    ]


def _outline(heights: Sequence[int], scale: Scale, y: float, end_ms: float) -> str:
    """All bars of a row as one path; neighbours of the same height are joined, which keeps long downloads short in text."""
    width_ms, bottom, parts, start = end_ms / _BINS, y + _ROW - 1, [], 0
    for index in range(1, _BINS + 1):
        if index < _BINS and heights[index] == heights[start]:
            continue
        if heights[start]:
            left, right = scale(start * width_ms), scale(index * width_ms)
            parts.append(f"M{left:.1f} {bottom:g}v-{heights[start]}H{right:.1f}v{heights[start]}z")
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
