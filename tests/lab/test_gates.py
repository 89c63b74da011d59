"""Gates: how a condition is written, when it is decided, and how long an experiment goes on for it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.stats import Looks
from mixedsched.errors import UsageError
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Verdict
from mixedsched.lab.gates import Gate, GateVerdict, is_decided, judge, looks_of, note_on_gates, until_decided
from mixedsched.lab.model import Plan, Run, RunStatus
from tests.lab.scripted import plan

LOOKS = Looks(6, 20)


def looked_at(looks: Looks | None = LOOKS, blocks: int = 20, **changes: object) -> Plan:
    return replace(plan(blocks=blocks, **changes), looks=looks)


def loads(made: Plan, change: float, noise: float, blocks: int, cls: float = 0.0) -> list[Run]:
    """Runs of the first blocks: arm B's LCP is changed by a share, with log-normal noise, and its CLS by so much."""
    rng = random.Random(5)
    runs = []
    for block in made.blocks[: blocks + 1]:
        base = 2000.0 * math.exp(rng.gauss(0, 0.1))
        for arm in block.order:
            is_changed = arm != made.baseline
            lcp_ms = base * (1 + change * is_changed) * math.exp(rng.gauss(0, noise) if is_changed else 0)
            metrics = {"lcp_ms": lcp_ms, "cls": 0.1 + cls * is_changed}
            runs.append(Run(block.index, 1, arm, 0, RunStatus.OK, page_load={"metrics": metrics}))
    return runs


def verdict(condition: str, made: Plan, runs: Sequence[Run]) -> GateVerdict:
    (result,) = judge([Gate.parse(condition)], analyse(made, runs).effects, made.looks)
    return result.verdict


