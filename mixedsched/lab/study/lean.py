"""The loads of a study as one small file that can be committed, and the same study again from it (format `mixedsched.loads/1`).

A Parquet file with a row for each load, values as 32-bit floats; in its metadata the definition, the versions of the code that
played it, and its places. Needs pyarrow.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from mixedsched.errors import MissingPartError, StudyError
from mixedsched.lab.study._collecting import VALUE_KEYS
from mixedsched.lab.study._work import LABORATORY
from mixedsched.lab.study.browsers import differences
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.gates import StudyQuestions
from mixedsched.lab.study.places import OPENED_AS
from mixedsched.lab.study.results import StudyResult, study_results
from mixedsched.world.store import BlockCounts, StoredLoad, StoredPlace, StoredStudy, StudyStore

LEAN_FORMAT = "mixedsched.loads/1"
EARLIER_VERSIONS = "earlier_versions"
"""A fact of studies that have gone on from a file: the other versions that played some of their loads."""
LOOKS = "looks"
"""As in StudyQuestions.to_dict: without them, blocks that were made until it was decided would seem planned."""
_METADATA = b"mixedsched"
_TEXTS = ("arm", "status", "reason", "machine")
_NUMBERS = ("block", "attempt", "position", "seed")
_COLUMNS = frozenset({"place", *_NUMBERS, *_TEXTS, *VALUE_KEYS})
_INTEGERS = {"int16": 2**15, "int32": 2**31, "int64": 2**63}  # which numbers are below; seeds are always of the last


@dataclass(frozen=True, slots=True)
class _PlaceFacts:
    """A place in the metadata."""

    site: str
    link: str
    exact: bool
    blocks: int  # that are planned
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _StudyFacts:
    """The metadata; what has a default is missing in early files."""

    definition: dict[str, Any]
    versions: dict[str, Any]
    places: list[_PlaceFacts]
    earlier_versions: list[dict[str, Any]] = field(default_factory=list)
    laboratory: dict[str, Any] = field(default_factory=dict)
    looks: dict[str, int] | None = None


_FACTS = TypeAdapter(_StudyFacts)


@dataclass(frozen=True, slots=True)
class LeanStudy:
    """A study that was read from its file."""

    result: StudyResult
    versions: Mapping[str, Any]  # of what its loads depend on; loads of different ones must not be told together
    earlier_versions: Sequence[Mapping[str, Any]]  # that played some of the same loads, as was proved
    laboratory: Mapping[str, Any]  # versions of Chromium and the like, where loads were measured
    places: Sequence[StoredPlace]
    loads: Sequence[StoredLoad]

    def is_told_with(self, other: "LeanStudy") -> bool:
        """Whether loads of both may be told together: a version has played both, or one browser was measured."""
        if self.laboratory or other.laboratory:
            return self.laboratory.keys() == other.laboratory.keys() and not differences(
                self.laboratory, other.laboratory
            )
        return any(version in other._all_versions for version in self._all_versions)

    @property
    def _all_versions(self) -> list[dict[str, Any]]:
        return [dict(self.versions), *map(dict, self.earlier_versions)]


def write_lean(store: StudyStore, stored: StoredStudy, out: Path, keys: Sequence[str] = VALUE_KEYS) -> int:
    """Write all loads of a stored study, failed ones too; returns how many.

    keys: values to keep; those that no load has are left out. The same loads give the same bytes.
    Raises MissingPartError without pyarrow.
    """
    pa, parquet = _arrow()
    places = store.places(stored.id)
    numbers = {place.id: number for number, place in enumerate(places)}
    planned = {item.place_id: item.open + item.leased + item.done + item.failed for item in store.counts(stored.id)}
    known = (load for load in store.loads(stored.id) if load.place_id in numbers)  # others were added meanwhile
    loads = sorted(known, key=lambda load: (numbers[load.place_id], load.block, load.attempt, load.arm))
    kept = [key for key in keys if any(load.values.get(key) is not None for load in loads)]
    facts = {
        "format": LEAN_FORMAT,
        "definition": stored.definition,
        "versions": stored.facts.get("versions", {}),
        EARLIER_VERSIONS: stored.facts.get(EARLIER_VERSIONS, []),
        LABORATORY: stored.facts.get(LABORATORY, {}),
        **({LOOKS: looks} if (looks := stored.facts.get(LOOKS)) else {}),
        "places": [
            {
                "site": item.site,
                "link": item.link,
                "exact": bool(item.facts.get("exact")),
                "facts": {key: fact for key, fact in item.facts.items() if key != OPENED_AS},
                "blocks": planned.get(item.id, 0),
            }
            for item in places
        ],
    }
    columns = {
        "place": _integers([numbers[load.place_id] for load in loads]),
        **{name: _integers([getattr(load, name) for load in loads], name) for name in _NUMBERS},
        **{name: pa.array([getattr(load, name) for load in loads], pa.string()).dictionary_encode() for name in _TEXTS},
        **{key: pa.array([load.values.get(key) for load in loads], pa.float32()) for key in kept},
    }
    table = pa.table(columns).replace_schema_metadata({_METADATA: json.dumps(facts, sort_keys=True)})
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.part")
    try:
        parquet.write_table(table, part, compression="zstd", compression_level=19)
        part.replace(out)  # what was there stays until all is written
    finally:
        part.unlink(missing_ok=True)
    return len(loads)


def _integers(numbers: Sequence[int], name: str = "") -> Any:
    """A column, as narrow as its numbers allow."""
    most = max(numbers, default=0)
    kind = "int64" if name == "seed" else next(kind for kind, end in _INTEGERS.items() if most < end)
    return _arrow()[0].array(numbers, kind)


def read_lean(path: Path) -> LeanStudy:
    """Read a study again, finished or not. Raises StudyError for a file of another kind or version, MissingPartError."""
    pa, parquet = _arrow()
    try:
        table = parquet.read_table(path)
        stored = json.loads(table.schema.metadata[_METADATA])
        _refuse_other_version(stored, path)
        facts = _FACTS.validate_python(stored)
        questions = StudyQuestions.from_dict({LOOKS: facts.looks})
        loads = list(_loads(table))
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError) as error:
        raise StudyError(
            f"{path} contains no loads of a study", why=str(error), fix="export it from the study again"
        ) from error
    study = Study.from_dict(facts.definition, origin=path.name)
    places = [
        StoredPlace(number, number, item.site, item.link, {"exact": item.exact, **item.facts})
        for number, item in enumerate(facts.places)
    ]
    counts = [BlockCounts(number, done=item.blocks) for number, item in enumerate(facts.places)]
    result = study_results(study, places, counts, loads, questions)
    return LeanStudy(result, facts.versions, facts.earlier_versions, facts.laboratory, places, loads)


def read_together(paths: Iterable[Path]) -> dict[str, LeanStudy]:
    """By name without ending, studies whose loads are to be told together; files that are not there are left out.

    Raises StudyError as `read_lean`, and for loads of a rung that must not be told together.
    """
    found: dict[str, LeanStudy] = {}
    firsts: dict[str, tuple[str, LeanStudy]] = {}
    for path in (path for path in paths if path.exists()):
        lean = found[path.stem] = read_lean(path)
        name, first = firsts.setdefault(lean.result.study.rung, (path.name, lean))
        if not lean.is_told_with(first):
            raise StudyError(
                f"{path.name} was played by another version than {name}",
                why=f"{dict(lean.versions)} and {dict(first.versions)}",
                fix="play one of them again, or leave it out",
            )
    return found


def _refuse_other_version(facts: Any, path: Path) -> None:
    """Raises StudyError; TypeError for what tells no version at all."""
    if not isinstance(facts, dict):
        raise TypeError("its metadata is not a table")
    if facts.get("format") != LEAN_FORMAT:
        raise StudyError(
            f"{path} was written by another version",
            why=f"its format is {facts.get('format')}, not {LEAN_FORMAT}",
            fix="write it anew",
        )


def _loads(table: Any) -> Iterator[StoredLoad]:
    """Raises KeyError, ValueError or an error of pyarrow's for a table that is none of loads."""
    names = [name for name in table.column_names if name in _COLUMNS]
    columns = {name: _column(table, name) for name in names}
    values = [(key, columns[key]) for key in names if key in VALUE_KEYS]
    for row in range(table.num_rows):
        yield StoredLoad(
            place_id=columns["place"][row],
            block=columns["block"][row],
            attempt=columns["attempt"][row],
            arm=columns["arm"][row],
            position=columns["position"][row] if "position" in columns else 0,  # early files have none
            seed=columns["seed"][row],
            status=columns["status"][row],
            reason=columns["reason"][row],
            values={key: column[row] for key, column in values if column[row] is not None},
            machine=columns["machine"][row],
        )


def _column(table: Any, name: str) -> list[Any]:
    pa, _ = _arrow()
    is_value = name in VALUE_KEYS
    kind = pa.float32() if is_value else pa.string() if name in _TEXTS else pa.int64()
    column = table.column(name).cast(kind)
    if column.null_count and not is_value:
        raise ValueError(f"loads without {name}")
    found: list[Any] = column.to_pylist()
    return found


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingPartError(
            "Parquet files need the Python package pyarrow", fix="install mixedsched[parquet]"
        ) from error
    return pa, parquet
