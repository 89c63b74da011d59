"""Request waterfalls: when each response was asked for, waited and received, on one time axis for loads that are compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.lab.comparison import BlockChoice
from mixedsched.lab.model import Arrival, Run
from mixedsched.lab.page_view import SeenResponse
from mixedsched.model.request import Kind
from mixedsched.report._kinds import KIND_LETTERS
from mixedsched.report.svg import Scale, drawing, line, rectangle, shortened, text, x_grid
from mixedsched.units import counted, few, format_bytes, format_ms

WIDTH = 1120.0
LABELS = 360.0  # width of the columns left of the time axis
_ROW = 18.0
_TOP = 40.0
_NOTE_X = 208.0
_ROOM = 1.02  # of the time axis, behind the last bar
_ROOM_FOR_HERO = 1.15  # and where a note stands behind it
_JOINED_PX = 1.5  # gaps that no eye sees

Spans = Sequence[tuple[float, float]]  # (from, to)


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """One response. Times are in ms since the navigation started."""

    key: str  # the same for the same response of all waterfalls that are compared
    name: str
    kind: Kind
    note: str  # the second column
    size_bytes: float
    start_ms: float  # when the page knew of it; until request_ms the browser held it back
    request_ms: float
    end_ms: float
    bytes_ms: Spans  # when its bytes arrived
    hint: str  # the tooltip
    late_ms: Spans = ()  # when bytes arrived that more important responses should have had instead
    late_hint: str = ""
    is_hero: bool = False  # the image of the largest paint
    is_finished: bool = True


@dataclass(frozen=True, slots=True)
class Waterfall:
    """One load to draw."""

    title: str
    note_name: str  # heading of the second column
    rows: Sequence[WaterfallRow]  # in order of request
    marks_ms: Mapping[str, float]  # named moments: FCP, LCP
    remark: str = ""  # more for those who cannot see it

    @property
    def end_ms(self) -> float:
        last_ms = max([*(row.end_ms for row in self.rows), *self.marks_ms.values(), 1.0])
        return last_ms * (_ROOM_FOR_HERO if any(row.is_hero for row in self.rows) else _ROOM)


def response_row(response: SeenResponse, note: str, bytes_ms: Spans, *, is_hero: bool = False) -> WaterfallRow:
    """A row of a measured load. note: the second column. bytes_ms: when its bytes arrived."""
    return WaterfallRow(
        key=response.url,
        name=response.name,
        kind=response.kind,
        note=note,
        size_bytes=response.size_bytes,
        start_ms=response.start_ms,
        request_ms=response.request_ms,
        end_ms=response.end_ms,
        bytes_ms=bytes_ms,
        hint=hint_of(response),
        is_hero=is_hero,
        is_finished=response.finished,
    )


def spans_of(arrivals: Iterable[Arrival]) -> list[tuple[float, float]]:
    """When bytes arrived."""
    return [(item.from_ms, item.to_ms) for item in arrivals]


def block_runs(choice: BlockChoice | None, runs: Sequence[Run], wanted: Mapping[str, str]) -> dict[str, Run]:
    """The loads of a chosen block by title, without those that are missing; {} without a block. wanted: arm by title."""
    found = choice.runs_by_arm(runs) if choice is not None else {}
    return {title: found[label] for title, label in wanted.items() if label in found}


def marks_of(run: Run) -> dict[str, float]:
    """FCP and LCP of a measured load in ms, where they are known."""
    named = {"FCP": run.observed_ms("fcp_ms"), "LCP": run.observed_ms("lcp_ms")}
    return {name: value for name, value in named.items() if value is not None}


def draw_waterfalls(falls: Sequence[Waterfall]) -> list[tuple[str, Markup]]:
    """(title, picture) of each, on one time axis; rows in the order of the first load's requests, so that they compare."""
    end_ms = max((item.end_ms for item in falls), default=1.0)
    order = row_order((row.key for row in fall.rows) for fall in falls)
    return [(fall.title, _picture(fall, order, end_ms)) for fall in falls]


def row_order(loads: Iterable[Iterable[str]]) -> dict[str, int]:
    """The place of each key: the order of requests in the first load, then whatever only later loads requested."""
    return {key: place for place, key in enumerate(dict.fromkeys(key for load in loads for key in load))}


def _picture(fall: Waterfall, order: Mapping[str, int], end_ms: float) -> Markup:
    rows = sorted(fall.rows, key=lambda row: order[row.key])
    height = _TOP + _ROW * len(rows) + 6
    scale = Scale(0, end_ms, LABELS, WIDTH - 14)
    shapes = [
        text(24, _TOP - 8, "response", class_="faint"),
        text(_NOTE_X, _TOP - 8, fall.note_name, class_="faint"),
        text(LABELS - 12, _TOP - 8, "size", "end", "faint"),
    ]
    for index, row in enumerate(rows):
        if row.is_hero or index % 2:
            shapes.append(rectangle(0, _TOP + _ROW * index, WIDTH, _ROW, "hero-row" if row.is_hero else "row"))
    shapes += time_axis(scale, _TOP - 4, height - 6)
    for index, row in enumerate(rows):
        shapes += _row(row, scale, _TOP + _ROW * index)
    shapes += moment_lines(fall.marks_ms, scale, _TOP - 4, height - 6)
    summary = [
        counted(len(rows), "response"),
        fall.remark,
        *(f"{name} {format_ms(ms)}" for name, ms in fall.marks_ms.items()),
    ]
    return drawing(WIDTH, height, f"{fall.title}: {', '.join(filter(None, summary))}", *shapes, class_="wide")


