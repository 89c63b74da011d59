import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mixedsched.cli import memory as memory_command
from mixedsched.world.store import open_memory
from tests.command import run
from tests.core.learning.visits import visit


def memory(folder: Path) -> Path:
    file = folder / "memory.sqlite"
    with open_memory(file) as store:
        for path in ("/", "/other"):
            for _ in range(3):
                store.change(path, 1.0, lambda state: state.learn(visit()))
    return file


def test_show_tells_what_is_believed_of_each_page_and_from_how_many_visits(tmp_path: Path) -> None:
    pages = json.loads(run("memory", "show", memory(tmp_path), "--json").stdout)["pages"]
    assert [item["visits"] for item in pages] == [3, 3]
    assert pages[0]["order"]["name"] == "safe"
    assert {role["path"] for role in pages[0]["roles"]} >= {"/img/two.jpg", "/app.0a1b2c3d.css"}
    shown = run("memory", "show", tmp_path / "memory.sqlite").stdout
    assert "3 visits" in shown
    assert "order: safe" in shown


def test_paths_that_clients_asked_for_do_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/[/red]\x1b[2J"
    role = {
        "kind": "image",
        "bytes": 1,
        "share": 1.0,
        "seen": None,
        "path": path,
        "found": f"found when {path} is complete",
    }
    order = {"name": path, "why": path}
    network = {"name": path, "share": 1.0, "order": path}
    page = {
        "path": path, "visits": 1, "partial_visits": 0, "order": order, "left": {path: path}, "networks": [network],
        "beacons": None, "outcomes": {path: {"told": 0, "visits": 1, "lcp_ms": 1.0}}, "roles": [role],
    }  # fmt: skip
    memory_command._print(page, details=True)
    said = capsys.readouterr().out
    assert said.count(r"/[/red]\x1b[2J") == 10
    assert "\x1b" not in said


def test_forget_forgets_one_page_or_all(tmp_path: Path) -> None:
    file = memory(tmp_path)
    assert json.loads(run("memory", "forget", file, "--page", "/other", "--json").stdout)["forgotten"] == 1
    assert json.loads(run("memory", "forget", file, "--json").stdout)["forgotten"] == 1
    assert run("memory", "show", file).stdout.startswith("Nothing is remembered")


def test_a_memory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = run("memory", "show", tmp_path / "none.sqlite")
    assert result.exit_code == 2
    assert not (tmp_path / "none.sqlite").exists()


def test_to_look_changes_nothing_and_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    file = memory(tmp_path)
    before = file.read_bytes()
    assert run("memory", "show", file).exit_code == 0
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_memory_that_a_server_has_open_is_shown_with_its_latest_visits(tmp_path: Path) -> None:
    file = memory(tmp_path)
    with open_memory(file) as store:
        store.change("/new", 2.0, lambda state: state.learn(visit()))
        assert file.with_name("memory.sqlite-wal").exists()
        pages = json.loads(run("memory", "show", file, "--json").stdout)["pages"]
    assert [item["visits"] for item in pages] == [1, 3, 3]


WRITES_NOTHING = """
import resource, runpy, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
sys.argv = ["mixedsched", *sys.argv[1:]]
runpy.run_module("mixedsched", run_name="__main__")
"""


def test_a_memory_is_shown_where_nothing_can_be_written(tmp_path: Path) -> None:
    """A file of another user, or on a disk that is full."""
    words = (sys.executable, "-B", "-c", WRITES_NOTHING, "memory", "show", str(memory(tmp_path)), "--json")
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert [item["visits"] for item in json.loads(told.stdout)["pages"]] == [3, 3]


@pytest.mark.parametrize("command", ["show", "forget"])
@pytest.mark.parametrize(
    ("content", "code", "words"),
    [("database", 2, "is no memory"), ("empty", 2, "is no memory"), ("text", 1, "not a database")],
)
def test_a_file_that_is_no_memory_is_refused_and_left_as_it_is(
    tmp_path: Path, command: str, content: str, code: int, words: str
) -> None:
    file = tmp_path / "other"
    file.write_bytes(b"no database at all" * 100 if content == "text" else b"")
    if content == "database":
        with sqlite3.connect(file) as database:
            database.execute("CREATE TABLE places (url TEXT)")
        database.close()
    before = file.read_bytes()
    result = run("memory", command, file)
    assert result.exit_code == code
    assert words in result.stderr
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_page_that_is_not_remembered_is_an_error(tmp_path: Path) -> None:
    assert run("memory", "show", memory(tmp_path), "--page", "/none").exit_code == 2


def test_a_memory_is_for_the_scheme_that_learns(tmp_path: Path) -> None:
    result = run("serve", "agency", "--scheme", "eps", "--memory", tmp_path / "m.sqlite")
    assert result.exit_code == 2
    assert "learns nothing" in result.stderr
