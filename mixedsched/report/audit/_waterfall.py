"""The waterfall of an audit: who waits for what, with late bytes marked where they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from mixedsched.advice.changes.change import Key
from mixedsched.advice.changes.findings import late_arrivals
from mixedsched.advice.changes.look import Look, SeenResource
from mixedsched.lab.model import Arrival
from mixedsched.report._svg import Scale, drawing, line, rectangle, shortened, text
from mixedsched.report._waterfall import LABELS, WIDTH, hint_of, kind_label, moment_lines, time_axis
from mixedsched.report.audit._words import ROLES
from mixedsched.units import format_bytes, format_ms

_ROW = 18.0
_TOP = 40.0
_JOINED_PX = 1.5  # gaps that no eye sees


def late_waterfall(title: str, look: Look, end_ms: float) -> Markup:
    """One row per response in order of request. end_ms: end of the time axis, shared by all pictures of a network."""
    height = _TOP + _ROW * len(look.seen) + 6
    scale = Scale(0, end_ms, LABELS, WIDTH - 14)
    shapes = [
        text(24, _TOP - 8, "response", class_="faint"),
        text(186, _TOP - 8, "role", class_="faint"),
        text(LABELS - 12, _TOP - 8, "size", "end", "faint"),
        *time_axis(scale, _TOP - 4, height - 6),
    ]
    late = late_arrivals(look)
    for index, seen in enumerate(look.seen):
        shapes += _row(seen, late, scale, _TOP + _ROW * index, striped=bool(index % 2))
    shapes += moment_lines({"FCP": look.fcp_ms, "LCP": look.lcp_ms}, scale, _TOP - 4, height - 6)
    late_bytes = sum(item.size_bytes for arrivals in late.values() for item in arrivals)
    label = f"{title}: {len(look.seen)} responses, {format_bytes(late_bytes)} of them late bytes, LCP {format_ms(look.lcp_ms)}"
    return drawing(WIDTH, height, label, *shapes, class_="wide")


def end_of(looks: Sequence[Look]) -> float:
    """A time axis that holds all these loads."""
    return max((item.response.end_ms for look in looks for item in look.seen), default=1.0) * 1.02


def _row(
    seen: SeenResource, late: Mapping[Key, tuple[Arrival, ...]], scale: Scale, y: float, *, striped: bool
) -> list[Markup]:
    response, kind, middle = seen.response, seen.response.kind.value, y + _ROW / 2
    hint = hint_of(response)
    shapes = [rectangle(0, y, WIDTH, _ROW, "row")] if striped else []
    shapes += [
        *kind_label(response, y),
        text(24, y + 13, shortened(response.name, 25), class_="name"),
        text(186, y + 13, ROLES[seen.role], class_="role"),
        text(LABELS - 12, y + 13, format_bytes(response.size_bytes), "end"),
        line(scale(response.start_ms), middle, scale(response.request_ms), middle, "queued"),
        rectangle(
            scale(response.request_ms),
            y + 6,
            scale(response.end_ms) - scale(response.request_ms),
            _ROW - 12,
            f"waiting {kind}",
            hint,
        ),
    ]
    mine = late.get(seen.key, ())
    on_time = [item for item in response.arrivals if item not in mine]
    shapes += [rectangle(x, y + 3, width, _ROW - 6, f"kind {kind}", hint) for x, width in _spans(on_time, scale)]
    told = (
        f"{hint}\n{format_bytes(sum(item.size_bytes for item in mine))} came while something more important was waiting"
    )
    shapes += [rectangle(x, y + 3, width, _ROW - 6, "late", told) for x, width in _spans(mine, scale)]
    return shapes


def _spans(arrivals: Sequence[Arrival], scale: Scale) -> list[tuple[float, float]]:
    """Where and how wide bars of these arrivals are; neighbours are joined, so that files stay small."""
    spans: list[tuple[float, float]] = []
    for item in arrivals:
        begin, end = scale(item.from_ms), max(scale(item.to_ms), scale(item.from_ms) + 1.0)
        if spans and begin - spans[-1][1] <= _JOINED_PX:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((begin, end))
    return [(begin, end - begin) for begin, end in spans]
