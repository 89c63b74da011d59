"""The report of a comparison: for the terminal, and as one HTML file that needs no other."""

from rich.console import Group, RenderableType
from rich.text import Text

from mixedsched.lab.comparison import Comparison, MetricFamily
from mixedsched.report._effects import EXPLORATORY_NOTE, effect_views, effects_table
from mixedsched.report._terminal import STYLES, line
from mixedsched.report.compare._document import median_film, miss_lines, write_comparison
from mixedsched.report.compare._live import live_lines
from mixedsched.report.compare._words import by_model, headline, scores_in_words, stopping_note
from mixedsched.units import counted

__all__ = ["live_lines", "median_film", "miss_lines", "render_comparison", "stopping_note", "write_comparison"]

# On the terminal


def render_comparison(comparison: Comparison) -> RenderableType:
    """For rich's Console.print."""
    parts: list[RenderableType] = []
    for effect in comparison.effects:
        if effect.metric is comparison.headline_metric:
            parts += [line(headline(effect), STYLES[effect.verdict.value]), Text()]
    if warning := by_model(comparison.plan):
        parts += [line(warning, "yellow"), Text()]
    if comparison.note:
        parts += [line(f"{comparison.note}.", "yellow"), Text()]
    views = effect_views(comparison.effects, comparison.arms)
    for arm in comparison.arms[1:]:
        title = f"{arm.label} against {comparison.arms[0].label}, {counted(comparison.complete_blocks, 'block')}"
        parts.append(effects_table(title, [view for view in views if view.effect.arm == arm.label]))
    if scores := scores_in_words(comparison.arms):
        parts.append(line(scores))
    return Group(*parts, *(line(text, "dim") for text in _footnotes(comparison)))


def _footnotes(comparison: Comparison) -> list[str]:
    notes = []
    if any(effect.family is MetricFamily.EXPLORATORY for effect in comparison.effects):
        notes.append(EXPLORATORY_NOTE)
    notes += [
        f"{arm.label}: {arm.failed} of {arm.attempted} runs failed or were invalid"
        for arm in comparison.arms
        if arm.failed
    ]
    if note := stopping_note(comparison):
        notes.append(note)
    elif comparison.complete_blocks < comparison.planned_blocks:
        notes.append(f"{comparison.complete_blocks} of {comparison.planned_blocks} planned blocks are complete")
    return notes
