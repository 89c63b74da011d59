"""`sites`, and what `serve` makes of the hosts of a site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import Result, run
from tests.sites.folders import page, site_of
from tests.world.server.client import serving

THREE = ["three-hosts.test", "three-hosts-static.test", "three-hosts-fonts.test"]


def told_of(*names: str) -> Result:
    ended = run("sites", *names, "--json")
    assert ended.exit_code == 0, ended.stderr
    return ended


def sites(*names: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(told_of(*names).stdout)
    return listed


def test_each_bundled_site_tells_its_hosts() -> None:
    by_name = {entry["name"]: entry for entry in sites()}
    assert by_name["agency"]["hosts"] == ["agency.test"]
    assert by_name["three-hosts"]["hosts"] == THREE
    assert {entry["origins"] for entry in by_name.values()} == {"keep"}


def test_a_site_that_is_named_tells_its_connections_and_why() -> None:
    (entry,) = sites("three-hosts")
    assert entry["connections"] == 2
    assert "three-hosts-fonts.test" in entry["connections_explanation"]


def test_a_folder_can_be_named_too(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><p>hello")
    (entry,) = sites(str(tmp_path))
    assert (entry["connections"], entry["connections_explanation"]) == (1, "all is on one host")
    (tmp_path / "mixedsched.toml").write_text("connections = 2\n")
    (entry,) = sites(str(tmp_path))
    assert entry["connections"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "hosts", "connections"),
    [([], THREE, 2), (["--origins", "keep"], THREE, 2), (["--origins", "merge"], THREE[:1], 1)],
)
def test_serve_keeps_or_merges_the_hosts(options: list[str], hosts: list[str], connections: int) -> None:
    with serving("three-hosts", *options) as server:
        assert server.first["hosts"] == hosts
        assert server.first["connections"] == connections


@pytest.mark.slow
def test_a_site_that_wants_its_hosts_merged_is_served_so_unless_told_otherwise(tmp_path: Path) -> None:
    site_of(tmp_path, {(0, "/"): page("<script>fetch('https://cdn.test/x')</script>")}, origins="merge")
    with serving(tmp_path) as server:
        assert server.first["hosts"] == ["shop.test"]
    with serving(tmp_path, "--origins", "keep") as server:
        assert len(server.first["hosts"]) == 3


def test_what_merging_cannot_follow_is_a_warning(tmp_path: Path) -> None:
    site_of(tmp_path, {(0, "/"): page("<script>fetch('https://cdn.test/x')</script>")}, origins="merge")
    ended = told_of(str(tmp_path))
    assert "warning: shop.test/ still names cdn.test" in ended.stderr
    assert json.loads(ended.stdout)[0]["hosts"] == ["shop.test"]
