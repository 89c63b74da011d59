"""Charts of measured numbers: all values as a strip, a change with its interval, differences block by block."""

import statistics
from collections.abc import Sequence

from markupsafe import Markup

from mixedsched.core.metrics import Metric
from mixedsched.lab.comparison import ArmSummary, Effect
from mixedsched.report._words import change_text
from mixedsched.report.svg import Scale, drawing, element, line, rectangle, span_of, text, tooltip, x_grid, y_grid
from mixedsched.units import counted

_LABEL_CHARACTER_WIDTH = 6.5
_GOLDEN_RATIO = 0.618034  # its multiples spread dots evenly without any randomness


def strip(metric: Metric, arms: Sequence[ArmSummary], width: float = 236) -> Markup:
    """Every value of every arm as a dot, one lane per arm; box: middle half of the values, line: median."""
    columns = [[value for value in arm.values[metric.key] if value is not None] for arm in arms]
    low, high = span_of(value for column in columns for value in column)
    lane, top = 26.0, 4.0
    left, right = 16.0, width - 16
    scale = Scale(max(0.0, low), high, left, right)
    bottom = top + lane * len(arms)
    shapes = [line(left, bottom, right, bottom, "axis")]
    for index, (arm, column) in enumerate(zip(arms, columns, strict=True)):
        shapes += _lane(metric, arm, column, scale, top + lane * index, lane, index)
    shapes += x_grid(scale, bottom, bottom + 4, bottom + 15, metric.format, about=4, look="axis", label_look=None)
    spoken = "; ".join(
        f"{arm.label}: {len(column)} values, median {metric.format(arm.median[metric.key])}"
        for arm, column in zip(arms, columns, strict=True)
    )
    return drawing(width, bottom + 18, f"{metric.title}. {spoken}", *shapes, class_="strip")


def _lane(
    metric: Metric, arm: ArmSummary, column: Sequence[float], scale: Scale, y: float, height: float, index: int
) -> list[Markup]:
    if not column:
        return [text(scale.start, y + height / 2 + 4, "no value", class_="faint")]
    shapes = []
    if len(column) > 1:
        lower, _, upper = statistics.quantiles(column, n=4, method="inclusive")
        shapes.append(rectangle(scale(lower), y + 4, scale(upper) - scale(lower), height - 8, f"box arm-{index % 6}"))
    for number, value in enumerate(column):
        jitter = 6 + (height - 12) * ((number * _GOLDEN_RATIO) % 1)
        hint = tooltip(f"{arm.label}: {metric.format(value)}")
        shapes.append(element("circle", hint, cx=scale(value), cy=y + jitter, r=2.2, class_=f"dot arm-{index % 6}"))
    middle = scale(statistics.median(column))
    return [*shapes, line(middle, y + 2, middle, y + height - 2, f"median arm-{index % 6}")]


def forest_domain(effects: Sequence[Effect]) -> tuple[float, float]:
    """A common domain for effects in the same unit: all changes and intervals, zero and the margin, the same on both sides."""
    reach = [effect.metric.change_margin * 1.5 for effect in effects]
    reach += [abs(value) for item in effects for value in (item.change, item.low, item.high) if value is not None]
    most = max(reach, default=1.0) * 1.1
    return -most, most


