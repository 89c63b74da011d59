"""Rules of the pictures of simulated loads: what is drawn is what was sent, and every file stands alone."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.sim.load import Delivery, PlayedLoad, ResourceTimes
from mixedsched.errors import UsageError
from mixedsched.model.page import Page
from mixedsched.report.simulation import render_plot, strip_text, write_plot
from mixedsched.report.simulation._jitter import SLOTS, busy_from, jitter_view, slot_length_ms, slots_of
from mixedsched.report.simulation._loads import WIDTH, PageGroup, Panel, completions, factor_text, group_by_page
from mixedsched.report.simulation._palette import colours_of, oklch
from mixedsched.report.simulation._progress import area_above, progress_curves, step_line
from mixedsched.report.simulation._scatter import columns_of, speed_up_scatter
from mixedsched.report.simulation._sections import means_by_arm, sections_of
from mixedsched.report.simulation._strip import joined, schedule_strip, sent_by_resource, thinned
from mixedsched.report.svg import Scale
from tests.report.html_rules import html_problems

SVG = "{http://www.w3.org/2000/svg}"
PACKET_BYTES, PACE_MS = 1400, 10.0
HOSTILE = "<script>alert('1')</script>\"&\x01"

orders = st.lists(st.tuples(st.sampled_from("ABCDE"), st.integers(1, 60)), min_size=1, max_size=40)


def made_page(name: str = "made", ids: Sequence[str] = "ABC", packets: int = 4, **kinds: str) -> Page:
    """A page whose first resource is its document; the others are images below the fold unless `kinds` says otherwise."""
    resources: list[dict[str, Any]] = []
    for place, identity in enumerate(ids):
        kind = kinds.get(identity, "document" if place == 0 else "image")
        found = {"found_by": None} if place == 0 else {"found_by": ids[0], "found_when": "requested"}
        size = packets * PACKET_BYTES
        resources.append({"id": identity, "path": f"/{place}", "kind": kind, "body_bytes": size, "flags": [], **found})
    return Page.from_dict({"format": "mixedsched.page/1", "name": name, "resources": resources})


def made_load(
    page: Page,
    scheme: str,
    order: Sequence[tuple[str, int]],
    buffer_bytes: int = 0,
    deliveries: Sequence[Delivery] = (),
) -> PlayedLoad:
    """A load in which a packet takes 10 ms and a response is complete with its last one."""
    sent = sent_by_resource(order)
    times = tuple(
        ResourceTimes(item.id, 0.0, sent[item.id].first * PACE_MS, sent[item.id].last * PACE_MS)
        for item in page.resources
    )
    return PlayedLoad(page, scheme, "pipe", buffer_bytes, times, tuple(order), deliveries=tuple(deliveries))


def one_by_one(page: Page, packets: int = 4) -> list[tuple[str, int]]:
    return [(item.id, packets) for item in page.resources]


def in_turns(page: Page, packets: int = 4) -> list[tuple[str, int]]:
    return [(item.id, 1) for _ in range(packets) for item in page.resources]


def both(page: Page, packets: int = 4) -> list[PlayedLoad]:
    return [made_load(page, "rr", in_turns(page, packets)), made_load(page, "fifo", one_by_one(page, packets))]


def group_of(loads: Sequence[PlayedLoad]) -> PageGroup:
    (group,) = group_by_page(loads)
    return group


def tree_of(panel: Panel) -> ET.Element:
    return ET.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(panel.shapes)}</svg>')


def all_of(tree: ET.Element, tag: str, class_: str) -> list[ET.Element]:
    return [item for item in tree.iter(f"{SVG}{tag}") if class_ in (item.get("class") or "").split()]


def texts(tree: ET.Element, class_: str) -> list[str]:
    return ["".join(item.itertext()) for item in all_of(tree, "text", class_)]


def dashes(path: ET.Element) -> list[tuple[float, float]]:
    """(start, length) of each dash of a strip's path."""
    drawn, x = [], 0.0
    for kind, distance, length in re.findall(r"([Mm])(\d+) [\d.]+h(\d+)", path.get("d") or ""):
        x = float(distance) + (x if kind == "m" else 0.0)
        drawn.append((x, float(length)))
        x += float(length)
    return drawn


