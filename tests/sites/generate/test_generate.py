"""Random pages: valid, exact where numbers are given, and made like the measured ones in the long run."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.cli.generate import generate
from mixedsched.errors import MixedschedError, UsageError
from mixedsched.model.page import Page
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.generate import KindTotal, Totals, distributions, generate_page, page_text
from mixedsched.sites.generate._distributions import apportioned, by_shares
from tests.command import run

CLASSES = list(distributions().classes)


@st.composite
def totals(draw: st.DrawFn) -> Totals:
    kinds = {}
    for kind in Kind:
        resources = draw(st.integers(1 if kind is Kind.DOCUMENT else 0, 12))
        if resources:
            kinds[kind] = KindTotal(resources, draw(st.integers(resources, 400_000)))
    return Totals(kinds, hosts=draw(st.none() | st.integers(1, 5)))


def by_kind(page: Page) -> dict[Kind, KindTotal]:
    counts = Counter(item.kind for item in page.resources)
    return {
        kind: KindTotal(count, sum(item.body_bytes for item in page.resources if item.kind is kind))
        for kind, count in counts.items()
    }


@given(size_class=st.sampled_from(CLASSES), seed=st.integers())
def test_a_page_can_be_read_back_as_it_is(size_class: str, seed: int) -> None:
    page = generate_page(size_class, seed)
    assert Page.from_json(page_text(page, source="made up")) == page


@given(size_class=st.sampled_from(CLASSES), seed=st.integers())
def test_a_page_is_of_its_class_and_begins_with_its_document(size_class: str, seed: int) -> None:
    page = generate_page(size_class, seed)
    facts = distributions().classes[size_class]
    assert facts.resources[0] <= len(page.resources) <= facts.resources[-1]
    assert facts.body_bytes[0] - 1 <= sum(item.body_bytes for item in page.resources) <= facts.body_bytes[-1] + 1
    assert page.resources[0] is page.main
    assert len({item.path for item in page.resources}) == len(page.resources)
    assert {item.host for item in page.resources} == set(range(max(item.host for item in page.resources) + 1))


@given(size_class=st.sampled_from(CLASSES), seed=st.integers())
def test_whoever_finds_a_resource_can_do_so_and_was_requested_before(size_class: str, seed: int) -> None:
    known: dict[str, Kind] = {}
    for item in generate_page(size_class, seed).resources:
        if item.found_by is not None:
            assert known[item.found_by] in {Kind.DOCUMENT, Kind.STYLESHEET, Kind.SCRIPT}
        known[item.id] = item.kind


@given(size_class=st.sampled_from(CLASSES), seed=st.integers(), wanted=totals())
def test_totals_are_met_to_the_byte(size_class: str, seed: int, wanted: Totals) -> None:
    page = generate_page(size_class, seed, totals=wanted)
    assert by_kind(page) == wanted.kinds
    if wanted.hosts is not None:
        assert max(item.host for item in page.resources) < wanted.hosts


def test_the_main_document_can_be_given_too() -> None:
    wanted = Totals({Kind.DOCUMENT: KindTotal(3, 50_000)}, main_bytes=49_000)
    page = generate_page("small", 1, totals=wanted)
    assert page.main.body_bytes == 49_000
    assert by_kind(page) == wanted.kinds


@pytest.mark.parametrize(
    ("resources", "body_bytes", "main_bytes"), [(0, 0, None), (2, 1, None), (1, 10, 9), (2, 10, 10), (1, 10, 0)]
)
def test_totals_that_no_page_can_have_are_refused(resources: int, body_bytes: int, main_bytes: int | None) -> None:
    with pytest.raises(ValueError, match=r"document|resources"):
        Totals({Kind.DOCUMENT: KindTotal(resources, body_bytes)}, main_bytes)


def test_an_unknown_class_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="known: large, medium, small"):
        generate_page("huge", 1)


@pytest.fixture(scope="module")
def many() -> dict[str, list[Page]]:
    return {size_class: [generate_page(size_class, seed) for seed in range(80)] for size_class in CLASSES}


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in {Kind.OTHER, Kind.MEDIA}])
def test_signals_have_the_shares_that_were_measured(many: dict[str, list[Page]], kind: Kind) -> None:
    drawn = Counter(
        item.chromium_priority
        for pages in many.values()
        for page in pages
        for item in page.resources
        if item.kind is kind
    )
    for priority, share_pct in distributions().kinds[kind].signals:
        assert 100 * drawn[priority] / drawn.total() == pytest.approx(share_pct, abs=2.5)


@pytest.mark.parametrize("size_class", CLASSES)
def test_pages_have_the_numbers_sizes_and_mix_of_their_class(many: dict[str, list[Page]], size_class: str) -> None:
    facts, pages = distributions().classes[size_class], many[size_class]
    assert statistics.median(len(page.resources) for page in pages) == pytest.approx(facts.resources[3], rel=0.15)
    page_bytes = [sum(item.body_bytes for item in page.resources) for page in pages]
    assert statistics.median(page_bytes) == pytest.approx(facts.body_bytes[3], rel=0.3)
    kinds = Counter(item.kind for page in pages for item in page.resources if item is not page.main)
    for kind, of_kind in facts.kinds.items():
        assert 100 * kinds[kind] / kinds.total() == pytest.approx(of_kind.share_pct, abs=4)


def test_discovery_goes_several_steps_deep_but_mostly_one_or_two(many: dict[str, list[Page]]) -> None:
    depths: Counter[int] = Counter()
    for page in many["large"]:
        depth_of: dict[str, int] = {}
        for item in page.resources:
            depth_of[item.id] = depth_of[item.found_by] + 1 if item.found_by is not None else 0
        depths.update(depth_of.values())
    assert 0.5 < depths[1] / depths.total() < 0.75
    assert 0.02 < sum(times for depth, times in depths.items() if depth >= 3) / depths.total() < 0.3


def test_chromium_hurries_no_more_than_five_images_of_a_document(many: dict[str, list[Page]]) -> None:
    for pages in many.values():
        for page in pages:
            images = [item for item in page.resources if item.kind is Kind.IMAGE]
            assert sum(item.chromium_priority is ChromiumPriority.MEDIUM for item in images) <= 5
            assert sum(Flag.HERO in item.flags for item in images) <= 1


@given(
    shares=st.lists(st.floats(0.1, 100), min_size=1, max_size=6),
    count=st.integers(1, 300),
    seed=st.randoms(use_true_random=False),
)
def test_labels_come_as_often_as_their_shares_say(shares: list[float], count: int, seed: object) -> None:
    drawn = Counter(by_shares(list(enumerate(shares)), count, seed))  # type: ignore[arg-type]
    for label, share in enumerate(shares):
        assert abs(drawn[label] - share / sum(shares) * count) <= 1 + 1e-6


@given(
    weights=st.lists(st.floats(0.01, 1e6), min_size=1, max_size=30),
    spare=st.integers(0, 10**7),
    least=st.integers(1, 500),
)
def test_shares_of_a_total_add_up_to_it(weights: list[float], spare: int, least: int) -> None:
    total = len(weights) + spare
    parts = apportioned(weights, total, [least] * len(weights))
    assert sum(parts) == total
    assert min(parts) >= (least if least * len(weights) <= total else 1)


def test_the_same_seed_gives_the_same_page_in_another_process() -> None:
    command = [sys.executable, "-m", "mixedsched", "generate", "--size-class", "small", "--seed", "5"]
    texts = {
        subprocess.run(command, capture_output=True, check=True, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert Page.from_dict(json.loads(texts.pop())) == generate_page("small", 5)


def test_several_pages_go_into_a_folder(tmp_path: Path) -> None:
    assert run("generate", "--pages", "2", "--out", tmp_path / "pages").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["medium-1.json", "medium-2.json"]


def test_files_that_are_there_are_overwritten_only_if_asked(tmp_path: Path) -> None:
    file = tmp_path / "page.json"
    file.write_text("precious")
    refused = run("generate", "--out", file)
    assert (refused.exit_code, "exists" in refused.stderr, file.read_text()) == (2, True, "precious")
    assert run("generate", "--out", file, "--replace").exit_code == 0
    assert Page.from_json(file.read_text()).resources


def test_a_file_whose_name_no_folder_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MixedschedError, match="cannot write"):
        generate(output=tmp_path / ("x" * 300))
