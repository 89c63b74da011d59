"""Mapping files, format `mixedsched.mapping/1`.

A mapping file is TOML: `name`, `description`, `source`, and either `signals = "as sent"` (the client's own EPS signal is
taken) or a table:

    [columns]                      # column -> kinds; without it, columns are the kinds themselves
    media = ["image", "media"]
    [table.High]                   # row = Chromium priority; cell = "urgency,N" or "urgency,I"
    media = "3,I"
    [fill]                         # rule for blank cells: urgency = min(7, rank + offset)
    offset = { media = 2 }
    non_incremental = ["script"]   # these columns are N ...
    non_incremental_max_rank = 2   # ... down to this rank (0 = VeryHigh), everything else is I
    [switches.high_media]          # a doubtful cell, chosen by name
    description = "..."
    default = "I"
    [switches.high_media.values]
    I = { High.media = "3,I" }
    N = { High.media = "2,N" }
    [[override]]                   # resources by their path, whatever their cell says: the first that fits counts
    match = "/img/hero-*"          # * ? [] as in a shell, with or without the query; * also stands for slashes
    priority = "1,N"
    why = "..."
    [evidence]                     # anything worth keeping; it is not read

Overrides go with `signals = "as sent"` too.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mixedsched.errors import MappingError, nearest_hint
from mixedsched.model.mapping import Cell, Override, PriorityMapping, Switch
from mixedsched.model.page import derive_incremental
from mixedsched.model.priority import URGENCY_MAX, Priority
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.model.toml_file import read_toml, toml_table, toml_value

MAPPING_FORMAT = "mixedsched.mapping/1"
AS_SENT = "as sent"
MAX_OVERRIDES = 500
MAX_PATTERN_CHARACTERS = 1000
_URGENCIES = {str(urgency): urgency for urgency in range(URGENCY_MAX + 1)}
_SHOWN_CHARACTERS = 40  # of a cell that is none


class _SwitchFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    description: str
    default: str
    values: dict[str, dict[str, dict[str, str]]]


class _Fill(BaseModel):
    model_config = ConfigDict(extra="forbid")
    offset: dict[str, int]
    non_incremental: list[str] = Field(default_factory=list)
    non_incremental_max_rank: int = Field(default=4, ge=0, le=4)


class _OverrideFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    match: str = Field(min_length=1, max_length=MAX_PATTERN_CHARACTERS)
    priority: str
    why: str = ""


class _MappingFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["mixedsched.mapping/1"]
    name: str = Field(min_length=1)
    description: str
    source: str
    signals: Literal["as sent"] | None = None
    columns: dict[str, list[str]] | None = None
    table: dict[str, dict[str, str]] = Field(default_factory=dict)
    fill: _Fill | None = None
    switches: dict[str, _SwitchFile] = Field(default_factory=dict)
    override: list[_OverrideFile] = Field(default_factory=list, max_length=MAX_OVERRIDES)
    evidence: dict[str, Any] = Field(default_factory=dict)


def parse_mapping(text: str, origin: str, switches: Mapping[str, str] | None = None) -> PriorityMapping:
    """Read a mapping file. origin: what errors call it; switches: chosen values, defaults elsewhere.

    Raises MappingError for anything that is not a complete table of urgencies 0..7.
    """
    file = read_toml(text, origin, _MappingFile, MappingError)
    if file.signals and (file.table or file.columns is not None or file.fill is not None or file.switches):
        raise MappingError(
            f'{origin} has signals = "{AS_SENT}" and parts of a table',
            why="only one of them can count",
            fix="leave one out",
        )
    known = {
        name: Switch(name, item.description, item.default, tuple(item.values)) for name, item in file.switches.items()
    }
    chosen = _choose(known, switches or {}, origin)
    return PriorityMapping(
        name=file.name,
        description=file.description,
        source=file.source,
        cells=None if file.signals else MappingProxyType(_build_table(file, chosen, origin)),
        switches=tuple(known.values()),
        chosen=MappingProxyType(chosen),
        overrides=tuple(
            Override(item.match, _parse_cell(item.priority, f"override {item.match}", origin), item.why)
            for item in file.override
        ),
    )


def dump_mapping(mapping: PriorityMapping, evidence: Mapping[str, Any] | None = None) -> str:
    """The file of a mapping, which parse_mapping reads back as it is; its switches are settled, and not offered any more.

    Comments tell where its cells are not what Chromium signals. evidence: text, numbers, dates, lists and tables of them.
    """
    facts = {
        "format": MAPPING_FORMAT,
        "name": mapping.name,
        "description": mapping.description,
        "source": mapping.source,
    }
    lines = [f"{name} = {toml_value(value)}" for name, value in facts.items()]
    lines += [f"signals = {toml_value(AS_SENT)}"] if mapping.cells is None else _table_lines(mapping.cells)
    for item in mapping.overrides:
        lines += ["", "[[override]]", f"match = {toml_value(item.match)}", f"priority = {_quoted_cell(item.priority)}"]
        lines += [f"why = {toml_value(item.why)}"] if item.why else []
    lines += toml_table("evidence", evidence) if evidence else ()
    return "\n".join(lines) + "\n"


def _table_lines(cells: Mapping[Cell, Priority]) -> Iterator[str]:
    """A row for each Chromium priority, below what Chromium signals for those of its cells that are something else."""
    yield ""
    yield "[table]"
    for priority in ChromiumPriority:
        signalled = {kind: Priority(priority.rank, derive_incremental(kind)) for kind in Kind}
        changed = [kind for kind in Kind if cells[priority, kind] != signalled[kind]]
        if changed:
            yield f"# Chromium signals {'; '.join(f'{kind} {_cell_text(signalled[kind])}' for kind in changed)}"
        yield f"{priority} = {{ {', '.join(f'{kind} = {_quoted_cell(cells[priority, kind])}' for kind in Kind)} }}"


def _cell_text(priority: Priority) -> str:
    return f"{priority.urgency},{'I' if priority.incremental else 'N'}"


def _quoted_cell(priority: Priority) -> str:
    return f'"{_cell_text(priority)}"'


def _choose(known: Mapping[str, Switch], wanted: Mapping[str, str], origin: str) -> dict[str, str]:
    """The value of every switch: the wanted one where named, the default elsewhere."""
    for name in wanted:
        if name not in known:
            raise MappingError(f"{origin} has no switch '{name}'", fix=nearest_hint(name, known))
    chosen = {}
    for name, switch in known.items():
        value = wanted.get(name, switch.default)
        if value not in switch.values:
            raise MappingError(
                f"switch '{name}' of {origin} has no value '{value}'", fix=nearest_hint(value, switch.values)
            )
        chosen[name] = value
    return chosen


def _build_table(file: _MappingFile, chosen: Mapping[str, str], origin: str) -> dict[Cell, Priority]:
    columns = _kinds_by_column(file, origin)
    written: dict[tuple[str, str], str] = {
        (row, column): cell for row, cells in file.table.items() for column, cell in cells.items()
    }
    for name, value in chosen.items():
        for row, cells in file.switches[name].values[value].items():
            written.update({(row, column): cell for column, cell in cells.items()})
    for row, column in written:
        _require_known(row, [str(priority) for priority in ChromiumPriority], "Chromium priority", origin)
        _require_known(column, columns, "kind or column", origin)
    for column in (*file.fill.offset, *file.fill.non_incremental) if file.fill is not None else ():
        _require_known(column, columns, "kind or column", origin)
    table: dict[Cell, Priority] = {}
    for priority in ChromiumPriority:
        for column, kinds in columns.items():
            cell = written.get((priority, column))
            where = f"{priority}.{column}"
            placed = (
                _parse_cell(cell, where, origin) if cell is not None else _filled(file.fill, priority, column, origin)
            )
            table.update({(priority, kind): placed for kind in kinds})
    return table


def _kinds_by_column(file: _MappingFile, origin: str) -> dict[str, list[Kind]]:
    """Which kinds each column stands for; together they must cover every kind exactly once."""
    names = file.columns if file.columns is not None else {str(kind): [str(kind)] for kind in Kind}
    columns: dict[str, list[Kind]] = {}
    for column, kinds in names.items():
        for kind in kinds:
            _require_known(kind, [str(item) for item in Kind], "kind", origin)
        columns[column] = [Kind(kind) for kind in kinds]
    covered = sorted(kind for kinds in columns.values() for kind in kinds)
    if covered != sorted(Kind):
        raise MappingError(
            f"the columns of {origin} must cover every kind exactly once", why=f"they cover {', '.join(covered)}"
        )
    return columns


def _require_known(name: str, known: list[str] | Mapping[str, object], what: str, origin: str) -> None:
    if name not in known:
        raise MappingError(f"{origin} names an unknown {what}, '{name}'", fix=nearest_hint(name, known))


def _parse_cell(text: str, where: str, origin: str) -> Priority:
    """ "3,I" -> urgency 3, incremental."""
    urgency, _, mode = (part.strip() for part in text.partition(","))
    if urgency not in _URGENCIES or mode not in {"N", "I"}:
        raise MappingError(
            f"cell {where} of {origin} is '{text[:_SHOWN_CHARACTERS]}'",
            fix=f'write an urgency 0..{URGENCY_MAX}, a comma, and N or I: "3,I"',
        )
    return Priority(_URGENCIES[urgency], mode == "I")


def _filled(fill: _Fill | None, priority: ChromiumPriority, column: str, origin: str) -> Priority:
    """A blank cell by the file's rule."""
    if fill is None or column not in fill.offset:
        raise MappingError(
            f"{origin} has no cell {priority}.{column}",
            fix=f"add it to [table.{priority}], or a [fill] offset for {column}",
        )
    non_incremental = column in fill.non_incremental and priority.rank <= fill.non_incremental_max_rank
    urgency = min(URGENCY_MAX, max(0, priority.rank + fill.offset[column]))
    return Priority(urgency, not non_incremental)
