import json
from pathlib import Path

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


def test_forget_forgets_one_page_or_all(tmp_path: Path) -> None:
    file = memory(tmp_path)
    assert json.loads(run("memory", "forget", file, "--page", "/other", "--json").stdout)["forgotten"] == 1
    assert json.loads(run("memory", "forget", file, "--json").stdout)["forgotten"] == 1
    assert run("memory", "show", file).stdout.startswith("Nothing is remembered")


def test_a_memory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = run("memory", "show", tmp_path / "none.sqlite")
    assert result.exit_code == 2
    assert not (tmp_path / "none.sqlite").exists()


def test_a_page_that_is_not_remembered_is_an_error(tmp_path: Path) -> None:
    assert run("memory", "show", memory(tmp_path), "--page", "/none").exit_code == 2


def test_a_memory_is_for_the_scheme_that_learns(tmp_path: Path) -> None:
    result = run("serve", "agency", "--scheme", "eps", "--memory", tmp_path / "m.sqlite")
    assert result.exit_code == 2
    assert "learns nothing" in result.stderr
