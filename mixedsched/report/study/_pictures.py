"""Pictures of many sites: a forest of their changes, the share of sites up to each change, counts of verdicts as a bar."""

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from mixedsched.core.metrics import Metric
from mixedsched.lab.comparison import Effect, Verdict
from mixedsched.lab.study.results import SitesSummary
from mixedsched.report._words import change_text
from mixedsched.report.study._axis import ChangeAxis
from mixedsched.report.study._words import counts_in_words, spread_in_words
from mixedsched.report.svg import Scale, drawing, element, line, rectangle, shortened, text, tooltip, y_grid

WIDTH = 350.0
_NAMES = 116.0  # width of the sites' names
_ROW = 16.0
_LABEL_LENGTH = 17
_AXIS = 18.0
_ROWS_WITH_ONE_AXIS = 30  # taller pictures have their labels at both ends
_DASHES = (None, "7 3", "2 3", "9 3 2 3")
_DECIDED = (Verdict.BETTER, Verdict.WORSE)


def forest_axis(metric: Metric, effects: Iterable[Effect]) -> ChangeAxis:
    """One axis for all schemes that are to be compared."""
    return ChangeAxis.of(metric, effects, _NAMES + 4, WIDTH - 10)


def forest(summary: SitesSummary, effects: Mapping[str, Effect], axis: ChangeAxis) -> Markup:
    """One scheme: a row a site, sorted by change, with its interval; in the last row the median and its interval over sites.

    effects: by site.
    """
    rows = sorted(
        ((site, effect) for site, effect in effects.items() if effect.change is not None),
        key=lambda item: (item[1].change, item[0]),
    )
    is_tall = len(rows) > _ROWS_WITH_ONE_AXIS
    top = _AXIS if is_tall else 2.0
    bottom = top + _ROW * (len(rows) + 1) + 6
    shapes = axis.background(top, bottom, [bottom + 13, 12.0] if is_tall else [bottom + 13])
    for number, (site, effect) in enumerate(rows):
        shapes += _row(axis, site, effect, top + _ROW * (number + 0.5))
    last = bottom - _ROW / 2 - 1
    shapes.append(line(0, last - _ROW / 2, WIDTH, last - _ROW / 2, "axis"))
    shapes += _median(axis, summary, last)
    label = f"{summary.scheme} over {summary.link}, {summary.metric.short}: {counts_in_words(summary)}"
    return drawing(WIDTH, bottom + _AXIS, label, *shapes, class_="sites")


def _row(axis: ChangeAxis, site: str, effect: Effect, y: float) -> list[Markup]:
    assert effect.change is not None
    kind = f"effect {effect.verdict.value}"
    shapes = [text(_NAMES, y + 4, shortened(site, _LABEL_LENGTH), "end")]
    if effect.low is not None and effect.high is not None:
        low, high = axis.within(effect.low), axis.within(effect.high)
        shapes.append(line(low, y, high, y, kind))
    hint = tooltip(f"{site}: {change_text(effect)}, {effect.verdict.value}")
    return [*shapes, _mark(axis.within(effect.change), y, effect.verdict, kind, hint)]


def _mark(x: float, y: float, verdict: Verdict, kind: str, *inner: Markup) -> Markup:
    """Verdicts differ in shape, too: down is better, up is worse, as lower values are better."""
    match verdict:
        case Verdict.BETTER:
            return element("path", *inner, d=f"M{x - 5.5:.1f} {y - 4:.1f}h11l-5.5 9z", class_=kind)
        case Verdict.WORSE:
            return element("path", *inner, d=f"M{x - 5.5:.1f} {y + 4:.1f}h11l-5.5 -9z", class_=kind)
        case Verdict.EQUIVALENT:
            return element("rect", *inner, x=x - 3.8, y=y - 3.8, width=7.6, height=7.6, class_=kind)
        case Verdict.UNDECIDED:
            return element("circle", *inner, cx=x, cy=y, r=4.2, class_=kind)


def _median(axis: ChangeAxis, summary: SitesSummary, y: float) -> list[Markup]:
    shapes = [text(_NAMES, y + 4, "median", "end", "strong")]
    middle = summary.spread.median
    if middle is None:
        return shapes
    x = axis.within(middle)
    low, high = (axis.within(middle if end is None else end) for end in (summary.spread.low, summary.spread.high))
    path = f"M{min(low, x - 2):.1f} {y:.1f}L{x:.1f} {y - 5:.1f}L{max(high, x + 2):.1f} {y:.1f}L{x:.1f} {y + 5:.1f}Z"
    return [
        *shapes,
        element("path", tooltip(f"median over sites: {spread_in_words(summary)}"), d=path, class_="over-sites"),
    ]


