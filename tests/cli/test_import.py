"""`import`: from a HAR on the command line to a site that other commands take."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mixedsched.sites.opening import load_site
from tests.command import Result, run
from tests.sites.har.hars import chrome, entry_of, save, webpagetest

Import = Callable[..., Result]


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    """imported(ARGUMENT, ...) is `mixedsched import ARGUMENT ...` in an empty folder, which is tmp_path."""
    return partial(run, "import", cwd=tmp_path)


def test_a_har_becomes_a_site_below_sites_named_after_its_host(tmp_path: Path, imported: Import) -> None:
    save(tmp_path, chrome())
    done = imported("page.har", "--licence", "CC0-1.0")
    assert done.exit_code == 0, done.stderr
    assert "mixedsched compare shop-test " in done.stdout
    (folder,) = (tmp_path / "sites").iterdir()
    assert folder.name == "shop-test"
    site = load_site(folder)
    assert site.hosts == ("shop.test", "cdn.shop.test")
    assert site.licence == "CC0-1.0"
    assert json.loads((folder / "page.json").read_text())["record"]["har"] == "page.har"


def test_the_next_commands_can_be_pasted_whatever_the_folder_is_called(tmp_path: Path, imported: Import) -> None:
    save(tmp_path, chrome())
    done = imported("page.har", "--out", "my shop")
    assert "mixedsched sites show 'my shop'\n" in done.stdout


def test_json_has_the_same_facts_for_machines(tmp_path: Path, imported: Import) -> None:
    har = chrome()
    entry_of(har, "low.png")["response"]["status"] = 0
    save(tmp_path, har)
    done = imported("page.har", "--name", "shop", "--json")
    told = json.loads(done.stdout)
    assert (told["name"], told["resources"], told["folder"]) == ("shop", 6, "sites/shop")
    assert told["left_out"] == [
        {"url": "https://shop.test/low.png", "why": "it was blocked or failed: there is no response", "method": "GET"}
    ]


def test_what_is_there_stays_unless_it_may_be_replaced(tmp_path: Path, imported: Import) -> None:
    save(tmp_path, chrome())
    assert imported("page.har", "--out", "there").exit_code == 0
    refused = imported("page.har", "--out", "there")
    assert refused.exit_code == 3
    assert "exists" in refused.stderr
    assert imported("page.har", "--out", "there", "--replace").exit_code == 0


def test_other_pages_are_listed_and_can_be_chosen(tmp_path: Path, imported: Import) -> None:
    save(tmp_path, webpagetest(runs=2))
    done = imported("page.har", "--name", "first")
    assert done.exit_code == 0, done.stderr
    assert "2 pages" in done.stderr
    assert "page_2_0_1" in done.stderr
    chosen = imported("page.har", "--name", "second", "--page", "page_2_0_1", "--json")
    assert chosen.exit_code == 0, chosen.stderr
    manifest = json.loads((tmp_path / "sites/second/page.json").read_text())
    assert manifest["record"]["page"] == "page_2_0_1"
    unknown = imported("page.har", "--name", "third", "--page", "3")
    assert unknown.exit_code == 2
    assert "page_1_0_1, page_2_0_1" in unknown.stderr


def test_errors_have_their_exit_codes_and_leave_nothing(tmp_path: Path, imported: Import) -> None:
    save(tmp_path, json.dumps(chrome())[:4000], "cut.har")
    save(tmp_path, "{}", "other.json")
    for arguments, code in (
        (["cut.har"], 3),
        (["other.json"], 3),
        (["absent.har"], 2),
        (["."], 2),
        (["cut.har", "--name", "../x"], 2),
        ([], 2),
    ):
        done = imported(*arguments)
        assert done.exit_code == code, (arguments, done.stderr)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.har", "other.json"]


def test_hostile_words_do_nothing_to_the_terminal(tmp_path: Path, imported: Import) -> None:
    har = webpagetest(runs=2)
    har["log"]["pages"][0]["title"] = "\x1b[2J[bold]x"
    har["log"]["creator"]["name"] = "\x1b]0;owned\x07"
    entry_of(har, "hero.png")["request"]["url"] = "data:\x1b[31m"
    save(tmp_path, har)
    done = imported("page.har", "--name", "shop")
    assert done.exit_code == 0, done.stderr
    assert "\x1b[2J" not in done.stdout + done.stderr
    assert "\x1b]0;" not in done.stdout + done.stderr
    assert "\x1b[31m" not in done.stdout + done.stderr
    assert "[bold]x" in done.stderr
