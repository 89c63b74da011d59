"""Rules for metrics: which there are, how they are found, rated and told."""

from __future__ import annotations

import pytest

from mixedsched.core.metrics import (
    LIGHTHOUSE_METRICS,
    METRICS,
    PAGE_METRICS,
    QUICK_METRICS,
    TTI,
    Metric,
    Rating,
    Thresholds,
    metric_named,
    page_metrics,
)
from mixedsched.errors import UsageError
from mixedsched.lab.model import Run


def test_lighthouses_six_metrics_and_hol_stand_in_table_order() -> None:
    assert [item.key for item in METRICS] == ["fcp_ms", "lcp_ms", "si_ms", "tbt_ms", "cls", "tti_ms", "hol_bytes"]
    assert [item.key for item in METRICS if item.source == "run"] == ["hol_bytes"]


def test_a_metric_of_the_run_is_an_attribute_of_it() -> None:
    assert all(hasattr(Run, item.key) for item in METRICS if item.source == "run")


def test_a_metric_is_found_by_key_or_short_name() -> None:
    assert metric_named("lcp_ms") is metric_named("LCP") is metric_named("lcp")


def test_an_unknown_metric_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'lcp_ms'.*known: cls, fcp_ms"):
        metric_named("lcp_mss")


def test_times_are_compared_by_ratio_and_metrics_with_zeros_by_difference() -> None:
    assert {item.short for item in METRICS if item.scale == "difference"} == {"TBT", "CLS", "HOL"}
    assert all(item.change_unit == "%" and item.change_margin == 2.0 for item in METRICS if item.scale == "ratio")
    assert (metric_named("TBT").change_margin, metric_named("CLS").change_margin) == (10.0, 0.01)
    assert (metric_named("hol").change_margin, metric_named("hol").change_unit) == (12_000, "bytes")


@pytest.mark.parametrize(
    ("form_factor", "value", "rating"),
    [
        ("mobile", 2500.0, Rating.GOOD),
        ("mobile", 2501.0, Rating.FAIR),
        ("mobile", 4000.0, Rating.FAIR),
        ("mobile", 4001.0, Rating.POOR),
        ("desktop", 1201.0, Rating.FAIR),
        ("desktop", 2401.0, Rating.POOR),
        ("wristwatch", 100.0, None),
    ],
)
def test_lcp_is_rated_as_lighthouse_does(form_factor: str, value: float, rating: Rating | None) -> None:
    assert metric_named("LCP").rating(value, form_factor) is rating


def test_metrics_of_a_page_are_named_in_any_order_and_kept_in_that_of_tables() -> None:
    assert page_metrics(["TTI", "lcp", "fcp_ms", "lcp"]) == ("fcp_ms", "lcp_ms", "tti_ms")
    assert page_metrics(item.short for item in LIGHTHOUSE_METRICS) == PAGE_METRICS == (*QUICK_METRICS, TTI)


@pytest.mark.parametrize("names", [[], ["hol"], ["lcp", "speed"]])
def test_what_is_not_a_metric_of_a_page_is_refused(names: list[str]) -> None:
    with pytest.raises(UsageError):
        page_metrics(names)


def test_values_and_changes_carry_their_unit() -> None:
    lcp, tbt, cls = metric_named("LCP"), metric_named("TBT"), metric_named("CLS")
    assert (lcp.format(2345.6), cls.format(0.0841), lcp.format(None)) == ("2.35 s", "0.084", "–")
    assert (lcp.format_change(-12.34), tbt.format_change(14.2), cls.format_change(-0.012)) == (
        "−12.3 %",
        "+14 ms",
        "−0.012",
    )
    assert lcp.format_change(-12.34, signed=False) == "12.3 %"
    hol = metric_named("HOL")
    assert (hol.format(772_345.0), hol.format_change(-12_345)) == ("772 kB", "−12.3 kB")


def test_a_change_of_nothing_has_no_sign() -> None:
    assert metric_named("LCP").format_change(-0.01) == "0.0 %"
    assert metric_named("TBT").format_change(-0.2) == "0 ms"
    assert metric_named("CLS").format_change(0.0001) == "0.000"


def test_a_range_of_changes_has_two_ends_or_is_not_told() -> None:
    assert metric_named("lcp").format_range(-16.4, -8.1) == "−16.4 % to −8.1 %"
    assert metric_named("lcp").format_range(None, 1.0) == metric_named("lcp").format_range(1.0, None) == ""


@pytest.mark.parametrize("metric", METRICS, ids=lambda item: item.key)
def test_a_change_as_tested_is_told_as_it_was_given_and_margins_hold_on_both_scales(metric: Metric) -> None:
    margin = metric.change_margin
    assert metric.change(metric.step(-12.5)) == pytest.approx(-12.5)
    assert metric.step(margin) == pytest.approx(metric.margin_step)
    assert metric.is_within_margin(-margin, margin)
    assert not metric.is_within_margin(-margin, 1.01 * margin)
    assert not metric.is_within_margin(None, margin)


def test_every_metric_explains_itself_to_a_person() -> None:
    for item in METRICS:
        assert item.explanation.endswith(".")
        assert len(item.explanation) > 80
        assert item.event
        assert item.less != item.more
        assert set(item.thresholds) == ({"mobile", "desktop"} if item.source == "page" else set())


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="good < poor"):
        Thresholds(300, 200)
    with pytest.raises(ValueError, match="margin"):
        Metric("x_ms", "X", "X", "it came", "X.", margin=0.0)
