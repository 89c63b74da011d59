"""An audit on the terminal: the verdict first, then what to change, then why. Plain text where there is no terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mixedsched.advice.audit.result import Audit, NetworkResult
from mixedsched.advice.audit.verdict import AuditVerdict
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.html_change import edits_of
from mixedsched.report._words import SYMBOLS
from mixedsched.report.audit import _words
from mixedsched.units import format_ms

_STYLES = {"better": "bold cyan", "worse": "bold magenta", "equivalent": "bold", "undecided": "bold yellow"}
_INDENT = (0, 0, 0, 4)
EDITS_MOST, FINDINGS_MOST = 3, 5
_METRICS = ("lcp_ms", "fcp_ms", "si_ms")


def render_audit(audit: Audit) -> RenderableType:
    """For rich's Console.print. What comes from the site's files cannot do anything to the terminal."""
    tone = _STYLES[_words.TONES[audit.outcome]]
    parts: list[RenderableType] = [_line(_words.headline(audit), tone)]
    for note in (_words.server_note(audit), _words.guard_note(audit), _words.advice_on_time(audit)):
        parts += [_line(note, "yellow")] if note else []
    parts += [Text(), *_changes(audit)]
    for network in audit.networks:
        parts += _network(network, audit)
    parts.append(_tried(audit))
    parts.append(_line(_words.time_line(audit), "dim"))
    return Group(*parts)


def _line(words: str, style: str = "") -> Text:
    """Text with its control characters made visible; markup means nothing in a Text."""
    return Text("".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in words), style=style)


def _changes(audit: Audit) -> list[RenderableType]:
    chosen = audit.chosen
    if chosen is None or not chosen.changes:
        return []
    heading = "What to change" if audit.outcome is AuditVerdict.IMPROVABLE else "What was measured"
    parts: list[RenderableType] = [_line(heading, "bold")]
    for number, change in enumerate(chosen.changes, start=1):
        parts.append(_line(f"{number}. {change.title}"))
        parts.append(Padding(_line(f"{change.why}."), _INDENT))
        parts += [Padding(_line(text, "cyan"), _INDENT) for text in lines_to_paste(change, audit)]
        parts += [Padding(_line(f"mind: {change.risk}.", "dim"), _INDENT)] if change.risk else []
    return [*parts, Text()]


def lines_to_paste(change: Change, audit: Audit) -> list[str]:
    """What to write, as it is to stand; the first few where many are alike."""
    edits = edits_of(audit.document, change)
    if edits:
        lines = [edit.after for edit in edits[:EDITS_MOST]]
        return lines + ([f"and {len(edits) - EDITS_MOST} more alike"] if len(edits) > EDITS_MOST else [])
    paths = [f"{path}   priority: {change.value}" for _, path in change.targets]
    return paths[:EDITS_MOST] + ([f"and {len(paths) - EDITS_MOST} more alike"] if len(paths) > EDITS_MOST else [])


def _network(network: NetworkResult, audit: Audit) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if audit.contenders:
        table = Table(title=Text(f"Over {network.name}"), title_justify="left", box=box.SIMPLE, pad_edge=False)
        for name in ("against today", "metric", "median", "change (95 % interval)", "verdict"):
            table.add_column(name, overflow="fold")
        for contender in audit.contenders:
            for metric in _METRICS:
                effect = network.effect(contender.label, metric)
                verdict = f"{SYMBOLS[effect.verdict]} {effect.verdict.value}" if effect is not None else "–"
                table.add_row(
                    _line(contender.label if metric == _METRICS[0] else ""),
                    _line(metric.removesuffix("_ms").upper() + ("" if metric == _METRICS[0] else " *")),
                    _line(_words.medians(network, contender.label, metric, audit.baseline)),
                    _line(_words.effect_in_words(effect)),
                    _line(verdict),
                )
        parts.append(table)
    look = network.look
    parts.append(
        _line(
            f"Today over {network.name}: FCP {format_ms(look.fcp_ms)}, LCP {format_ms(look.lcp_ms)}. What comes late:",
            "bold",
        )
    )
    sentences = [f"• {_words.finding_sentence(item, network)}" for item in network.findings[:FINDINGS_MOST]]
    parts += [Padding(_line(text), (0, 0, 0, 2)) for text in sentences or ["nothing that matters"]]
    return [*parts, Text()]


def _tried(audit: Audit) -> RenderableType:
    if not audit.screening.singles:
        return Text("No single change could be thought of.")
    table = Table(
        title=Text("Changes tried in simulation, each alone"), title_justify="left", box=box.SIMPLE, pad_edge=False
    )
    table.add_column("change", overflow="fold")
    for name in audit.screening.today:
        table.add_column(f"LCP, {name}", justify="right")
    for tried in audit.screening.singles:
        mark = " ✓" if audit.chosen is not None and tried.changes[0] in audit.chosen.changes else ""
        changes = [
            _words.expected_pct(tried.lcp_change_pct(audit.screening.today, name)) for name in audit.screening.today
        ]
        table.add_row(_line(tried.changes[0].title + mark), *changes)
    return table
