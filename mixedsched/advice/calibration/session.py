"""The whole of a calibration, from measured loads to constants: what to play, what to fit, what came of it."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mixedsched.advice.calibration._fit import Case, fitted, left_out, loss, paints_of
from mixedsched.advice.calibration.agreement import TIE_RATIO, Noise, pooled_noise, rank_agreement, ranking_of
from mixedsched.advice.calibration.loads import SiteLoads
from mixedsched.advice.calibration.result import (
    METRIC_NAMES,
    STAGES,
    Agreement,
    Calibration,
    SiteResult,
    Summary,
    Variant,
)
from mixedsched.advice.changes.observed import ObservedPage, as_gated, as_listed, as_observed
from mixedsched.core import stats
from mixedsched.errors import PageLoadError
from mixedsched.lab.model import Run
from mixedsched.lab.play.scenario import JUDGE_MODEL, SEEDS, Scenario
from mixedsched.lab.play.task import LoadTimes, NamedScheme, Simulator, Task
from mixedsched.model.browser_model import IDEAL, BrowserModel

TimesSimulator = Simulator[LoadTimes | None]

ROUNDS_MOST = 3  # of playing and fitting in turn, as work on scripts delays what they ask for
SETTLED = 0.02  # a smaller change of a constant, in ms per kB, gives the same load
CLEARLY = 0.05  # share of the loss by which other limits than Chromium's must do better,
NOTHING = 1e-4  # and by this much beyond it, which is an error of a per cent
START = BrowserModel(
    "start",
    "as in Chromium's source: Blink's ResourceLoadScheduler, and ResourceScheduler of the network service",
    document_ms_per_kb=0.05,
    style_ms_per_kb=0.1,
    script_ms_per_kb=0.15,
    decode_ms_per_kb=0.02,
    paint_ms=50.0,
    ask_ms=30.0,
    early_low=2,
    early_medium=2,
    low_per_host=6,
    low_per_page=10,
    finds_at_layout=True,
)
# Other limits to try, one at a time.
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "nothing withheld early": {"early_low": None, "early_medium": None},
    "ten a host": {"low_per_host": 10},
    "no limit a host": {"low_per_host": None, "low_per_page": None},
    "styles find at once": {"finds_at_layout": False},
    "asks at once": {"ask_ms": 0.0},
    "asks late": {"ask_ms": 60.0},
}


@dataclass(frozen=True, slots=True)
class CalibrationJob:
    """The loads to fit to, and how."""

    loads: tuple[SiteLoads, ...]
    grid: bool = True  # whether to try other limits than Chromium's
    seed: int = 1  # of the bootstrap
    model_name: str = JUDGE_MODEL
    notes: tuple[str, ...] = ()


def calibrate(job: CalibrationJob, simulator: TimesSimulator, say: Callable[[str], None], date: str) -> Calibration:
    """Play what was measured, fit, and compare before and after. date: of today, for the record."""
    looks = [_first_run(loads) for loads in job.loads]
    say(f"{len(job.loads)} sites: playing the pages as their manifests list them")
    manifest = _cases(job.loads, [as_listed(loads.page) for loads in job.loads], IDEAL, simulator)
    say("playing them as a load showed them, without a browser model")
    gated = [as_gated(run, *_where(loads)) for loads, run in zip(job.loads, looks, strict=True)]
    observed = _cases(job.loads, gated, IDEAL, simulator)
    pages = [as_observed(_one_of_each(loads), *_where(loads)) for loads in job.loads]
    variants, cases = _fit(job, pages, simulator, say)
    best = _best(variants)
    evidence = _evidence(job, best, date)
    model = replace(best.model, name=job.model_name, source=_source(evidence))
    say("fitting again, each time without one site")
    without = left_out(cases[best.name], model)
    by_stage = {
        "manifest": [(case, IDEAL) for case in manifest],
        "observed": [(case, IDEAL) for case in observed],
        "fitted": [(case, model) for case in cases[best.name]],
        "left_out": list(zip(cases[best.name], without, strict=True)),
    }
    noise = {name: pooled_noise([loads.repeats(f"{name}_ms") for loads in job.loads]) for name in METRIC_NAMES}
    sites = tuple(
        _site_result(loads, {stage: by_stage[stage][place] for stage in STAGES}, noise)
        for place, loads in enumerate(job.loads)
    )
    summary = {stage: {name: _median(sites, stage, name, job.seed) for name in METRIC_NAMES} for stage in STAGES}
    return Calibration(model, summary, sites, variants, job.notes, evidence)


def _first_run(loads: SiteLoads) -> Run:
    """The load that shows the page: the first of the first scheme."""
    return loads.of(loads.arms[0].label)[0]


def _one_of_each(loads: SiteLoads) -> list[Run]:
    """The first load under each scheme."""
    return [loads.of(arm.label)[0] for arm in loads.arms]


def _where(loads: SiteLoads) -> tuple[Any, tuple[str, ...], float]:
    return loads.page, loads.hosts, loads.network.rtt_ms


def _fit(
    job: CalibrationJob, pages: Sequence[ObservedPage], simulator: TimesSimulator, say: Callable[[str], None]
) -> tuple[tuple[Variant, ...], dict[str, list[Case]]]:
    """Chromium's limits with fitted work first, then others with the work that this has found."""
    model, cases = START, []
    for number in range(1, ROUNDS_MOST + 1):
        say(f"playing them with a browser model, and fitting it: round {number}")
        cases = _cases(job.loads, pages, model, simulator)
        before, model = model, fitted(cases, model)
        if _is_settled(before, model):
            break
    variants = [Variant("as in Chromium's source", loss(cases, model), model)]
    found = {variants[0].name: cases}
    for name, changes in OTHERS.items() if job.grid else ():
        say(f"trying other limits: {name}")
        other = replace(model, **changes)
        cases = _cases(job.loads, pages, other, simulator)
        other = fitted(cases, other)
        variants.append(Variant(name, loss(cases, other), other))
        found[name] = cases
    return tuple(variants), found


