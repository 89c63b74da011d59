"""The table of all tuned sites: what was measured has its interval, what was simulated is marked, the worst is named."""

from __future__ import annotations

from typing import Any

from benchmarks._tuned_page import page_of

WINNER = "tuned 2"  # of the race


def effect(metric: str, change: float, low: float, high: float, baseline: str = "eps") -> dict[str, Any]:
    return {
        "arm": WINNER,
        "baseline": baseline,
        "metric": metric,
        "change_pct": change,
        "ci_low_pct": low,
        "ci_high_pct": high,
    }


def tuning(site: str, *, proof: bool = True, fcp: float = -1.0) -> dict[str, Any]:
    estimate = {"estimate_ms": {"slow-4g": {"lcp_ms": 3000.0}}}
    effects = [effect("lcp_ms", -12.3, -20.0, -4.0), effect("fcp_ms", fcp, fcp - 1, fcp + 1)]
    against = [
        effect("lcp_ms", -15.0, -22.0, -6.0, "sequential"),
        effect("fcp_ms", fcp, fcp - 1, fcp + 1, "sequential"),
    ]
    return {
        "site": site,
        "outcome": "confirmed" if proof else "simulated",
        "shipped": True,
        "baseline": "eps",
        "baselines": {"eps": estimate},
        "tuned": {"estimate_ms": {"slow-4g": {"lcp_ms": 2400.0}}},
        "bounds": {"slow-4g": {"lcp_ms": 2000.0}},
        "contenders": [{"label": WINNER, "role": "tuned"}, {"label": "tuned", "role": "tuned"}],
        "networks": [
            {
                "name": "slow-4g",
                "proof": {"arms": [{"arm": "eps", "median": {"lcp_ms": 3456.0}}], "effects": effects}
                if proof
                else None,
                "against_sequential": against if proof else None,
            }
        ],
    }


def test_what_was_measured_stands_with_its_interval_and_links_to_its_report() -> None:
    (row,) = [line for line in page_of([("shop-slow-4g", tuning("shop"))]).splitlines() if line.startswith("| [")]
    assert row == (
        "| [shop](shop-slow-4g/tune.html) | slow-4g | confirmed | eps | 3.46 s | -12.3 % (-20.0 to -4.0) | 50 % "
        "| -1.0 % (-2.0 to +0.0) | -15.0 % (-22.0 to -6.0) |"
    )


def test_what_was_simulated_is_marked_and_has_no_interval() -> None:
    (row,) = [line for line in page_of([("shop", tuning("shop", proof=False))]).splitlines() if line.startswith("| [")]
    assert row == "| [shop](shop/tune.html) | slow-4g | simulated | eps | ~3.00 s | ~-20.0 % | 50 % | – | – |"


def test_what_is_shipped_and_worse_than_sequential_is_named() -> None:
    good, bad = page_of([("a", tuning("shop"))]), page_of([("a", tuning("shop")), ("b", tuning("mill", fcp=4.0))])
    assert "1 tuning: 1 confirmed in the browser, 1 of them by 10 % or more" in good
    assert "1 with something to ship, 0 of them only simulated." in good
    assert "1 with something to ship, 1 of them only simulated." in page_of([("a", tuning("shop", proof=False))])
    assert good.rstrip().endswith("worse than sequential in FCP or LCP: none.")
    assert bad.rstrip().endswith("worse than sequential in FCP or LCP: mill over slow-4g (fcp_ms).")
