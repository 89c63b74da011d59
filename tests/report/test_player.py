"""Rules of the player: what a film holds, and that it can be watched in a real browser, by mouse and by keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.report._filmstrip import frames_of, thinned
from mixedsched.report._player import film_of
from tests.browsing import Browse, Step, browsing
from tests.report.made_up_reports import experiment, film, one_block, report
from tests.report.made_up_runs import GREY_JPEG, MadeUp, made_up_plan, numbered_jpeg
from tests.report.outline import Outline

HOSTILE = "</script><script>alert(1)</script>"


def test_each_load_has_a_reel_with_its_moments_and_pictures() -> None:
    runs = one_block("round-robin", "mixed")
    shown = film_of(runs)
    assert shown is not None
    assert [reel.label for reel in shown.reels] == list(runs)
    for reel, run in zip(shown.reels, runs.values(), strict=True):
        assert reel.frames == frames_of(run)
        assert {mark.name: mark.at_ms for mark in reel.marks} == {
            "FCP": run.observed_ms("fcp_ms"),
            "LCP": run.observed_ms("lcp_ms"),
        }
        assert all(0 < mark.place < 1 for mark in reel.marks)


def test_a_row_is_the_same_response_in_every_load() -> None:
    first, second = film().reels
    assert [row and row.key for row in first.rows] == [row and row.key for row in second.rows]


def test_a_response_that_only_one_load_asked_for_has_no_bytes_in_the_other() -> None:
    runs = one_block("round-robin", "mixed")
    requests = [item for item in runs["mixed"].page_load["requests"] if "hero" not in item["url"]]
    runs["mixed"] = replace(runs["mixed"], page_load={**runs["mixed"].page_load, "requests": requests})
    shown = film_of(runs)
    assert shown is not None
    missing = [
        first is not None and second is None for first, second in zip(*(r.rows for r in shown.reels), strict=True)
    ]
    assert sum(missing) == 1


def test_bytes_only_grow_and_a_complete_response_has_all_of_them_at_its_end() -> None:
    for reel in film().reels:
        for row in filter(None, reel.rows):
            parts = [part for _, part in row.received]
            steps = [step for step, _ in row.received]
            assert parts == sorted(set(parts))
            assert steps == sorted(set(steps))
            if row.end_ms is not None:
                assert parts[-1] == 1000


def test_without_a_network_log_bytes_come_evenly_from_request_to_end() -> None:
    runs = {label: replace(run, arrivals=()) for label, run in one_block("a", "b").items()}
    shown = film_of(runs)
    assert shown is not None
    row = next(row for row in shown.reels[0].rows if row is not None and row.end_ms is not None)
    assert row.received[-1][1] == 1000


def test_of_many_responses_the_smallest_have_no_row_and_are_counted() -> None:
    runs = one_block("a", "b")
    base = runs["a"].page_load["requests"][0]
    many = [{**base, "url": f"https://shop.test/{index}", "transfer_bytes": index} for index in range(100)]
    shown = film_of({label: replace(run, page_load={**run.page_load, "requests": many}) for label, run in runs.items()})
    assert shown is not None
    assert shown.left_out == 40
    assert min(row.size_bytes for row in shown.reels[0].rows if row is not None) == 40


def test_without_pictures_there_is_no_film() -> None:
    runs = {label: replace(run, page_load={**run.page_load, "frames": []}) for label, run in one_block("a").items()}
    assert film_of(runs) is None


def test_pictures_are_thinned_to_their_room_and_the_first_and_last_stay() -> None:
    frames = frames_of(one_block("a", jpeg_of=lambda arm, progress: numbered_jpeg(round(1000 * progress)))["a"])
    few = thinned(frames, 5 * len(GREY_JPEG) + 5 * 8)
    assert len(few) == 5
    assert (few[0], few[-1]) == (frames[0], frames[-1])
    assert thinned(frames, 0) == (frames[0], frames[-1])
    assert thinned(frames, 10**9) == frames


def test_what_the_player_reads_cannot_end_its_script() -> None:
    runs = {HOSTILE: one_block("a")["a"]}
    shown = film_of(runs)
    assert shown is not None
    assert "<" not in shown.data
    assert json.loads(shown.data)["reels"][0]["label"] == HOSTILE


def test_hostile_labels_stay_text_in_a_report_that_plays() -> None:
    plan = made_up_plan(7, ("round-robin", HOSTILE))
    outline = Outline(report(plan, MadeUp(plan).runs()))
    assert len(outline.scripts) == 1
    assert outline.stands_alone


# In a browser

# What scripts of a test may use: the player and its parts.
PARTS = """
const player = document.querySelector('.player'), answer = {};
const sleep = ms => new Promise(done => setTimeout(done, ms));
const slider = player.querySelector('[type=range]');
const slide = at => { slider.value = at; slider.dispatchEvent(new Event('input')); };
const clock = () => parseFloat(player.querySelector('.clock').textContent);
const pictures = () => [...player.querySelectorAll('use')].map(use => use.getAttribute('href'));
const bars = () => [...player.querySelectorAll('.got')].map(bar => new DOMMatrix(getComputedStyle(bar).transform).a);
const does = name => player.querySelector(`[data-do=${name}]`);
const end_s = JSON.parse(player.querySelector('script').textContent).end_ms / 1000;
"""

Watch = Callable[..., list[Any]]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("reports") / "report.html"
    file.write_text(report(*experiment()), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browse(tmp_path_factory: pytest.TempPathFactory, chromium: None) -> Iterator[Browse]:
    with browsing(tmp_path_factory.mktemp("profile")) as browse:
        yield browse


@pytest.fixture
def watch(browse: Browse, page: Path) -> Watch:
    """Opens a report and does steps there; a plain text is a script that knows PARTS, and leaves what it gives."""

    def watched(*steps: str | Step) -> list[Any]:
        told = [("evaluate", PARTS + step) if isinstance(step, str) else step for step in steps]
        seen = browse(("goto", page.as_uri()), *told)
        assert seen.console == []
        return seen.results

    return watched


def test_it_shows_itself_where_scripts_run_and_starts_with_nothing(watch: Watch) -> None:
    (seen,) = watch("return [player.hidden, clock(), pictures(), bars()]")
    hidden, clock_s, pictures, bars = seen
    assert not hidden
    assert clock_s == 0
    assert all(name.startswith("#frame-") for name in pictures)
    assert set(bars) == {0}


def test_without_scripts_it_stays_away_and_the_strip_says_the_same(browse: Browse, page: Path) -> None:
    heights = "return [document.querySelector('.player').offsetHeight, document.querySelector('.film').offsetHeight]"
    seen = browse(("scripts_off", ""), ("goto", page.as_uri()), ("evaluate", heights))
    player_height, strip_height = seen.results[0]
    assert player_height == 0
    assert strip_height > 50


def test_it_plays_to_its_end_where_all_bytes_have_come(watch: Watch) -> None:
    (seen,) = watch(
        "slide(1000 * end_s - 200); does('play').click(); const running = does('play').ariaLabel;"
        "while (does('play').ariaLabel !== 'Play') await sleep(20);"
        "return [running, clock(), end_s, bars()]"
    )
    running, clock_s, end_s, bars = seen
    assert running == "Stop"
    assert clock_s == pytest.approx(end_s, abs=0.006)
    assert bars.count(1) >= 0.8 * len(bars)


def test_slow_motion_takes_its_time(watch: Watch) -> None:
    (seen,) = watch(
        "let now = performance.now(); performance.now = () => now; const frame = () => new Promise(requestAnimationFrame);"
        "const speed = async value => { player.querySelector(`.speeds input[value='${value}']`).click(); const from = clock();"
        "does('play').click(); await frame(); now += 400; await frame(); await frame(); does('play').click();"
        "return clock() - from; };"
        "return [await speed(0.25), await speed(0.5), await speed(1)]"
    )
    assert seen == pytest.approx([0.1, 0.2, 0.4], abs=0.006)


def test_slider_and_marks_go_to_their_time_and_say_what_was_there(watch: Watch) -> None:
    (seen,) = watch(
        "slide(1500); const slid = clock(), said = slider.ariaValueText; const mark = player.querySelector('.moment');"
        "mark.click(); return [slid, said, clock(), mark.dataset.at / 1000]"
    )
    slid_s, said, marked_s, at_s = seen
    assert slid_s == 1.5
    assert re.match(r"1\.50 s\. round-robin: [\d.]+ [kM]B, \d+ of \d+ responses complete\. mixed: ", said)
    assert marked_s == pytest.approx(at_s, abs=0.006)


def test_keys_play_and_go_from_change_to_change(watch: Watch) -> None:
    began, first, second, back, playing, stopped = watch(
        "slider.focus(); return clock()",
        ("press", "."),
        "return clock()",
        ("press", "."),
        "return clock()",
        ("press", ","),
        "return clock()",
        ("press", "Space"),
        "return does('play').ariaLabel",
        ("press", "Space"),
        "return does('play').ariaLabel",
    )
    assert began == 0
    assert 0 < first < second
    assert back == first
    assert (playing, stopped) == ("Stop", "Play")
