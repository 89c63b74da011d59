"""The rules of the house that a machine can check. Layers are checked by import-linter (setup.cfg), style by ruff.

What breaks a rule today is listed beside it. The lists may only become shorter.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[1]
PACKAGE = HOME / "mixedsched"

ENTRIES_MOST = 10
FILE_LINES_MOST, COMMAND_FILE_LINES_MOST = 350, 200
FUNCTION_LINES_MOST = 60

LONG_FUNCTIONS = {"mixedsched/lab/experiment.py: compare"}  # 20 lines of it describe its arguments
FOREIGN_PRIVATE_IMPORTS: set[str] = set()
# One name with several meanings: each should be renamed to something specific, but for those whose meaning differs by nothing
# but their room.
SHARED_CLASS_NAMES: set[str] = set()


def texts(folder: str) -> dict[str, str]:
    """All Python of a folder, by path."""
    return {path.relative_to(HOME).as_posix(): path.read_text() for path in sorted((HOME / folder).rglob("*.py"))}


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    return {path: ast.parse(text) for path, text in texts("mixedsched").items()}


@pytest.fixture(scope="module")
def tests() -> dict[str, str]:
    return texts("tests")


def lines_of(path: str) -> int:
    return len((HOME / path).read_text().splitlines())


def length_of(function: ast.FunctionDef | ast.AsyncFunctionDef, path: str) -> int:
    """In lines. Of a command's function only the body counts: its signature is the table of its options."""
    first = function.body[0].lineno if path.startswith("mixedsched/cli/") else function.lineno
    return (function.end_lineno or first) - first + 1


def imported_by(tree: ast.Module) -> Iterator[str]:
    """Every module that is imported, anywhere in a file; of `from package import name` both, since name may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def is_module(name: str) -> bool:
    path = HOME.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def owners_of_privacy(module: str) -> Iterator[str]:
    """The folder of each private part of this name: a._b.c is for all in a."""
    parts = module.split(".")
    for index, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            yield "/".join(parts[:index]) + "/"


def test_the_package_has_ten_entries_at_most() -> None:
    python = {"__init__.py", "__main__.py", "__pycache__", "py.typed"}
    # A folder of an earlier version may have nothing but Python's cache left in it.
    entries = {path.name for path in PACKAGE.iterdir() if path.is_file() or any(path.rglob("*.py"))}
    assert len(entries - python) <= ENTRIES_MOST


def test_no_file_is_longer_than_its_limit(modules: dict[str, ast.Module]) -> None:
    limits = {path: COMMAND_FILE_LINES_MOST if "/cli/" in path else FILE_LINES_MOST for path in modules}
    assert [path for path, limit in limits.items() if lines_of(path) > limit] == []


def test_no_function_is_longer_than_a_screen(modules: dict[str, ast.Module]) -> None:
    long = {
        f"{path}: {node.name}"
        for path, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length_of(node, path) > FUNCTION_LINES_MOST
    }
    assert long <= LONG_FUNCTIONS


def test_private_modules_are_imported_within_their_folder_only(modules: dict[str, ast.Module]) -> None:
    foreign = {
        f"{path}: {module}"
        for path, tree in modules.items()
        for module in imported_by(tree)
        if is_module(module) and not all(path.startswith(owner) for owner in owners_of_privacy(module))
    }
    assert foreign <= FOREIGN_PRIVATE_IMPORTS


def test_a_class_name_means_one_thing(modules: dict[str, ast.Module]) -> None:
    places = defaultdict(set)
    for path, tree in modules.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(path)
    assert {name for name, found in places.items() if len(found) > 1} <= SHARED_CLASS_NAMES


@pytest.mark.parametrize("kind", ["alone", "browser", "namespaces"])
def test_no_test_gives_itself_a_marker_that_comes_from_what_it_asks_for(kind: str, tests: dict[str, str]) -> None:
    givers = {"tests/conftest.py", "tests/world/emulator/privileged.py"}
    marked = {path for path, text in tests.items() if f"pytest.mark.{kind}" in text}
    assert marked <= givers


def test_tests_share_helpers_and_not_tests(tests: dict[str, str]) -> None:
    assert [
        f"{path}: {module}"
        for path, text in tests.items()
        if re.search(r"(?m)^\s*(?:from|import) tests\b.*\btest_", text)  # the others need no parsing
        for module in imported_by(ast.parse(text))
        if module.startswith("tests.") and module.rpartition(".")[2].startswith("test_") and is_module(module)
    ] == []
