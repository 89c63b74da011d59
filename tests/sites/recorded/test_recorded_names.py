"""File names of recordings: no address leads out of the folder, and no two to the same file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.sites.recorded.names import FileNames

HOSTILE = [
    "/../../etc/passwd",
    "/..%2f..%2fetc/passwd",
    "/a\\..\\b",
    "/a\0b",
    "/....//",
    "/%00",
    "/.hidden",
    "/CON.txt",
    "/" + "a" * 3000,
    "/" + "d/" * 300 + "x",
    "/?" + "q" * 5000,
    "/\ud800",
    "/a/./b/../c",
    "//double",
    "/ \t\n",
    "/~root",
    "/-rf",
]
paths = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=60).map("/{}".format),
    st.text(alphabet="aA./\\%2e?~", max_size=14).map("/{}".format),
)


def files_of(addresses: list[tuple[str, str]]) -> list[str]:
    names = FileNames()
    return [names.name(host, path) for host, path in addresses]


@given(st.lists(st.tuples(st.sampled_from(["shop.test", "CDN.test", ".."]), paths), max_size=25))
def test_names_stay_inside_and_differ_by_more_than_case(addresses: list[tuple[str, str]]) -> None:
    files = files_of(addresses)
    assert len({file.lower() for file in files}) == len(files)
    for file in files:
        assert re.fullmatch(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*", file)
        assert all(len(part) <= 80 for part in file.split("/"))
        assert len(file) < 900
        assert not any(other.lower().startswith(f"{file.lower()}/") for other in files)  # no file is a folder


@given(st.lists(st.tuples(st.sampled_from(["shop.test", "cdn.test"]), paths), max_size=12))
def test_all_of_them_can_be_written(addresses: list[tuple[str, str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for file in files_of(addresses):
            path = Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
            assert path.resolve().is_relative_to(Path(folder).resolve())


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("/", "shop.test/index.html"),
        ("/img/a%20b.png", "shop.test/img/a_b.png"),
        ("/docs/", "shop.test/docs/index.html"),
        ("/js/app.js", "shop.test/js/app.js"),
    ],
)
def test_names_are_those_of_the_paths_where_they_can_be(path: str, file: str) -> None:
    assert files_of([("shop.test", path)]) == [file]


def test_queries_become_a_mark_before_the_suffix() -> None:
    plain, one, two = files_of([("shop.test", path) for path in ("/a.css", "/a.css?v=1", "/a.css?v=2")])
    assert plain == "shop.test/a.css"
    assert one != two
    assert re.fullmatch(r"shop\.test/a~[0-9a-f]{8}\.css", one)


def test_a_name_without_suffix_gets_that_of_its_type() -> None:
    assert FileNames().name("shop.test", "/about", ".html") == "shop.test/about.html"


def test_a_file_and_a_folder_of_one_name_get_along() -> None:
    for order in (["/a", "/a/b"], ["/a/b", "/a"]):
        files = files_of([("shop.test", path) for path in order])
        assert not any(other.startswith(f"{file}/") for file in files for other in files)