def _row(row: WaterfallRow, scale: Scale, y: float) -> list[Markup]:
    kind, middle, requested = row.kind.value, y + _ROW / 2, scale(row.request_ms)
    shapes = [
        *kind_label(row.kind, y),
        text(24, y + 13, shortened(row.name, 28), class_="name hero" if row.is_hero else "name"),
        text(_NOTE_X, y + 13, shortened(row.note, 17)),
        text(LABELS - 12, y + 13, format_bytes(row.size_bytes), "end"),
        line(scale(row.start_ms), middle, requested, middle, "queued"),
        rectangle(requested, y + 6, scale(row.end_ms) - requested, _ROW - 12, f"waiting {kind}", row.hint),
    ]
    shapes += [
        rectangle(x, y + 3, width, _ROW - 6, f"kind {kind}", row.hint) for x, width in _bars(row.bytes_ms, scale)
    ]
    shapes += [rectangle(x, y + 3, width, _ROW - 6, "late", row.late_hint) for x, width in _bars(row.late_ms, scale)]
    if row.is_hero:
        shapes.append(text(scale(row.end_ms) + 5, y + 13, "◂ largest paint", class_="hero-note"))
    elif not row.is_finished:
        shapes.append(text(scale(row.end_ms) + 4, y + 13, "✗ never completed", class_="faint"))
    return shapes


def _bars(spans_ms: Spans, scale: Scale) -> list[tuple[float, float]]:
    """Where the bars are and how wide; neighbours are joined, so that files stay small."""
    bars: list[tuple[float, float]] = []
    for begin_ms, end_ms in spans_ms:
        begin, end = scale(begin_ms), max(scale(end_ms), scale(begin_ms) + 1.0)
        if bars and begin - bars[-1][1] <= _JOINED_PX:
            bars[-1] = bars[-1][0], max(end, bars[-1][1])
        else:
            bars.append((begin, end))
    return [(begin, end - begin) for begin, end in bars]


def time_axis(scale: Scale, top: float, bottom: float) -> list[Markup]:
    """Grid lines with times above them."""
    return x_grid(scale, top, bottom, top - 4, lambda tick: format_ms(tick) if tick else "0", about=9)


def moment_lines(marks: Mapping[str, float], scale: Scale, top: float, bottom: float) -> list[Markup]:
    """Vertical lines for FCP and LCP, named above the times; two that collide are named at either side."""
    shapes = []
    by_time = sorted(marks.items(), key=lambda mark: mark[1])
    for place, (name, at_ms) in enumerate(by_time):
        x = scale(at_ms)
        anchor = "end" if place == 0 and len(by_time) > 1 and scale(by_time[1][1]) - x < 90 else "start"
        shapes += [
            line(x, top - 16, x, bottom, f"moment {name.lower()}"),
            text(x + (3 if anchor == "start" else -3), top - 19, f"{name} {format_ms(at_ms)}", anchor, "moment-name"),
        ]
    return shapes


def kind_label(kind: Kind, y: float) -> list[Markup]:
    """A coloured square with the kind's first letter, since colour alone is not for everyone."""
    return [
        rectangle(2, y + 3, 17, 12, f"kind {kind.value}"),
        text(10.5, y + 12.5, KIND_LETTERS[kind], "middle", f"kind-letter {kind.value}"),
    ]


def hint_of(response: SeenResponse) -> str:
    """All that is known of a response, for its tooltip: who asked for it, when and why then, and what held it up."""
    first = response.first_byte_ms
    lines = [
        response.url,
        f"{response.kind.value}, {format_bytes(response.size_bytes)}, {response.protocol}",
        _asked_text(response),
        f"priority signalled: {response.signal or 'not logged'}, Chromium: {response.chromium_priority or 'not known'}",
        f"placed by the scheduler: {response.placement or 'not logged'}",
        f"requested at {format_ms(response.request_ms)}"
        + (f", first byte at {format_ms(first)}" if first is not None else "")
        + (f", complete at {format_ms(response.end_ms)}" if response.finished else ", never completed"),
        _ahead_text(response),
    ]
    return "\n".join(filter(None, lines))


def _asked_text(response: SeenResponse) -> str:
    """Who asked, when, and whether the browser held it back; "" where nothing of that is known."""
    held_ms = response.request_ms - response.start_ms
    held = f", held back by the browser for {format_ms(held_ms)}" if held_ms >= 1 else ""
    how = _ASKED_HOW.get(response.asked_how, "asked for")
    if response.asked_by and response.asked_by != response.name:
        return f"{how} by {response.asked_by} at {format_ms(response.start_ms)}{held}"
    return f"asked for at {format_ms(response.start_ms)}{held}" if held else ""


_ASKED_HOW: Mapping[str, str] = {
    "parser": "found while reading, asked for",
    "script": "asked for",
    "preload": "asked for in advance",
    "redirect": "redirected to",
}
_AHEAD_NAMED = 3


def _ahead_text(response: SeenResponse) -> str:
    """What came while it waited for its first byte; "" where nothing did."""
    if not response.ahead:
        return ""
    named = [f"{shortened(name, 40)} {format_bytes(size)}" for name, size in response.ahead]
    return f"while it waited for its first byte there came {few(named, _AHEAD_NAMED)}"
