"""Progress curves (figure 11 of Marx et al. 2019): completed bytes over time; the area above a curve is its ByteIndex."""

from collections.abc import Sequence

from markupsafe import Markup

from mixedsched.report.simulation._loads import WIDTH, LoadRow, PageGroup, Panel, completions, factor_text, tone_of
from mixedsched.report.svg import Scale, element, rectangle, shortened, text, tooltip, x_grid
from mixedsched.units import format_ms

_GAP = 22.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 8.0, 40.0, 22.0  # around each plot, within its place
_FINEST = 0.25  # pixels
_LEAD_OUT = 1.04  # of the time axis, so that the end of the slowest curve is seen


def progress_curves(group: PageGroup) -> Panel:
    """A small plot per row, all with the same time axis, each against its baseline."""
    columns = {1: 2, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}.get(len(group.rows), 4)
    place_width = (WIDTH - _GAP * (columns - 1)) / columns
    plot_height = {2: 170.0, 3: 124.0, 4: 84.0}[columns]
    place_height = _TOP + plot_height + _BOTTOM
    end_ms = _LEAD_OUT * max(completions(row.load, "atf", row.weighting)[-1][1] for row in group.rows) or 1.0
    shapes: list[Markup] = []
    for index, row in enumerate(group.rows):
        x, y = (index % columns) * (place_width + _GAP), (index // columns) * (place_height + 8)
        time = Scale(0, end_ms, _LEFT, place_width - _RIGHT)
        share = Scale(0, 1, _TOP + plot_height, _TOP)
        shapes.append(element("g", *_plot(group, row, time, share), transform=f"translate({x:g} {y:g})"))
    spoken = "Progress above the fold. " + "; ".join(
        f"{row.label}: ByteIndex {format_ms(row.byte_index_ms['atf'])}" for row in group.rows
    )
    rows_of_plots = -(-len(group.rows) // columns)
    return Panel(
        "Progress: how much of the first screen is there, and when",
        f"Solid line: share of the {group.weighed}s above the fold that belong to complete responses. The shaded area above "
        f"it is ByteIndex, the time that a {group.weighed} is waited for on average; smaller is better. Grey: "
        f"{group.baseline_scheme}. Dashed: all responses of the page, within the same time.",
        spoken,
        rows_of_plots * (place_height + 8) - 8,
        tuple(shapes),
    )


def _plot(group: PageGroup, row: LoadRow, time: Scale, share: Scale) -> list[Markup]:
    baseline = group.baseline_of(row)
    steps = completions(row.load, "atf", row.weighting)
    shapes = [rectangle(time.start, share.end, time.end - time.start, share.start - share.end, "plot")]
    shapes += x_grid(time, share.end, share.start, share.start + 14, time_text, about=4)
    shapes += [text(time.start - 5, share(value / 100) + 4, f"{value} %", "end", "faint") for value in (0, 50, 100)]
    hint = f"{row.label}: ByteIndex above the fold {format_ms(row.byte_index_ms['atf'])}"
    shapes.append(element("path", tooltip(hint), d=area_above(steps, time, share), class_="missing"))
    shapes.append(
        element("path", d=step_line(completions(row.load, "all", row.weighting), time, share), class_="curve every")
    )
    if baseline is not row:
        shapes.append(
            element(
                "path",
                d=step_line(completions(baseline.load, "atf", baseline.weighting), time, share),
                class_="curve base",
            )
        )
    shapes.append(element("path", tooltip(hint), d=step_line(steps, time, share), class_="curve"))
    shapes.append(text(time.start, 15, shortened(row.label, int((time.end - time.start) / 7)), class_="arm"))
    shapes.append(element("text", *_said(group, row, baseline), x=time.start, y=31, class_="figure"))
    return shapes


def _said(group: PageGroup, row: LoadRow, baseline: LoadRow) -> list[Markup]:
    parts = [element("tspan", f"ByteIndex {format_ms(row.byte_index_ms['atf'])}")]
    if len(group.rows) > 1:
        factor = group.speed_up(row, "atf")
        said = "  baseline" if baseline is row else f"  {factor_text(factor)}"
        tone = "faint" if baseline is row else tone_of(factor)
        parts.append(element("tspan", said, class_=tone, dx=8))
    return parts


def time_text(tick_ms: float) -> str:
    """A round time on an axis: "0", "500 ms", "2.5 s"."""
    if not tick_ms:
        return "0"
    return f"{tick_ms / 1000:g} s" if tick_ms >= 1000 else f"{tick_ms:g} ms"


def step_line(steps: Sequence[tuple[int, float]], time: Scale, share: Scale) -> str:
    """The curve as a path: it rises when a response is complete. steps: (weight, complete_ms) in order of completion.

    Rises that no eye can tell apart are drawn as one, which keeps pages of thousands of responses short in text.
    """
    total = sum(weight for weight, _ in steps)
    rises: dict[float, float] = {}
    done = 0
    for weight, at_ms in steps:
        if at_ms > time.high:
            break
        done += weight
        rises[round(time(at_ms) / _FINEST) * _FINEST] = share(done / total)
    drawn = "".join(f"H{x:.2f}V{y:.2f}" for x, y in rises.items())
    return f"M{time(0):.2f} {share(0):.2f}{drawn}H{time.end:.2f}"


def area_above(steps: Sequence[tuple[int, float]], time: Scale, share: Scale) -> str:
    """The area above the curve until it is full, as a closed path. Its size relative to the plot is ByteIndex."""
    total = sum(weight for weight, _ in steps)
    drawn, done = [f"M{time(0):.2f} {share(1):.2f}V{share(0):.2f}"], 0
    for weight, at_ms in steps:
        done += weight
        if weight:
            drawn.append(f"H{time(at_ms):.2f}V{share(done / total):.2f}")
    return f"{''.join(drawn)}z"
