"""Simulated loads, sorted for pictures: pages, their rows, the baseline of each row, and ByteIndex; and what a picture is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from markupsafe import Markup

from mixedsched.core.sim.load import PlayedLoad, ResourceTimes
from mixedsched.core.sim.record import Weighting, above_fold_ids, byte_indexes, weight_of
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Kind
from mixedsched.report.simulation._palette import Colour, colours_of
from mixedsched.report.svg import drawing
from mixedsched.units import format_bytes

WIDTH = 1120.0


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture, WIDTH pixels wide."""

    title: str
    reading: str  # how to read it, in a sentence or three
    spoken: str  # its contents, for those who cannot see it
    height: float
    shapes: tuple[Markup, ...]

    def inline(self) -> Markup:
        """The picture alone, for an HTML page."""
        return drawing(WIDTH, self.height, self.spoken, *self.shapes, class_="wide sim")


BASELINE_SCHEME = "rr"  # what Marx et al. compare with
Chosen = Literal["atf", "all"]
CHOSEN_NAMES: dict[Chosen, str] = {"atf": "above the fold", "all": "all resources"}

# Settings in which two loads of one page, scheme and buffer may differ, by their key among a load's facts.
_DISTINGUISHING_FACTS = ("link", "congestion_control", "jitter", "hol_blocking", "seed")


@dataclass(frozen=True)
class LoadRow:
    """One load as a row of a picture."""

    load: PlayedLoad
    arm: str  # scheme and whatever else distinguishes it, except the send buffer
    weighting: Weighting = "bytes"  # of the ByteIndex

    @property
    def label(self) -> str:
        """The arm with its send buffer, as "rr, 280 kB buffer"."""
        return f"{self.arm}, {buffer_text(self.load.send_buffer_bytes)}" if self.load.send_buffer_bytes else self.arm

    @cached_property
    def times(self) -> dict[str, ResourceTimes]:
        return self.load.times()

    @cached_property
    def byte_index_ms(self) -> dict[Chosen, float]:
        indexes = byte_indexes(self.load, self.weighting)
        return {"atf": indexes.atf_ms, "all": indexes.all_ms}


@dataclass(frozen=True)
class PageGroup:
    """All loads of one page."""

    key: str  # prefix of the class names of its resources
    page: Page
    rows: tuple[LoadRow, ...]

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """In order of request under the first row; what it never requested follows in page order."""
        by_id = self.page.by_id()
        requested = dict.fromkeys(item.id for item in self.rows[0].load.resources if item.id in by_id)
        return tuple(by_id[name] for name in [*requested, *(name for name in by_id if name not in requested)])

    @cached_property
    def above_fold(self) -> frozenset[str]:
        return above_fold_ids(self.page)

    @cached_property
    def colours(self) -> dict[str, Colour]:
        return colours_of(self.resources, self.above_fold)

    @cached_property
    def classes(self) -> dict[str, str]:
        """The class that paints a resource, by its id."""
        return {item.id: f"{self.key}r{place}" for place, item in enumerate(self.resources)}

    @property
    def weighed(self) -> str:
        """What the ByteIndex counts, for one of it: "byte" or "response"."""
        return "byte" if self.rows[0].weighting == "bytes" else "response"

    @property
    def kinds(self) -> list[Kind]:
        """The kinds that the page has, in the order of the page format."""
        present = {item.kind for item in self.page.resources}
        return [kind for kind in Kind if kind in present]

    @cached_property
    def size_bytes(self) -> int:
        return sum(weight_of(item) for item in self.page.resources)

    def baseline_of(self, row: LoadRow) -> LoadRow:
        """The row that another is compared with: `rr`, else the first scheme; under the same conditions where possible."""
        scheme = self.baseline_scheme
        rows = [item for item in self.rows if item.load.scheme == scheme]
        alike = [item for item in rows if _conditions(item.load) == _conditions(row.load)]
        return (alike or rows)[0]

    @property
    def baseline_scheme(self) -> str:
        names = [row.load.scheme for row in self.rows]
        return BASELINE_SCHEME if BASELINE_SCHEME in names else names[0]

    def speed_up(self, row: LoadRow, chosen: Chosen) -> float | None:
        """ByteIndex of the baseline by that of the row: above 1 is faster. None where either is 0."""
        own, other = row.byte_index_ms[chosen], self.baseline_of(row).byte_index_ms[chosen]
        return other / own if own > 0 and other > 0 else None