def cells_of(group: PageGroup, row: ET.Element) -> list[tuple[str, float, float]]:
    """(resource, start, cells) of a strip from left to right."""
    names = {class_: name for name, class_ in group.classes.items()}
    found = [(names[path.get("class") or ""], *dash) for path in row.iter(f"{SVG}path") for dash in dashes(path)]
    return sorted(found, key=lambda cell: cell[1])


# The strip


def test_the_strip_has_one_row_per_load_in_the_order_given() -> None:
    group = group_of(both(made_page()))
    tree = tree_of(schedule_strip(group))
    assert len(all_of(tree, "g", "cells")) == 2
    assert texts(tree, "arm") == ["rr", "fifo"]


def test_cells_are_the_order_on_the_wire_without_gaps() -> None:
    page = made_page()
    order = [("A", 2), ("B", 3), ("A", 2), ("C", 4), ("B", 1)]
    group = group_of([made_load(page, "rr", order)])
    (row,) = all_of(tree_of(schedule_strip(group)), "g", "cells")
    starts = [0, 2, 5, 7, 11]
    assert cells_of(group, row) == [
        (name, start, packets) for (name, packets), start in zip(order, starts, strict=True)
    ]


def test_all_rows_have_the_same_width_for_a_packet() -> None:
    page = made_page()
    longer = [*in_turns(page), ("A", 6)]  # as with lost packets that were sent again
    tree = tree_of(schedule_strip(group_of([made_load(page, "rr", in_turns(page)), made_load(page, "fifo", longer)])))
    widths = {re.sub(r".*scale\((\S+) .*", r"\1", row.get("transform") or "") for row in all_of(tree, "g", "cells")}
    assert len(widths) == 1


@given(orders, st.floats(1.0, 9.0))
def test_thinned_cells_are_proportional_to_packets(order: list[tuple[str, int]], packets_per_cell: float) -> None:
    cells = Counter[str]()
    for name, count in thinned(order, packets_per_cell):
        cells[name] += count
    packets = Counter[str]()
    for name, count in order:
        packets[name] += count
    for name, count in packets.items():
        assert abs(cells[name] - count / packets_per_cell) <= len(packets)
    assert abs(sum(cells.values()) - sum(packets.values()) / packets_per_cell) <= 1


@given(orders, st.integers(2, 9))
def test_a_thinned_cell_shows_a_resource_that_has_packets_in_it(order: list[tuple[str, int]], per_cell: int) -> None:
    wire = "".join(name * count for name, count in order)
    shown = "".join(name * count for name, count in thinned(order, per_cell))
    assert all(name in wire[place * per_cell : (place + 1) * per_cell] for place, name in enumerate(shown))


@given(orders)
def test_nothing_is_thinned_while_there_is_room(order: list[tuple[str, int]]) -> None:
    assert thinned(order, 1.0) == joined(order)
    assert all(before[0] != after[0] for before, after in pairwise(joined(order)))


def test_a_thinned_round_robin_shows_all_of_its_streams_alike() -> None:
    shown = Counter[str]()
    for name, count in thinned([(name, 1) for _ in range(300) for name in "ABCDEF"], 3):
        shown[name] += count
    assert shown == dict.fromkeys("ABCDEF", 100)


def test_completion_marks_stand_at_the_last_packets_above_the_fold() -> None:
    page = made_page(ids="ABCD", C="font")
    group = group_of([made_load(page, "fifo", one_by_one(page))])
    tree = tree_of(schedule_strip(group))
    (row,) = all_of(tree, "g", "cells")
    left, width = map(float, re.findall(r"translate\((\S+) .*scale\((\S+) ", row.get("transform") or "")[0])
    marks = [*all_of(tree, "path", "tick"), *all_of(tree, "path", "whole")]
    at = [float(re.findall(r"M(\S+)", mark.get("d") or "")[0]) for mark in marks]
    assert at == pytest.approx([left + 4 * width, left + 12 * width], abs=0.1)


def test_the_legend_is_in_order_of_request_with_sizes() -> None:
    page = made_page(ids="ABCDEFGH")
    late_b = made_load(page, "rr", in_turns(page))
    resources = sorted(late_b.resources, key=lambda item: item.id == "B")
    load = PlayedLoad(page, "rr", "pipe", 0, tuple(resources), late_b.order)
    entries = all_of(tree_of(schedule_strip(group_of([load]))), "g", "entry")
    said = [[item.text for item in entry.iter(f"{SVG}text")] for entry in entries]
    assert said == [[name, "5.6 kB"] for name in "ACDEFGHB"]