Points = Sequence[tuple[float, bool]]
"""The change of each site, and whether it is certain; smallest change first."""


def points_of(effects: Iterable[Effect]) -> Points:
    """Certain is what is better or worse."""
    return sorted((effect.change, effect.verdict in _DECIDED) for effect in effects if effect.change is not None)


def distribution(
    metric: Metric, link: str, by_arm: Mapping[int, Points], labels: Sequence[str], width: float = WIDTH
) -> Markup:
    """The share of sites whose change is at most so much, a line for each scheme, thick where it is certain.

    by_arm: by number of the arm. labels: of all arms.
    """
    left, right, top, bottom = 40.0, width - 10, 6.0, 190.0
    changes = [change for points in by_arm.values() for change, _ in points]
    axis = ChangeAxis.over(metric, changes, (), left, right)
    share = Scale(0.0, 1.0, bottom, top)
    shapes = y_grid(share, left, right, lambda value: f"{value * 100:.0f} %", about=4, label_look="faint")
    shapes += axis.background(top, bottom, [bottom + 14])
    for arm, points in by_arm.items():
        shapes += _steps(axis, share, arm, points, labels[arm])
    shapes.append(text((left + right) / 2, bottom + 30, f"change of {metric.short}", "middle", "faint"))
    label = f"{metric.short} over {link}: share of sites by change, for {', '.join(labels[arm] for arm in by_arm)}"
    return drawing(width, bottom + 36, label, *shapes, class_="distribution")


def _steps(axis: ChangeAxis, share: Scale, arm: int, points: Points, label: str) -> list[Markup]:
    thick: list[str] = []
    thin: list[str] = []
    for number, (change, is_certain) in enumerate(points):
        x, y = axis.within(change), share(number / len(points))
        following = points[number + 1][0] if number + 1 < len(points) else change
        step = f"M{x:.1f} {y:.1f}V{share((number + 1) / len(points)):.1f}H{axis.within(following):.1f}"
        (thick if is_certain else thin).append(step)
    if points:
        thin.append(f"M{axis.scale.start:.1f} {share(0):.1f}H{axis.within(points[0][0]):.1f}")
        thin.append(f"M{axis.within(points[-1][0]):.1f} {share(1):.1f}H{axis.scale.end:.1f}")
    looks = (("thin", thin), ("thick", thick))
    return [
        element(
            "path", tooltip(label), d="".join(path), class_=f"steps {look} arm-{arm % 6}", stroke_dasharray=dashes(arm)
        )
        for look, path in looks
        if path
    ]


def dashes(arm: int) -> str | None:
    """The dash pattern of an arm's line, so that lines differ in more than colour."""
    return _DASHES[arm % len(_DASHES)]


def line_key(arm: int) -> Markup:
    """A piece of an arm's line, for legends."""
    stroke = element("path", d="M0 6H26", class_=f"steps thick arm-{arm % 6}", stroke_dasharray=dashes(arm))
    return element("svg", stroke, class_="chart key-line", width=26, height=12, viewBox="0 0 26 12", aria_hidden="true")


def mark_key(verdict: Verdict) -> Markup:
    """The mark of a verdict, for legends."""
    mark = _mark(7, 7, verdict, f"effect {verdict.value}")
    return element("svg", mark, class_="chart key-line", width=14, height=14, viewBox="0 0 14 14", aria_hidden="true")


def verdict_bar(summary: SitesSummary, width: float = 120, height: float = 12) -> Markup:
    """The sites by verdict: better, equivalent, undecided, worse, from left to right."""
    order = (Verdict.BETTER, Verdict.EQUIVALENT, Verdict.UNDECIDED, Verdict.WORSE)
    shapes, x = [], 0.0
    for verdict in order:
        part = width * summary.verdicts[verdict] / max(1, summary.sites)
        if part:
            shapes.append(rectangle(x, 0.5, part, height - 1, f"part {verdict.value}"))
        x += part
    return drawing(width, height, counts_in_words(summary), *shapes, class_="verdicts")
