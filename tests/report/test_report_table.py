"""Rules of the terminal table: the same verdicts, plain where there is no terminal."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison, Verdict
from mixedsched.lab.model import RunStatus
from mixedsched.report._words import pct_text
from mixedsched.report.compare import render_comparison
from mixedsched.report.compare._words import headline
from tests.report.made_up_runs import MadeUp, made_up_plan


def printed(comparison: Comparison, *, terminal: bool = False, width: int = 90) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, color_system="standard" if terminal else None
    )
    console.print(render_comparison(comparison))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def comparison(blocks: int = 12, arms: tuple[str, ...] = ("round-robin", "mixed")) -> Comparison:
    plan = made_up_plan(blocks, arms)
    return analyse(plan, MadeUp(plan, factors={"mixed": 0.85}).runs())


def test_headline_then_one_line_per_metric() -> None:
    lines = printed(comparison()).splitlines()
    assert lines[0].startswith("With mixed, the main content appeared")
    starts = [line.split()[0] for line in lines if "→" in line]
    assert starts == ["LCP", "SI", "FCP", "TBT", "CLS", "TTI", "HOL"]
    assert any("▼ better" in line and "−1" in line for line in lines)


def test_scores_stand_below_the_metrics_where_they_are_known() -> None:
    plan = made_up_plan(6, ("round-robin", "mixed"))
    runs = MadeUp(plan).runs()
    assert "score" not in printed(analyse(plan, runs))
    scored = [replace(run, page_load={**run.page_load, "score": {"mixed": 71}.get(run.arm, 88)}) for run in runs]
    lines = printed(analyse(plan, scored)).splitlines()
    said = lines.index("Lighthouse's performance score, median: round-robin 88, mixed 71")
    assert said > max(number for number, line in enumerate(lines) if "→" in line)


def test_metrics_outside_the_declared_family_are_marked() -> None:
    text = printed(comparison())
    assert " FCP *" in text
    assert " LCP *" not in text
    assert "* exploratory" in text


def test_no_colour_codes_without_a_terminal() -> None:
    assert "\x1b[" not in printed(comparison())
    assert "\x1b[" in printed(comparison(), terminal=True)


def test_names_that_look_like_markup_are_printed_as_they_are() -> None:
    assert "[red]x[/red] against [/]" in printed(comparison(arms=("[/]", "[red]x[/red]")))


def test_it_fits_eighty_columns() -> None:
    assert max(map(len, printed(comparison(), width=80).splitlines())) <= 80


def test_too_few_blocks_and_failures_are_said() -> None:
    plan = made_up_plan(4)
    runs = MadeUp(plan).runs()
    runs.append(replace(runs[0], attempt=0, status=RunStatus.FAILED, page_load={}))
    text = printed(analyse(plan, runs[2:]))
    assert "4 blocks cannot decide anything" in text
    assert "1 of 5 runs failed or were invalid" in text


@pytest.mark.parametrize(("blocks", "words"), [(1, "1 more block"), (3, "3 more blocks")])
def test_what_would_decide_is_counted_as_people_count(blocks: int, words: str) -> None:
    found = comparison(4)
    effects = tuple(replace(effect, more_blocks=blocks) for effect in found.effects)
    assert headline(effects[0]).endswith(f" About {words} would decide.")
    assert re.search(rf"\+{words.replace(' more', '')}\b", printed(replace(found, effects=effects), width=120))


def test_a_verdict_on_a_change_that_rounds_to_nothing_is_a_sentence() -> None:
    effect = replace(comparison().effects[0], change=-0.04, low=-0.06, high=-0.01, verdict=Verdict.BETTER)
    assert headline(effect) == (
        "With mixed, the main content appeared just as with round-robin (LCP; 95 % interval 0.0 % to 0.1 % sooner; 12 blocks)."
    )


@pytest.mark.parametrize(
    ("change_pct", "text"), [(-12.34, "−12.3 %"), (5.0, "+5.0 %"), (-0.04, "0.0 %"), (0.04, "0.0 %"), (0.06, "+0.1 %")]
)
def test_per_cent_have_a_sign_unless_they_round_to_nothing(change_pct: float, text: str) -> None:
    assert pct_text(change_pct) == text


def test_every_arm_has_its_own_table() -> None:
    text = printed(comparison(8, ("fifo", "round-robin", "mixed")))
    assert "round-robin against fifo, 8 blocks" in text
    assert "mixed against fifo, 8 blocks" in text