def test_a_resource_has_one_colour_in_all_rows_and_others_have_others() -> None:
    page = made_page(ids="ABCDEFGHIJ", D="font", E="script", F="stylesheet", G="xhr")
    group = group_of(both(page))
    colours = [group.colours[item.id] for item in page.resources]
    assert len({item.light for item in colours}) == len({item.dark for item in colours}) == len(colours)
    rows = all_of(tree_of(schedule_strip(group)), "g", "cells")
    assert [sorted({cell[0] for cell in cells_of(group, row)}) for row in rows] == [list("ABCDEFGHIJ")] * 2


def test_what_is_above_the_fold_is_stronger_than_the_rest() -> None:
    page = made_page(ids="AB", A="image", B="image")
    colours = colours_of(page.resources, frozenset("A"))

    def spread(colour: str) -> int:
        channels = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        return max(channels) - min(channels)

    assert spread(colours["A"].light) > 2 * spread(colours["B"].light)
    assert spread(colours["A"].dark) > 2 * spread(colours["B"].dark)


def test_colours_are_those_of_css() -> None:
    assert oklch(1, 0, 0) == "#ffffff"
    assert oklch(0, 0, 0) == "#000000"
    assert oklch(0.628, 0.2577, 29.23) == "#ff0000"


# Progress


def polygon_area(path: str) -> float:
    """Of a closed path made of M, H and V."""
    x = y = 0.0
    corners = []
    for command, first, second in re.findall(r"([MHV])([-\d.]+)(?: ([-\d.]+))?", path):
        x = float(first) if command in "MH" else x
        y = float(second) if command == "M" else float(first) if command == "V" else y
        corners.append((x, y))
    closed = [*corners, corners[0]]
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(closed))) / 2


def test_the_area_above_the_curve_is_byte_index() -> None:
    page = made_page(ids="ABCDEF", C="font", E="font")
    for row in group_of(both(page)).rows:
        time, share = Scale(0, 400, 30, 330), Scale(0, 1, 150, 50)
        shaded = polygon_area(area_above(completions(row.load, "atf"), time, share))
        byte_index_ms = shaded / 100 * 400 / 300  # plot height is 1, its width 400 ms
        assert byte_index_ms == pytest.approx(row.byte_index_ms["atf"], rel=1e-3)


def test_the_area_is_byte_index_by_count_too() -> None:
    page = made_page(ids="ABCDEF", C="font", E="font")
    (group,) = group_by_page(both(page), "count")
    for row in group.rows:
        steps = completions(row.load, "atf", "count")
        assert {weight for weight, _ in steps} == {1}
        area = polygon_area(area_above(steps, Scale(0, 400, 30, 330), Scale(0, 1, 150, 50)))
        assert area / 100 * 400 / 300 == pytest.approx(row.byte_index_ms["atf"], rel=1e-3)


def test_a_curve_rises_when_responses_are_complete_and_stops_at_the_end_of_the_axis() -> None:
    time, share = Scale(0, 100, 0, 100), Scale(0, 1, 100, 0)
    assert step_line([(1, 20.0), (3, 50.0), (4, 130.0)], time, share) == "M0.00 100.00H20.00V87.50H50.00V50.00H100.00"


def test_progress_has_a_plot_per_row_with_its_byte_index_and_the_baseline_in_the_others() -> None:
    page = made_page(ids="ABCD", D="font")
    group = group_of(both(page))
    tree = tree_of(progress_curves(group))
    assert texts(tree, "arm") == ["rr", "fifo"]
    assert texts(tree, "figure") == ["ByteIndex 145 ms  baseline", f"ByteIndex 100 ms  {factor_text(145 / 100)}"]
    assert len(all_of(tree, "path", "missing")) == 2
    assert len(all_of(tree, "path", "base")) == 1


def test_a_page_without_bytes_counts_responses() -> None:
    page = made_page(packets=0)
    times = tuple(ResourceTimes(item.id, 0.0, 5.0, 5.0) for item in page.resources)
    load = PlayedLoad(page, "rr", "pipe", 0, times, ())
    assert completions(load, "all") == [(1, 5.0)] * 3
    ET.fromstring(render_plot([load], ".svg"))


