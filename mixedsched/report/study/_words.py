"""The sentences of a study, the same on the terminal and in the report."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.core.metrics import Metric
from mixedsched.lab.comparison import Verdict
from mixedsched.lab.study.results import SchemeRegret, SitesSummary, StudyResult
from mixedsched.report._words import against_text, direction_text, verdict_text
from mixedsched.units import capital, counted


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer for one link, or for all of them."""

    verdict: Verdict
    sentence: str

    @property
    def tone(self) -> str:
        """The style class."""
        return self.verdict.value

    @property
    def chip(self) -> str:
        return verdict_text(self.verdict)


def headlines(result: StudyResult) -> list[Headline]:
    """For each link the scheme that does best in the first primary metric, against the baseline."""
    metric = result.metrics[0]
    found = []
    for link in result.links:
        own = [item for item in result.summaries if item.link == link and item.metric is metric and item.sites]
        best = min(own, key=lambda item: (_middle(item), item.scheme), default=None)
        if best is not None:
            found.append(Headline(best.verdict, _sentence(best, among=len(own))))
    return found


def _middle(summary: SitesSummary) -> float:
    return summary.spread.median if summary.spread.median is not None else float("inf")


def _sentence(best: SitesSummary, among: int) -> str:
    metric, middle = best.metric, best.spread.median
    assert middle is not None
    where = f"in the median of {best.sites} sites" if best.sites > 1 else "on its one site"
    interval = f"; 95 % interval over sites {ends_in_words(best)}" if best.spread.low is not None else ""
    if middle >= 0:
        others = "no other scheme does" if among > 1 else f"{best.scheme} does not do"
        nearest = f"with {best.scheme}, " if among > 1 else ""
        moved = direction_text(metric, middle)
        return (
            f"Over {best.link}, {others} better than {best.baseline} {where}: {nearest}{metric.event} {moved} "
            f"({metric.short}{interval}). {capital(counts_in_words(best))}."
        )
    return (
        f"Over {best.link}, with {best.scheme} {metric.event} {against_text(metric, middle, best.baseline)}, "
        f"{where} ({metric.short}{interval}). {capital(counts_in_words(best))}."
    )


def ends_in_words(summary: SitesSummary) -> str:
    """The interval over sites: "−16.4 % to −8.1 %"; "" if there is none."""
    return summary.metric.format_range(summary.spread.low, summary.spread.high)


def median_in_words(summary: SitesSummary) -> str:
    middle = summary.spread.median
    return "no paired value" if middle is None else summary.metric.format_change(middle)


def spread_in_words(summary: SitesSummary) -> str:
    """The median over sites with its interval: "−12.3 % (−16.4 % to −8.1 %)"."""
    ends = ends_in_words(summary)
    return median_in_words(summary) + (f" ({ends})" if ends else "")


def range_in_words(summary: SitesSummary) -> str:
    """From the tenth to the ninetieth of a hundred sites: "−30.1 % to +2.0 %"."""
    return summary.metric.format_range(summary.spread.p10, summary.spread.p90) if summary.sites > 1 else ""


def counts_in_words(summary: SitesSummary) -> str:
    """For example "better at 9 of 12 sites, worse at 1, undecided at 2"."""
    total = f" of {counted(summary.sites, 'site')}"
    said = []
    for verdict in Verdict:
        if number := summary.verdicts[verdict]:
            said.append(f"{verdict.value} at {number}{total}")
            total = ""
    return ", ".join(said)


def regret_in_words(value: float | None, metric: Metric) -> str:
    return "–" if value is None else metric.format_change(value, signed=False)


def everywhere(result: StudyResult) -> str:
    """What the best single scheme costs; "" if there is nothing to choose. Regrets are in the first primary metric."""
    metric = result.metrics[0]
    own = [item for item in result.regrets if item.metric is metric]
    if len(own) < 2 or own[0].places < 2:
        return ""
    best = own[0]
    if best.worst <= 0:
        return f"One scheme everywhere: {best.scheme} has the best {metric.short} of every place{_share(best)}."
    cost = f"on average {regret_in_words(best.mean, metric)} {metric.more} than the best scheme of each place"
    return (
        f"One scheme everywhere: {best.scheme} costs least, {metric.short} being {cost}, {_worst(best)}{_share(best)}."
    )


def _worst(regret: SchemeRegret) -> str:
    return f"at worst {regret_in_words(regret.worst, regret.metric)} ({regret.worst_site} over {regret.worst_link})"


def _share(regret: SchemeRegret) -> str:
    if regret.share is None:
        return ""
    return f"; it stays the best in {regret.share * 100:.0f} % of resampled sets of sites"


def alerts(result: StudyResult) -> list[str]:
    """What a reader must know before believing anything, a sentence each."""
    said = []
    if result.is_partial:
        places = sum(place.missing > 0 for place in result.places)
        planned = sum(place.planned for place in result.places)
        said.append(
            f"Not finished: {result.missing_blocks} of {counted(planned, 'block')} are missing, at {counted(places, 'place')}. "
            "The same command continues."
        )
    failed = sum(item.loads for item in result.failures)
    if failed:
        attempted = sum(sum(place.attempted) for place in result.places)
        said.append(
            f"{failed} of {counted(attempted, 'load')} failed or do not count. A block counts once all of its loads do."
        )
    if result.machine_factor is not None and not result.machine_factor.agree:
        said.append("The machines do not agree on the size of effects; see Machines.")
    return said


def failures(result: StudyResult, most: int) -> list[str]:
    """Why loads do not count, a line for each scheme and reason, the most frequent first."""
    said = [
        f"{item.arm}: {counted(item.loads, 'load')} {item.status}: {item.reason}" for item in result.failures[:most]
    ]
    rest = len(result.failures) - len(said)
    return [*said, f"and {counted(rest, 'other reason')}; the report has all"] if rest > 0 else said


def exact_note(places: Sequence[object], exact: int) -> str:
    """On places where nothing is random; "" without any."""
    if not exact:
        return ""
    which = "All places are" if exact == len(places) else f"{counted(exact, 'place')} of {len(places)} are"
    return (
        f"{which} exact: nothing is random there, so one load of each arm tells everything. Such changes have no "
        "interval and no p; they are better or worse where they exceed the margin."
    )
