"""All pictures as one HTML page that needs no network, no script and no other file, with the figures behind them."""

from __future__ import annotations

from mixedsched.report._templates import template
from mixedsched.report.simulation._loads import CHOSEN_NAMES, factor_text
from mixedsched.report.simulation._sections import Sections, colour_rules, kind_class
from mixedsched.report.simulation._tables import means_by_arm
from mixedsched.units import format_bytes, format_ms


def render_html(sections: Sections) -> str:
    """The page as text."""
    return template("simulation.html.j2", ms=format_ms, size=format_bytes, factor=factor_text).render(
        sections=sections,
        colour_rules=colour_rules(sections),
        kind_class=kind_class,
        sets=CHOSEN_NAMES,
        means=means_by_arm(sections.groups),
    )
