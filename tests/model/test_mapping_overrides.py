"""Overrides: resources that a mapping places by their path; and mappings written down."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import MappingError
from mixedsched.model.mapping import MAX_ANSWERS, Override, PriorityMapping, _OverrideFinder
from mixedsched.model.mapping_file import MAX_OVERRIDES, dump_mapping, parse_mapping
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind, Request
from mixedsched.world import catalog

HEAD = 'format = "mixedsched.mapping/1"\nname = "x"\ndescription = "d"\nsource = "s"\nsignals = "as sent"\n'

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
priorities = st.builds(Priority, st.integers(0, 7), st.booleans())
patterns = st.text("/ab?*[]!-.x", min_size=1, max_size=8)
overrides = st.lists(st.builds(Override, patterns | text.filter(bool), priorities, text), max_size=6).map(tuple)
cells = st.none() | st.fixed_dictionaries(
    {(priority, kind): priorities for priority in ChromiumPriority for kind in Kind}
).map(MappingProxyType)
mappings = st.builds(
    PriorityMapping, name=text.filter(bool), description=text, source=text, cells=cells, overrides=overrides
)


def override(match: str, priority: str, why: str = "") -> str:
    return f"[[override]]\nmatch = '{match}'\npriority = '{priority}'\nwhy = '{why}'\n"


def placed(mapping: PriorityMapping, path: str, kind: Kind = Kind.IMAGE) -> str:
    return str(mapping.priority_for(Request(0, path, kind, signal=Priority(5))))


def test_the_first_override_that_fits_counts_and_all_else_is_as_it_was() -> None:
    hero = override("/img/hero-*", "1,N") + override("/img/hero-2.jpg", "6,I") + override("/img/?.png", "2,I")
    mapping = parse_mapping(HEAD + hero, "x.toml")
    assert placed(mapping, "/img/hero-2.jpg") == str(Priority(1))
    assert placed(mapping, "/img/a.png") == str(Priority(2, True))
    assert placed(mapping, "/img/ab.png") == str(Priority(5))


def test_overrides_go_before_the_cells_of_a_table() -> None:
    table = catalog.load_mapping("gupta2024")
    changed = replace(table, overrides=(Override("/late.woff2", Priority(0)),))
    assert placed(changed, "/late.woff2", Kind.FONT) == str(Priority(0))
    assert placed(changed, "/other.woff2", Kind.FONT) == placed(table, "/other.woff2", Kind.FONT)
    assert changed.digest != table.digest


def test_a_path_fits_with_and_without_its_query() -> None:
    mapping = parse_mapping(HEAD + override("/a.js", "1,N") + override("/b.js?v=*", "2,N"), "x.toml")
    assert placed(mapping, "/a.js?v=7") == str(Priority(1))
    assert placed(mapping, "/b.js?v=7") == str(Priority(2))
    assert placed(mapping, "/b.js") == str(Priority(5))


@given(overrides, st.text("/ab.x?[]-", max_size=10))
def test_many_overrides_say_what_each_of_them_says_alone(items: tuple[Override, ...], path: str) -> None:
    mapping = PriorityMapping("x", "", "", None, overrides=items)
    first = next((item.priority for item in items if item.fits(path)), Priority(5))
    assert placed(mapping, path) == str(first)


@given(mappings)
def test_a_mapping_is_read_back_from_its_file(mapping: PriorityMapping) -> None:
    again = parse_mapping(dump_mapping(mapping, {"loads": 12, "by network": {"4g": {"p": 0.01}}}), "x.toml")
    assert again == mapping
    assert again.digest == mapping.digest


def test_a_file_comments_on_the_cells_that_chromium_signals_otherwise() -> None:
    signalled = {(row, kind): Priority(row.rank, True) for row in ChromiumPriority for kind in Kind}
    plain = {**signalled, **{(row, Kind.FONT): Priority(row.rank) for row in ChromiumPriority}}
    mapping = PriorityMapping("x", "", "", {**plain, (ChromiumPriority.HIGH, Kind.IMAGE): Priority(2)})
    high = [line for line in dump_mapping(mapping).splitlines() if "Chromium signals" in line][1]
    assert high == "# Chromium signals stylesheet 1,N; script 1,N; image 1,I"


def test_a_mapping_with_switches_is_written_as_it_was_chosen() -> None:
    chosen = catalog.load_mapping("gupta2024", {"high_media": "N"})
    assert parse_mapping(dump_mapping(chosen), "x.toml").cells == chosen.cells


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (override("/a", "9,N"), "override /a of x.toml is '9,N'"),
        (override("/a", "1"), "write an urgency 0..7"),
        (override("", "1,N"), "override.0.match"),
        (override("/" + "a" * 1000, "1,N"), "override.0.match"),
        ("[[override]]\nmatch = '/a'\n", "override.0.priority"),
        ("[[override]]\nmatch = '/a'\npriority = '1,N'\nurgency = 1\n", "override.0.urgency: there is no such key"),
        ("override = 1\n", "override"),
        (override("/a", "1,N") * (MAX_OVERRIDES + 1), "override"),
    ],
)
def test_a_bad_override_is_refused_with_its_reason(written: str, says: str) -> None:
    with pytest.raises(MappingError) as caught:
        parse_mapping(HEAD + written, "x.toml")
    assert says in str(caught.value)


def test_any_number_of_paths_may_be_asked_for() -> None:
    mapping = parse_mapping(HEAD + override("/*7", "1,N"), "x.toml")
    for _ in range(2):
        urgent = [number for number in range(MAX_ANSWERS + 100) if placed(mapping, f"/{number}") == str(Priority(1))]
        assert urgent == [number for number in range(MAX_ANSWERS + 100) if number % 10 == 7]


def test_long_paths_are_found_and_fill_no_memory() -> None:
    finder = _OverrideFinder([Override("/*7", Priority(1))])
    for _ in range(2):
        assert [finder.first(f"/{'a' * 10_000}{number}") for number in (7, 8)] == [0, None]
    assert finder.first("/7") == 0
    assert sum(map(len, finder._answers)) == 2


def test_as_many_overrides_as_are_allowed_find_the_last_of_them() -> None:
    items = "".join(override(f"/{number}/*", f"{number % 7},N") for number in range(MAX_OVERRIDES))
    mapping = parse_mapping(HEAD + items, "x.toml")
    last = MAX_OVERRIDES - 1
    assert placed(mapping, f"/{last}/x") == str(Priority(last % 7))
    assert placed(mapping, f"/{MAX_OVERRIDES}/x") == str(Priority(5))