def completions(load: PlayedLoad, chosen: Chosen, weighting: Weighting = "bytes") -> list[tuple[int, float]]:
    """(weight, complete_ms) of every resource in the set, in order of completion. Weights as ByteIndex has them."""
    by_id, above_fold = load.page.by_id(), above_fold_ids(load.page)
    listed = [item for item in load.resources if chosen == "all" or item.id in above_fold]
    weights = [weight_of(by_id[item.id], weighting) for item in listed]
    if not any(weights):
        weights = [1] * len(listed)
    return sorted(zip(weights, (item.complete_ms for item in listed), strict=True), key=lambda pair: pair[1])


def group_by_page(loads: Sequence[PlayedLoad], weighting: Weighting = "bytes") -> list[PageGroup]:
    """Pages in order of appearance, each with its loads in the order given. Equal names of unlike pages stay apart."""
    pages: list[tuple[Page, list[PlayedLoad]]] = []
    by_name: dict[str, list[tuple[Page, list[PlayedLoad]]]] = {}
    for load in loads:
        namesakes = by_name.setdefault(load.page.name, [])
        found = next((entry for entry in namesakes if entry[0] is load.page or entry[0] == load.page), None)
        if found is None:
            found = (load.page, [])
            namesakes.append(found)
            pages.append(found)
        found[1].append(load)
    return [PageGroup(f"p{index}", page, _rows(own, weighting)) for index, (page, own) in enumerate(pages)]


def _rows(loads: Sequence[PlayedLoad], weighting: Weighting) -> tuple[LoadRow, ...]:
    """Rows with labels as short as they can be while differing all loads apart."""
    differing = [key for key in _DISTINGUISHING_FACTS if len({repr(load.facts.get(key)) for load in loads}) > 1]
    rungs = len({load.rung for load in loads}) > 1
    seen: dict[tuple[str, int], int] = {}
    rows = []
    for load in loads:
        extra = ([load.rung] if rungs else []) + [
            f"{key} {load.facts[key]}" for key in differing if load.facts.get(key) is not None
        ]
        arm = f"{load.scheme} ({', '.join(extra)})" if extra else load.scheme
        again = seen[arm, load.send_buffer_bytes] = seen.get((arm, load.send_buffer_bytes), 0) + 1
        rows.append(LoadRow(load, f"{arm} #{again}" if again > 1 else arm, weighting))
    return tuple(rows)


def _conditions(load: PlayedLoad) -> tuple[object, ...]:
    """All that two loads must share for a fair comparison of their schemes."""
    return load.rung, load.send_buffer_bytes, *(repr(load.facts.get(key)) for key in _DISTINGUISHING_FACTS)


def buffer_text(send_buffer_bytes: int) -> str:
    return f"{format_bytes(send_buffer_bytes)} buffer" if send_buffer_bytes else "no buffer"


def factor_text(ratio: float | None) -> str:
    """A speed-up as the study writes it: 3.21 -> "×3.2", a slow-down 0.5 -> "/2.0", none "–"."""
    if ratio is None:
        return "–"
    return f"×{ratio:.2f}" if ratio >= 0.995 else f"/{1 / ratio:.2f}"


def tone_of(ratio: float | None) -> str:
    """The class that colours a speed-up: better, worse, or faint where it would be written as ×1.00."""
    if ratio is None or 0.995 <= ratio < 1.005:
        return "faint"
    return "better" if ratio > 1 else "worse"


def mean(values: Iterable[float]) -> float | None:
    """Arithmetic mean, as the study averages its ratios; None of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else None