# Rows and baselines


def test_rows_are_compared_with_the_baseline_of_the_same_send_buffer() -> None:
    page = made_page()
    rr, fifo = in_turns(page), one_by_one(page)
    loads = [
        made_load(page, scheme, order, size) for scheme, order in (("rr", rr), ("fifo", fifo)) for size in (0, 14000)
    ]
    group = group_of(loads)
    assert [row.label for row in group.rows] == ["rr", "rr, 14 kB buffer", "fifo", "fifo, 14 kB buffer"]
    assert [group.rows.index(group.baseline_of(row)) for row in group.rows] == [0, 1, 0, 1]


def test_without_rr_the_first_scheme_is_the_baseline() -> None:
    page = made_page()
    group = group_of([made_load(page, "bucket", one_by_one(page)), made_load(page, "eps", in_turns(page))])
    assert group.baseline_scheme == "bucket"
    assert group.speed_up(group.rows[1], "atf") == pytest.approx(40 / 100)


def test_loads_that_would_look_alike_are_told_apart() -> None:
    page = made_page()
    order = tuple(in_turns(page))
    times = made_load(page, "rr", order).resources
    seeds = [PlayedLoad(page, "rr", "stack", 0, times, order, facts={"seed": seed}) for seed in (1, 2)]
    assert [row.label for row in group_of(seeds).rows] == ["rr (seed 1)", "rr (seed 2)"]
    assert [row.label for row in group_of([seeds[0], seeds[0]]).rows] == ["rr", "rr #2"]
    assert [row.label for row in group_of([seeds[0], made_load(page, "rr", order)]).rows] == [
        "rr (stack, seed 1)",
        "rr (pipe)",
    ]


def test_unlike_pages_of_one_name_stay_apart() -> None:
    pages = [made_page(packets=2), made_page(packets=3), made_page(packets=2)]
    groups = group_by_page([load for page in pages for load in both(page)])
    assert [len(group.rows) for group in groups] == [4, 2]


@pytest.mark.parametrize(
    ("ratio", "said"), [(3.214, "×3.21"), (0.5, "/2.00"), (1.0, "×1.00"), (0.999, "×1.00"), (None, "–")]
)
def test_factors_are_written_as_in_the_study(ratio: float | None, said: str) -> None:
    assert factor_text(ratio) == said


# Scatter


def pages_of_sizes(sizes: Sequence[int]) -> list[PlayedLoad]:
    return [load for size in sizes for load in both(made_page(f"page-{size}", packets=size), size)]


def test_the_scatter_has_a_point_per_page_and_scheme_but_the_baseline() -> None:
    groups = group_by_page(pages_of_sizes([9, 3, 5, 7]))
    (column,) = columns_of(groups, "atf")
    assert column.arm == "fifo"
    assert [point.place for point in column.points[0]] == [3, 0, 1, 2]  # rank by size
    panel = speed_up_scatter(groups, "atf")
    assert panel is not None
    hints = [item.findtext(f"{SVG}title") or "" for item in all_of(tree_of(panel), "circle", "dot")]
    assert [hint.split(",")[0] for hint in hints if hint] == ["page-9", "page-3", "page-5", "page-7"]


