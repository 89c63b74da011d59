"""`synth`: from a page description to a site, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mixedsched.cli import app
from mixedsched.errors import MixedschedError
from mixedsched.sites.opening import load_site
from tests.sites.synth.pages import page, resource


@pytest.fixture
def description(tmp_path: Path) -> Path:
    file = tmp_path / "shop.json"
    made = page(5000, resource("one", "image", 500, chromium_priority="VeryHigh"))
    file.write_text(made.model_dump_json())
    return file


def synth(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["synth", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_a_description_becomes_a_folder_that_is_a_site(description: Path, tmp_path: Path) -> None:
    told = synth(description, "--out", tmp_path / "site")
    assert load_site(tmp_path / "site").name == "made-up"
    assert "2 resources" in told
    assert "VeryHigh" in told, "what Chromium cannot do is said"


def test_json_tells_the_same_facts(description: Path, tmp_path: Path) -> None:
    facts: dict[str, Any] = json.loads(synth(description, "--out", tmp_path / "site", "--name", "shop", "--json"))
    assert facts["site"] == "shop"
    assert facts["hosts"] == ["shop.test"]
    assert facts["body_bytes"] == 5500
    assert [(one["id"], one["what"]) for one in facts["deviations"]] == [("one", "priority")]
    assert facts["check"] is None


def test_a_folder_that_is_there_is_replaced_only_if_asked(description: Path, tmp_path: Path) -> None:
    synth(description, "--out", tmp_path / "site")
    with pytest.raises(MixedschedError, match="exists"):
        synth(description, "--out", tmp_path / "site")
    synth(description, "--out", tmp_path / "site", "--replace")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "mixedsched.page/1", "name": "x", "resources": []}', "\0" * 99]
)
def test_rubbish_is_refused_before_anything_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(MixedschedError) as refusal:
        synth(tmp_path / "bad.json", "--out", tmp_path / "site")
    assert refusal.value.exit_code == 3
    assert not (tmp_path / "site").exists()


@pytest.mark.usefixtures("chromium")
def test_the_check_says_how_far_chromium_does_what_the_description_says(description: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["synth", str(description), "--out", str(tmp_path / "site"), "--check", "--json"])
    assert result.exit_code == 5, "half of the resources have another priority"
    facts = json.loads(result.stdout)
    assert facts["check"]["share"] == 0.5
    assert [(one["id"], one["what"]) for one in facts["check"]["findings"]] == [("one", "priority")]


@pytest.mark.usefixtures("chromium")
def test_sites_check_asks_chromium_too(description: Path, tmp_path: Path) -> None:
    synth(description, "--out", tmp_path / "site")
    result = CliRunner().invoke(app, ["sites", "check", str(tmp_path / "site"), "--browser", "--json"])
    assert result.exit_code == 5, "the listed priority is one that Chromium never gives to an image"
    told: dict[str, Any] = json.loads(result.stdout)
    assert (told["errors"], told["browser"]["requested"], told["browser"]["has_exact_sizes"]) == (0, 2, True)
    assert [(one["id"], one["what"], one["wanted"]) for one in told["browser"]["findings"]] == [
        ("one", "priority", "VeryHigh")
    ]
