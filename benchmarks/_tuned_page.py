"""The page that tells what tuning found: a line for each site and network, and what all of them say together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_WORSE_PCT = 2.0  # than sequential, beyond which nothing is to be shipped
_AIM_PCT = -10.0
_BOUND_SHARE = 0.1  # so near to the bound there is nothing more to be had

_HEAD = """# Tuned results of the bundled sites

Results of `mixedsched tune` for each site and network; `python -m benchmarks.tuned` makes them, and this page. Each folder
contains `tune.json`, the report, and the files to ship, if there are any.

- *LCP today*: of the best baseline, its median in the proof; simulated where no browser was used (marked ~).
- *change*: of the LCP, tuned against that baseline, over new seeds, with its 95 % interval; simulated ones have none.
- *room*: how far the baseline's simulated LCP is above the earliest that the network allows; below 10 % no order can gain 10 %.
- *FCP*, *LCP against sequential*: measured changes, where `sequential` was an arm of the proof.

| site | network | outcome | best baseline | LCP today | change | room | FCP | LCP against sequential |
|---|---|---|---|---:|---:|---:|---:|---:|
"""


def page_of(found: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """found: name of the folder, and what tune.json says."""
    rows = [_row(name, facts, network) for name, facts in found for network in facts["networks"]]
    return _HEAD + "\n".join(rows) + "\n" + _summary([facts for _, facts in found])


def _row(name: str, facts: dict[str, Any], network: dict[str, Any]) -> str:
    link, baseline = network["name"], facts["baseline"]
    change = _effect(network, _winner(facts), "lcp_ms")
    today_ms = _median(network, baseline)
    room_pct = _room_pct(facts, link)
    cells = [
        f"[{facts['site']}]({name}/tune.html)",
        link,
        facts["outcome"].replace("_", " "),
        baseline,
        f"{today_ms / 1000:.2f} s" if today_ms else f"~{_simulated_ms(facts, baseline, link) / 1000:.2f} s",
        _change(change) if change else _simulated_change(facts, link),
        f"{room_pct:.0f} %",
        _change(_effect(network, _winner(facts), "fcp_ms")),
        _change(_against_sequential(facts, network, "lcp_ms")),
    ]
    return f"| {' | '.join(cells)} |"


def _winner(facts: dict[str, Any]) -> str:
    """Label of the arm that was proved: the race may have preferred the second best of the search. It is told first."""
    label: str = next((item["label"] for item in facts["contenders"] if item["role"] == "tuned"), "tuned")
    return label


def _effects(network: dict[str, Any]) -> list[dict[str, Any]]:
    return network["proof"]["effects"] if network["proof"] else []


def _effect(network: dict[str, Any], arm: str, metric: str) -> dict[str, Any] | None:
    return next((item for item in _effects(network) if item["arm"] == arm and item["metric"] == metric), None)


def _against_sequential(facts: dict[str, Any], network: dict[str, Any], metric: str) -> dict[str, Any] | None:
    if facts["baseline"] == "sequential":
        return _effect(network, _winner(facts), metric)
    listed = network["against_sequential"] or []
    return next((item for item in listed if item["arm"] == _winner(facts) and item["metric"] == metric), None)


def _median(network: dict[str, Any], label: str) -> float | None:
    arms = network["proof"]["arms"] if network["proof"] else []
    median: float | None = next((arm["median"]["lcp_ms"] for arm in arms if arm["arm"] == label), None)
    return median


def _simulated_ms(facts: dict[str, Any], label: str, link: str) -> float:
    found: float = facts["baselines"][label]["estimate_ms"][link]["lcp_ms"]
    return found


def _simulated_change(facts: dict[str, Any], link: str) -> str:
    if facts["tuned"] is None:
        return "–"
    tuned_ms = facts["tuned"]["estimate_ms"][link]["lcp_ms"]
    return f"~{(tuned_ms / _simulated_ms(facts, facts['baseline'], link) - 1) * 100:+.1f} %"


def _room_pct(facts: dict[str, Any], link: str) -> float:
    bound_ms = facts["bounds"][link]["lcp_ms"]
    return (_simulated_ms(facts, facts["baseline"], link) / bound_ms - 1) * 100 if bound_ms else 0.0


def _change(effect: dict[str, Any] | None) -> str:
    if effect is None or effect["change_pct"] is None:
        return "–"
    interval = ""
    if effect["ci_low_pct"] is not None:
        level = effect.get("confidence", 0.95)
        told = "" if level >= 0.95 else f"{level:.1%}: "  # of few blocks there is no interval of 95 %
        interval = f" ({told}{effect['ci_low_pct']:+.1f} to {effect['ci_high_pct']:+.1f})"
    return f"{effect['change_pct']:+.1f} %{interval}"


def _summary(found: Sequence[dict[str, Any]]) -> str:
    shipped = [facts for facts in found if facts["shipped"]]
    confirmed = [facts for facts in found if facts["outcome"] == "confirmed"]
    worse = [
        f"{facts['site']} over {network['name']} ({effect['metric']})"
        for facts in shipped
        for network in facts["networks"]
        for metric in ("fcp_ms", "lcp_ms")
        if (effect := _against_sequential(facts, network, metric)) is not None
        and effect["ci_low_pct"] is not None
        and effect["ci_low_pct"] > _WORSE_PCT
    ]
    unproved = sum(facts["outcome"] == "simulated" for facts in shipped)
    by_ten = sum(
        all(
            (effect := _effect(network, _winner(facts), "lcp_ms")) is not None and effect["change_pct"] <= _AIM_PCT
            for network in facts["networks"]
        )
        for facts in confirmed
    )
    near = sum(
        all(_room_pct(facts, network["name"]) < _BOUND_SHARE * 100 for network in facts["networks"]) for facts in found
    )
    counted = f"{len(found)} tuning{'s' if len(found) != 1 else ''}"
    return (
        f"\n{counted}: {len(confirmed)} confirmed in the browser, {by_ten} of them by 10 % or more; "
        f"{len(shipped)} with something to ship, {unproved} of them only simulated. "
        f"In {near} the best baseline is within 10 % of the earliest LCP that the "
        f"network allows. Shipped, and confirmed more than {_WORSE_PCT:.0f} % worse than sequential in FCP or LCP: "
        f"{', '.join(worse) if worse else 'none'}.\n"
    )
