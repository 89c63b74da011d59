"""The report of a search for a better order of bytes: for the terminal, and as one HTML file that needs no other."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from mixedsched.advice.tuner.result import Tuning
from mixedsched.core.metrics import metric_named
from mixedsched.report._effects import EXPLORATORY_NOTE, effects_table
from mixedsched.report._terminal import STYLES, line, lines, plain_table
from mixedsched.report._words import objective_text, server_lines
from mixedsched.report.tune import _words
from mixedsched.report.tune._evidence import SIMULATED_METRICS, Evidence, simulated_values

__all__ = ["render_tuning", "write_tuning"]


def write_tuning(tuning: Tuning, path: Path, live: Sequence[str] = ()) -> None:
    """Write the HTML report to `path`. What is to be shipped is read from the files that lie beside it, as `tuning.files`
    names them; those that cannot be read are left out. live: sentences about a live page. Raises OSError if the report cannot
    be written."""
    from mixedsched.report.tune._document import read_shipped, render_html  # here, because templates take time to load

    path.write_text(render_html(tuning, read_shipped(path.parent, tuning.files), live), encoding="utf-8")


# On the terminal


_INDENT = (0, 0, 0, 2)
_LINES_MOST = 6


def render_tuning(tuning: Tuning) -> RenderableType:
    """For rich's Console.print. What comes from the site's files cannot do anything to the terminal."""
    tone, _ = _words.TONES[tuning.outcome]
    parts: list[RenderableType] = [
        line(_words.headline(tuning), STYLES[tone]),
        *lines([tuning.reason, *server_lines(tuning.server, is_loaded=tuning.rung == "browser")]),
        *lines(tuning.notes, "yellow"),
        Text(),
        *_deviations(tuning),
    ]
    for network in tuning.networks:
        parts += _network(Evidence(tuning, network))
    parts += _shipping(tuning)
    ending = (
        EXPLORATORY_NOTE if any(network.proof is not None for network in tuning.networks) else "",
        f"search: {_words.search_line(tuning)}",
        f"{_words.time_line(tuning)}, objective {objective_text(tuning.objective)}",
    )
    return Group(*parts, *lines(ending, "dim"))


def _deviations(tuning: Tuning) -> list[RenderableType]:
    if tuning.winner is None:
        return []
    delivered = line(f"tuned: {_words.winner_words(tuning)}")
    if not tuning.deviations:
        return [delivered, Text()]
    table = plain_table("Where it departs from what the browser asks for", "what", "browser", "tuned", "why")
    for item in tuning.deviations:
        table.add_row(line(item.what), line(item.browser), line(item.tuned), line(item.why))
    return [delivered, table]


def _network(evidence: Evidence) -> list[RenderableType]:
    """The measured effects, or else the simulated paints."""
    name, best, other = evidence.network.name, evidence.tuning.best_baseline, evidence.other_baseline
    views = evidence.views(best)
    if views:
        others = {view.effect.metric.key: view for view in evidence.views(other)}
        title = f"Over {name}, in the browser: tuned against {best}"
        return [effects_table(title, views, others=others, other=other or ""), Text()]
    columns = [metric_named(key) for key in SIMULATED_METRICS]
    values = {metric.key: simulated_values(evidence.tuning, name, metric.key) for metric in columns}
    labels = list(values[SIMULATED_METRICS[0]])
    table = plain_table(f"Over {name}, in simulation", "order", numbers=[metric.short for metric in columns])
    for label in labels:
        cells = [line(metric.format(values[metric.key].get(label))) for metric in columns]
        table.add_row(line(label, "bold" if label == "tuned" else ""), *cells)
    return [table, Text()] if labels else []


def _shipping(tuning: Tuning) -> list[RenderableType]:
    """Headers, tags and files, only where something is recommended."""
    if not tuning.shipped:
        return []
    headers = [line(f"{rule.match}   priority: {rule.value}", "cyan") for rule in tuning.headers[:_LINES_MOST]]
    if len(tuning.headers) > _LINES_MOST:
        headers.append(line(f"and {len(tuning.headers) - _LINES_MOST} more", "dim"))
    tags = []
    for item in tuning.html[:_LINES_MOST]:
        effects = _words.effect_by_network(item.effect_pct)
        tags.append(line(f"{item.change.title}{f' ({effects})' if effects else ''}"))
    if tuning.setting is not None:
        tags.append(line(_words.setting_line(tuning)))
    files = lines([f"files: {', '.join(tuning.files)}"] if tuning.files else [], "dim")
    advice = [*headers, *tags, *lines([*_words.kept_lines(tuning), *_words.withheld_lines(tuning)]), *files]
    return [line("What to ship", "bold"), *(Padding(item, _INDENT) for item in advice), Text()]
