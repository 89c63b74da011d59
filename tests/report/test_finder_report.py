"""What the scheme finder tells its reader: the answer, how sure it is, every regret, ties and failures."""

from __future__ import annotations

import random
import re

from mixedsched.advice.finder.regret import find
from mixedsched.advice.finder.result import FinderResult
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.report.finder import render_finding
from mixedsched.report.finder._document import render_html
from mixedsched.report.finder._words import headlines
from tests.report.html_rules import html_problems
from tests.report.outline import Outline
from tests.report.terminal import printed


def made_up(is_random: bool = False, /, **lcp_ms: dict[str, float | None]) -> FinderResult:
    """By site: the LCP of each scheme with one seed, on a network called dsl, where nothing is random unless that is said."""
    loads = {
        (site, "dsl", scheme): [PaintEstimate(value / 2, value, value) if value is not None else None]
        for site, by_scheme in lcp_ms.items()
        for scheme, value in by_scheme.items()
    }
    return find(loads, {"lcp_ms": 1.0}, ("dsl",) if is_random else (), random.Random(1))


SPLIT = made_up(
    one={"eps": 1000.0, "fifo": 1100.0, "rr": 4000.0},
    two={"eps": 1000.0, "fifo": 1100.0, "rr": 4000.0},
    three={"eps": 1210.0, "fifo": 1100.0, "rr": 1000.0},
    four={"eps": 1000.0, "fifo": 1100.0, "rr": 1004.0},
)


def terminal(finding: FinderResult, notes: tuple[str, ...] = (), width: int = 100) -> str:
    return printed(render_finding(finding, notes), width)


def test_the_answer_names_both_yardsticks_where_they_differ() -> None:
    on_average, at_worst = headlines(SPLIT)
    assert re.search(
        r"everywhere is eps: on average 4\.9 % later than the best scheme of each place \(95 % interval", on_average
    )
    assert "at worst 21 % (three over dsl)" in on_average
    assert at_worst.startswith("By worst case, it is fifo: at worst 10 % (one over dsl); ")


def test_one_answer_is_told_once() -> None:
    told = headlines(made_up(a={"eps": 1.0, "rr": 2.0}, b={"eps": 1.0, "rr": 3.0}))
    assert len(told) == 1
    assert "eps, by mean and by worst case" in told[0]


def test_of_a_single_place_the_winner_and_its_ties_are_told() -> None:
    assert headlines(made_up(shop={"eps": 1000.0, "rr": 1004.0, "fifo": 2000.0})) == [
        "The best scheme for shop over dsl is eps, and rr cannot be distinguished from it."
    ]
    assert headlines(made_up(shop={"eps": 1000.0, "rr": 1020.0})) == [
        "The best scheme for shop over dsl is eps, and every other one is distinguishably worse."
    ]


def test_where_one_seed_does_not_tell_who_ties_the_answer_does_not_claim_it() -> None:
    assert headlines(made_up(True, shop={"eps": 1000.0, "rr": 1004.0, "fifo": 2000.0})) == [
        "The best scheme for shop over dsl is eps, but with a single seed it is not known which others tie with it."
    ]


def test_the_matrix_has_winners_with_ties_and_the_table_every_regret() -> None:
    text = terminal(SPLIT)
    assert "Best scheme for each place in simulation, by LCP" in " ".join(text.split())
    assert re.search(r"^ four +eps, 1 tie", text, re.MULTILINE)
    assert re.search(r"^ three +rr", text, re.MULTILINE)
    assert re.search(r"^ eps +4\.9 % +21 % +3 +3", text, re.MULTILINE)
    assert re.search(r"^ rr +\d+ % +300 % +1 +2", text, re.MULTILINE)


def test_the_heat_map_marks_winners_ties_and_shades_regret() -> None:
    cells = Outline(render_html(SPLIT, (), {})).cells
    assert ("shade-0 winner", "eps: 1000 ms, regret 0 %", "★") in cells
    assert ("shade-0 tie", "rr: 1.00 s, regret 0.4 %", "= 0") in cells
    assert ("shade-7", "rr: 4.00 s, regret 300 %", "300") in cells


def test_failures_are_told_by_scheme_and_shown_in_their_cell() -> None:
    finding = made_up(a={"eps": 1000.0, "rr": None}, b={"eps": 1100.0, "rr": 1000.0})
    assert "rr: 1 load never ended, at 1 of 2 places" in terminal(finding)
    text = render_html(finding, (), {})
    assert ("shade-0 failed", "rr: 1 of 1 loads never ended", "✗") in Outline(text).cells
    assert "rr: 1 load never ended" in text


def test_where_nothing_finished_everywhere_no_scheme_is_recommended() -> None:
    finding = made_up(a={"eps": None, "rr": 1000.0}, b={"eps": 1000.0, "rr": None})
    assert headlines(finding) == ["No scheme let every load end, so none can be used everywhere."]


def test_the_html_needs_no_network_and_no_script_and_hostile_names_do_nothing() -> None:
    hostile = '"><script>alert(1)</script>[bold red]\x1b[2J'
    finding = made_up(**{hostile: {"eps": 1000.0, "rr": 1100.0}, "b": {"eps": 1000.0, "rr": 900.0}})
    text = render_html(finding, (hostile,), {"command": hostile, "machine": {"processors": 2}})
    assert Outline(text).stands_alone
    assert html_problems(text) == []
    assert render_html(finding, (hostile,), {"command": hostile, "machine": {"processors": 2}}) == text
    assert "\x1b" not in terminal(finding, (hostile,))
    assert "[bold red]" in terminal(finding, (hostile,), width=300)
