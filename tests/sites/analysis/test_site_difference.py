"""What a diff of two pages tells: who came, who left, who changed, who moved."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from mixedsched.model.page import Page
from mixedsched.sites.analysis.difference import Described, Difference, difference
from tests.sites.folders import manifest, resource


def described(*resources: dict[str, Any], **more: Any) -> Described:
    data = manifest(*resources, **more)
    return Described.of_page(Page.from_dict(data), data)


def images(*paths: str) -> list[dict[str, Any]]:
    return [resource(path, 100) for path in paths]


def changes(found: Difference) -> dict[str, dict[str, tuple[Any, Any]]]:
    return {
        pair.after.path: {change.what: (change.before, change.after) for change in pair.changes}
        for pair in found.changed
    }


def test_a_page_does_not_differ_from_itself() -> None:
    page = described(*images("/a", "/b?x=1", "/b?x=2"))
    found = difference(page, page)
    assert (found.added, found.removed, found.changed, found.order_correlation) == ((), (), (), 1.0)


def test_what_came_and_what_left() -> None:
    found = difference(described(*images("/a", "/b")), described(*images("/b", "/c")))
    assert [item.path for item in found.removed] == ["/a"]
    assert [item.path for item in found.added] == ["/c"]
    assert not found.changed, "that others came or left moves nobody"


def test_queries_are_matched_by_what_they_have_in_common() -> None:
    before = described(*images("/p?user=1&t=100", "/p?page=2", "/p?page=3"))
    after = described(*images("/p?page=3", "/p?user=1&t=199", "/p?page=7"))
    pairs = {pair.before.path: pair.after.path for pair in difference(before, after).pairs}
    assert pairs["/p?user=1&t=100"] == "/p?user=1&t=199"
    assert pairs["/p?page=3"] == "/p?page=3"
    assert pairs["/p?page=2"] == "/p?page=7"


def test_the_own_host_is_the_same_whatever_its_name_and_others_by_name() -> None:
    before = described(resource("/a", 1, host=1), hosts=["shop.test", "cdn.test"])
    after = described(resource("/a", 1, host=2), hosts=["copy.test", "ads.test", "cdn.test"])
    found = difference(before, after)
    assert len(found.pairs) == 2
    other = described(resource("/a", 1, host=1), hosts=["copy.test", "ads.test"])
    assert [item.path for item in difference(before, other).added] == ["/a"]


def test_every_property_that_changed_is_told_with_both_values() -> None:
    before = described(resource("/a", 1, flags=["lazy"]), *images("/b"))
    after = described(
        resource("/a", 2, kind="script", chromium_priority="High", flags=["async"], found_by="/b"), *images("/b")
    )
    assert changes(difference(before, after)) == {
        "/a": {
            "body_bytes": (1, 2),
            "kind": ("image", "script"),
            "chromium_priority": ("Low", "High"),
            "incremental": (True, False),
            "flags": (["lazy"], ["async"]),
            "parent": ("/", "/b"),
        }
    }


def test_only_who_left_its_place_has_moved() -> None:
    found = difference(described(*images("/a", "/b", "/c", "/d")), described(*images("/d", "/a", "/b", "/c")))
    assert changes(found) == {"/d": {"position": (5, 2)}}


@given(st.permutations([f"/{n}" for n in range(7)]))
def test_the_order_correlation_is_spearmans(paths: list[str]) -> None:
    found = difference(described(*images(*sorted(paths))), described(*images(*paths)))
    expected = spearmanr([0, *(1 + paths.index(path) for path in sorted(paths))], range(8)).statistic
    assert found.order_correlation == pytest.approx(expected)
    moved = [pair for pair in found.pairs if pair.moved]
    kept = [pair.positions[1] for pair in found.pairs if not pair.moved]
    assert kept == sorted(kept)
    assert bool(moved) == (paths != sorted(paths))


def test_a_single_resource_has_no_order() -> None:
    assert difference(described(), described()).order_correlation is None
