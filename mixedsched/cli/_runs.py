"""Folders of experiments: where they are, who may write to them, and what they tell afterwards."""

from __future__ import annotations

import fcntl
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mixedsched.errors import InputError, MixedschedError
from mixedsched.experiment.analysis import analyse
from mixedsched.experiment.comparison import Comparison
from mixedsched.experiment.engine import stored_runs
from mixedsched.experiment.model import Plan, Run
from mixedsched.report import write_report
from mixedsched.store import Store

DATABASE_NAME = "results.sqlite"
REPORT_NAME = "report.html"
LOCK_NAME = "lock"


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


def conclude(folder: Path) -> Comparison:
    """Analyse what is stored in a folder and (re)write its report."""
    plan, runs, facts = read_experiment(folder)
    comparison = analyse(plan, runs)
    write_report(comparison, runs, facts, folder / REPORT_NAME)
    return comparison


def own_versions() -> dict[str, str]:
    """Of this program and what serves the pages."""
    return {"mixedsched": version("mixedsched"), "aioquic": version("aioquic"), "python": platform.python_version()}


def own_command() -> str:
    """The command line as one would type it again."""
    return shlex.join(["mixedsched", *sys.argv[1:]])
