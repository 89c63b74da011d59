"""Effects as rows of tables, in HTML and on the terminal: medians, the change with its interval, the verdict, a drawing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich.table import Table

from mixedsched.lab.comparison import ArmSummary, Effect, MetricFamily
from mixedsched.report import _charts as charts
from mixedsched.report import _words as words
from mixedsched.report._terminal import STYLES, line, plain_table
from mixedsched.units import counted

EXPLORATORY_NOTE = "* exploratory: not among the metrics declared beforehand"


@dataclass(frozen=True, slots=True)
class EffectView:
    """An effect in words."""

    effect: Effect
    medians: str  # as "2.80 s → 1.66 s"; "" if the arms have none
    is_exploratory: bool  # not declared before the first run
    domain: tuple[float, float]  # of the drawing, shared by effects in the same unit

    @property
    def change(self) -> str:
        return words.change_text(self.effect)

    @property
    def verdict(self) -> str:
        return words.verdict_text(self.effect.verdict)

    @property
    def tone(self) -> str:
        """The style class of the verdict."""
        return self.effect.verdict.value

    @property
    def remarks(self) -> str:
        return words.remarks(self.effect)

    @property
    def remarks_without_note(self) -> str:
        return words.remarks(self.effect, with_note=False)

    @property
    def forest(self) -> Markup:
        return charts.forest(self.effect, self.domain)


def effect_views(
    effects: Sequence[Effect], arms: Sequence[ArmSummary], is_declared: Callable[[Effect], bool] | None = None
) -> list[EffectView]:
    """Rows of a table, in the order given.

    arms: for the medians. is_declared: whether a question was asked before the first run; by default what the family says.
    """
    declared = is_declared or (lambda effect: effect.family is MetricFamily.PRIMARY)
    medians = {arm.label: arm.median for arm in arms}
    of_ratios = charts.forest_domain([effect for effect in effects if effect.metric.scale == "ratio"])

    def view(effect: Effect) -> EffectView:
        key, tell = effect.metric.key, effect.metric.format
        before, after = (medians.get(label, {}) for label in (effect.baseline, effect.arm))
        values = f"{tell(before[key])} → {tell(after[key])}" if key in before and key in after else ""
        alike = [other for other in effects if other.metric is effect.metric]
        domain = of_ratios if effect.metric.scale == "ratio" else charts.forest_domain(alike)
        return EffectView(effect, values, not declared(effect), domain)

    return [view(effect) for effect in effects]


def effects_table(
    title: str, views: Sequence[EffectView], *, others: Mapping[str, EffectView] | None = None, other: str = ""
) -> Table:
    """A row for each effect; exploratory metrics have an asterisk.

    others: by metric key, effects against another baseline, which `other` names; they get a column of their own.
    """
    several = len({view.effect.arm for view in views}) > 1
    columns = ["metric", "median", "change (95 % interval)", "verdict"]
    names = [*(["arm"] if several else []), *columns, *([f"against {other}"] if other else [])]
    table = plain_table(title, *names, keys=2 if several else 1)
    for view in views:
        effect = view.effect
        cells = [line(effect.arm)] if several else []
        cells += [
            line(effect.metric.short + (" *" if view.is_exploratory else "")),
            line(view.medians),
            line(view.change),
        ]
        more = f", +{counted(effect.more_blocks, 'block')}" if effect.more_blocks else ""
        cells.append(line(view.verdict + more, STYLES[view.tone]))
        if other:
            second = (others or {}).get(effect.metric.key)
            cells.append(line(f"{second.verdict[0]} {second.change}" if second is not None else "–"))
        table.add_row(*cells)
    return table
