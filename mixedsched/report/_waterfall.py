"""Request waterfalls: when each request was made, waited and received, with the priority that was signalled for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from mixedsched.lab.page_view import SeenResponse
from mixedsched.report._svg import Scale, drawing, line, rectangle, shortened, text
from mixedsched.units import format_bytes, format_ms

WIDTH = 1120.0
LABELS = 360.0
_ROW = 18.0
_TOP = 40.0


def waterfall(arm: str, responses: Sequence[SeenResponse], marks: Mapping[str, float], end_ms: float) -> Markup:
    """One row per request, in order. marks: named moments in ms (FCP, LCP). end_ms: end of the shared time axis."""
    height = _TOP + _ROW * len(responses) + 6
    scale = Scale(0, end_ms, LABELS, WIDTH - 14)
    shapes = [
        text(24, _TOP - 8, "response", class_="faint"),
        text(LABELS - 142, _TOP - 8, "signalled", class_="faint"),
        text(LABELS - 12, _TOP - 8, "size", "end", "faint"),
        *time_axis(scale, _TOP - 4, height - 6),
    ]
    for index, response in enumerate(responses):
        shapes += _row(response, scale, _TOP + _ROW * index, index)
    shapes += moment_lines(marks, scale, _TOP - 4, height - 6)
    label = f"Waterfall of {arm}: {len(responses)} requests until {format_ms(last_end_ms(responses))}"
    return drawing(WIDTH, height, label, *shapes, class_="wide")


def last_end_ms(responses: Sequence[SeenResponse]) -> float:
    return max((response.end_ms for response in responses), default=0.0)


def time_axis(scale: Scale, top: float, bottom: float) -> list[Markup]:
    """Grid lines with times above them."""
    shapes = []
    for tick in scale.ticks(9):
        shapes += [
            line(scale(tick), top, scale(tick), bottom, "grid"),
            text(scale(tick), top - 4, format_ms(tick) if tick else "0", "middle", "faint"),
        ]
    return shapes


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


def kind_label(response: SeenResponse, y: float) -> list[Markup]:
    """A coloured square with the kind's first letters, since colour alone is not for everyone."""
    return [
        rectangle(2, y + 3, 17, 12, f"kind {response.kind.value}"),
        text(10.5, y + 12.5, _LETTERS[response.kind.value], "middle", f"kind-letter {response.kind.value}"),
    ]


_LETTERS = {
    "document": "D",
    "stylesheet": "C",
    "font": "F",
    "script": "S",
    "image": "I",
    "media": "M",
    "xhr": "X",
    "other": "O",
}
KIND_LEGEND = tuple((kind, letter) for kind, letter in _LETTERS.items())


def hint_of(response: SeenResponse) -> str:
    """All that is known of a response, for its tooltip."""
    first = response.first_byte_ms
    lines = [
        response.url,
        f"{response.kind.value}, {format_bytes(response.size_bytes)}, {response.protocol}",
        f"priority signalled: {response.signal or 'not logged'}, Chromium: {response.chromium_priority or 'not known'}",
        f"placed by the scheduler: {response.placement or 'not logged'}",
        f"requested at {format_ms(response.request_ms)}"
        + (f", first byte at {format_ms(first)}" if first is not None else "")
        + (f", complete at {format_ms(response.end_ms)}" if response.finished else ", never completed"),
    ]
    return "\n".join(lines)


def _row(response: SeenResponse, scale: Scale, y: float, index: int) -> list[Markup]:
    kind, hint, first = response.kind.value, hint_of(response), response.first_byte_ms
    signal = response.signal or (f"({response.chromium_priority})" if response.chromium_priority else "–")
    middle = y + _ROW / 2
    shapes = [rectangle(0, y, WIDTH, _ROW, "row")] if index % 2 else []
    shapes += [
        *kind_label(response, y),
        text(24, y + 13, shortened(response.name, 28), class_="name"),
        text(LABELS - 142, y + 13, signal),
        text(LABELS - 12, y + 13, format_bytes(response.size_bytes), "end"),
        line(scale(response.start_ms), middle, scale(response.request_ms), middle, "queued"),
    ]
    receives_from = first if first is not None else response.request_ms
    if first is not None:
        waiting = scale(first) - scale(response.request_ms)
        shapes.append(rectangle(scale(response.request_ms), y + 6, waiting, _ROW - 12, f"waiting {kind}", hint))
    receiving = scale(response.end_ms) - scale(receives_from)
    shapes.append(rectangle(scale(receives_from), y + 3, receiving, _ROW - 6, f"kind {kind}", hint))
    if not response.finished:
        shapes.append(text(scale(response.end_ms) + 4, y + 13, "✗ never completed", class_="faint"))
    return shapes
