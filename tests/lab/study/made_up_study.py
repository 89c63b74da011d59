"""Made-up studies for tests: seeded, plausible loads of many sites, links and arms."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study._work import LABORATORY
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.results import StudyResult, study_results
from mixedsched.world.store import BlockCounts, NewLoad, PlannedBlock, PlannedPlace, StoredLoad, StoredPlace, StudyStore

ARMS = ("sequential", "mixed", "eps")
BASE_VALUES: Mapping[str, float] = {
    "fcp_ms": 900.0,
    "lcp_ms": 2400.0,
    "si_ms": 1500.0,
    "tbt_ms": 80.0,
    "cls": 0.05,
    "tti_ms": 3100.0,
    "hol_bytes": 90_000.0,
    "score": 0.8,
    "finished_ms": 5000.0,
}


def made_up_definition(**changes: Any) -> Study:
    tables = {
        "format": "mixedsched.study/1",
        "name": "made-up",
        "rung": "stack",
        "sites": ["shop"],
        "links": ["4g"],
        "arms": list(ARMS),
        "baseline": ARMS[0],
        "blocks": 10,
        "primary": ["lcp"],
    }
    return Study.from_dict({**tables, **changes})


@dataclass
class MadeUpStudy:
    """Draws the loads of a study. factors: what times are multiplied with, by arm, or by (site, arm)."""

    study: Study
    sites: Sequence[str] = ("shop", "blog", "news")
    links: Sequence[str] = ("4g",)
    factors: Mapping[Any, float] = field(default_factory=dict)
    noise: float = 0.03
    seed: int = 1
    is_exact: bool = False

    @property
    def places(self) -> list[StoredPlace]:
        every = [(site, link) for site in self.sites for link in self.links]
        return [
            StoredPlace(10 + number, number, site, link, {"exact": self.is_exact})
            for number, (site, link) in enumerate(every)
        ]

    @property
    def blocks(self) -> int:
        return 1 if self.is_exact else self.study.blocks

    @property
    def counts(self) -> list[BlockCounts]:
        return [BlockCounts(place.id, done=self.blocks) for place in self.places]

    def loads(self) -> list[StoredLoad]:
        return [
            load(place, block, arm, self.values(place, block, arm), position=position)
            for place in self.places
            for block in range(1, self.blocks + 1)
            for position, arm in enumerate(self.study.arms)
        ]

    def values(self, place: StoredPlace, block: int, arm: str) -> dict[str, float]:
        factor = self.factors.get((place.site, arm), self.factors.get(arm, 1.0))
        shared = random.Random(f"{self.seed}/{place.site}/{place.link}/{block}").gauss(0, 0.1)
        rng = random.Random(f"{self.seed}/{place.site}/{place.link}/{block}/{arm}")

        def drawn(key: str, base: float) -> float:
            spread = math.exp(shared + rng.gauss(0, self.noise))
            if key in ("cls", "tbt_ms"):
                return base * rng.choice((0.0, 1.0)) * spread
            return min(1.0, base / factor) if key == "score" else base * factor * spread

        return {key: drawn(key, base) for key, base in BASE_VALUES.items()}

    def result(self, loads: Iterable[StoredLoad] | None = None) -> StudyResult:
        return study_results(self.study, self.places, self.counts, self.loads() if loads is None else loads)


def load(place: StoredPlace, block: int, arm: str, values: Mapping[str, float | None], **changes: Any) -> StoredLoad:
    """An ok load."""
    facts: dict[str, Any] = {
        "place_id": place.id,
        "block": block,
        "attempt": 1,
        "arm": arm,
        "position": 0,
        "seed": block,
        "status": "ok",
        "reason": "",
        "values": values,
        "machine": "here",
    }
    return StoredLoad(**{**facts, **changes})


def store_study(made: MadeUpStudy, folder: Path, loads: Sequence[StoredLoad] | None = None) -> None:
    """Store a study in the database of a folder, as if it had been carried out there; complete blocks are done."""
    folder.mkdir(parents=True, exist_ok=True)
    with StudyStore(f"sqlite:///{folder / DATABASE_NAME}") as store:
        study = store.save_study(made.study.name, made.study.to_dict(), {LABORATORY: {"chromium": "156.0"}})
        blocks = [PlannedBlock(number, number) for number in range(1, made.blocks + 1)]
        places = [PlannedPlace(item.number, item.site, item.link, item.facts, blocks) for item in made.places]
        store.add_places(study, places)
        ids = {item.number: item.id for item in store.places(study)}
        worker = store.join("a worker", "here", {})
        leases = {(lease.place_id, lease.number): lease for lease in store.lease(study, worker, 100_000, 1e6)}
        by_block: dict[tuple[int, int], list[StoredLoad]] = {}
        for item in made.loads() if loads is None else loads:
            place = next(place for place in made.places if place.id == item.place_id)
            by_block.setdefault((ids[place.number], item.block), []).append(item)
        finished = []
        for block, items in by_block.items():
            new = [NewLoad(item.arm, item.position, item.seed, item.status, item.reason, item.values) for item in items]
            finished.append((leases[block], new, len(new) == len(made.study.arms)))
        store.add_all(worker, finished)
        store.leave(worker)
