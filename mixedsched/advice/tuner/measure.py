"""Contenders as arms of a bench: how look, race and proof are loaded in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mixedsched.advice.changes.edition import make_edition
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.job import TuneJob
from mixedsched.advice.tuner.result import Contender, Role
from mixedsched.core.schedulers import SCHEMES
from mixedsched.lab.bench import Bench, Design, ServedArm, Surroundings
from mixedsched.lab.model import Arm
from mixedsched.lab.plan import arm_of
from mixedsched.lab.results import ExperimentFacts
from mixedsched.model.mapping_file import dump_mapping
from mixedsched.world.store import Store

EDITIONS_FOLDER, MAPPINGS_FOLDER = "editions", "mappings"


def bench_of(job: TuneJob, world: Surroundings, store: Store, phase: str, contenders: Sequence[Contender]) -> Bench:
    """A bench for contenders. phase: names it, and seeds its links and orders."""
    arms = tuple(_served_arm(job, item) for item in contenders)
    design = Design(arms, tuple(job.objective.weights), job.form_factor, job.seed_of(phase))
    facts = ExperimentFacts(versions=job.versions, work={**job.work, "phase": phase})
    return Bench(design, store, job.folder, facts, world.observe)


def _served_arm(job: TuneJob, contender: Contender) -> ServedArm:
    subject = job.subject
    assert subject.site is not None, "only sites are loaded"
    folder = (job.folder / EDITIONS_FOLDER).resolve()
    edition = make_edition(subject.site, subject.digest, contender.changes, folder)
    file, own = None, contender.candidate.mapping()
    if own is not None:  # servers are told of tables as files
        file = (job.folder / MAPPINGS_FOLDER / f"{own.digest}.toml").resolve()
        file.parent.mkdir(exist_ok=True)
        file.write_text(dump_mapping(own, {}), encoding="utf-8")
    return ServedArm(contender_arm(contender), edition.site, edition.digest, file)


def contender_arm(contender: Contender) -> Arm:
    """The arm as plans have it: a mapping table of its own goes by its fingerprint, wherever its file is."""
    candidate, own = contender.candidate, contender.candidate.mapping()
    if own is not None:
        return Arm(contender.label, candidate.scheme, f"{own.name}-{own.digest}", own.digest)
    usual = SCHEMES[candidate.scheme.partition(":")[0]].default_mapping
    arm = arm_of(candidate.scheme, candidate.published if candidate.published != usual else None)
    return replace(arm, label=contender.label)


def plain_eps(label: str, role: Role, changes: Sequence[Any] = ()) -> Contender:
    """A server that follows the browser's signals, and response headers over them."""
    return Contender(label, role, Candidate("eps", published=SCHEMES["eps"].default_mapping), tuple(changes))
