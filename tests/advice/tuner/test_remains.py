"""What loads say of headers and lines of HTML alone: what they keep of the gain, and that nothing harmful is shipped."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.tuner.proof import Remains, judge, measured_lines, remains
from mixedsched.advice.tuner.result import Contender, Role
from mixedsched.advice.tuner.ship.lines import HtmlLine
from tests.advice.tuner.proofs import HEADERS, TUNED, Times, compared, contenders

LCP = {"lcp_ms": 1.0}
HURRY = Change(Action.HEADER, ((0, "/hero.jpg"),), "the largest paint", "u=0, i=?0")
PRELOAD = Change(Action.PRELOAD, ((0, "/hero.jpg"),), "found late")


def found(finalists: tuple[Contender, ...], best: str = "eps", **arms: Times) -> Remains:
    comparisons = {"slow": compared({TUNED: {"lcp_ms": 0.8}, "sequential": {}, "eps": {}, **arms}, 8)}
    judgement = judge(comparisons, finalists, best, LCP)
    return remains(comparisons, judgement, finalists, best, LCP, 1)


def test_headers_keep_a_share_of_the_gain() -> None:
    left = found(contenders(HEADERS), headers={"lcp_ms": 0.9})
    assert left.kept_pct[Role.HEADERS]["slow"] == pytest.approx(47, abs=5)
    low, high = left.kept_range_pct[Role.HEADERS]["slow"]
    assert low < left.kept_pct[Role.HEADERS]["slow"] < high
    assert left.withheld == {}


def test_headers_that_were_loaded_as_the_winner_keep_all_of_it() -> None:
    winner, *others = contenders()
    left = found((replace(winner, changes=(HURRY,)), *others))
    assert left.kept_pct == {Role.HEADERS: {"slow": 100.0}}
    assert (left.kept_range_pct, left.withheld) == ({}, {})


def test_headers_that_harm_are_withheld_although_simulation_likes_them() -> None:
    left = found(contenders(HEADERS), headers={"lcp_ms": 1.1})
    assert re.fullmatch(r"on slow it is (9|10)\.\d % slower than eps", left.withheld[Role.HEADERS])


def test_headers_that_gain_at_the_cost_of_the_first_paint_are_withheld() -> None:
    left = found(contenders(HEADERS), headers={"lcp_ms": 0.85, "fcp_ms": 1.1})
    assert "later than under sequential delivery" in left.withheld[Role.HEADERS]


def test_headers_that_gain_nothing_are_withheld() -> None:
    left = found(contenders(HEADERS), headers={"lcp_ms": 1.004})
    assert left.withheld[Role.HEADERS].startswith("measured, it gains nothing: LCP is +0.")


def test_lines_of_html_are_judged_alike() -> None:
    left = found(contenders(HEADERS, "html"), headers={"lcp_ms": 0.85}, html={"lcp_ms": 1.2})
    assert list(left.withheld) == [Role.HTML]


def test_each_line_is_told_with_what_its_own_arm_shows() -> None:
    finalists = tuple(
        replace(item, changes=(PRELOAD,)) if item.role is Role.HTML else item for item in contenders("html")
    )
    comparisons = {"slow": compared({TUNED: {"lcp_ms": 0.8}, "sequential": {}, "eps": {}, "html": {"lcp_ms": 0.9}}, 8)}
    alone, not_alone = measured_lines([HtmlLine(PRELOAD, {}), HtmlLine(HURRY, {})], finalists, comparisons, "eps", LCP)
    change, low, high = alone.measured_pct["slow"]
    assert low < change < high < 0
    assert change == pytest.approx(-10, abs=1)
    assert (alone.measured, not_alone.measured, not_alone.measured_pct) == ("html", None, {})
