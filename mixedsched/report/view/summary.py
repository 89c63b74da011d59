"""A result in a few lines, whatever command made it: kept beside its report, so that a page of hundreds opens at once."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from mixedsched.core.metrics import Metric, metric_named
from mixedsched.errors import UsageError
from mixedsched.units import counted, few

SUMMARY_NAME = "summary.json"
FORMAT = "mixedsched.summary/1"
_EFFECTS_MOST = 300
_SENTENCES_MOST = 4
_NAMES_MOST = 3


class ResultKind(StrEnum):
    """The work that a folder of results is of."""

    COMPARE = "compare"
    STUDY = "study"
    TUNE = "tune"
    FINDER = "finder"
    AUDIT = "audit"
    CALIBRATE = "calibrate"

    @property
    def report(self) -> str:
        """Name of the file for people in a folder of such results."""
        return _FILES[self][0]

    @property
    def facts(self) -> str:
        """Name of the file with what the command prints with --json; "" where the database tells it again."""
        return _FILES[self][1]


_FILES = {
    ResultKind.COMPARE: ("report.html", ""),
    ResultKind.STUDY: ("report.html", ""),
    ResultKind.TUNE: ("tune.html", "tune.json"),
    ResultKind.FINDER: ("finder.html", "finder.json"),
    ResultKind.AUDIT: ("audit.html", "audit.json"),
    ResultKind.CALIBRATE: ("calibration.svg", "calibration.json"),
}


@dataclass(frozen=True, slots=True)
class EffectLine:
    """An effect: one arm against another, in one metric, at one place, or over the sites of a network."""

    site: str  # "" for an effect over several sites
    link: str
    arm: str
    baseline: str
    metric: str  # key
    change: float | None  # in the metric's unit of changes, as the ends of its interval
    low: float | None
    high: float | None
    verdict: str
    is_primary: bool
    blocks: int | None = None

    @property
    def name(self) -> str:
        metric = self.of
        return self.metric if metric is None else metric.short

    @property
    def of(self) -> Metric | None:
        """None for a metric of another version."""
        return _metric(self.metric)

    @property
    def change_text(self) -> str:
        return _told(self.of, self.change)

    @property
    def interval_text(self) -> str:
        """ "" where there is none."""
        ends = (self.low, self.high)
        return "" if None in ends else " to ".join(_told(self.of, end) for end in ends)

    @property
    def sentence(self) -> str:
        """For example "mixed: LCP 5.0 % later than sequential (+2.4 % to +8.0 %)"."""
        metric = self.of
        if metric is None or self.change is None:
            return f"{self.arm}: no result yet for {self.name} against {self.baseline}"
        size = metric.format_change(self.change, signed=False)
        is_nothing = metric.format_change(self.change) == size
        told = "as with" if is_nothing else f"{size} {metric.less if self.change < 0 else metric.more} than"
        interval = f" ({self.interval_text})" if self.interval_text else ""
        return f"{self.arm}: {metric.short} {told} {self.baseline}{interval}"


@dataclass(frozen=True, slots=True)
class ResultSummary:
    """What a page of all results says about one."""

    kind: ResultKind
    subject: str  # a site, or the name of a study
    networks: tuple[str, ...]
    tone: str  # better, worse, equivalent or undecided
    verdict: str  # a word or a few
    sentences: tuple[str, ...]
    report: str  # name of its file
    unit: str = ""
    done: int | None = None
    planned: int | None = None
    form_factor: str = ""
    rung: str = "browser"
    effects: tuple[EffectLine, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()  # that bear on whether two results can be compared
    format: str = FORMAT

    @property
    def is_whole(self) -> bool:
        return self.done is None or self.planned is None or self.done >= self.planned


def write_summary(
    folder: Path, kind: ResultKind, facts: Mapping[str, Any], circumstances: Mapping[str, Any] | None = None
) -> None:
    """Keep the summary of a result whose report was just written there. circumstances: versions and machine, if apart.

    Nothing depends on it: where it cannot be written, it is not there.
    """
    summary = summary_of(kind, {**(circumstances or {}), **facts})
    part = folder / f".{SUMMARY_NAME}.part"
    with suppress(OSError):
        part.write_text(json.dumps(asdict(summary), allow_nan=False), encoding="utf-8")
        part.replace(folder / SUMMARY_NAME)


def summary_of(kind: ResultKind, facts: Mapping[str, Any]) -> ResultSummary:
    """The summary of what a command prints with --json. Raises KeyError, TypeError or ValueError if that is something else."""
    return _SUMMARISED[kind](facts)


def _compare(facts: Mapping[str, Any]) -> ResultSummary:
    effects = tuple(_shown(item, facts["site"], facts["link"]) for item in facts["effects"])
    primary = [item for item in effects if item.is_primary]
    tone, verdict = _verdict_of(primary)
    return ResultSummary(
        ResultKind.COMPARE, facts["site"], (facts["link"],), tone, verdict, _sentences(primary), ResultKind.COMPARE.report,
        "blocks", facts["blocks"]["complete"], facts["blocks"]["planned"], facts.get("form_factor", ""),
        effects=effects[:_EFFECTS_MOST], facts=_circumstances(facts),
    )  # fmt: skip


def _study(facts: Mapping[str, Any]) -> ResultSummary:
    places, primary = facts["places"], set(facts["primary"])
    links = tuple(dict.fromkeys(place["link"] for place in places))
    over_sites = [_over_sites(item) for item in facts["summary"] if item["metric"] in primary]
    at_places = [_shown(item, item["site"], item["link"]) for item in facts["effects"] if item["metric"] in primary]
    verdicts = Counter(item.verdict for item in at_places)
    tone, verdict = _verdict_of(at_places if len(places) == 1 else over_sites)
    counts = ", ".join(f"{count} {word}" for word, count in verdicts.most_common())
    done = sum(place["blocks"] for place in places)
    return ResultSummary(
        ResultKind.STUDY, facts["study"], links, tone, verdict,
        (f"{counted(len(places), 'place')}: {counts or 'nothing is known yet'}", *_sentences(over_sites)),
        ResultKind.STUDY.report, "blocks", done, done + sum(place["missing"] for place in places), rung=facts["rung"],
        effects=(*over_sites, *at_places)[:_EFFECTS_MOST], facts=_circumstances(facts),
    )  # fmt: skip


def _tune(facts: Mapping[str, Any]) -> ResultSummary:
    outcome = facts["outcome"]
    effects = tuple(_shown(item, facts["site"], item["link"]) for item in facts["effects"])
    return ResultSummary(
        ResultKind.TUNE, facts["site"], tuple(facts["links"]), "better" if facts["shipped"] else "undecided",
        str(outcome).replace("_", " "), (facts["reason"],), ResultKind.TUNE.report, form_factor=facts["form_factor"],
        rung=facts["rung"], effects=effects[:_EFFECTS_MOST], facts=_circumstances(facts),
    )  # fmt: skip


def _finder(facts: Mapping[str, Any]) -> ResultSummary:
    best = facts["best_mean"]
    places = counted(len(facts["matrix"]), "place")
    said = f"{best['scheme']}: {best['figure_pct']:.1f} % mean regret over {places}" if best else ""
    return ResultSummary(
        ResultKind.FINDER, few(facts["sites"], _NAMES_MOST), tuple(facts["networks"]), "equivalent" if best else "undecided",
        f"best: {best['scheme']}" if best else "no scheme finished everywhere", (said,) if said else (),
        ResultKind.FINDER.report, rung=facts["played"]["rung"], facts=_circumstances(facts),
    )  # fmt: skip


# As in the report of an audit.
_AUDIT_TONES = {"good": "equivalent", "improvable": "better", "mixed": "worse"}
_AUDIT_WORDS = {
    "good": "good as it is",
    "improvable": "could be better",
    "mixed": "better here, worse there",
    "open": "not proved yet",
    "unmeasured": "not measured",
}


def _audit(facts: Mapping[str, Any]) -> ResultSummary:
    effects = tuple(
        _shown(item, facts["site"], network["name"]) for network in facts["networks"] for item in network["effects"]
    )
    chosen = [item for item in effects if item.is_primary and item.arm == facts["chosen"]]
    return ResultSummary(
        ResultKind.AUDIT, facts["site"], tuple(network["name"] for network in facts["networks"]),
        _AUDIT_TONES.get(facts["verdict"], "undecided"), _AUDIT_WORDS[facts["verdict"]], _sentences(chosen),
        ResultKind.AUDIT.report, "blocks", facts["blocks"]["complete"], facts["blocks"]["planned"], facts["form_factor"],
        effects=effects[:_EFFECTS_MOST], facts=_circumstances(facts),
    )  # fmt: skip


def _calibrate(facts: Mapping[str, Any]) -> ResultSummary:
    fitted, evidence = facts["summary"]["fitted"], facts["evidence"]
    known = [(name.upper(), item["median"]) for name, item in fitted.items() if item["median"] is not None]
    ranks = ", ".join(f"{name} {value:.2f}" for name, value in known)
    return ResultSummary(
        ResultKind.CALIBRATE, few([site["site"] for site in facts["sites"]], _NAMES_MOST),
        tuple(evidence["links"]), "equivalent",
        "fitted", (f"Spearman's rank correlation with Chromium, median: {ranks}",) if ranks else (),
        ResultKind.CALIBRATE.report, "loads", evidence["loads"], None, facts=_circumstances({**evidence}),
    )  # fmt: skip


_SUMMARISED = {
    ResultKind.COMPARE: _compare,
    ResultKind.STUDY: _study,
    ResultKind.TUNE: _tune,
    ResultKind.FINDER: _finder,
    ResultKind.AUDIT: _audit,
    ResultKind.CALIBRATE: _calibrate,
}


def _shown(effect: Mapping[str, Any], site: str, link: str) -> EffectLine:
    unit = "_pct" if "change" not in effect else ""  # earlier versions had no other unit
    return EffectLine(
        site, link, effect.get("arm", effect["scheme"]), effect.get("baseline_arm", effect["baseline"]),
        effect["metric"], effect[f"change{unit}"], effect[f"ci_low{unit}"], effect[f"ci_high{unit}"],
        effect["verdict"], effect.get("family", "primary") == "primary", effect.get("blocks"),
    )  # fmt: skip


def _over_sites(item: Mapping[str, Any]) -> EffectLine:
    return EffectLine(
        "", item["link"], item["scheme"], item["baseline"], item["metric"], item["median"], item["ci_low"],
        item["ci_high"], item["verdict"], True,
    )  # fmt: skip


def _verdict_of(effects: Sequence[EffectLine]) -> tuple[str, str]:
    """Tone and words: the verdict of a single effect, else how many there are of each."""
    counts = Counter(item.verdict for item in effects)
    if len(counts) == 1:
        (word,) = counts
        return word, word
    told = {"better", "worse"} & counts.keys()
    tone = told.pop() if len(told) == 1 else "undecided"
    return tone, ", ".join(f"{count} {word}" for word, count in counts.most_common()) or "undecided"


def _sentences(effects: Iterable[EffectLine]) -> tuple[str, ...]:
    return tuple(item.sentence for item in list(effects)[:_SENTENCES_MOST])


def _circumstances(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What should be alike where two results are compared."""
    named = {key: facts.get(key) for key in ("versions", "machine") if isinstance(facts.get(key), Mapping)}
    skipped = ("load_before", "memory_bytes")
    return tuple(
        (str(name), str(value))
        for table in named.values()
        if table is not None
        for name, value in table.items()
        if name not in skipped and isinstance(value, str | int | float)
    )


def _metric(key: str) -> Metric | None:
    try:
        return metric_named(key)
    except UsageError:
        return None


def _told(metric: Metric | None, change: float | None) -> str:
    if change is None:
        return "–"
    return f"{change:+.3g}" if metric is None else metric.format_change(change)
