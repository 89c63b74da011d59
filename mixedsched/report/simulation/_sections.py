"""Which pictures a set of loads has, in the order in which they are read."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.record import Weighting
from mixedsched.model.request import Kind
from mixedsched.report.simulation._jitter import jitter_view
from mixedsched.report.simulation._loads import CHOSEN_NAMES, Chosen, PageGroup, Panel, factor_text, group_by_page, mean
from mixedsched.report.simulation._palette import kind_colour
from mixedsched.report.simulation._progress import progress_curves
from mixedsched.report.simulation._scatter import speed_up_scatter
from mixedsched.report.simulation._strip import schedule_strip

PAGES_IN_DETAIL = 4  # of more pages, three are chosen, as no one would read a picture of every page


@dataclass(frozen=True)
class PageSection:
    """The pictures of one page."""

    group: PageGroup
    why: str  # why it was chosen; "" if it was not chosen among many
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Sections:
    """Everything that is drawn of some loads."""

    groups: tuple[PageGroup, ...]
    overview: tuple[Panel, ...]
    pages: tuple[PageSection, ...]

    @property
    def title(self) -> str:
        if len(self.groups) == 1:
            return f"Simulated loads of {self.groups[0].page.name}"
        return f"Simulated loads of {len(self.groups)} pages"

    @property
    def summary(self) -> str:
        """The loads in a line: how many, on which rung, over which links, under which schemes."""
        rows = [row.load for group in self.groups for row in group.rows]
        schemes = list(dict.fromkeys(load.scheme for load in rows))
        rungs = " and ".join(dict.fromkeys(load.rung for load in rows))
        named = ", ".join(schemes) if len(schemes) <= 6 else f"{len(schemes)} schemes"
        links = ", ".join(dict.fromkeys(str(load.facts["link"]) for load in rows if "link" in load.facts))
        over = f" over {links}" if links else ""
        return f"{len(rows)} {'load' if len(rows) == 1 else 'loads'} on rung {rungs}{over}: {named}"


def sections_of(loads: Sequence[PlayedLoad], weighting: Weighting = "bytes") -> Sections:
    groups = group_by_page(loads, weighting)
    overview = [panel for panel in (speed_up_scatter(groups, "atf"), speed_up_scatter(groups, "all")) if panel]
    pages = [PageSection(group, why, _panels(group)) for group, why in _in_detail(groups)]
    return Sections(tuple(groups), tuple(overview), tuple(pages))


def _panels(group: PageGroup) -> tuple[Panel, ...]:
    panels = (schedule_strip(group), progress_curves(group), jitter_view(group))
    return tuple(panel for panel in panels if panel is not None)


def _in_detail(groups: Sequence[PageGroup]) -> list[tuple[PageGroup, str]]:
    """The pages that are drawn in detail: all if they are few, else where schemes matter most, typically, and least."""
    if len(groups) <= PAGES_IN_DETAIL:
        return [(group, "") for group in groups]
    gains = {group.key: max(group.speed_up(row, "atf") or 0.0 for row in group.rows) for group in groups}
    ranked = sorted(groups, key=lambda group: -gains[group.key])  # stable: of equals, the first given
    return [
        (ranked[0], f"Of the {len(groups)} pages, the one on which the best scheme gains most."),
        (ranked[len(ranked) // 2], f"A typical one: half of the {len(groups)} pages gain more from their best scheme."),
        (ranked[-1], f"Of the {len(groups)} pages, the one on which the best scheme gains least."),
    ]


def colour_rules(sections: Sections) -> Markup:
    """Style rules that paint every resource drawn, and the kinds of the keys, on white and on black paper."""
    painted = [
        (section.group.classes[name], colour)
        for section in sections.pages
        for name, colour in section.group.colours.items()
    ]
    painted += [
        (kind_class(kind, strong), kind_colour(kind, strong=strong)) for kind in Kind for strong in (True, False)
    ]
    light = "".join(f".{name}{{stroke:{colour.light}}}" for name, colour in painted)
    dark = "".join(f".{name}{{stroke:{colour.dark}}}" for name, colour in painted)
    return Markup(f"{light}\n@media (prefers-color-scheme:dark){{{dark}}}")  # noqa: S704  made of our own names


def kind_class(kind: Kind, strong: bool) -> str:
    return f"k-{kind.value}{'-strong' if strong else ''}"


# As one HTML page, with the figures behind the pictures


def render_html(sections: Sections) -> str:
    """The page as text."""
    from mixedsched.report._document import render  # here, because templates take time to load

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
