"""The sentences of the scheme finder, the same on the terminal and in the report."""

from mixedsched.advice.finder.result import Choice, FinderResult, PlaceResult, Regret
from mixedsched.units import counted

WINNER, TIE, FAILED = "★", "=", "✗"


def headlines(finding: FinderResult) -> list[str]:
    """The best single scheme, by mean and by worst case; and that there is none, if so."""
    mean, worst = finding.best_mean, finding.best_worst
    if mean is None or worst is None:
        return ["No scheme let every load end, so none can be used everywhere."]
    by_scheme = {item.scheme: item for item in finding.regrets}
    if len(finding.places) == 1:
        return [_single(finding.places[0])]
    if mean.scheme == worst.scheme:
        one = f"The best single scheme everywhere is {mean.scheme}, by mean and by worst case"
        return [f"{one}: {_mean(by_scheme[mean.scheme], mean)}, and {_worst(by_scheme[mean.scheme], worst)}."]
    usual, careful = by_scheme[mean.scheme], by_scheme[worst.scheme]
    on_average = f"The best single scheme everywhere is {mean.scheme}: {_mean(usual, mean)}, and {_worst(usual, None)}."
    at_worst = f"By worst case, it is {worst.scheme}: {_worst(careful, worst)}, and {_mean(careful, None)}."
    return [on_average, at_worst]


def _single(place: PlaceResult) -> str:
    if not place.is_sure:
        tied = "but with a single seed it is not known which others tie with it"
    elif place.ties:
        tied = f"and {', '.join(place.ties)} cannot be distinguished from it"
    else:
        tied = "and every other one is distinguishably worse"
    return f"The best scheme for {place.site} over {place.network} is {place.winner}, {tied}."


def _mean(regret: Regret, choice: Choice | None) -> str:
    text = f"on average {pct(regret.mean_pct)} later than the best scheme of each place"
    if choice is None or choice.low_pct is None or choice.high_pct is None or choice.share is None:
        return text
    share = f"it stays the best in {choice.share * 100:.0f} % of resampled sets of sites"
    return f"{text} (95 % interval over sites {pct(choice.low_pct)} to {pct(choice.high_pct)}; {share})"


def _worst(regret: Regret, choice: Choice | None) -> str:
    where = f" ({regret.worst_at})" if regret.worst_at is not None else ""
    text = f"at worst {pct(regret.worst_pct)}{where}"
    if choice is None or choice.share is None:
        return text
    return f"{text}; it stays the best in {choice.share * 100:.0f} % of resampled sets of sites"


def pct(value: float | None) -> str:
    """A regret: "0 %", "3.4 %", "120 %"; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.1f} %" if 0.05 <= value < 9.95 else f"{value:.0f} %"


def winner_words(place: PlaceResult | None) -> str:
    """For example "eps, 3 tie"; with a question mark if it is not certain."""
    if place is None:
        return "left out"
    if place.winner is None:
        return f"{FAILED} no load ends"
    tied = f", {len(place.ties)} tie" if place.ties else ""
    return f"{place.winner}{tied}{'' if place.is_sure else ' ?'}"


def failed_words(finding: FinderResult) -> list[str]:
    """Schemes whose loads did not all end, a sentence each."""
    return [
        f"{item.scheme}: {counted(item.failed_loads, 'load')} never ended, at "
        f"{len(finding.places) - item.finished} of {len(finding.places)} places, which its mean and worst regret leave out."
        for item in finding.regrets
        if item.failed_loads
    ]
