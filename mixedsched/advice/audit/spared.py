"""What each waste costs, the dearest first: each is played on rung `stack` over all networks before it is reported."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mixedsched.advice.audit._screening import ByNetwork, EditionPlayer
from mixedsched.advice.changes.change import Key
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.advice.changes.waste import Moment, Waste, twins_of
from mixedsched.lab.play.scenario import LEAST_GAIN


@dataclass(frozen=True, slots=True)
class PlayedWaste:
    """A waste, and how much less people would wait without it."""

    waste: Waste
    gain_ms: Mapping[str, float]
    """By network: how much earlier its moment comes, in the time of measured loads."""
    gain_pct: Mapping[str, float]
    """The same in per cent of the moment as it is today, as simulated."""

    @property
    def mean_gain_ms(self) -> float:
        return sum(self.gain_ms.values()) / len(self.gain_ms)


@dataclass(frozen=True, slots=True)
class Wastes:
    """What was found: what people would notice, the dearest first, and what costs nothing that they see."""

    dear: tuple[PlayedWaste, ...] = ()
    idle: tuple[PlayedWaste, ...] = ()
    knows_caching: bool = False
    """Whether anything could be said of caching."""

    def to_dict(self, url_of: Callable[[Key], str]) -> dict[str, object]:
        """url_of: gives the address of a key."""
        return {
            "named": [_facts(item, url_of) for item in self.dear],
            "without_effect": [_facts(item, url_of) for item in self.idle],
            "caching_known": self.knows_caching,
        }


NO_WASTES = Wastes()


def play_wastes(
    wastes: Sequence[Waste],
    models: Mapping[str, PageModel],
    player: EditionPlayer,
    scheme: str,
    today_ms: Mapping[str, float],
    *,
    knows_caching: bool,
) -> Wastes:
    """Play the page with and without each waste.

    models: of today's page, by network. scheme: of today's server. today_ms: the largest paint as measured, by network; what is
    simulated is taken as a share of it, since simulated times are no browser's.
    """
    pages: list[Mapping[str, PageModel]] = [models]
    for waste in wastes:
        twins = {name: twins_of(model, waste) for name, model in models.items()}
        pages += [
            {name: pair.before for name, pair in twins.items()},
            {name: pair.after for name, pair in twins.items()},
        ]
    today, *paints = player.play_models(scheme, pages)
    played = [
        _played(waste, before, after, today, today_ms)
        for waste, before, after in zip(wastes, paints[::2], paints[1::2], strict=True)
    ]
    ranked = sorted(played, key=lambda item: -item.mean_gain_ms)
    dear = [item for item in ranked if max(item.gain_pct.values()) >= LEAST_GAIN * 100]
    return Wastes(tuple(dear), tuple(item for item in ranked if item not in dear), knows_caching)


def _played(
    waste: Waste, before: ByNetwork, after: ByNetwork, today: ByNetwork, today_ms: Mapping[str, float]
) -> PlayedWaste:
    """Each pair of pages is made such that what people wait for is its largest paint.

    Today's largest paint is that of the page with the waste; where they wait for something else, today's page gives the scale.
    """
    gain_ms, gain_pct = {}, {}
    for name in today:
        was_ms = before[name].lcp_ms
        saved_ms = max(0.0, was_ms - after[name].lcp_ms)
        measured_as_ms = was_ms if waste.moment is Moment.LCP else today[name].lcp_ms
        gain_ms[name] = saved_ms / measured_as_ms * today_ms[name]
        gain_pct[name] = saved_ms / was_ms * 100
    return PlayedWaste(waste, gain_ms, gain_pct)


def _facts(item: PlayedWaste, url_of: Callable[[Key], str]) -> dict[str, object]:
    waste = item.waste
    return {
        "kind": waste.kind.value,
        "moment": waste.moment.value,
        "files": [
            {
                "url": url_of(file.key),
                "wasted_bytes": file.wasted_bytes,
                "wait_ms": round(file.wait_ms, 1),
                "cache_s": file.cache_s if waste.moment is Moment.NEXT_VISIT else None,
            }
            for file in waste.files
        ],
        "expected": {
            name: {"earlier_s": round(item.gain_ms[name] / 1000, 3), "change_pct": round(-item.gain_pct[name], 2)}
            for name in item.gain_ms
        },
    }