def _best(variants: Sequence[Variant]) -> Variant:
    """Chromium's own limits, unless others explain the loads clearly better."""
    first, *others = variants
    better = [item for item in others if item.loss < first.loss * (1 - CLEARLY) - NOTHING]
    return min(better, key=lambda item: item.loss, default=first)


def _is_settled(before: BrowserModel, after: BrowserModel) -> bool:
    """Whether playing again would give the same loads. Only work on scripts and style sheets delays requests."""
    changes = (after.script_ms_per_kb - before.script_ms_per_kb, after.style_ms_per_kb - before.style_ms_per_kb)
    return all(abs(change) <= SETTLED for change in changes)


def _cases(
    loads: Sequence[SiteLoads], pages: Sequence[ObservedPage], model: BrowserModel, simulator: TimesSimulator
) -> list[Case]:
    tasks = []
    for place, (item, page) in enumerate(zip(loads, pages, strict=True)):
        scenario = Scenario(page.page, item.network, model=asking(model))
        for arm in item.arms:
            scheme = NamedScheme(arm.scheme, arm.mapping)
            tasks += [(place, arm.label, Task(scenario, scheme, seed)) for seed in seeds_of(item, arm.label)]
    results = simulator.play([task for *_, task in tasks])
    times: list[dict[str, list[LoadTimes]]] = [{} for _ in loads]
    for (place, label, _), result in zip(tasks, results, strict=True):
        if result is not None:
            times[place].setdefault(label, []).append(result)
    for item, found in zip(loads, times, strict=True):
        if not found:
            raise PageLoadError(
                f"{item.name} cannot be simulated",
                why="over this network no simulated load ever finishes",
                fix="leave this site out",
            )
    return [
        Case(item.name, page, item.medians("fcp_ms"), item.medians("lcp_ms"), found)
        for item, page, found in zip(loads, pages, times, strict=True)
    ]


def asking(model: BrowserModel) -> BrowserModel:
    """The model without the constants that delay paints but no request: whatever they are, the load is the same."""
    return replace(model, document_ms_per_kb=0.0, decode_ms_per_kb=0.0, paint_ms=0.0)


