"""The stored part of a search: an optuna study in the project's database, with every trial of rung stack.

Trials are stored when they are finished, not while they are proposed: a proposal in a database costs more than the loads that
it leads to. optuna's own tools can read the study.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from mixedsched.advice.tuner._scoring import Paints
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import MixedschedError

FORMAT = 1  # of what is stored here
_FORMAT_KEY = "mixedsched search"


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A candidate that was played."""

    params: dict[str, Any]  # as optuna has it
    batch: int  # in which it was proposed
    size: int  # of that batch
    code: str
    paints: Paints


class Memory:
    """A study by name. url: of SQLAlchemy's form; None keeps all in this process.

    Raises MixedschedError if the database cannot be used, or was written by another version.
    """

    def __init__(self, url: str | None, name: str) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._url = url
        try:
            storage: BaseStorage = InMemoryStorage() if url is None else _database(url)
            self._study = optuna.create_study(storage=storage, study_name=name, load_if_exists=True)
            self._check_format()
        except (SQLAlchemyError, StorageInternalError, RuntimeError) as error:
            raise MixedschedError(
                f"cannot use the database {url} for a search",
                why=str(error).splitlines()[0] if str(error) else type(error).__name__,
                fix="use another folder, or the version of mixedsched that wrote it",
            ) from error

    def note(self, key: str) -> Any:
        """The value kept under this key; None if there is none."""
        return self._study.user_attrs.get(key)

    def keep(self, key: str, value: Any) -> None:
        """Keep a JSON value, instead of an earlier one."""
        self._study.set_user_attr(key, value)

    def trials(self) -> list[StoredTrial]:
        """All, in the order in which they were added."""
        return [_stored(trial) for trial in self._study.get_trials(deepcopy=False)]

    def add(
        self, trials: Sequence[StoredTrial], scores: Sequence[float | None], space: dict[str, BaseDistribution]
    ) -> None:
        """Store trials with their scores (None: a load never ended), which are for other readers: ours come from the paints."""
        for trial, score in zip(trials, scores, strict=True):
            self._study.add_trial(frozen(trial.params, score, space, _attributes(trial)))

    def _check_format(self) -> None:
        found = self.note(_FORMAT_KEY)
        if found is None:
            self.keep(_FORMAT_KEY, FORMAT)
        elif found != FORMAT:
            raise MixedschedError(
                "the search in the database is of another version of mixedsched",
                why=f"its format is {found}, this version knows {FORMAT}",
                fix="use another folder, or the version that wrote it",
            )


def _database(url: str) -> RDBStorage:
    """It connects for each transaction: optuna closes no connection that it keeps, not even to a database that it refuses."""
    return RDBStorage(url, engine_kwargs={"poolclass": NullPool})


def frozen(
    params: dict[str, Any],
    score: float | None,
    space: dict[str, BaseDistribution],
    attributes: dict[str, Any] | None = None,
) -> FrozenTrial:
    """A finished trial as optuna has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return create_trial(
            state=TrialState.FAIL if score is None else TrialState.COMPLETE,
            value=score,
            params=params,
            distributions=space,
            user_attrs=attributes or {},
        )


def _attributes(trial: StoredTrial) -> dict[str, Any]:
    facts = {"batch": trial.batch, "size": trial.size, "candidate": trial.code}
    return {**facts, "paints_ms": paints_to_json(trial.paints)}


def _stored(trial: FrozenTrial) -> StoredTrial:
    kept = trial.user_attrs
    return StoredTrial(
        trial.params, kept["batch"], kept["size"], kept["candidate"], paints_from_json(kept["paints_ms"])
    )


def paints_to_json(paints: Paints) -> list[Any]:
    """By scene and seed: FCP, LCP and SI in ms; null for a load that never ended."""
    return [[item and list(item.to_dict().values()) for item in of_scene] for of_scene in paints]


def paints_from_json(value: Any) -> Paints:
    """The reverse."""
    return tuple(tuple(item and PaintEstimate(*item) for item in of_scene) for of_scene in value)
