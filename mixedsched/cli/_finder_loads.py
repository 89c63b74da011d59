"""Plays the loads of the scheme finder a few at a time, and stores each lot as soon as it is done."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass

from mixedsched.advice.tuner.play import Task, Workers
from mixedsched.advice.tuner.result import Estimates
from mixedsched.advice.tuner.scene import Scene
from mixedsched.world.store import Store

FIRST_LOT = 4  # loads; later lots are as large as LOT_S allows
LOT_S = 3.0  # what a killed process may lose, and a budget be overrun by
GROWTH = 2.0  # of a lot, at most


@dataclass(frozen=True, slots=True)
class Job:
    """names: (site, network) of each scene. tasks: in the order in which they are to be played."""

    names: tuple[tuple[str, str], ...]
    scenes: tuple[Scene, ...]
    tasks: tuple[Task, ...]


def played(
    job: Job, store: Store, facts: Mapping[str, str], workers: Workers, is_over: Callable[[], bool]
) -> Generator[tuple[Task, Estimates | None]]:
    """Tasks with what they come to: first those that are stored, then the others as they are done.

    facts: versions and whatever else makes results differ; loads of others are not taken. is_over: asked before each lot; once
    it says yes no other begins.
    """
    shelf = _Shelf(job, store, facts)
    missing = []
    for task in job.tasks:
        if task in shelf.known:
            yield task, shelf.known[task]
        else:
            missing.append(task)
    size = FIRST_LOT
    while missing and not is_over():
        lot, missing = missing[:size], missing[size:]
        began_s = time.monotonic()
        results = workers.play(job.scenes, lot)
        took_s = max(time.monotonic() - began_s, 1e-3)
        for task, result in zip(lot, results, strict=True):
            shelf.put(task, result)
        yield from zip(lot, results, strict=True)
        size = max(FIRST_LOT, int(size * min(GROWTH, LOT_S / took_s)))


def scene_code(scene: Scene) -> str:
    """Names a page on a network: equal for equal ones, in every process. Flags are a set, so they are sorted."""
    resources = [{**item.model_dump(mode="json"), "flags": sorted(item.flags)} for item in scene.page.resources]
    facts = [resources, scene.network.facts(), scene.hero_needs, asdict(scene.model)]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


class _Shelf:
    """What was played before, and what comes: an experiment for each scene, a run for each load."""

    def __init__(self, job: Job, store: Store, facts: Mapping[str, str]) -> None:
        self._store = store
        self._digests = []
        stored: list[dict[tuple[str, int], Estimates | None]] = []
        rung = job.tasks[0].rung
        for (site, network), scene in zip(job.names, job.scenes, strict=True):
            code = scene_code(scene)
            digest = hashlib.sha256(f"{code} {rung} {sorted(facts.items())}".encode()).hexdigest()[:16]
            plan = {"kind": "finder", "site": site, "link": network, "rung": rung, "scene": code}
            store.save_plan(digest, plan, facts)
            self._digests.append(digest)
            stored.append({(item["candidate"], item["seed"]): _read(item) for item in store.runs(digest)})
        self.known = {
            task: stored[task.scene][task.candidate.code, task.seed]
            for task in job.tasks
            if (task.candidate.code, task.seed) in stored[task.scene]
        }

    def put(self, task: Task, result: Estimates | None) -> None:
        record = {
            "candidate": task.candidate.code,
            "seed": task.seed,
            "paints": result.to_dict() if result is not None else None,
        }
        arm = hashlib.sha256(task.candidate.code.encode()).hexdigest()[:32]  # codes may be longer than arms
        self._store.add_run(self._digests[task.scene], task.seed, 1, arm, record)


def _read(record: Mapping[str, Mapping[str, float] | None]) -> Estimates | None:
    paints = record["paints"]
    return Estimates(**paints) if paints is not None else None
