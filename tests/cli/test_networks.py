"""`networks`: a list for machines, pictures for people, refusals for the rest."""

from __future__ import annotations

import json
from pathlib import Path

from mixedsched.core.link import loss_pattern
from mixedsched.world import catalog
from tests.command import run

LOSSY = """
name = "mine"
description = "Of my own."
source = "made up"
rtt_ms = 40
rate_down_bps = 1_000_000
queue_bytes = 20_000
[loss]
model = "random"
ratio = 0.1
"""


def test_machines_get_every_profile_with_the_losses_of_a_seed() -> None:
    entries = {entry["name"]: entry for entry in json.loads(run("networks", "--json", "--seed", "4").stdout)}
    assert set(entries) == {profile.name for profile in catalog.profiles()}
    burst = entries["sander-burst5"]
    fates = loss_pattern(catalog.load_profile("sander-burst5").up, 4, "up", 200)
    assert burst["losses"]["seed"] == 4
    assert burst["losses"]["up"] == [number for number, lost in enumerate(fates, start=1) if lost]
    assert burst["rtt_ms"] == 100
    assert burst["down"]["queue_bytes"] == 26_215


def test_people_see_only_the_networks_that_they_name_also_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(LOSSY, encoding="utf-8")
    shown = run("networks", str(file), "3g", "--packets", "60").stdout
    assert "mine" in shown
    assert "1 Mbit/s" in shown
    assert "a full queue delays by 160 ms" in shown
    assert "of packets 1 to 60" in shown
    assert "3g" in shown
    assert "fiber" not in shown


def test_a_picture_is_written_and_the_list_still_shown(tmp_path: Path) -> None:
    ended = run("networks", "3g", "--plot", str(tmp_path / "it.html"))
    assert "3g" in ended.stdout
    assert "picture:" in ended.stderr
    assert (tmp_path / "it.html").read_text().startswith("<!DOCTYPE html>")


def test_what_cannot_be_drawn_is_refused_before_anything_is_said() -> None:
    wrong_file, unknown = run("networks", "3g", "--plot", "it.png"), run("networks", "3gg")
    assert (wrong_file.exit_code, wrong_file.stdout) == (2, "")
    assert ".svg" in wrong_file.stderr
    assert (unknown.exit_code, unknown.stdout) == (3, "")
    assert "did you mean '3g'?" in unknown.stderr


def test_what_a_file_says_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "\x1b[31m.trace").write_text("1\n2\n")
    file = tmp_path / "x.toml"
    file.write_text(
        'name = "\\u001b[31mx[/]"\ndescription = "\\u001b]0;d\\u0007"\nsource = "\\u009bs"\nrtt_ms = 10\n'
        'trace_down = "\\u001b[31m.trace"\n',
        encoding="utf-8",
    )
    shown = run("networks", str(file)).stdout
    assert not any(sign in shown for sign in "\x1b\x07\x9b")
    assert all(text in shown for text in (r"\x1b[31mx[/]", r"\x1b]0;d\x07", r"\x9bs", r"\x1b[31m.trace"))


def test_nor_can_its_refusal(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text('"\\u001b[31m[/]" = 1\n', encoding="utf-8")
    refused = run("networks", str(file))
    assert refused.exit_code == 3
    assert "\x1b" not in refused.stderr
    assert r"\x1b[31m[/]: there is no such key" in refused.stderr


def test_a_device_is_refused_instead_of_read_without_end() -> None:
    refused = run("networks", "/dev/zero")
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "not a regular file" in refused.stderr
