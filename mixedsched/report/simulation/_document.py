"""All pictures as one HTML page, with the figures behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.report._document import render
from mixedsched.report.simulation._loads import CHOSEN_NAMES, Chosen, PageGroup, factor_text, mean
from mixedsched.report.simulation._sections import Sections, colour_rules, kind_class


def render_html(sections: Sections) -> str:
    """The page as text."""
    return render(
        "simulation.html.j2",
        sections=sections,
        colour_rules=colour_rules(sections),
        kind_class=kind_class,
        factor=factor_text,
        sets=CHOSEN_NAMES,
        means=means_by_arm(sections.groups),
    )


@dataclass(frozen=True, slots=True)
class ArmMeans:
    """One arm over all pages."""

    label: str
    pages: int
    speed_up: dict[Chosen, float | None]  # arithmetic mean of the ratios, by set
    best_on: int  # pages on which no arm of the same send buffer has a smaller ByteIndex above the fold


def means_by_arm(groups: Sequence[PageGroup]) -> list[ArmMeans]:
    """In order of appearance."""
    labels = dict.fromkeys(row.label for group in groups for row in group.rows)
    best = dict.fromkeys(labels, 0)
    ratios: dict[str, dict[Chosen, list[float]]] = {label: {chosen: [] for chosen in CHOSEN_NAMES} for label in labels}
    pages = dict.fromkeys(labels, 0)
    for group in groups:
        least = {
            size: min(row.byte_index_ms["atf"] for row in group.rows if row.load.send_buffer_bytes == size)
            for size in dict.fromkeys(row.load.send_buffer_bytes for row in group.rows)
        }
        for row in group.rows:
            pages[row.label] += 1
            best[row.label] += row.byte_index_ms["atf"] <= least[row.load.send_buffer_bytes] * (1 + 1e-9)
            for chosen in CHOSEN_NAMES:
                ratio = group.speed_up(row, chosen)
                if ratio is not None:
                    ratios[row.label][chosen].append(ratio)
    return [
        ArmMeans(label, pages[label], {chosen: mean(ratios[label][chosen]) for chosen in CHOSEN_NAMES}, best[label])
        for label in labels
    ]
