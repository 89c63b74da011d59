"""A whole calibration, on loads that a known browser model has made up."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from mixedsched.advice.calibration._fit import Case, paints_of
from mixedsched.advice.calibration.loads import SiteLoads
from mixedsched.advice.calibration.result import STAGES, Calibration
from mixedsched.advice.calibration.session import OTHERS, START, CalibrationJob, _median, asking, calibrate, seeds_of
from mixedsched.advice.changes.observed import as_observed
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import NamedScheme, Player, Task, TimesReader
from mixedsched.model.browser_model import dump_browser_model, parse_browser_model
from mixedsched.model.profile import Direction, RandomLoss
from mixedsched.report.calibration import calibration_picture, render_calibration
from tests.advice.calibration.measured import NETWORK, PAGE, SCHEMES, TRUTH, loads_of, played, smaller
from tests.advice.changes.shop import HOSTS, made_up_run


def measured(share: float, name: str) -> SiteLoads:
    """Loads of a smaller shop, whose paints the true model has made of the page as a load shows it."""
    page = smaller(PAGE, share, name)
    observed = as_observed([made_up_run()], page, HOSTS, NETWORK.rtt_ms)
    case = Case(name, observed, {}, dict.fromkeys(SCHEMES, 0.0), played(observed.page, TRUTH))
    paints = paints_of(case, TRUTH)
    fcp_ms = {scheme: item.fcp_ms for scheme, item in paints.items()}
    return loads_of(page, fcp_ms, {scheme: item.lcp_ms for scheme, item in paints.items()})


def job(**changes: object) -> CalibrationJob:
    return CalibrationJob(**{"loads": (measured(0.3, "large"), measured(0.15, "small")), "grid": False, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found() -> Calibration:
    return calibrate(job(notes=("a note",)), Pool(TimesReader, 1), lambda _: None, "2026-11-22")


def test_constants_are_found_again_and_the_order_of_schemes_with_them(found: Calibration) -> None:
    assert found.model.script_ms_per_kb == pytest.approx(TRUTH.script_ms_per_kb, rel=0.2)
    for site in found.sites:
        assert site.agreement["fitted"]["lcp"].spearman == pytest.approx(1.0)
        assert site.agreement["fitted"]["lcp"].error_pct < 3
        assert site.agreement["manifest"]["lcp"].error_pct > site.agreement["fitted"]["lcp"].error_pct


def test_the_median_is_over_sites_with_a_ranking(found: Calibration) -> None:
    assert all(site.browser["lcp"].has_ranking for site in found.sites)
    summary = found.summary["fitted"]["lcp"]
    assert (summary.sites, summary.median) == (2, pytest.approx(1.0))


def test_sites_without_a_ranking_are_shown_and_do_not_count() -> None:
    flat = loads_of(smaller(PAGE, 0.1, "flat"), dict.fromkeys(SCHEMES, 800.0), dict.fromkeys(SCHEMES, 900.0))
    result = calibrate(
        CalibrationJob((measured(0.1, "small"), flat), grid=False), Pool(TimesReader, 1), lambda _: None, "2026-11-22"
    )
    assert [site.browser["lcp"].has_ranking for site in result.sites] == [True, False]
    assert result.summary["fitted"]["lcp"].sites == 1
    assert set(result.sites[1].simulated_ms["fitted"]["lcp"]) == set(SCHEMES)
    console = Console(width=130, file=io.StringIO(), no_color=True)
    console.print(render_calibration(result))
    told = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    assert "(no ranking)" in told
    assert "fitted median 1.00, 1 site;" in told


@pytest.mark.parametrize(("sites", "has_interval"), [(5, False), (6, True)])
def test_fewer_than_six_sites_have_a_median_and_no_interval(sites: int, has_interval: bool, found: Calibration) -> None:
    """The whole range of five holds the true median with a probability of 94 % only."""
    ranked = [item for item in found.sites if item.browser["lcp"].has_ranking]
    summary = _median(ranked[:1] * sites, "fitted", "lcp", 1)
    assert summary.sites == sites
    assert summary.median is not None
    assert (summary.low is not None, summary.high is not None) == (has_interval, has_interval)


def test_limits_that_the_loads_were_made_with_are_preferred_to_others() -> None:
    result = calibrate(CalibrationJob((measured(0.1, "small"),)), Pool(TimesReader, 1), lambda _: None, "2026-11-22")
    assert [item.name for item in result.variants] == ["as in Chromium's source", *OTHERS]
    limits = ("early_low", "early_medium", "low_per_host", "low_per_page", "ask_ms", "finds_at_layout")
    assert {name: getattr(result.model, name) for name in limits} == {name: getattr(TRUTH, name) for name in limits}


def test_what_is_stored_reads_back_with_its_evidence(found: Calibration) -> None:
    text = dump_browser_model(found.model, found.evidence)
    assert parse_browser_model(text, "chromium.toml") == found.model
    assert "2026-11-22" in found.model.source
    assert found.evidence["loads"] == 2 * 2 * len(SCHEMES)
    assert found.evidence["machine"] == {"cores": 2}


def test_facts_are_json_and_name_every_stage(found: Calibration) -> None:
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(facts["summary"]) == list(STAGES)
    assert [site["site"] for site in facts["sites"]] == ["large", "small"]
    assert facts["sites"][0]["browser"]["lcp"]["has_ranking"] is True
    assert facts["notes"] == ["a note"]


def test_the_picture_has_a_point_for_each_scheme_before_and_after(found: Calibration) -> None:
    picture = calibration_picture(found)
    assert picture.startswith("<?xml")
    assert picture.count('class="after"') == 2 * len(SCHEMES) + 1  # and one in the key
    assert picture.count('class="before"') == 2 * len(SCHEMES) + 1
    assert "sequential: measured" in picture


def test_links_that_lose_are_played_with_the_measured_seeds_others_once() -> None:
    loads = measured(0.15, "small")
    assert len(seeds_of(loads, "eps")) == 1
    lossy = replace(
        NETWORK, down=Direction(rate_bps=1_600_000, delay_us=75_000, queue_bytes=60_000, loss=RandomLoss(0.02))
    )
    assert seeds_of(replace(loads, network=lossy), "eps") == loads.seeds("eps")


class Endless:
    """As over a network that loses too much."""

    def play(self, tasks: Sequence[Task]) -> list[None]:
        return [None for _ in tasks]


def test_a_network_that_lets_no_load_end_is_an_error() -> None:
    with pytest.raises(PageLoadError, match="small, slow-4g cannot be simulated"):
        calibrate(CalibrationJob((measured(0.15, "small"),)), Endless(), lambda _: None, "2026-11-22")


def test_constants_that_delay_no_request_need_no_other_load() -> None:
    painting = replace(START, paint_ms=1.0, decode_ms_per_kb=0.3, document_ms_per_kb=0.4)
    tasks = [
        Task(Scenario(PAGE, NETWORK, model=model), NamedScheme("eps"), 1)
        for model in (painting, asking(painting), replace(START, script_ms_per_kb=0.3))
    ]
    own, bare, other = (Player(TimesReader).play(task) for task in tasks)
    assert own == bare != other
    assert asking(painting) == asking(START)
