"""Which browsers may share a study."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.lab.study.browsers import differences, together

VERSIONS = st.sampled_from(["156.0.8078.79", "156.0.8078.108", "156.0.8078.9"])


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        ("156.0.8078.79", "156.0.8078.79", []),
        ("156.0.8078.79", "156.0.8078.108", []),
        ("156.0.8078.79, 156.0.8078.108", "156.0.8078.9", []),
        ("156.0.8078.79", "156.0.8079.79", ["chromium 156.0.8078.79 -> 156.0.8079.79"]),
        ("156.0.8078.79", "157.0.8078.79", ["chromium 156.0.8078.79 -> 157.0.8078.79"]),
        ("1.2", "1.3", ["chromium 1.2 -> 1.3"]),
        ("", "156.0.8078.79", ["chromium  -> 156.0.8078.79"]),
    ],
)
def test_only_the_last_of_four_parts_may_differ(before: str, now: str, found: list[str]) -> None:
    assert differences({"chromium": before}, {"chromium": now}) == found


def test_any_other_program_must_be_the_same() -> None:
    before = {"chromium": "1.0.0.1", "node": "20.20.2.1"}
    assert differences(before, {"chromium": "1.0.0.2", "node": "20.20.2.2"}) == ["node 20.20.2.1 -> 20.20.2.2"]
    assert differences(before, {"chromium": "1.0.0.1", "caddy": "2"}) == ["caddy None -> 2"]


@given(st.lists(VERSIONS, min_size=1))
def test_each_browser_is_named_once_in_the_order_of_its_coming(versions: list[str]) -> None:
    named = {"chromium": versions[0], "node": "20"}
    for version in versions[1:]:
        named = together(named, {"chromium": version, "node": "20"})
    assert named == {"chromium": ", ".join(dict.fromkeys(versions)), "node": "20"}
