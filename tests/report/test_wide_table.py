"""Rules of tables on narrow terminals: what does not fit goes on in a further table, and no value is cut in two."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from mixedsched.lab.analysis import analyse
from mixedsched.report.compare import render_comparison
from mixedsched.report.wide_table import WideTable
from tests.report.made_up_runs import MadeUp, made_up_plan
from tests.report.terminal import printed

SCHEMES = ("eps", "mixed:high_media=N")
NETWORKS = ("cdn", "cable-codel", "dsl-bufferbloat", "commuter-4g")


def regrets() -> WideTable:
    table = WideTable(Text("Regret"))
    table.add_column("scheme")
    for name in NETWORKS:
        table.add_column(name, justify="right")
    for row, scheme in enumerate(SCHEMES):
        table.add_row(scheme, *(f"{row}{place}.5 %" for place in range(len(NETWORKS))))
    table.caption = Text("over the best of each place")
    return table


@given(st.integers(40, 200))
def test_every_value_stands_whole_in_a_row_of_its_name_at_any_width(width: int) -> None:
    lines = printed(regrets(), width).splitlines()
    assert max(map(len, lines)) <= width
    for row, scheme in enumerate(SCHEMES):
        of_scheme = " ".join(line for line in lines if line.split()[:1] == [scheme])
        assert re.findall(r"\d+\.5 %", of_scheme) == [f"{row}{place}.5 %" for place in range(len(NETWORKS))]


def test_what_fits_is_one_table_and_what_does_not_has_one_title_and_one_caption() -> None:
    wide, narrow = printed(regrets(), 120), printed(regrets(), 45)
    assert (wide.count("scheme"), narrow.count("scheme")) == (1, 3)
    assert [text.count("Regret") for text in (wide, narrow)] == [1, 1]
    assert [" ".join(text.split()).count("over the best of each place") for text in (wide, narrow)] == [1, 1]


def test_a_title_and_a_caption_may_be_wider_than_the_table() -> None:
    table = WideTable(Text("Regret of one scheme everywhere"))
    table.add_column("scheme")
    table.add_row("eps")
    table.caption = Text("over the best of each place")
    assert {"Regret of one scheme everywhere", "over the best of each place"} <= set(printed(table, 40).splitlines())


def test_text_wraps_between_words_but_not_before_a_unit() -> None:
    table = WideTable()
    for name in ("metric", "change"):
        table.add_column(name)
    table.add_row("LCP", "−12.3 % (−16.4 % to −8.1 %)")
    lines = [line.rstrip() for line in printed(table, 28).splitlines() if "%" in line]
    assert lines == [" LCP      −12.3 % (−16.4 %", "          to −8.1 %)"]


def test_a_word_longer_than_the_terminal_is_folded() -> None:
    table = WideTable()
    table.add_column("path")
    table.add_row("/" + "x" * 200)
    lines = printed(table, 50).splitlines()
    assert max(map(len, lines)) <= 50
    assert sum(line.count("x") for line in lines) == 200


def test_where_not_even_a_name_fits_it_is_folded_and_numbers_stay_whole() -> None:
    table = WideTable(gap=2)
    table.add_column("scheme")
    table.add_column("LCP", justify="right")
    table.add_row("zeroweight:other_image=1", "25.10 s")
    assert [line.rstrip() for line in printed(table, 20).splitlines() if "zero" in line] == [" zeroweigh  25.10 s"]


def test_names_that_look_like_markup_are_names() -> None:
    table = WideTable()
    table.add_column("[b]site[/b]")
    table.add_row("[/red] :heart: [bold]shop")
    assert "[b]site[/b]" in printed(table, 80)
    assert "[/red] :heart: [bold]shop" in printed(table, 80)


@pytest.mark.parametrize("width", [60, 80])
def test_values_of_a_comparison_are_never_cut(width: int) -> None:
    plan = made_up_plan(12, ("round-robin", "mixed"))
    text = printed(render_comparison(analyse(plan, MadeUp(plan, factors={"mixed": 0.85}).runs())), width)
    assert not re.search(r"(?m)(?:^|\s{3})(?:%|s|ms|kB)(?:\W|$)", text)
    assert "…" not in text
