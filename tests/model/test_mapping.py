"""Mapping tables: what they give, and what they refuse."""

from __future__ import annotations

import pytest

from mixedsched.errors import MappingError
from mixedsched.model.mapping_file import parse_mapping
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind, Request
from mixedsched.world import catalog

HEAD = 'format = "mixedsched.mapping/1"\nname = "x"\ndescription = "d"\nsource = "s"\n'
FILL = "[fill]\noffset = { " + ", ".join(f"{kind} = 0" for kind in Kind) + " }\n"

# Table I as reconstructed, blank cells filled: rows are Chromium priorities, columns kinds.
GUPTA = """
          document stylesheet font script image media xhr other
VeryHigh  0N       1N         1N   1N     2I    2I    2I  2I
High      1N       2N         2N   2N     3I    3I    3I  3I
Medium    2N       3N         3N   3N     4I    4I    4I  4I
Low       3I       4I         4I   4I     5I    5I    5I  5I
VeryLow   4I       5I         5I   5I     6I    6I    6I  6I
"""


def cell(text: str) -> Priority:
    return Priority(int(text[0]), text[1] == "I")


def test_gupta2024_is_table_one_with_its_blanks_filled() -> None:
    mapping = catalog.load_mapping("gupta2024")
    kinds, *rows = (line.split() for line in GUPTA.strip().splitlines())
    assert mapping.cells is not None
    for rank, *cells in rows:
        for kind, text in zip(kinds, cells, strict=True):
            assert mapping.cells[ChromiumPriority(rank), Kind(kind)] == cell(text), (rank, kind)


@pytest.mark.parametrize(
    ("switch", "row", "kind", "default", "other"),
    [
        ("high_media", ChromiumPriority.HIGH, Kind.IMAGE, "3I", ("N", "2N")),
        ("medium_script", ChromiumPriority.MEDIUM, Kind.SCRIPT, "3N", ("I", "3I")),
    ],
)
def test_a_doubtful_cell_is_a_switch_that_changes_nothing_else(
    switch: str, row: ChromiumPriority, kind: Kind, default: str, other: tuple[str, str]
) -> None:
    usual, chosen = catalog.load_mapping("gupta2024"), catalog.load_mapping("gupta2024", {switch: other[0]})
    assert usual.cells is not None
    assert chosen.cells is not None
    assert (usual.cells[row, kind], chosen.cells[row, kind]) == (cell(default), cell(other[1]))
    changed = {place for place in usual.cells if usual.cells[place] != chosen.cells[place]}
    assert changed <= {(row, item) for item in (kind, Kind.MEDIA)}
    assert chosen.chosen[switch] == other[0]


def test_the_direct_mapping_gives_each_chromium_priority_its_rank_whatever_the_kind() -> None:
    direct = catalog.load_mapping("gupta2024", {"urgencies": "direct", "high_media": "N"})
    assert direct.cells is not None
    assert {(rank, placed.urgency) for (rank, _), placed in direct.cells.items()} == {
        (rank, rank.rank) for rank in ChromiumPriority
    }


def test_chromium_takes_signals_as_sent() -> None:
    mapping = catalog.load_mapping("chromium")
    signal = Priority(6, True)
    assert mapping.priority_for(Request(0, "/", Kind.FONT, signal)) == signal


def test_every_bundled_mapping_is_listed_and_names_its_source() -> None:
    mappings = catalog.mappings()
    assert {"gupta2024", "chromium"} <= {mapping.name for mapping in mappings}
    assert all(mapping.source and mapping.description for mapping in mappings)


def test_columns_default_to_the_kinds() -> None:
    mapping = parse_mapping(HEAD + '[table.High]\nfont = "6,I"\n' + FILL, "x.toml")
    assert mapping.cells is not None
    assert mapping.cells[ChromiumPriority.HIGH, Kind.FONT] == Priority(6, True)
    assert mapping.cells[ChromiumPriority.LOW, Kind.FONT] == Priority(3, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD + '[table.High]\nfont = "9,I"\n' + FILL, "High.font of x.toml is '9,I'"),
        (HEAD + '[table.High]\nfont = "1,X"\n' + FILL, "write an urgency 0..7"),
        (HEAD + '[table.High]\nfont = "-1,N"\n' + FILL, "High.font"),
        (HEAD + '[table.High]\nfnt = "1,N"\n' + FILL, "unknown kind or column, 'fnt' (did you mean 'font'?"),
        (HEAD + '[table.Hihg]\nfont = "1,N"\n' + FILL, "did you mean 'High'?"),
        (HEAD + '[columns]\na = ["pictures"]\n', "unknown kind, 'pictures'"),
        (HEAD + '[columns]\na = ["font"]\n', "cover every kind exactly once"),
        (HEAD + '[table.High]\nfont = "1,N"\n', "has no cell VeryHigh.document"),
        (HEAD + FILL + 'non_incremental = ["scirpt"]\n', "unknown kind or column, 'scirpt' (did you mean 'script'?"),
        (HEAD + FILL.replace("}", ", images = 2 }"), "unknown kind or column, 'images' (did you mean 'image'?"),
        (HEAD + 'signals = "as sent"\n[table.High]\nfont = "1,N"\n', 'has signals = "as sent" and parts of a table'),
        (HEAD + 'signals = "as sent"\n' + FILL, "only one of them can count"),
        (HEAD + "colour = 1\n", "colour"),
        (HEAD.replace("mapping/1", "mapping/9"), "format"),
        (HEAD + 'fill = "all"\n', "fill: this must be a table"),
        (HEAD + '[table.High]\nfont = "' + "9" * 5000 + ',I"\n' + FILL, "write an urgency 0..7"),
        (HEAD + "x = " + "9" * 5000, "it has an integer of thousands of digits"),
        (HEAD + "x = " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("name = ", "is not TOML"),
        ("", "format"),
    ],
)
def test_a_bad_mapping_is_refused_with_its_reason(text: str, says: str) -> None:
    with pytest.raises(MappingError) as caught:
        parse_mapping(text, "x.toml")
    assert says in str(caught.value)


def test_an_unknown_switch_or_value_lists_the_known_ones() -> None:
    with pytest.raises(MappingError, match="did you mean 'high_media'"):
        catalog.load_mapping("gupta2024", {"high_medai": "N"})
    with pytest.raises(MappingError, match="known: I, N"):
        catalog.load_mapping("gupta2024", {"high_media": "X"})


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(MappingError, match="did you mean 'gupta2024'"):
        catalog.load_mapping("gupta2023")


def test_a_file_that_cannot_be_read_says_so(tmp_path: object) -> None:
    with pytest.raises(MappingError, match="cannot read mapping"):
        catalog.load_mapping(f"{tmp_path}/none.toml")
