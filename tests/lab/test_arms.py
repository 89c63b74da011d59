"""What arms are served by: what is said of servers of other people's before anything starts, and of what they lack after it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.errors import MissingPartError
from mixedsched.lab._arms import Fleet, misses_in
from mixedsched.lab.model import AS_USUAL, Arm, Conditions
from mixedsched.lab.plan import arm_of
from mixedsched.model.congestion import CongestionControl
from mixedsched.sites.opening import open_site
from tests.lab.loads import load_of
from tests.small_site import write_small_site


def program(folder: Path, name: str, said: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{said}'\n")
    file.chmod(0o755)


def fleet(tmp_path: Path, *specs: str, conditions: Conditions = AS_USUAL) -> Fleet:
    site = open_site(str(write_small_site(tmp_path / "small")), None, lambda _: None)
    arms = [arm_of(spec) for spec in specs]
    return Fleet.of(arms, {arm.label: site for arm in arms}, conditions, tmp_path)


def test_a_version_that_nobody_read_and_its_own_congestion_control_are_remarks_for_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "nginx", "nginx version: nginx/1.99.0 --with-http_v3_module")
    monkeypatch.setenv("MIXEDSCHED_SERVERS", str(tmp_path))
    conditions = replace(AS_USUAL, congestion_control=CongestionControl.RENO)
    found = fleet(tmp_path, "eps", "@nginx", conditions=conditions)
    assert "@nginx: version 1.99.0 is not one whose priorities were read (1.26, 1.31)" in found.notes
    assert "@nginx: its congestion control is its own, not reno" in found.notes
    assert found.versions == {"@nginx": "1.99.0"}


def test_without_other_servers_nothing_is_different(tmp_path: Path) -> None:
    found = fleet(tmp_path, "eps", "mixed")
    assert (found.notes, found.versions, found.sizes("eps")) == ((), {}, {})


def test_a_server_that_is_not_here_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MIXEDSCHED_CACHE", str(tmp_path / "nothing"))
    monkeypatch.delenv("MIXEDSCHED_SERVERS", raising=False)
    with pytest.raises(MissingPartError, match="is not here"):
        fleet(tmp_path, "eps", "@quiche")


def test_the_arm_of_a_server_is_its_words() -> None:
    spec = "@nginx:http3_stream_buffer_size=1m"
    assert arm_of(spec) == Arm(spec, spec)
    assert arm_of(spec, "chromium") == Arm(spec, spec), "it has no table of ours"


def test_what_such_a_server_did_not_have_is_told_by_the_browser() -> None:
    loaded = load_of({"https://a.test/x?q=1": 404, "https://a.test/": 200})
    assert [item["path"] for item in misses_in(loaded, {"https://a.test/": 1})] == ["/x?q=1"]
    assert misses_in(loaded, {}) == ()
    assert misses_in(None, {"https://a.test/": 1}) == ()
