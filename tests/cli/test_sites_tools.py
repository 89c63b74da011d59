"""`sites show`, `check` and `diff`, and how sites are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mixedsched.cli import app
from mixedsched.errors import MixedschedError
from tests.sites.folders import built, manifest, page, resource, write_files


def told(*arguments: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["sites", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def facts(*arguments: str | Path, code: int = 0) -> Any:
    return json.loads(told(*arguments, "--json", code=code))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which one stands, with a site in ./shop."""
    image = resource("/img.png", 3, flags=["hero"], mime="text/plain")
    (tmp_path / "shop").mkdir()
    built(tmp_path / "shop", manifest(image, licence="MIT"), {"img.png": "png"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_show_tells_every_resource_with_its_place(shop: Path) -> None:
    found = facts("show", "shop")
    assert (found["name"], found["licence"], found["totals"]["resources"]) == ("shop", "MIT", 2)
    html, image = found["resources"]
    assert (html["depth"], html["children"], html["host_name"]) == (0, ["/img.png"], "shop.test")
    assert (image["depth"], image["above_fold"], image["urgency"], image["status"]) == (1, True, 2, 200)
    assert found["totals"]["kinds"]["image"] == {"resources": 1, "body_bytes": 3}
    assert found["totals"]["above_fold"]["resources"] == 2


def test_show_draws_a_page_file_and_writes_a_document(shop: Path) -> None:
    (shop / "page.json").write_text(json.dumps(manifest(resource("/img.png", 3))))
    assert "└ /img.png" in told("show", "page.json", "--html", "picture.html")
    assert "<svg" in (shop / "picture.html").read_text()


def test_half_signs_in_what_a_page_file_tells_people_do_no_harm(shop: Path) -> None:
    (shop / "page.json").write_text(json.dumps({**manifest(), "title": "\ud800", "hosts": ["\ud801"]}))
    assert "\\ud800" in told("show", "page.json", "--html", "picture.html")
    assert facts("show", "page.json")["resources"][0]["host_name"] == "\\ud801"


def test_a_picture_that_cannot_be_written_is_refused(shop: Path) -> None:
    for name, words in (("picture.png", "must end in .html"), ("no/such/folder.html", "cannot write")):
        with pytest.raises(MixedschedError, match=words):
            told("show", "shop", "--html", name)


def test_check_passes_a_sound_site(shop: Path) -> None:
    found = facts("check", "shop")
    assert (found["errors"], found["warnings"], found["connections"]) == (0, 0, 1)


def test_check_lists_errors_and_leaves_with_3(shop: Path) -> None:
    (shop / "shop/www/img.png").write_text("other")
    found = facts("check", "shop", code=3)
    assert found["errors"] == 1
    assert "should have 3 bytes" in found["findings"][0]["what"]
    assert "1 error" in told("check", "shop", code=3)


def test_check_finds_what_a_plain_folder_lacks(shop: Path) -> None:
    write_files(shop / "plain", {"index.html": page(body="<img src=/gone.png>")})
    assert "gone.png" in facts("check", "plain", code=3)["findings"][0]["what"]


def test_long_lists_of_findings_are_folded(shop: Path) -> None:
    write_files(shop / "shop/www", {f"left/{number}": "x" for number in range(30)})
    assert "and 10 more about unused" in told("check", "shop")
    assert "more about" not in told("check", "shop", "--all")


def test_diff_of_a_site_and_its_edited_copy(shop: Path) -> None:
    edited = manifest(resource("/img.png", 4), resource("/new.png", 3, file="img.png"))
    shutil.copytree(shop / "shop", shop / "copy")
    built(shop / "copy", edited, {"img.png": "png!"})
    edited["resources"][2]["body_bytes"] = 4
    (shop / "copy/page.json").write_text(json.dumps(edited))
    found = facts("diff", "shop", "copy")
    assert [item["path"] for item in found["added"]] == ["/new.png"]
    assert found["changed"][0]["changes"] == {
        "body_bytes": [3, 4],
        "flags": [["hero"], []],
        "chromium_priority": ["Medium", "Low"],
    }
    assert (found["matched"], found["unchanged"], found["order_correlation"]) == (2, 1, 1.0)
    assert "+ /new.png" in told("diff", "shop", "copy")


def test_a_recorded_site_is_found_by_name(shop: Path) -> None:
    shutil.copytree(shop / "shop", shop / "sites/monday")
    for name in ("monday", "sites/monday", "./sites/monday", "sites/monday/page.json"):
        assert facts(name)[0]["hosts"] == ["shop.test"]


def test_recorded_sites_are_listed_and_a_broken_one_does_not_spoil_the_list(shop: Path) -> None:
    shutil.copytree(shop / "shop", shop / "sites/monday")
    write_files(shop / "sites/broken", {"page.json": "{", "www/x": ""})
    listed = {entry["name"]: entry for entry in facts()}
    assert listed["monday"]["hosts"] == ["shop.test"]
    assert "is not JSON" in listed["broken"]["description"]


def test_a_folder_called_like_a_command_is_named_with_its_path(shop: Path) -> None:
    shutil.copytree(shop / "shop", shop / "check")
    assert facts("./check")[0]["name"] == "shop"
    result = CliRunner().invoke(app, ["sites", "check", "shop"])
    assert "the folder is ./check" in result.output


@pytest.mark.parametrize("command", ["show", "check", "diff"])
def test_what_is_no_site_is_refused(shop: Path, command: str) -> None:
    others = ("shop",) if command == "diff" else ()
    with pytest.raises(MixedschedError) as caught:
        told(command, "nosuch", *others)
    assert (caught.value.exit_code, "there is no site 'nosuch'" in str(caught.value)) == (3, True)


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"format": "other"}), "[" * 100_000, "\ud800"])
def test_rubbish_is_no_page(shop: Path, text: str) -> None:
    (shop / "rubbish.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    for arguments in (("show", "rubbish.json"), ("diff", "shop", "rubbish.json")):
        with pytest.raises(MixedschedError) as caught:
            told(*arguments)
        assert caught.value.exit_code == 3
