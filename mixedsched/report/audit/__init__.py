"""The report of an audit, for the owner of a site: what it says on the terminal, and as one HTML file that needs no other."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from mixedsched.advice.audit.result import Audit, AuditVerdict, NetworkResult
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.html_change import edits_of
from mixedsched.report._effects import EXPLORATORY_NOTE, effects_table
from mixedsched.report._terminal import STYLES, line, lines
from mixedsched.report.audit import _words
from mixedsched.report.audit._waste_words import header_note, no_waste_words, waste_notes, waste_view
from mixedsched.units import format_ms

__all__ = ["render_audit", "write_audit"]


def write_audit(audit: Audit, path: Path, live: Sequence[str] = ()) -> None:
    """Write the HTML report to `path`. live: sentences about a live page. Raises OSError if it cannot be written."""
    from mixedsched.report.audit._document import render_html  # here, because templates take time to load

    path.write_text(render_html(audit, live), encoding="utf-8")


# On the terminal


_INDENT = (0, 0, 0, 4)
_EDITS_MOST, _FINDINGS_MOST = 3, 5


def render_audit(audit: Audit) -> RenderableType:
    """For rich's Console.print. What comes from the site's files cannot do anything to the terminal."""
    tone, _ = _words.TONES[audit.outcome]
    parts = [
        line(_words.headline(audit), STYLES[tone]),
        *lines(_words.notes(audit), "yellow"),
        Text(),
        *_changes(audit),
        *_wastes(audit),
    ]
    for network in audit.networks:
        views = _words.effects_on(network, audit)
        parts += [effects_table(f"Against today, over {network.name}", views)] if views else []
        parts += _late(network)
    note = EXPLORATORY_NOTE if audit.contenders else ""
    return Group(*parts, *lines([note, _words.time_line(audit)], "dim"))


def _late(network: NetworkResult) -> list[RenderableType]:
    look = network.look
    heading = (
        f"Today over {network.name}: FCP {format_ms(look.fcp_ms)}, LCP {format_ms(look.lcp_ms)}. What arrives late:"
    )
    findings = [f"• {_words.finding_sentence(item, network)}" for item in network.findings[:_FINDINGS_MOST]]
    return [
        line(heading, "bold"),
        *(Padding(line(text), (0, 0, 0, 2)) for text in findings or ["nothing that matters"]),
        Text(),
    ]


def _changes(audit: Audit) -> list[RenderableType]:
    chosen = audit.chosen
    if chosen is None or not chosen.changes:
        return []
    heading = "What to change" if audit.outcome is AuditVerdict.IMPROVABLE else "What was measured"
    parts: list[RenderableType] = [line(heading, "bold")]
    for number, change in enumerate(chosen.changes, start=1):
        parts += [line(f"{number}. {change.title}"), Padding(line(_words.reason_sentence(change)), _INDENT)]
        parts += [Padding(line(text, "cyan"), _INDENT) for text in _lines_to_paste(change, audit)]
        parts += [Padding(line(f"caution: {change.risk}.", "dim"), _INDENT)] if change.risk else []
    note = header_note(audit)
    return [*parts, *([line(note)] if note else []), Text()]


def _wastes(audit: Audit) -> list[RenderableType]:
    """What else could be saved, the most costly first."""
    parts: list[RenderableType] = [line("What else could be saved", "bold")]
    for number, item in enumerate(audit.wastes.dear, start=1):
        view = waste_view(item, audit.server)
        parts += [
            line(f"{number}. {view.title}"),
            Padding(line(f"{view.why}; {view.moment} sooner: {view.gains}"), _INDENT),
        ]
        parts += [Padding(line(view.advice), _INDENT)] if view.advice else []
        parts += [Padding(line(text, "cyan"), _INDENT) for text in view.lines.splitlines()]
    if not audit.wastes.dear:
        parts.append(Padding(line(no_waste_words(audit)), (0, 0, 0, 2)))
    return [*parts, *(line(note, "dim") for note in waste_notes(audit)), Text()]


def _lines_to_paste(change: Change, audit: Audit) -> list[str]:
    """The lines as they are to stand; the first few where many are alike."""
    found = [edit.after for edit in edits_of(audit.document, change)]
    found = found or [f"{path}   priority: {change.value}" for _, path in change.targets]
    more = len(found) - _EDITS_MOST
    return found[:_EDITS_MOST] + ([f"and {more} more like these"] if more > 0 else [])
