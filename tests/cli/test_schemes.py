"""`schemes`: every scheme explained, with what it makes of an example."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from mixedsched.cli import app
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.example import LEGEND, example_page
from mixedsched.errors import UsageError


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["schemes", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_each_scheme_says_what_it_does_needs_and_comes_from() -> None:
    listed = {item["name"]: item for item in json.loads(run("--json"))}
    assert set(listed) == set(SCHEMES)
    for item in listed.values():
        assert item["description"].endswith(".")
        assert item["needs"]
        assert item["source"]


def test_each_scheme_sends_all_of_the_example() -> None:
    packets = {item.id: item.body_bytes // 1400 for item in example_page().resources}
    for item in json.loads(run("--json")):
        assert Counter(item["example_order"]) == packets, item["name"]
    assert list(LEGEND) == list(packets)


def test_parameters_show_in_the_picture() -> None:
    orders = {
        item["name"]: item["example_order"]
        for item in json.loads(run("batched-rr:packets=1", "batched-rr:packets=3", "--json"))
    }
    assert orders["batched-rr:packets=3"].startswith("HHH")
    assert orders["batched-rr:packets=1"].startswith("HCS")


def test_the_picture_is_shown_to_people_with_its_legend() -> None:
    shown = run("fifo")
    assert "HHHHCCCSSSSSDDDDDDIIIIIIJJJJJJKKKKKKTTTFFFXX" in shown
    assert "K another one" in shown
    assert "sequential" not in shown


def test_an_unknown_scheme_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="did you mean 'bucket'"):
        run("buckett")
