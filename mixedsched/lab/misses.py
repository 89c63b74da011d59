"""Requests for which the site had nothing: a page that was not recorded, copied or merged as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mixedsched.lab.model import Run, RunStatus


@dataclass(frozen=True, slots=True)
class Misses:
    """An arm's requests that were answered with 404 because there is nothing for them.

    runs: those that count; missing_runs: of these, with a miss. requests: how many runs each was missed in, most first.
    """

    arm: str
    runs: int
    missing_runs: int
    requests: tuple[tuple[str, int], ...]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "requests": [{"request": text, "runs": runs} for text, runs in self.requests]}


def misses_of(runs: Sequence[Run], arms: Sequence[str]) -> list[Misses]:
    """Of each arm that missed anything in a run that counts, in order of the arms."""
    found = []
    for arm in arms:
        good = [run for run in runs if run.arm == arm and run.status is RunStatus.OK]
        counts: dict[str, int] = {}
        for run in good:
            for request in dict.fromkeys(request for request in run.misses if not _is_source_map(request)):
                counts[request] = counts.get(request, 0) + 1
        if counts:
            ordered = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
            found.append(Misses(arm, len(good), sum(not all(map(_is_source_map, run.misses)) for run in good), ordered))
    return found


def _is_source_map(request: str) -> bool:
    """Source maps are asked for by Lighthouse, after the load; no page needs them."""
    return request.partition("?")[0].endswith(".map")
