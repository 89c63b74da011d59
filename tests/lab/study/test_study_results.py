"""Rules of a study's results: places are judged as `compare` judges them, and sites are what one generalises over."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.metrics import METRICS
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import MetricFamily, Verdict
from mixedsched.lab.model import Arm, Block, Connection, Plan, Run, RunStatus
from mixedsched.lab.study.results import SitesSummary, StudyResult
from mixedsched.world.store import StoredLoad
from tests.examples import examples
from tests.lab.study.made_up_study import ARMS, MadeUpStudy, load, made_up_definition

ALL_METRICS = [metric.key for metric in METRICS]


def as_run(item: StoredLoad) -> Run:
    """The same load as `compare` stores it."""
    metrics = {key: value for key, value in item.values.items() if key.endswith("_ms") or key == "cls"}
    hol_bytes = item.values.get("hol_bytes")
    connection = Connection("h", "first", "", None if hol_bytes is None else int(hol_bytes), None, None, None)
    return Run(
        item.block,
        item.attempt,
        item.arm,
        item.position,
        RunStatus(item.status),
        item.reason,
        page_load={"metrics": metrics},
        quic=(connection,),
    )


def as_plan(made: MadeUpStudy) -> Plan:
    study, place = made.study, made.places[0]
    return Plan(
        site=place.site,
        site_digest="",
        link=place.link,
        link_facts={},
        form_factor="mobile",
        arms=tuple(Arm(label, label) for label in study.arms),
        baseline=study.baseline,
        primary=study.primary,
        seed=1,
        blocks=tuple(Block(number, number, study.arms) for number in range(1, study.blocks + 1)),
    )


def summary(result: StudyResult, scheme: str = "mixed", metric: str = "lcp_ms", link: str = "4g") -> SitesSummary:
    return next(
        item for item in result.summaries if (item.scheme, item.metric.key, item.link) == (scheme, metric, link)
    )


def lcp_of(*by_site: float, arm: str = "mixed", **changes: Any) -> StudyResult:
    """Sites where nothing is random, with these LCP under one arm and 1000 ms under all others."""
    made = MadeUpStudy(made_up_definition(), [f"site{n}" for n in range(len(by_site))], is_exact=True, **changes)
    values = {place.id: value for place, value in zip(made.places, by_site, strict=True)}
    return made.result(
        load(place, 1, label, {"lcp_ms": values[place.id] if label == arm else 1000.0})
        for place in made.places
        for label in ARMS
    )


# --- a place


@given(st.integers(0, 2**31), st.integers(1, 14), st.sampled_from([1.0, 0.97, 0.8]), st.booleans())
@examples(15)
def test_a_place_says_what_compare_says_of_the_same_loads(seed: int, blocks: int, factor: float, spoil: bool) -> None:
    definition = made_up_definition(blocks=blocks, primary=["lcp", "cls"], baseline="eps")
    made = MadeUpStudy(definition, ["shop"], factors={"mixed": factor}, seed=seed)
    loads = [replace(item, values={**item.values, "hol_bytes": float(item.block)}) for item in made.loads()]
    if spoil:
        loads[1] = replace(loads[1], values={**loads[1].values, "lcp_ms": None})
        loads[-1] = replace(loads[-1], status="failed", reason="timed out")
    comparison = analyse(as_plan(made), [as_run(item) for item in loads])
    place = made.result(loads).places[0]
    expected = [replace(effect, differences=()) for effect in comparison.effects] if place.blocks else []
    assert list(place.effects) == expected
    assert list(place.failed) == [arm.failed for arm in comparison.arms]


def test_the_declared_family_is_that_of_one_place() -> None:
    made = MadeUpStudy(made_up_definition(primary=["lcp", "fcp"]), factors={"mixed": 0.5})
    effect = made.result().places[0].effect("mixed", "lcp_ms")
    assert effect is not None
    assert effect.family is MetricFamily.PRIMARY
    assert effect.p_adjusted == pytest.approx(4 * effect.p)


def test_an_attempt_counts_if_every_arm_of_it_does_and_the_last_such_one_is_taken() -> None:
    made = MadeUpStudy(made_up_definition(blocks=7), ["shop"])
    loads = made.loads()
    again = [replace(item, attempt=2, values={**item.values, "lcp_ms": 5.0}) for item in loads if item.block == 3]
    torn = [replace(item, attempt=3) for item in loads if item.block == 4][:2]
    failed = [replace(item, attempt=2, status="invalid", reason="late packets") for item in loads if item.block == 5]
    place = made.result([*failed, *torn, *again, *loads]).places[0]
    assert place.blocks == (1, 2, 3, 4, 5, 6, 7)
    assert place.row(0, "lcp_ms")[2] == 5.0
    assert place.failed == (1, 1, 1)


def test_of_a_study_under_way_what_is_there_is_told_and_what_is_missing() -> None:
    made = MadeUpStudy(made_up_definition(), ["shop", "blog", "news"])
    shop, blog, _ = (place.id for place in made.places)
    some = [item for item in made.loads() if item.place_id == shop or (item.place_id == blog and item.block <= 4)]
    result = made.result(some[:-1])  # the last block has only two of its three loads
    assert [(place.to_dict()["blocks"], place.to_dict()["missing"]) for place in result.places] == [
        (10, 0),
        (3, 7),
        (0, 10),
    ]
    assert result.is_partial
    assert {effect["site"] for effect in result.to_dict()["effects"]} == {"shop", "blog"}
    assert summary(result).sites == 2


def test_metrics_that_no_load_has_are_left_out_unless_they_are_primary() -> None:
    made = MadeUpStudy(made_up_definition(primary=["lcp"]))
    simulated = [replace(item, values={"lcp_ms": 1.0, "hol_bytes": 2.0}) for item in made.loads()]
    assert [metric.key for metric in made.result(simulated).metrics] == ["lcp_ms", "hol_bytes"]
    assert [metric.key for metric in made.result([]).metrics] == ["lcp_ms"]


# --- places where nothing is random


@pytest.mark.parametrize(
    ("lcp_ms", "verdict"), [(900.0, Verdict.BETTER), (985.0, Verdict.EQUIVALENT), (1021.0, Verdict.WORSE)]
)
def test_where_nothing_is_random_one_block_decides_by_the_margin_and_has_no_interval(
    lcp_ms: float, verdict: Verdict
) -> None:
    result = lcp_of(lcp_ms)
    told = result.places[0].effects[0].to_dict()
    assert (told["verdict"], told["exact"], told["blocks"]) == (verdict, True, 1)
    assert told["change_pct"] == pytest.approx(lcp_ms / 10 - 100)
    assert (told["ci_low_pct"], told["ci_high_pct"], told["more_blocks"]) == (None, None, None)
    assert not result.is_partial


def test_one_block_of_a_random_network_decides_nothing() -> None:
    made = MadeUpStudy(made_up_definition(blocks=1), ["shop"], factors={"mixed": 0.1})
    assert {effect.verdict for effect in made.result().places[0].effects} == {Verdict.UNDECIDED}


# --- over sites


def test_sites_are_counted_by_verdict_and_their_changes_have_quantiles() -> None:
    found = summary(lcp_of(500.0, 800.0, 1010.0, 900.0, 1500.0)).to_dict()
    assert (found["sites"], found["better"], found["worse"], found["equivalent"], found["undecided"]) == (5, 3, 1, 1, 0)
    assert found["median_pct"] == pytest.approx(-10)
    assert (found["p10_pct"], found["p90_pct"]) == pytest.approx((-38.0, 30.4))
    assert (found["regret_mean_pct"], found["regret_worst_pct"]) == pytest.approx((8.66, 50), abs=0.01)


def test_a_metric_that_is_often_zero_is_told_in_its_own_unit_too() -> None:
    made = MadeUpStudy(made_up_definition(), ["a", "b", "c"], is_exact=True)
    cls = {"sequential": 0.0, "mixed": 0.2, "eps": 0.0}
    result = made.result(load(place, 1, arm, {"lcp_ms": 1.0, "cls": cls[arm]}) for place in made.places for arm in ARMS)
    found = summary(result, metric="cls").to_dict()
    assert (found["median_pct"], found["median"], found["unit"], found["worse"]) == (None, 0.2, "", 3)
    assert (found["regret_mean_pct"], found["regret_mean"]) == (None, pytest.approx(0.2))


def test_intervals_come_from_resampled_sites_and_need_six() -> None:
    few, more = summary(lcp_of(900.0, 910.0, 920.0, 930.0, 950.0)), summary(lcp_of(*range(900, 1000, 5)))
    assert (few.spread_pct.low, few.spread_pct.high) == (None, None)
    assert more.spread_pct.median is not None
    assert more.spread_pct.low is not None
    assert more.spread_pct.high is not None
    assert -10 < more.spread_pct.low < more.spread_pct.median < more.spread_pct.high < 0


@pytest.mark.parametrize(
    ("factor", "is_exact", "verdict"),
    [
        (0.99, False, Verdict.BETTER),  # within the margin of 2 %, but surely not zero
        (1.01, False, Verdict.WORSE),
        (1.0, False, Verdict.EQUIVALENT),
        (0.99, True, Verdict.EQUIVALENT),
        (0.9, True, Verdict.BETTER),
    ],
)
def test_over_sites_the_verdict_follows_the_rule_of_single_places(
    factor: float, is_exact: bool, verdict: Verdict
) -> None:
    sites = [f"site{number}" for number in range(8)]
    made = MadeUpStudy(made_up_definition(), sites, factors={"mixed": factor}, noise=0.001, seed=7, is_exact=is_exact)
    result = made.result()
    effects = [place.effect("mixed", "lcp_ms") for place in result.places]
    assert {effect.verdict for effect in effects if effect is not None} == {verdict}
    assert summary(result).verdict is verdict


def test_links_are_summarised_apart() -> None:
    made = MadeUpStudy(made_up_definition(), links=["4g", "dsl"])
    assert {(item.link, item.sites) for item in made.result().summaries} == {("4g", 3), ("dsl", 3)}


def test_regret_is_against_the_best_of_each_place_whichever_that_is() -> None:
    lcp = {"site0": (1000.0, 500.0, 1000.0), "site1": (1000.0, 1800.0, 800.0)}
    made = MadeUpStudy(made_up_definition(), list(lcp), is_exact=True)
    result = made.result(
        load(place, 1, arm, {"lcp_ms": lcp[place.site][index]})
        for place in made.places
        for index, arm in enumerate(ARMS)
    )
    found = {item.scheme: item for item in result.regrets}
    assert [item.scheme for item in result.regrets] == ["eps", "mixed", "sequential"]
    assert found["mixed"].mean == pytest.approx(50)
    assert (found["mixed"].worst, found["mixed"].worst_site, found["mixed"].wins) == (pytest.approx(125), "site1", 1)
    assert found["sequential"].share is None  # two sites say nothing about others


def test_shares_of_resamples_say_how_well_the_best_would_hold_for_other_sites() -> None:
    sure = lcp_of(500.0, 510.0, 520.0, 530.0)
    assert {item.scheme: item.share for item in sure.regrets} == {"mixed": 1.0, "sequential": 0.0, "eps": 0.0}
    split = lcp_of(500.0, 510.0, 1800.0, 1900.0)
    shares = [item.share for item in split.regrets]
    assert all(share is not None and 0.05 < share < 0.95 for share in shares)


# --- what must not matter, and what is promised


@given(st.integers(0, 2**31), st.randoms(use_true_random=False))
@examples(8)
def test_the_order_of_loads_and_places_does_not_matter(seed: int, rng: random.Random) -> None:
    made = MadeUpStudy(made_up_definition(blocks=6), links=["4g", "dsl"], factors={("shop", "eps"): 0.9}, seed=seed)
    loads = made.loads()
    shuffled = rng.sample(loads, len(loads))

    class Shuffled(MadeUpStudy):
        @property
        def places(self) -> Any:
            return list(reversed(made.places))

    other = Shuffled(made.study, made.sites, made.links)
    assert other.result(shuffled).to_dict() == made.result(loads).to_dict()


def test_what_is_resampled_depends_on_the_seed_of_the_study_alone() -> None:
    def shares(seed: int) -> list[float | None]:
        made = MadeUpStudy(made_up_definition(seed=seed), [f"site{number}" for number in range(9)])
        return [item.share for item in made.result().regrets]

    assert shares(1) == shares(1)
    assert shares(1) != shares(5)


def test_the_json_has_the_keys_of_the_contract_and_no_nan() -> None:
    told = MadeUpStudy(made_up_definition(), ["shop"]).result().to_dict()
    json.dumps(told, allow_nan=False)
    assert told["study"] == "made-up"
    assert {"site", "link", "blocks", "missing"} <= told["places"][0].keys()
    effect = {"site", "link", "scheme", "baseline", "metric", "change_pct", "ci_low_pct", "ci_high_pct", "p", "verdict"}
    assert effect <= told["effects"][0].keys()
    summary_keys = {
        "scheme",
        "baseline",
        "metric",
        "link",
        "sites",
        "median_pct",
        "p10_pct",
        "p90_pct",
        "better",
        "worse",
    }
    more = {"equivalent", "undecided", "ci_low_pct", "ci_high_pct", "regret_mean_pct", "regret_worst_pct"}
    assert summary_keys | more <= told["summary"][0].keys()


def test_failures_are_told_by_arm_and_reason_with_the_number_of_places() -> None:
    made = MadeUpStudy(made_up_definition(), ["shop", "blog"])
    extra = [
        replace(item, attempt=2, status="failed", reason="timed out")
        for item in made.loads()
        if item.arm == "eps" and item.block < 3
    ]
    assert [item.to_dict() for item in made.result([*made.loads(), *extra]).failures] == [
        {"scheme": "eps", "status": "failed", "reason": "timed out", "loads": 4, "places": 2}
    ]


def test_machines_are_counted_by_block_and_compared_where_pages_are_measured() -> None:
    made = MadeUpStudy(made_up_definition(rung="browser"), factors={"mixed": 0.9})
    loads = [replace(item, machine="fast" if item.block % 2 else "slow") for item in made.loads()]
    result = made.result(loads)
    assert result.machines == {"fast": 15, "slow": 15}
    assert result.machine_factor is not None
    assert [item.machine for item in result.machine_factor.machines] == ["fast", "slow"]
    assert made.result().machine_factor is None


def test_reasons_that_differ_in_numbers_alone_are_one() -> None:
    made = MadeUpStudy(made_up_definition(), ["shop"])
    reasons = {1: "timeout over 'bw2' after 36.5 s", 2: "timeout over 'bw2' after 52 s", 3: "no connection, error 7"}
    extra = [
        replace(item, attempt=2, status="failed", reason=reasons[item.block])
        for item in made.loads()
        if item.arm == "eps" and item.block in reasons
    ]
    found = made.result([*made.loads(), *extra]).failures
    told = [(item.reason, item.loads) for item in found]
    assert told == [("timeout over 'bw2' after … s", 2), ("no connection, error 7", 1)]


def test_medians_are_over_the_blocks_that_have_the_value() -> None:
    made = MadeUpStudy(made_up_definition(), ["shop"])
    lcp = {1: 5.0, 2: None, 3: 1.0, 4: 2.0}
    (place,) = made.result(
        load(made.places[0], block, arm, {"lcp_ms": value, "si_ms": 7.0 * block})
        for block, value in lcp.items()
        for arm in ARMS
    ).places
    assert [(item["lcp_ms"], item["si_ms"], item["cls"]) for item in place.medians()] == [(2.0, 17.5, None)] * 3
    assert made.result([]).places[0].medians()[0]["lcp_ms"] is None
