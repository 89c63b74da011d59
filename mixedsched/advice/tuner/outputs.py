"""The files of a tuning's folder for people and machines: `ship/`, and the facts of `tune.json`."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixedsched.advice.tuner._conclude import Known
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.job import DECISIONS_NAME
from mixedsched.advice.tuner.objective import BASELINES
from mixedsched.advice.tuner.result import Outcome, Role, Tuning
from mixedsched.advice.tuner.ship.files import MAPPING_NAME, Shipment, write_ship
from mixedsched.advice.tuner.ship.headers import HeaderPlan
from mixedsched.advice.tuner.ship.own_lines import plain_of
from mixedsched.errors import UsageError

SHIP_NAME = "ship"


def refuse_foreign_folder(folder: Path) -> None:
    """Raises UsageError where a `ship/` would be replaced that no tuning made: old files in it are removed."""
    if (folder / SHIP_NAME).exists() and not (folder / DECISIONS_NAME).exists():
        raise UsageError(
            f"{folder} holds a '{SHIP_NAME}' that no tuning made",
            why="its files would be replaced",
            fix="choose another folder with --out",
        )


def ship(tuning: Tuning, known: Known) -> Tuning:
    """Write what is to be shipped, and name its files in the tuning.

    A result that is not confirmed is not shipped, and files that an earlier start has left are removed; but a tuning that was
    stopped ships the best so far.
    """
    folder = known.job.folder / SHIP_NAME
    is_kept = tuning.shipped or tuning.outcome is Outcome.INTERRUPTED
    if tuning.winner is None or not is_kept:
        _remove(folder)
        return tuning
    plan, withheld, site = known.header_plan, tuning.withheld.get(Role.HEADERS), known.job.subject.site
    shipment = Shipment(
        page=known.page,
        candidate=tuning.winner.candidate,
        plan=plan if withheld is None else HeaderPlan((), (), (*plan.lost, withheld)),
        html=tuning.html,
        hosts=site.hosts if site is not None else (),
        document=known.view.document if known.view is not None else None,
        evidence=_evidence(tuning),
        server=tuning.server,
        setting=tuning.setting,
    )
    return replace(tuning, files=tuple(f"{SHIP_NAME}/{name}" for name in write_ship(folder, shipment)))


def facts_of(tuning: Tuning, folder: Path) -> dict[str, Any]:
    """For machines: the tuning, where its files are, and under `use` the scheme and mapping that are recommended, as options
    of `simulate` and `serve` take them (no mapping: the scheme's own)."""
    facts = tuning.to_dict()
    file = next((str(folder / name) for name in tuning.files if name == f"{SHIP_NAME}/{MAPPING_NAME}"), None)
    if facts["tuned"] is not None:
        facts["tuned"]["mapping_file"] = file
    is_tuned = tuning.shipped and tuning.winner is not None
    best = tuning.winner.candidate if is_tuned and tuning.winner is not None else _baseline(tuning)
    mapping = file if is_tuned and file is not None else best.published
    return {**facts, "use": {"scheme": best.scheme, "mapping": mapping}}


def _baseline(tuning: Tuning) -> Candidate:
    """The best one; without a search, the label says which."""
    found = tuning.baselines.get(tuning.best_baseline)
    if found is not None:
        return found.candidate
    return BASELINES[tuning.best_baseline] if tuning.server is None else plain_of(tuning.server)


def _remove(folder: Path) -> None:
    """Remove the whole folder that an earlier start has written; of a link, the link alone."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.is_dir():
        shutil.rmtree(folder)


def _evidence(tuning: Tuning) -> Mapping[str, Any]:
    """The origin of the mapping, for its file."""
    effects = [
        {
            "link": item.name,
            "metric": effect.metric.key,
            "against": effect.baseline,
            "change_pct": round(effect.change, 2),
            "low_pct": round(effect.low, 2),
            "high_pct": round(effect.high, 2),
            "blocks": effect.blocks,
            "verdict": effect.verdict.value,
        }
        for item in tuning.networks
        for effect in item.effects[:1]
        if effect.change is not None and effect.low is not None and effect.high is not None
    ]
    assert tuning.winner is not None, "a mapping is the winner's"
    return {
        "site": tuning.site,
        "links": [item.name for item in tuning.networks],
        "scheme": tuning.winner.candidate.scheme,
        "objective": dict(tuning.objective),
        "form_factor": tuning.form_factor,
        "outcome": tuning.outcome.value,
        "reason": tuning.reason,
        "seed": tuning.seed,
        "versions": dict(tuning.facts["versions"]),
        **({"effects": effects} if effects else {}),
    }
