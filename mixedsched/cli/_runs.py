"""Folders of experiments: where they are, who may write to them, and what they tell afterwards."""

from __future__ import annotations

import fcntl
import hashlib
import json
import platform
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mixedsched.errors import InputError, MixedschedError
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison
from mixedsched.lab.engine import stored_runs
from mixedsched.lab.model import Plan, Run
from mixedsched.report import write_report
from mixedsched.world import places
from mixedsched.world.store import Store

DATABASE_NAME = "results.sqlite"
REPORT_NAME = "report.html"
LOCK_NAME = "lock"
_NAME_SIGNS_MOST = 80


def database_url(folder: Path) -> str:
    return f"sqlite:///{folder / DATABASE_NAME}"


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Make the folder ours alone while we write results to it; freed by the system however we end."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK_NAME).open("w")
    except OSError as error:
        raise MixedschedError(
            f"cannot write to {folder}", why=error.strerror or "", fix="choose another folder with --out"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise MixedschedError(
                f"another comparison is running in {folder}", fix="wait for it, or choose another --out"
            ) from error
        yield


def read_experiment(folder: Path) -> tuple[Plan, list[Run], Mapping[str, Any]]:
    """The experiment stored in a folder: plan, runs, and facts of its first start. Raises InputError."""
    if not (folder / DATABASE_NAME).is_file():
        raise InputError(
            f"{folder} holds no results",
            why=f"there is no {DATABASE_NAME} in it",
            fix="name a folder that compare made",
        )
    with Store(database_url(folder)) as store:
        experiments = store.experiments()
        if len(experiments) != 1:
            raise InputError(f"{folder} holds {len(experiments)} experiments", fix="a report is made of exactly one")
        found = experiments[0]
        return Plan.from_dict(found.plan), stored_runs(store, found.digest), found.facts


def conclude(folder: Path) -> tuple[Comparison, list[Run]]:
    """Analyse what is stored in a folder and (re)write its report."""
    plan, runs, facts = read_experiment(folder)
    comparison = analyse(plan, runs)
    write_report(comparison, runs, {**facts, "command": command_for(plan, facts)}, folder / REPORT_NAME)
    return comparison, runs


def default_folder(plan: Plan) -> Path:
    """Where the results of a comparison go unless told otherwise."""
    return folder_of(f"{plan.site}-{plan.link}", plan.digest, own_versions())


def folder_of(name: str, digest: str, versions: Mapping[str, str]) -> Path:
    """A folder for each piece of work and version of this program. name: what people know it by. digest: of what is wanted."""
    readable = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name)[:_NAME_SIGNS_MOST]
    version_digest = hashlib.sha256(json.dumps(dict(versions), sort_keys=True).encode()).hexdigest()
    return Path("runs") / f"{readable}-{digest[:8]}-{version_digest[:6]}"


def own_versions() -> dict[str, str]:
    """Of this program and what serves the pages. code: fingerprint of the source, which changes before version numbers do."""
    return {
        "mixedsched": version("mixedsched"),
        "code": _code_digest(),
        "aioquic": version("aioquic"),
        "python": platform.python_version(),
    }


def _code_digest() -> str:
    """Of the programs that make results, the same in a checkout and installed."""
    runner = places.home() / "lighthouse-runner"
    files = {f"mixedsched/{file.relative_to(places.PACKAGE).as_posix()}": file for file in places.PACKAGE.rglob("*.py")}
    files |= {f"lighthouse-runner/{file.name}": file for file in runner.glob("*.mjs")}
    files |= {f"lighthouse-runner/src/{file.name}": file for file in (runner / "src").glob("*.mjs")}
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(name.encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def command_for(plan: Plan, facts: Mapping[str, Any]) -> str:
    """The command that makes this experiment, in full, as one would type it."""
    arms = plan.arms
    is_aa = len(arms) == 2 and arms[0].scheme == arms[1].scheme and arms[0].mapping == arms[1].mapping
    schemes = [arms[0].scheme] if is_aa else [arm.scheme for arm in arms]
    words = ["mixedsched", "compare", str(facts.get("site_argument", plan.site)), "--schemes", ",".join(schemes)]
    words += ["--aa"] if is_aa else ["--baseline", plan.baseline]
    words += ["--link", plan.link]
    words += ["--backend", plan.backend] if plan.backend != "relay" else []
    words += ["--origins", "merge"] if facts.get("origins") == "merge" else []
    words += ["--across-connections"] if plan.across_connections else []
    words += ["--blocks", str(sum(not block.warm_up for block in plan.blocks))]
    mapping = next((arm.mapping for arm in arms if arm.mapping is not None), None)
    words += ["--mapping", mapping] if mapping is not None else []
    words += ["--primary", ",".join(plan.primary), "--form-factor", plan.form_factor, "--seed", str(plan.seed)]
    return shlex.join(words)