def seeds_of(loads: SiteLoads, arm: str) -> tuple[int, ...]:
    """Seeds of the measured links: a few where the network is random, else one."""
    return loads.seeds(arm)[: SEEDS if loads.network.is_random else 1]


def _site_result(
    loads: SiteLoads, stages: Mapping[str, tuple[Case, BrowserModel]], noise: Mapping[str, Noise | None]
) -> SiteResult:
    measured = {"fcp": loads.medians("fcp_ms"), "lcp": loads.medians("lcp_ms")}
    simulated: dict[str, dict[str, dict[str, float]]] = {}
    for stage, (case, model) in stages.items():
        paints = paints_of(case, model)
        simulated[stage] = {
            "fcp": {name: round(item.fcp_ms, 1) for name, item in paints.items()},
            "lcp": {name: round(item.lcp_ms, 1) for name, item in paints.items()},
        }
    hero = stages["fitted"][0].page.needs.largest
    by_id = stages["fitted"][0].page.page.by_id()
    return SiteResult(
        site=loads.site,
        link=loads.network.name,
        loads=len(loads.runs),
        failed=loads.failed,
        browser={name: ranking_of(loads.repeats(f"{name}_ms"), noise[name]) for name in METRIC_NAMES},
        agreement={
            stage: {name: _agreement(measured[name], by_metric[name]) for name in METRIC_NAMES}
            for stage, by_metric in simulated.items()
        },
        measured_ms=measured,
        simulated_ms=simulated,
        hero=by_id[hero[0]].path if hero else None,
        source=loads.source,
    )


def _agreement(measured: Mapping[str, float], simulated: Mapping[str, float]) -> Agreement:
    errors = [abs(simulated[name] / measured[name] - 1) * 100 for name in simulated]
    return Agreement(
        rank_agreement(measured, simulated),
        rank_agreement(measured, simulated, TIE_RATIO),
        round(statistics.median(errors), 1),
    )


def _median(sites: Sequence[SiteResult], stage: str, name: str, seed: int) -> Summary:
    """Where simulation knows no order while the browser has one, they do not agree at all: that counts as 0."""
    everywhere = [item.agreement[stage][name] for item in sites]
    of_all = statistics.median(item.spearman or 0.0 for item in everywhere)
    ranked = [item for item, site in zip(everywhere, sites, strict=True) if site.browser[name].has_ranking]
    if not ranked:
        return Summary(0, None, None, None, None, of_all)
    values = [item.spearman or 0.0 for item in ranked]
    interval = stats.resampled_median(values, seed)
    low, high = (interval.low, interval.high) if interval is not None else (None, None)
    with_ties = statistics.median(item.spearman_with_ties or 0.0 for item in ranked)
    return Summary(len(ranked), statistics.median(values), low, high, with_ties, of_all)


def _evidence(job: CalibrationJob, best: Variant, date: str) -> dict[str, Any]:
    facts = job.loads[0].facts
    machines = [loads.facts.get("machine", {}) for loads in job.loads]
    load_before = [machine["load_before"] for machine in machines if "load_before" in machine]
    return {
        "date": date,
        "machine": {name: value for name, value in facts.get("machine", {}).items() if name != "load_before"},
        "load_before": [min(load_before), max(load_before)] if load_before else [],
        "versions": dict(facts.get("versions", {})),
        "sites": [loads.name for loads in job.loads],
        "links": _distinct(loads.network.name for loads in job.loads),
        "schemes": _distinct(arm.label for loads in job.loads for arm in loads.arms),
        "loads": sum(len(loads.runs) for loads in job.loads),
        "limits": best.name,
    }


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _source(evidence: Mapping[str, Any]) -> str:
    chromium = evidence["versions"].get("chromium", "of unknown version")
    return (
        f"mixedsched calibrate, {evidence['date']}: {evidence['loads']} loads of {len(evidence['sites'])} sites in Chromium "
        f"{chromium} under {len(evidence['schemes'])} schemes over {', '.join(evidence['links'])}; limits {evidence['limits']}"
    )
