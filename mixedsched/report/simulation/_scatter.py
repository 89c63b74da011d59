"""Speed-up over many pages (figure 12 of Marx et al. 2019): a column per scheme, a point per page, the mean marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.report.simulation._loads import (
    CHOSEN_NAMES,
    WIDTH,
    Chosen,
    PageGroup,
    Panel,
    buffer_text,
    factor_text,
    mean,
    tone_of,
)
from mixedsched.report.svg import Scale, element, line, rectangle, shortened, text, tooltip
from mixedsched.units import format_bytes

PAGES_LEAST = 3
_LEFT, _PLOT = 44.0, 220.0
_COLUMNS_MOST = 11
_MARKERS = 4  # shapes of points: no send buffer, and up to three with one
# By rank: the first are drawn where not all have room.
_TICKS = (1, 10, 100, 2, 5, 1000, 20, 50, 3, 1.5, 200, 500, 1.2, 1.1)
_TICKS_APART = 17.0


@dataclass(frozen=True, slots=True)
class Point:
    """One page under one arm."""

    place: int  # its rank by size, 0 = smallest
    ratio: float
    hint: str


@dataclass(frozen=True)
class ArmColumn:
    """One arm."""

    arm: str
    points: dict[int, list[Point]]  # by send buffer in bytes, in the order of the loads


def speed_up_scatter(groups: Sequence[PageGroup], chosen: Chosen) -> Panel | None:
    """The picture over all pages; None if these are too few or there is nothing to compare."""
    columns = columns_of(groups, chosen)
    if len(groups) < PAGES_LEAST or not columns:
        return None
    buffers = list(dict.fromkeys(size for column in columns for size in column.points))
    shapes, top = (_key(buffers), 22.0) if len(buffers) > 1 else ([], 0.0)
    heads = 18 + 15.0 * len(buffers)
    low, high = _span(columns)
    bands = -(-len(columns) // _COLUMNS_MOST)
    per_band = -(-len(columns) // bands)
    width = min(150.0, (WIDTH - _LEFT) / per_band)
    for first in range(0, len(columns), per_band):
        band = columns[first : first + per_band]
        scale = Scale(low, high, top + heads + _PLOT, top + heads)
        shapes += _grid(scale, _LEFT + width * len(band))
        for index, column in enumerate(band):
            place = _ColumnPlace(_LEFT + width * index, width, top, scale)
            shapes += _column(column, buffers, place, len(groups))
        top += heads + _PLOT + 30
    scheme = groups[0].baseline_scheme
    return Panel(
        f"Speed-up over {len(groups)} pages, {CHOSEN_NAMES[chosen]}",
        f"A point is a page: up is faster than {scheme} with the same send buffer, down is slower (“/2”: twice the ByteIndex). "
        "Within a column pages stand from small to large. The bar and the figure above are the arithmetic mean of the ratios.",
        f"Speed-up against {scheme} on {len(groups)} pages. {'; '.join(_spoken(column) for column in columns)}",
        top,
        tuple(shapes),
    )


def _span(columns: Sequence[ArmColumn]) -> tuple[float, float]:
    """Lowest and highest value of the axis, as powers of two: all points and at least half as fast again."""
    ratios = [item.ratio for column in columns for points in column.points.values() for item in points]
    return 1.15 * min(0.0, math.log2(min(ratios))) - 0.08, 1.1 * math.log2(max(1.5, *ratios))


def _spoken(column: ArmColumn) -> str:
    means = (
        f"{buffer_text(size)} {factor_text(mean(item.ratio for item in points))}"
        for size, points in column.points.items()
    )
    return f"{column.arm}: {', '.join(means)}"


def columns_of(groups: Sequence[PageGroup], chosen: Chosen) -> list[ArmColumn]:
    """The arms other than the baseline, in order of appearance."""
    by_size = sorted(range(len(groups)), key=lambda index: (groups[index].size_bytes, index))
    places = {index: place for place, index in enumerate(by_size)}
    columns: dict[str, ArmColumn] = {}
    for index, group in enumerate(groups):
        for row in group.rows:
            ratio = group.speed_up(row, chosen)
            if ratio is None or row.load.scheme == group.baseline_scheme:
                continue
            column = columns.setdefault(row.arm, ArmColumn(row.arm, {}))
            hint = f"{group.page.name}, {format_bytes(group.size_bytes)}\n{row.label}: {factor_text(ratio)}"
            column.points.setdefault(row.load.send_buffer_bytes, []).append(Point(places[index], ratio, hint))
    return list(columns.values())


def _key(buffers: Sequence[int]) -> list[Markup]:
    shapes, x = [text(0, 12, "Points:", class_="faint")], 50.0
    for index, size in enumerate(buffers):
        shapes.append(_marker(index, x, 8, "dot", ""))
        shapes.append(text(x + 8, 12, buffer_text(size)))
        x += 130
    return shapes


def _grid(scale: Scale, right: float) -> list[Markup]:
    """Lines at round factors, as many as have room."""
    shapes: list[Markup] = []
    taken: list[float] = []
    for factor in dict.fromkeys(side for tick in _TICKS for side in (tick, 1 / tick)):
        y = scale(math.log2(factor))
        if not scale.low <= math.log2(factor) <= scale.high or any(abs(y - other) < _TICKS_APART for other in taken):
            continue
        taken.append(y)
        shapes.append(line(_LEFT, y, right, y, "zero" if factor == 1 else "grid"))
        said = f"×{factor:g}" if factor >= 1 else f"/{1 / factor:.3g}"
        shapes.append(text(_LEFT - 6, y + 4, said, "end", "faint"))
    return shapes


@dataclass(frozen=True, slots=True)
class _ColumnPlace:
    """The place of a column."""

    x: float  # its left edge
    width: float
    top: float  # of its heading
    scale: Scale  # of its plot


def _column(column: ArmColumn, buffers: Sequence[int], place: _ColumnPlace, pages: int) -> list[Markup]:
    """Name, points and means of one arm; points with different send buffers share the column."""
    x, right, scale = place.x, place.x + place.width, place.scale
    name = element("tspan", tooltip(column.arm), shortened(column.arm, int(place.width / 6.6)))
    shapes = [
        text(x + place.width / 2, place.top + 12, name, "middle", "arm"),
        line(right, scale.end - 4, right, scale.start, "grid"),
        text(x + 8, scale.start + 14, "small", class_="faint"),
        text(right - 8, scale.start + 14, "large", "end", "faint"),
    ]
    across = Scale(0, pages - 1, x + 10, right - 10)
    for index, size in enumerate(buffers):
        points = column.points.get(size, [])
        for item in points:
            y, look = scale(math.log2(item.ratio)), f"dot {tone_of(item.ratio)}"
            shapes.append(_marker(index, across(item.place), y, look, item.hint))
        ratio = mean(item.ratio for item in points)
        if ratio is not None:
            hint = f"{column.arm}, {buffer_text(size)}: mean {factor_text(ratio)} over {len(points)} pages"
            shapes += _mean(index, ratio, hint, place)
    return shapes


def _mean(index: int, ratio: float, hint: str, place: _ColumnPlace) -> list[Markup]:
    """A bar among the points, and the figure in the heading."""
    tone, middle, y = tone_of(ratio), place.x + place.width / 2, place.top + 27 + 15 * index
    bar_y = place.scale(math.log2(ratio)) - 1
    return [
        rectangle(place.x + 6, bar_y, place.width - 12, 2, "mean" if index == 0 else "mean buffered", hint),
        _marker(index, middle - 22, y - 4, f"dot {tone}", ""),
        text(middle - 13, y, factor_text(ratio), class_=f"figure {tone}"),
    ]


def _marker(index: int, x: float, y: float, class_: str, hint: str) -> Markup:
    """A full dot for the first of the buffers, then hollow circle, square, diamond."""
    inner = (tooltip(hint),) if hint else ()
    match index % _MARKERS:
        case 0:
            return element("circle", *inner, cx=x, cy=y, r=2.6, class_=class_)
        case 1:
            return element("circle", *inner, cx=x, cy=y, r=2.8, class_=f"{class_} hollow")
        case 2:
            return element("rect", *inner, x=x - 2.5, y=y - 2.5, width=5, height=5, class_=f"{class_} hollow")
        case _:
            return element(
                "path", *inner, d=f"M{x:.1f} {y - 3.4:.1f}l3.4 3.4l-3.4 3.4l-3.4 -3.4z", class_=f"{class_} hollow"
            )
