"""Waterfalls before and after: the same rows in the same order, the image of the largest paint marked.

Of measured loads with their arrivals, or of simulated ones where no browser was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.core.sim.load import PageLoad
from mixedsched.lab.model import Run
from mixedsched.lab.page_view import SeenResponse, responses_of
from mixedsched.model.request import Flag, Kind
from mixedsched.report._svg import Scale, drawing, line, rectangle, shortened, text
from mixedsched.report._waterfall import KIND_LEGEND, LABELS, WIDTH, hint_of, moment_lines, time_axis
from mixedsched.units import format_bytes, format_ms

_ROW = 18.0
_TOP = 40.0
_ROOM_FOR_NOTE = 1.15  # of the time axis, behind the last bar
_JOINED_PX = 1.5  # gaps that no eye sees
_SAME_TIME_MS = 60.0  # by which the browser's two accounts of one request may differ
_LETTERS = dict(KIND_LEGEND)


@dataclass(frozen=True, slots=True)
class Row:
    """A response. placed: where the scheduler put it, or what the browser signalled. spans_ms: when its bytes came."""

    key: str
    name: str
    kind: Kind
    placed: str
    size_bytes: float
    is_hero: bool
    start_ms: float
    request_ms: float
    end_ms: float
    spans_ms: tuple[tuple[float, float], ...]
    hint: str


@dataclass(frozen=True, slots=True)
class Fall:
    """A load to draw. title: of the picture. marks_ms: FCP and LCP. told: "placed" or "signalled"."""

    title: str
    told: str
    rows: tuple[Row, ...]
    marks_ms: Mapping[str, float]

    @property
    def end_ms(self) -> float:
        return max([*(row.end_ms for row in self.rows), *self.marks_ms.values(), 1.0])


def measured_fall(title: str, run: Run) -> Fall:
    """A load that Chromium made."""
    responses = [item for item in responses_of(run) if not item.path.partition("?")[0].endswith(".ico")]
    hero = _hero(run, responses)
    rows = tuple(_measured_row(item, is_hero=item is hero) for item in responses)
    metrics = run.page_load.get("metrics") or {}
    named = {"FCP": metrics.get("fcp_ms"), "LCP": metrics.get("lcp_ms")}
    marks = {name: float(value) for name, value in named.items() if isinstance(value, int | float)}
    return Fall(title, "placed" if any(item.placement for item in responses) else "signalled", rows, marks)


def _measured_row(item: SeenResponse, *, is_hero: bool) -> Row:
    spans = tuple((run.from_ms, run.to_ms) for run in item.arrivals) or ((item.request_ms, item.end_ms),)
    placed = item.placement or item.signal or item.chromium_priority
    return Row(
        item.url, item.name, item.kind, placed, item.size_bytes, is_hero, item.start_ms, item.request_ms, item.end_ms,
        spans, hint_of(item),
    )  # fmt: skip


def _hero(run: Run, responses: Sequence[SeenResponse]) -> SeenResponse | None:
    """The image that was loaded just when the browser says that the one of the largest paint was."""
    observed: Mapping[str, object] = run.page_load.get("observed") or {}
    begin, end = observed.get("lcp_load_start_ms"), observed.get("lcp_load_end_ms")
    if not isinstance(begin, int | float) or not isinstance(end, int | float):
        return None
    images = [item for item in responses if item.kind in {Kind.IMAGE, Kind.MEDIA, Kind.OTHER}]
    apart = [abs(item.request_ms - begin) + abs(item.end_ms - end) for item in images]
    if not apart or min(apart) > 2 * _SAME_TIME_MS:
        return None
    return images[apart.index(min(apart))]


def simulated_fall(title: str, load: PageLoad, marks_ms: Mapping[str, float]) -> Fall:
    """A load that was played. marks_ms: its estimated paints."""
    by_id = load.page.by_id()
    rows = []
    for times in load.resources:
        item = by_id[times.id]
        signal = f"u={item.chromium_priority.rank}{', i' if item.incremental else ''}"
        hint = (
            f"{item.path}\n{item.kind.value}, {format_bytes(item.body_bytes)}\nsignalled: {signal}\n"
            f"requested at {format_ms(times.requested_ms)}, first byte at {format_ms(times.first_byte_ms)}, "
            f"complete at {format_ms(times.complete_ms)}"
        )
        rows.append(
            Row(
                item.id,
                item.path,
                item.kind,
                signal,
                item.body_bytes,
                Flag.HERO in item.flags,
                times.requested_ms,
                times.requested_ms,
                times.complete_ms,
                ((times.first_byte_ms, times.complete_ms),),
                hint,
            )
        )
    return Fall(title, "signalled", tuple(rows), marks_ms)


def draw_falls(falls: Sequence[Fall]) -> list[tuple[str, Markup]]:
    """(title, picture) of each, on one time axis; rows as the first of them requested, so that they can be compared."""
    end_ms = max((item.end_ms for item in falls), default=1.0) * _ROOM_FOR_NOTE
    order: dict[str, int] = {}
    for fall in falls:
        for row in fall.rows:
            order.setdefault(row.key, len(order))
    return [(fall.title, _picture(fall, order, end_ms)) for fall in falls]


def _picture(fall: Fall, order: Mapping[str, int], end_ms: float) -> Markup:
    rows = sorted(fall.rows, key=lambda row: order[row.key])
    height = _TOP + _ROW * len(rows) + 6
    scale = Scale(0, end_ms, LABELS, WIDTH - 14)
    shapes = [
        text(24, _TOP - 8, "response", class_="faint"),
        text(LABELS - 150, _TOP - 8, fall.told, class_="faint"),
        text(LABELS - 12, _TOP - 8, "size", "end", "faint"),
    ]
    for index, row in enumerate(rows):
        look = "hero-row" if row.is_hero else "row" if index % 2 else ""
        shapes += [rectangle(0, _TOP + _ROW * index, WIDTH, _ROW, look)] if look else []
    shapes += time_axis(scale, _TOP - 4, height - 6)
    for index, row in enumerate(rows):
        shapes += _row(row, scale, _TOP + _ROW * index)
    shapes += moment_lines(fall.marks_ms, scale, _TOP - 4, height - 6)
    told = ", ".join(f"{name} {format_ms(at_ms)}" for name, at_ms in fall.marks_ms.items())
    return drawing(WIDTH, height, f"{fall.title}: {len(rows)} responses, {told}", *shapes, class_="wide")


def _row(row: Row, scale: Scale, y: float) -> list[Markup]:
    kind, middle = row.kind.value, y + _ROW / 2
    requested = scale(row.request_ms)
    shapes = [
        rectangle(2, y + 3, 17, 12, f"kind {kind}"),
        text(10.5, y + 12.5, _LETTERS[kind], "middle", f"kind-letter {kind}"),
        text(24, y + 13, shortened(row.name, 28), class_="name hero" if row.is_hero else "name"),
        text(LABELS - 150, y + 13, shortened(row.placed, 14)),
        text(LABELS - 12, y + 13, format_bytes(row.size_bytes), "end"),
        line(scale(row.start_ms), middle, requested, middle, "queued"),
        rectangle(requested, y + 6, scale(row.end_ms) - requested, _ROW - 12, f"waiting {kind}", row.hint),
    ]
    for begin, width in _joined(row.spans_ms, scale):
        shapes.append(rectangle(begin, y + 3, width, _ROW - 6, f"kind {kind}", row.hint))
    if row.is_hero:
        shapes.append(text(scale(row.end_ms) + 5, y + 13, "◂ largest paint", class_="hero-note"))
    return shapes


def _joined(spans_ms: Sequence[tuple[float, float]], scale: Scale) -> list[tuple[float, float]]:
    """Where and how wide the bars are; neighbours are joined, so that files stay small."""
    bars: list[tuple[float, float]] = []
    for begin_ms, end_ms in spans_ms:
        begin, end = scale(begin_ms), max(scale(end_ms), scale(begin_ms) + 1.0)
        if bars and begin - bars[-1][1] <= _JOINED_PX:
            bars[-1] = bars[-1][0], max(end, bars[-1][1])
        else:
            bars.append((begin, end))
    return [(begin, end - begin) for begin, end in bars]
