"""Every load of a study as a row of plain values, written as CSV, JSON or Parquet while it is read, however many there are."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO

from mixedsched.core.metrics import METRICS
from mixedsched.errors import MissingPartError
from mixedsched.lab.comparison import finite_or_none
from mixedsched.lab.study._collecting import OTHER_KEYS
from mixedsched.lab.study._work import LABORATORY
from mixedsched.lab.study.definition import Study
from mixedsched.world.browser.kinds import browser_of
from mixedsched.world.store import StoredLoad, StoredPlace, StoredStudy, StudyStore

ExportedRow = dict[str, str | int | float | bool | None]

_TEXTS = ("study", "site", "link", "scheme", "arm", "rung", "status", "reason", "machine", "browser")
_COUNTS = ("block", "attempt", "position", "seed")
COLUMNS = (
    *("study", "site", "link", "scheme", "arm", "block", "attempt", "position", "seed", "rung", "status", "reason"),
    *(metric.key for metric in METRICS),
    *OTHER_KEYS,
    *("machine", "browser"),
)
"""Metrics are in the unit that their name ends with; `score` is Lighthouse's, 0 to 100."""

_ROWS_AT_A_TIME = 10_000


def study_rows(store: StudyStore, stored: StoredStudy) -> Iterator[ExportedRow]:
    """Every load of a study, failed and invalid ones too, by place and block; with COLUMNS, None where a value is missing."""
    study = Study.from_dict(stored.definition)
    places = {place.id: place for place in store.places(stored.id)}
    browser = browser_of(stored.facts.get(LABORATORY, {})) if study.rung == "browser" else None
    for load in store.loads(stored.id):
        if load.place_id in places:  # else it was added to the study meanwhile
            yield _row(study, places[load.place_id], load, browser)


def _row(study: Study, place: StoredPlace, load: StoredLoad, browser: str | None) -> ExportedRow:
    facts: ExportedRow = {
        "study": study.name,
        "site": place.site,
        "link": place.link,
        "scheme": load.arm,
        "arm": load.arm,
        "block": load.block,
        "attempt": load.attempt,
        "position": load.position,
        "seed": load.seed,
        "rung": study.rung,
        "status": load.status,
        "reason": load.reason,
        "machine": load.machine,
        "browser": browser,
    }
    return {key: facts[key] if key in facts else finite_or_none(load.values.get(key)) for key in COLUMNS}


def write_csv(rows: Iterable[ExportedRow], out: BinaryIO) -> None:
    """With a line of names. A value that is missing is empty."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    text.detach()  # flushes, and leaves `out` open


def write_json(rows: Iterable[ExportedRow], out: BinaryIO) -> None:
    """One array, with an object a line."""
    separator = b"[\n"
    for row in rows:
        out.write(separator + json.dumps(row, allow_nan=False).encode())
        separator = b",\n"
    out.write(b"\n]\n" if separator != b"[\n" else b"[]\n")


def write_parquet(rows: Iterable[ExportedRow], out: BinaryIO) -> None:
    """With typed columns, compressed. Raises MissingPartError without pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingPartError(
            "Parquet files need the Python package pyarrow", fix="install mixedsched[parquet], or choose --format csv"
        ) from error
    schema = pa.schema([(name, _type_of(name, pa)) for name in COLUMNS])
    remaining = iter(rows)
    with parquet.ParquetWriter(out, schema) as writer:
        while some := list(islice(remaining, _ROWS_AT_A_TIME)):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))


def _type_of(column: str, arrow: Any) -> Any:
    """A type of pyarrow."""
    if column in _TEXTS:
        return arrow.string()
    return arrow.int64() if column in _COUNTS else arrow.float64()


WRITERS: Mapping[str, Callable[[Iterable[ExportedRow], BinaryIO], None]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}
"""By the name of the format."""