@pytest.mark.parametrize(
    ("condition", "key", "is_above", "bound"),
    [
        ("lcp > +2%", "lcp_ms", True, 2.0),
        ("lcp_ms>2 %", "lcp_ms", True, 2.0),
        ("FCP < -1.5%", "fcp_ms", False, -1.5),
        ("si < −3%", "si_ms", False, -3.0),
        ("cls > +0.05", "cls", True, 0.05),
        ("tbt > 50ms", "tbt_ms", True, 50.0),
        ("hol > 12000", "hol_bytes", True, 12000.0),
    ],
)
def test_a_condition_names_a_metric_a_side_and_a_bound(condition: str, key: str, is_above: bool, bound: float) -> None:
    gate = Gate.parse(condition)
    assert (gate.metric.key, gate.is_above, gate.bound) == (key, is_above, bound)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("lcp", "cannot be read"),
        ("lcp > ", "cannot be read"),
        ("lcp >= 2%", "cannot be read"),
        ("lcp > 2% or fcp > 2%", "cannot be read"),
        ("lpc > 2%", "there is no metric 'lpc'"),
        ("lcp > 2", "wrong unit"),
        ("lcp > 200ms", "wrong unit"),
        ("cls > 5%", "wrong unit"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_way_to_write_it(condition: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Gate.parse(condition)


def test_a_gate_is_decided_by_the_side_on_which_the_whole_interval_lies() -> None:
    made = looked_at()
    much, little = loads(made, 0.10, 0.01, 12), loads(made, 0.0, 0.01, 12)
    assert verdict("lcp > +2%", made, much) is GateVerdict.FAILED
    assert verdict("lcp > +2%", made, little) is GateVerdict.MET
    assert verdict("lcp > +10%", made, much) is GateVerdict.UNDECIDED
    assert verdict("lcp < +5%", made, much) is GateVerdict.MET
    assert verdict("lcp < +5%", made, little) is GateVerdict.FAILED


def test_a_metric_that_never_moves_meets_a_gate_that_allows_no_change() -> None:
    made = looked_at(primary=["cls"])
    assert verdict("cls > 0", made, loads(made, 0, 0.01, 8)) is GateVerdict.MET
    assert verdict("cls > +0.05", made, loads(made, 0, 0.01, 8, cls=0.06)) is GateVerdict.FAILED


def test_too_few_blocks_decide_no_gate() -> None:
    for looks in (LOOKS, None):
        made = looked_at(looks)
        assert verdict("lcp > +2%", made, loads(made, 0.5, 0.001, 5)) is GateVerdict.UNDECIDED


@given(st.integers(1, 14), st.integers(1, 3), st.integers(2, 4))
def test_that_blocks_are_too_few_for_gates_is_known_before_the_first(blocks: int, gates: int, arms: int) -> None:
    """With so many blocks not even one change, always the same, is shown."""
    asked = [Gate.parse(f"{name} > +2%") for name in ("lcp", "fcp", "si")[:gates]]
    steps = tuple((block, 50.0) for block in range(1, blocks + 1))
    effects = [
        replace(effect, metric=gate.metric, differences=steps)
        for gate in asked
        for effect in analyse(looked_at(None), []).effects[:1] * (arms - 1)
    ]
    shows = {result.verdict for result in judge(asked, effects, None)}
    assert shows == ({GateVerdict.UNDECIDED} if note_on_gates(asked, blocks, arms) else {GateVerdict.FAILED})


def test_it_is_told_how_many_blocks_gates_take() -> None:
    asked = [Gate.parse("lcp > +2%"), Gate.parse("fcp > +2%")]
    assert note_on_gates(asked, 8, 5) == "8 blocks can never decide 8 questions of gates: 9 at least are needed"
    assert note_on_gates(asked[:1], 5, 2) == "5 blocks can never decide a gate: 6 at least are needed"
    assert note_on_gates([], 1, 2) == ""


def test_without_looks_several_gates_share_the_error_rate() -> None:
    made = looked_at(None, labels="ABC", blocks=6)
    runs = loads(made, 0.5, 0.001, 6)
    one, several = (analyse(made, runs).effects[:count] for count in (1, 99))
    gate = [Gate.parse("lcp > +2%")]
    assert [item.verdict for item in judge(gate, one, None)] == [GateVerdict.FAILED], "6 blocks show one thing"
    assert {item.verdict for item in judge(gate, several, None)} == {GateVerdict.UNDECIDED}, "but not two"


def test_by_looks_intervals_of_a_family_are_wider_than_that_of_a_single_question() -> None:
    alone = looked_at()
    family = replace(alone, primary=("lcp_ms", "cls"))
    runs = loads(alone, 0.05, 0.03, 20)
    narrow, wide = (analyse(item, runs).effect("B", "lcp_ms") for item in (alone, family))
    assert narrow.low is not None
    assert wide.low is not None
    assert wide.low < narrow.low
    assert (narrow.confidence, wide.confidence) == (0.95, 0.975)


@given(st.integers(1, 20), st.sampled_from([-0.05, 0.0, 0.01, 0.02, 0.05]))
def test_what_is_decided_after_some_blocks_stays_decided(blocks: int, change: float) -> None:
    made = looked_at()
    early = verdict("lcp > +2%", made, loads(made, change, 0.02, blocks))
    assert early in (GateVerdict.UNDECIDED, verdict("lcp > +2%", made, loads(made, change, 0.02, 20)))


def test_results_say_the_interval_relative_to_the_baseline() -> None:
    made = looked_at(primary=["cls", "lcp_ms"])
    comparison = analyse(made, loads(made, 0.10, 0.01, 12, cls=0.06))
    cls, lcp = (
        item.to_dict()
        for item in judge([Gate.parse("cls > +0.05"), Gate.parse("lcp > +2%")], comparison.effects, LOOKS)
    )
    assert cls["ci_low"] == pytest.approx(0.06)
    assert cls["ci_low_pct"] == pytest.approx(60)
    assert 5 < lcp["ci_low_pct"] == lcp["ci_low"] < lcp["ci_high_pct"] < 15
    wanted = {"condition": "cls > +0.05", "scheme": "B", "baseline": "A", "metric": "cls", "verdict": "failed"}
    assert wanted.items() <= cls.items()


def test_without_gates_primary_effects_decide() -> None:
    made = looked_at()
    for change, noise, expected in ((0.10, 0.01, Verdict.WORSE), (0.0, 0.002, Verdict.EQUIVALENT)):
        comparison = analyse(made, loads(made, change, noise, 10))
        assert comparison.effect("B", "lcp_ms").verdict is expected
        assert is_decided(comparison, [])
    assert not is_decided(analyse(made, loads(made, 0.01, 0.05, 20)), [])


def test_blocks_are_wanted_until_it_is_decided_and_never_before_a_later_one() -> None:
    made = looked_at()
    gates = [Gate.parse("lcp > +2%")]
    is_wanted = until_decided(made, gates)
    runs = loads(made, 0.10, 0.01, 20)
    of = {block.index: block for block in made.blocks}
    assert is_wanted(of[1], [])
    assert is_wanted(of[6], [run for run in runs if run.block <= 5])
    assert not is_wanted(of[13], [run for run in runs if run.block <= 12])
    undecided = [run for run in runs if run.block <= 5 and run.block != 3]
    assert not is_wanted(of[3], undecided), "it was given up: to fill it in would change what was looked at"
    assert is_wanted(of[6], undecided)


def test_the_most_is_three_times_the_least_unless_it_is_said() -> None:
    assert looks_of("decided", 8, None, 1) == Looks(8, 24)
    assert looks_of("decided", 8, 30, 1) == Looks(8, 30)
    assert looks_of(None, 8, None, 1) is None


@pytest.mark.parametrize(
    ("until", "blocks", "most", "questions", "said"),
    [
        (None, 8, 20, 1, "goes with --until"),
        ("bored", 8, 20, 1, "until 'bored'"),
        ("decided", 8, 7, 1, "at least 8 and at most 7"),
        ("decided", 3, 5, 1, "can never decide: 1 question needs 6"),
        ("decided", 6, 7, 12, "12 questions need 9"),
    ],
)
def test_a_design_that_cannot_decide_is_refused(
    until: str | None, blocks: int, most: int | None, questions: int, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        looks_of(until, blocks, most, questions)


def test_a_plan_without_looks_is_the_experiment_that_it_was() -> None:
    assert "looks" not in plan().to_dict()
    assert plan().digest == "683f84c00b40"
    looked = looked_at()
    assert looked.digest != plan().digest
    assert Plan.from_dict(looked.to_dict()) == looked