def test_points_above_one_are_faster_and_slower_ones_are_written_as_fractions() -> None:
    loads = []
    for size in (2, 3, 4):
        page = made_page(f"page-{size}", packets=size)
        slow = [*one_by_one(page, size)[1:], one_by_one(page, size)[0]]
        loads += [made_load(page, "rr", in_turns(page, size)), made_load(page, "last", slow)]
    loads += [made_load(load.page, "first", one_by_one(load.page, load.packets // 3)) for load in loads[::2]]
    panel = speed_up_scatter(group_by_page(loads), "atf")
    assert panel is not None
    tree = tree_of(panel)
    (one,) = all_of(tree, "line", "zero")
    dots = [item for item in all_of(tree, "circle", "dot") if item.find(f"{SVG}title") is not None]
    middle = float(one.get("y1") or 0)
    for tone, is_higher in (("better", True), ("worse", False)):
        ys = [float(item.get("cy") or 0) for item in dots if tone in (item.get("class") or "")]
        assert len(ys) == 3
        assert all((y < middle) is is_higher for y in ys)
    assert [said[0] for said in texts(tree, "figure")] == ["/", "×"]


def test_the_mean_bar_stands_at_the_arithmetic_mean() -> None:
    groups = group_by_page(pages_of_sizes([3, 5, 40]))
    panel = speed_up_scatter(groups, "atf")
    assert panel is not None
    tree = tree_of(panel)
    points = columns_of(groups, "atf")[0].points[0]
    dots = [item for item in all_of(tree, "circle", "dot") if item.find(f"{SVG}title") is not None]
    heights = [(math.log2(point.ratio), float(dot.get("cy") or 0)) for point, dot in zip(points, dots, strict=True)]
    (low, bottom), (high, top) = min(heights), max(heights)
    mean_ratio = sum(point.ratio for point in points) / len(points)
    (bar,) = all_of(tree, "rect", "mean")
    expected = bottom + (math.log2(mean_ratio) - low) / (high - low) * (top - bottom)
    assert float(bar.get("y") or 0) + 1 == pytest.approx(expected, abs=0.1)
    assert texts(tree, "figure") == [factor_text(mean_ratio)]


def test_results_with_a_send_buffer_are_hollow() -> None:
    loads = pages_of_sizes([3, 5, 7])
    buffered = [PlayedLoad(load.page, load.scheme, "pipe", 14_000, load.resources, load.order) for load in loads]
    panel = speed_up_scatter(group_by_page(loads + buffered), "atf")
    assert panel is not None
    tree = tree_of(panel)
    with_page = [item for item in all_of(tree, "circle", "dot") if "page-" in (item.findtext(f"{SVG}title") or "")]
    hollow = ["hollow" in (item.get("class") or "") for item in with_page]
    assert hollow == [False] * 3 + [True] * 3
    assert [("14 kB" in (item.findtext(f"{SVG}title") or "")) for item in with_page] == hollow


def test_two_pages_are_too_few_for_a_scatter() -> None:
    assert speed_up_scatter(group_by_page(pages_of_sizes([3, 5])), "atf") is None
    assert (
        speed_up_scatter(group_by_page([load for load in pages_of_sizes([3, 5, 7]) if load.scheme == "rr"]), "atf")
        is None
    )


def test_means_are_arithmetic_means_of_the_ratios() -> None:
    groups = group_by_page(pages_of_sizes([3, 5, 7]))
    ratios = [group.speed_up(group.rows[1], "atf") or 0.0 for group in groups]
    rr, fifo = means_by_arm(groups)
    assert rr.speed_up == {"atf": 1.0, "all": 1.0}
    assert fifo.speed_up["atf"] == pytest.approx(sum(ratios) / 3)
    assert (rr.best_on, fifo.best_on) == (0, 3)


def test_of_many_pages_three_are_drawn_in_detail() -> None:
    sections = sections_of(pages_of_sizes(range(2, 12)))
    assert len(sections.groups) == 10
    gains = [max(item.group.speed_up(row, "atf") or 0 for row in item.group.rows) for item in sections.pages]
    assert len(gains) == 3
    assert gains == sorted(gains, reverse=True)
    assert all(section.why for section in sections.pages)


def test_the_summary_names_rung_link_and_schemes() -> None:
    page = made_page()
    times = made_load(page, "rr", in_turns(page)).resources
    stack = PlayedLoad(page, "rr", "stack", 0, times, tuple(in_turns(page)), facts={"link": "4g", "seed": 1})
    assert sections_of([stack]).summary == "1 load on rung stack over 4g: rr"
    assert sections_of(both(page)).summary == "2 loads on rung pipe: rr, fifo"


# Jitter


def delivered(*moments: str) -> list[Delivery]:
    """One string per 10 ms: the resources whose packets are handed over then."""
    return [Delivery(name, (slot + 1) * PACE_MS) for slot, names in enumerate(moments) for name in names]


def test_slots_without_arrivals_are_blank_and_packets_of_one_moment_are_stacked() -> None:
    page = made_page()
    moments = ("A", "B", "", "CAB", "A", "", "", "BBCC", "C", "CA")
    deliveries = delivered(*moments)
    assert slot_length_ms([deliveries]) == PACE_MS
    assert slots_of(deliveries, PACE_MS) == {slot: list(names) for slot, names in enumerate(moments) if names}
    panel = jitter_view(group_of([made_load(page, "rr", in_turns(page), deliveries=deliveries)]))
    assert panel is not None
    (stacks,) = all_of(tree_of(panel), "g", "stacks")
    classes = {f"p0r{place}": name for place, name in enumerate("ABC")}
    columns: dict[float, dict[float, str]] = {}
    for path in stacks:
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path.get("d") or ""):
            columns.setdefault(float(x), {})[float(y)] = classes[path.get("class") or ""]
    drawn = ["".join(name for _, name in sorted(column.items(), reverse=True)) for _, column in sorted(columns.items())]
    assert drawn == [names for names in moments if names]  # from the bottom up
    lefts = sorted(columns)
    steps = [round((x - lefts[0]) / (lefts[1] - lefts[0])) for x in lefts]
    assert steps == [0, 1, 3, 4, 7, 8, 9]


def test_the_jitter_view_sums_up_how_much_came_together() -> None:
    page = made_page()
    panel = jitter_view(
        group_of(
            [made_load(page, "rr", in_turns(page), deliveries=delivered("A", "", "BCA", "B", "C", "", "ABC", "A"))]
        )
    )
    assert panel is not None
    assert texts(tree_of(panel), "figure") == ["at most 3 together"]
    assert "40 % came alone" in texts(tree_of(panel), "faint")


def test_the_excerpt_starts_where_several_responses_are_under_way() -> None:
    assert busy_from({0: ["A"], 1: ["A"], 2: ["B"], 3: ["C"], 4: ["D"], 5: ["E"], 6: list("BCDE")}) == 5
    assert busy_from({0: ["A"], 1: ["A"], 2: ["B"], 3: ["B"]}) == 0  # never two at once: from the beginning
    page = made_page()
    deliveries = [Delivery("ABC"[slot % 3], (slot + 1) * PACE_MS) for slot in range(5 * SLOTS)]
    loads = [made_load(page, name, in_turns(page), deliveries=deliveries) for name in ("rr", "fifo")]
    panel = jitter_view(group_of(loads))
    assert panel is not None
    assert "An excerpt, 20 ms to 920 ms" in panel.reading
    rows = all_of(tree_of(panel), "g", "stacks")
    assert [sum((path.get("d") or "").count("M") for path in row) for row in rows] == [SLOTS, SLOTS]


def test_there_is_no_jitter_view_without_deliveries() -> None:
    assert jitter_view(group_of(both(made_page()))) is None


# Files


def everything() -> list[PlayedLoad]:
    """Loads that have all sections, with names that want to break out."""
    loads: list[PlayedLoad] = []
    for size in (3, 5, 7):
        page = made_page(f"{HOSTILE} {size}", ids=("A", HOSTILE, "]]>", "</style>"), packets=size)
        jitter = delivered(*(name for name, _ in in_turns(made_page(), size)))
        loads.append(made_load(page, "rr", in_turns(page, size), deliveries=jitter))
        loads.append(made_load(page, f"fifo:{HOSTILE}", one_by_one(page, size)))
    return loads


def test_the_picture_is_well_formed_and_holds_all_sections() -> None:
    tree = ET.fromstring(render_plot(everything(), ".svg"))
    assert tree.tag == f"{SVG}svg"
    headings = texts(tree, "heading")
    assert [said.split(":")[0] for said in headings if not said.startswith("Speed-up")] == [
        "Schedule",
        "Progress",
        "Jitter",
    ] * 3
    assert len(headings) == 3 * 3 + 2
    _, _, width, height = map(float, (tree.get("viewBox") or "").split())
    assert width > WIDTH
    for group in tree.findall(f"{SVG}g"):
        assert float(re.findall(r"translate\(\S+ (\S+)\)", group.get("transform") or "")[0]) < height


class _Parsed(HTMLParser):
    """Tags and what they refer to; complains about tags that are not closed."""

    _VOID = frozenset({"meta", "link", "br"})

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags = Counter[str]()
        self.references: list[str] = []
        self.headings: list[str] = []
        self._open: list[str] = []
        self.feed(markup)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in self._VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "h3":
            self.headings.append(data.split(":")[0])


def test_the_page_stands_alone_without_scripts() -> None:
    page = _Parsed(render_plot(everything(), ".html"))
    assert html_problems(render_plot(everything(), ".html")) == []
    assert page.tags["script"] == page.tags["img"] == 0
    assert set(page.references) <= {"data:,"}
    assert page.headings[-4:] == ["Schedule", "Progress", "Jitter", "Figures"]
    assert page.tags["table"] == 1 + 3


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_hostile_names_are_text(suffix: str) -> None:
    drawn = render_plot(everything(), suffix)
    assert "<script" not in drawn
    assert "alert(&#39;1&#39;)" in drawn
    assert "\x01" not in drawn
    assert drawn.count("</style>") == 1


def test_the_page_tells_the_figures_behind_the_pictures() -> None:
    drawn = render_plot(both(made_page(ids="ABCD", D="font")), ".html")
    row = re.search(r'<tr><th scope="row">fifo</th>(.*?)</tr>', drawn)
    assert row is not None
    assert re.findall(r">([^<>]+)</td>", row[1]) == ["100 ms", "×1.45", "100 ms", "×1.45", "160 ms", "16"]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_the_same_loads_give_the_same_bytes_whatever_the_hash_seed(suffix: str) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_simulation_plots as made, hashlib;"
        "print(hashlib.sha256(made.render_plot(made.everything(), sys.argv[2]).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program, str(Path(__file__).parent), suffix],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_large_pages_stay_small_in_text() -> None:
    ids = [f"resource-{place}" for place in range(50)]
    page = made_page(ids=ids, packets=90)
    loads = [made_load(page, f"scheme-{number}", in_turns(page, 90)) for number in range(20)]
    assert all(load.packets == 4500 for load in loads)
    assert len(render_plot(loads, ".svg")) < 1_000_000


def test_a_page_of_thousands_of_resources_and_one_of_a_gigabyte_stay_small_in_text() -> None:
    many = made_page("many", ids=[f"r{place}" for place in range(5000)], packets=1)
    huge = made_page("huge", packets=750_000)
    loads = [made_load(many, "fifo", one_by_one(many, 1)), made_load(huge, "fifo", one_by_one(huge, 750_000))]
    assert len(render_plot(loads, ".svg")) < 1_500_000


def test_plots_are_written_by_suffix(tmp_path: Path) -> None:
    loads = both(made_page())
    write_plot(loads, tmp_path / "plot.svg")
    write_plot(loads, tmp_path / "plot.HTML")
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (tmp_path / "plot.HTML").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("name", ["plot.png", "plot", "plot.svg.gz"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"\.svg or \.html"):
        write_plot(both(made_page()), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_nothing_to_draw_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_plot([], tmp_path / "plot.svg")


def test_what_cannot_be_written_is_the_callers_to_explain(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"plot\.svg"):
        write_plot(both(made_page()), tmp_path / "missing" / "plot.svg")


def test_pictures_need_neither_statistics_nor_storage() -> None:
    program = (
        "import sys, mixedsched.report.simulation;"
        "print([name for name in ('scipy', 'sqlalchemy', 'jinja2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


# Terminals


def test_a_terminal_strip_reads_as_letters_without_colours() -> None:
    assert strip_text([("A", 2), ("B", 1), ("A", 2), ("B", 1)], 40).plain == "AABAAB"
    assert strip_text([("html", 1), ("app.js", 2)], 40, ids=["app.js", "html"]).plain == "BAA"


def test_a_terminal_strip_fits_its_width() -> None:
    strip = strip_text([(name, 1) for _ in range(100) for name in "ABC"], 30)
    assert len(strip.plain) == 30
    assert Counter(strip.plain) == dict.fromkeys("ABC", 10)
    assert strip_text([], 30).plain == ""


def test_a_terminal_strip_has_one_colour_per_resource() -> None:
    strip = strip_text([("A", 2), ("B", 1), ("A", 2)], 40)
    styles = [(strip.plain[span.start : span.end], span.style) for span in strip.spans]
    assert [letters for letters, _ in styles] == ["AA", "B", "AA"]
    assert styles[0][1] == styles[2][1] != styles[1][1]
