"""Pictures of a search: how near to the bound each order comes, how the best score fell, who stayed in the race."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from mixedsched.advice.tuner.result import Dropped, RungResult
from mixedsched.core.metrics import Metric
from mixedsched.report._words import expected_text, with_minus
from mixedsched.report.svg import Scale, drawing, element, line, rectangle, shortened, span_of, text, x_grid, y_grid
from mixedsched.report.tune._words import dropped_line
from mixedsched.units import counted, format_ms

_LABELS = 190.0
_WIDTH = 760.0
_LABEL_CHARACTERS = 28
_SCORE_MOST = 0.25  # of the axis: what the first random candidates score says little


def bound_bars(title: str, metric: Metric, bound_ms: float | None, values: Mapping[str, float], tuned: str) -> Markup:
    """A bar for each order, best first, with a line where the network's bound is. tuned: label of the bar to stress."""
    rows = sorted(values.items(), key=lambda item: item[1])  # stable: equals stay as they were given
    top, row = 24.0, 26.0
    bottom = top + row * len(rows)
    scale = Scale(0, max([*values.values(), bound_ms or 0.0, 1.0]) * 1.08, _LABELS, _WIDTH - 76)
    shapes = x_grid(scale, top, bottom, bottom + 15, lambda tick: format_ms(tick) if tick else "0", about=6)
    for index, (label, value) in enumerate(rows):
        over = f" ({expected_text((value / bound_ms - 1) * 100)})" if bound_ms else ""
        hint = f"{label}: {format_ms(value)}{over}"
        look = "bar tuned" if label == tuned else "bar"
        shapes += _lane(top + row * index, row, label, scale(value), look, hint)
        shapes.append(text(scale(value) + 6, top + row * (index + 0.65), format_ms(value), class_=look))
    if bound_ms:
        x = scale(bound_ms)
        anchor = "start" if x < _WIDTH / 2 else "end"
        shapes += [
            line(x, top - 6, x, bottom, "bound"),
            text(x + (4 if anchor == "start" else -4), top - 9, f"bound {format_ms(bound_ms)}", anchor, "moment-name"),
        ]
    summary = ", ".join(f"{label} {format_ms(value)}" for label, value in rows)
    bound = f"; bound {format_ms(bound_ms)}" if bound_ms else ""
    return drawing(_WIDTH, bottom + 24, f"{metric.short} {title}: {summary}{bound}", *shapes, class_="wide")


def _lane(y: float, height: float, label: str, end: float, look: str, hint: str) -> list[Markup]:
    """A bar up to `end`, with its label on the left."""
    return [
        text(_LABELS - 8, y + 0.65 * height, shortened(label, _LABEL_CHARACTERS), "end", look),
        rectangle(_LABELS, y + 4, end - _LABELS, height - 8, look, hint),
    ]


def search_curve(rung: RungResult, domain: tuple[float, float], width: float = 350, height: float = 180) -> Markup:
    """The best score of a rung against the candidates tried: steps that only fall, on a logarithmic axis of candidates."""
    left, right, top, bottom = 58.0, width - 12, 10.0, height - 36
    y = Scale(*domain, bottom, top)
    shapes = y_grid(y, left, right, _score_pct, about=4)
    if domain[0] < 0 < domain[1]:
        shapes.append(line(left, y(0), right, y(0), "zero"))
    points = _steps(rung)
    most = max([rung.tried, *(tried for tried, _ in points), 2])
    x = Scale(0, math.log10(most), left, right)
    power = 1
    while power <= most:
        shapes += [
            line(x(math.log10(power)), bottom, x(math.log10(power)), bottom + 4, "axis"),
            text(x(math.log10(power)), bottom + 15, f"{power}", "middle"),
        ]
        power *= 10
    shapes += [
        line(left, bottom, right, bottom, "axis"),
        text((left + right) / 2, bottom + 30, "candidates tried", "middle", "faint"),
    ]
    if points:
        path = f"M{x(math.log10(points[0][0])):.1f} {y(points[0][1]):.1f}"
        path += "".join(f"H{x(math.log10(tried)):.1f}V{y(score):.1f}" for tried, score in points[1:])
        shapes.append(element("path", d=f"{path}H{right:.1f}", class_="curve"))
        shapes.append(element("circle", cx=right, cy=y(points[-1][1]), r=3.4, class_="dot arm-2"))
    else:
        shapes.append(text((left + right) / 2, (top + bottom) / 2, "no curve was kept", "middle", "faint"))
    last = f", best {_score_pct(points[-1][1])} against the best baseline" if points else ""
    return drawing(
        width, height, f"Rung {rung.rung}: {counted(rung.tried, 'candidate')}{last}", *shapes, class_="search"
    )


def curve_domain(rungs: Sequence[RungResult]) -> tuple[float, float]:
    """A common domain of scores, so that rungs can be compared; what is much worse than the baseline is cut off."""
    scores = [min(score, _SCORE_MOST) for rung in rungs for _, score in _steps(rung)]
    low, high = span_of([*scores, 0.0])
    return low, high


def _steps(rung: RungResult) -> list[tuple[int, float]]:
    """The history, finite and cut to the axis; the best at the end where no history was kept."""
    history = [(max(1, tried), min(score, _SCORE_MOST)) for tried, score in rung.history if math.isfinite(score)]
    if not history and rung.best is not None and math.isfinite(rung.best.score):
        history = [(max(1, rung.tried), min(rung.best.score, _SCORE_MOST))]
    return history


def _score_pct(score: float) -> str:
    """A score, a mean logarithm, in per cent of the best baseline: -0.2 -> "−18 %"."""
    change = with_minus(f"{(math.exp(score) - 1) * 100:+.0f} %")
    return "0 %" if change in {"+0 %", "−0 %"} else change


def race_lanes(labels: Sequence[str], dropped: Sequence[Dropped], blocks: int, tuned: str) -> Markup:
    """A lane for each arm of the race, as long as it took part; those that stayed come first. blocks: how many there were."""
    gone = {item.label: item for item in dropped}
    order = sorted(labels, key=lambda label: -(gone[label].after if label in gone else blocks + 1))
    top, row = 22.0, 24.0
    bottom = top + row * len(order)
    scale = Scale(0, max(1, blocks), _LABELS, _WIDTH - 250)
    shapes = [text(_LABELS - 8, top - 6, "blocks", "end", "faint")]
    for block in range(blocks + 1):
        shapes.append(line(scale(block), top, scale(block), bottom, "grid"))
        shapes.append(text(scale(block), top - 6, f"{block}", "middle", "faint"))
    for index, label in enumerate(order):
        item = gone.get(label)
        end, note, hint = scale(blocks), "stayed", f"{label} stayed in the race"
        if item is not None:
            end, hint = scale(item.after), dropped_line(item)
            note = with_minus(f"✗ {item.change_pct:+.0f} % against {item.leader}")
        shapes += _lane(top + row * index, row, label, end, "bar tuned" if label == tuned else "bar", hint)
        shapes.append(text(end + 6, top + row * (index + 0.65), shortened(note, 44), class_="faint"))
    summary = "; ".join(dropped_line(item) for item in dropped) or "no arm left early"
    return drawing(_WIDTH, bottom + 6, f"Race over {counted(blocks, 'block')}: {summary}", *shapes, class_="wide")