def forest(effect: Effect, domain: tuple[float, float], width: float = 206) -> Markup:
    """The estimated change as a diamond on its interval; grey band: changes too small to matter; left is better."""
    metric, middle, bottom = effect.metric, 15.0, 30.0
    left, right = 14.0, width - 14
    scale = Scale(*domain, left, right)
    margin = metric.change_margin
    shapes = [
        rectangle(scale(-margin), 2, scale(margin) - scale(-margin), bottom - 2, "margin"),
        line(scale(0), 0, scale(0), bottom, "zero"),
        line(left, bottom, right, bottom, "axis"),
    ]
    ticks = scale.ticks(4, at_least=3)
    for index, tick in enumerate(ticks):
        shapes.append(line(scale(tick), bottom, scale(tick), bottom + 4, "axis"))
        # Every other label where all would collide; zero has one.
        if len(ticks) <= 4 or (index - len(ticks) // 2) % 2 == 0:
            label = _tick(metric, tick)
            half = len(label) * _LABEL_CHARACTER_WIDTH / 2
            shapes.append(text(min(max(scale(tick), half), width - half), bottom + 15, label, "middle"))
    if effect.change is None:
        shapes.append(text(width / 2, middle + 4, "no value", "middle", "faint"))
        return drawing(width, bottom + 18, f"{metric.title}: no paired value", *shapes, class_="forest")
    x, kind = scale(effect.change), f"effect {effect.verdict.value}"
    if effect.low is not None and effect.high is not None:
        low, high = scale(effect.low), scale(effect.high)
        shapes.append(line(low, middle, high, middle, kind))
        shapes += [line(end, middle - 5, end, middle + 5, kind) for end in (low, high)]
    diamond = f"M{x - 6:.1f} {middle}L{x:.1f} {middle - 6}L{x + 6:.1f} {middle}L{x:.1f} {middle + 6}Z"
    shapes.append(element("path", d=diamond, class_=kind))
    label = f"{metric.title}: {effect.arm} against {effect.baseline} {change_text(effect)}, {effect.verdict.value}"
    return drawing(width, bottom + 18, label, *shapes, class_="forest")


def paired_differences(effect: Effect, arm_index: int, width: float = 350, height: float = 190) -> Markup:
    """One dot per block, in the order of the blocks, so that drift shows; band and line: interval and estimate."""
    metric = effect.metric
    changes = [change for _, change in effect.differences]
    bounds = [bound for bound in (effect.low, effect.high, 0.0) if bound is not None]
    left, right, top, bottom = 62.0, width - 10, 10.0, height - 34
    y = Scale(*span_of([*changes, *bounds, metric.change_margin, -metric.change_margin]), bottom, top)
    x = Scale(-0.7, max(0.0, len(changes) - 1) + 0.7, left, right)
    shapes = [
        rectangle(
            left, y(metric.change_margin), right - left, y(-metric.change_margin) - y(metric.change_margin), "margin"
        )
    ]
    shapes += y_grid(y, left, right, lambda tick: _tick(metric, tick), about=5)
    if effect.low is not None and effect.high is not None:
        height_of_band = max(1.5, y(effect.low) - y(effect.high))
        shapes.append(rectangle(left, y(effect.high), right - left, height_of_band, f"band arm-{arm_index % 6}"))
    if effect.change is not None:
        shapes.append(line(left, y(effect.change), right, y(effect.change), f"estimate arm-{arm_index % 6}"))
    shapes.append(line(left, y(0), right, y(0), "zero"))
    for place, (block, change) in enumerate(effect.differences):
        hint = tooltip(f"block {block}: {metric.format_change(change)}")
        shapes.append(element("circle", hint, cx=x(place), cy=y(change), r=3.4, class_=f"dot arm-{arm_index % 6}"))
    shapes += _block_ticks(effect, x, bottom)
    compared = f"{metric.title}, {effect.arm} against {effect.baseline}, {counted(effect.blocks, 'block')}"
    label = f"Paired differences in {compared}: {change_text(effect)}"
    return drawing(width, height, label, *shapes, class_="differences")


def _tick(metric: Metric, value: float) -> str:
    return (
        f"{value:+g} %".replace("-", "−").replace("+0 ", "0 ")
        if metric.scale == "ratio"
        else metric.format_change(value)
    )


def _block_ticks(effect: Effect, x: Scale, bottom: float) -> list[Markup]:
    """Block numbers below the dots, thinned out so that they do not collide."""
    every = -(-max(1, effect.blocks) // 10)
    shapes = [
        text(x(place), bottom + 14, str(block), "middle")
        for place, (block, _) in enumerate(effect.differences)
        if place % every == 0
    ]
    return [*shapes, text((x.start + x.end) / 2, bottom + 29, "block", "middle", "faint")]
