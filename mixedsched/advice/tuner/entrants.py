"""Who runs the race, and who the proof: pure choices from what simulation and race say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mixedsched.advice.tuner.budget import FINALISTS
from mixedsched.advice.tuner.result import Contender, Role, Scored
from mixedsched.advice.tuner.search import SearchResult
from mixedsched.lab.play.scenario import LEAST_GAIN

TUNED = "tuned"
SEQUENTIAL = "sequential"


def promising(found: SearchResult) -> tuple[Scored, ...]:
    """Candidates that simulation likes better than every baseline, best first."""
    if not found.baselines:
        return found.best
    known = {item.candidate.code for item in found.baselines.values()}
    limit = min(item.score - item.penalty for item in found.baselines.values()) - LEAST_GAIN
    return tuple(item for item in found.best if item.score < limit and item.candidate.code not in known)


def entrants(found: SearchResult, candidates: Sequence[Scored]) -> tuple[Contender, ...]:
    """All who would like to race, in order of interest, so that a short race takes the first few.

    The best candidate and the best baseline, sequential delivery (which nothing may be worse than), the next candidate, the
    other baselines by what simulation thinks of them, the rest.
    """
    tuned = [Contender(label_of(place), Role.TUNED, item.candidate) for place, item in enumerate(candidates)]
    by_score = sorted(found.baselines, key=lambda label: found.baselines[label].score - found.baselines[label].penalty)
    first = [label for label in [*by_score[:1], SEQUENTIAL] if label in found.baselines]
    order = dict.fromkeys([*first, *by_score])
    baselines = [Contender(label, Role.BASELINE, found.baselines[label].candidate) for label in order]
    opening = len(dict.fromkeys(first))
    return (*tuned[:1], *baselines[:opening], *tuned[1:2], *baselines[opening:], *tuned[2:])


def label_of(place: int) -> str:
    """Of the n-th best candidate of the search, from 0."""
    return TUNED if place == 0 else f"{TUNED} {place + 1}"


def finalists(
    entrants: Sequence[Contender], winner: str, best: str, shipped: Sequence[Contender], baselines: Mapping[str, Scored]
) -> tuple[Contender, ...]:
    """Who is proved, in order of interest: the winner, the best baseline, sequential delivery, then what is shipped.

    Where sequential delivery is the best baseline, the next one by simulation takes the free place: it must be beaten, too.
    """
    by_label = {item.label: item for item in entrants}
    for label, item in baselines.items():
        by_label.setdefault(label, Contender(label, Role.BASELINE, item.candidate))
    others = sorted(baselines, key=lambda label: baselines[label].score - baselines[label].penalty)
    wanted = dict.fromkeys(label for label in (winner, best, SEQUENTIAL, *others) if label in by_label)
    return (*(by_label[label] for label in list(wanted)[:FINALISTS]), *shipped)


def by_headers(finalists: Sequence[Contender]) -> tuple[Contender, ...]:
    """The same, where headers say all that the winner does: it is loaded as plain `eps` with these, and one arm proves both."""
    headers = next(item for item in finalists if item.role is Role.HEADERS)
    return tuple(
        replace(headers, label=item.label, role=Role.TUNED) if item.role is Role.TUNED else item
        for item in finalists
        if item is not headers
    )


def all_contenders(
    finalists: Sequence[Contender], racing: Sequence[Contender], winner_label: str
) -> tuple[Contender, ...]:
    """Of proof and race, each once: as it was loaded in the proof, if it came so far. The winner first, then the proof's."""
    everyone: dict[str, Contender] = {}
    for item in (*finalists, *racing):
        everyone.setdefault(item.label, item)
    return tuple(sorted(everyone.values(), key=lambda item: item.label != winner_label))  # stable
