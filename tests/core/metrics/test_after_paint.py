"""Rules of the estimated Total Blocking Time and Cumulative Layout Shift."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.metrics.after_paint import AfterPaint
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.record import Recorder
from mixedsched.errors import PageError
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page
from tests.core.metrics.pages import page
from tests.core.sim.pages import pages, scheme

FCP_MS = 100.0


def play(made: Page) -> PlayedLoad:
    return play_pipe(Discoveries.of(made), scheme("fifo"), PipeOptions())


def record_of(made: Page) -> dict[str, Any]:
    return Recorder(made).record(play(made))


def script(name: str, work_ms: float, *flags: str) -> dict[str, object]:
    return {"id": name, "kind": "script", "work_ms": work_ms, "flags": list(flags)}


def shifting(name: str, late_shift: float) -> dict[str, object]:
    return {"id": name, "kind": "image", "late_shift": late_shift}


def estimate(of: Page, model: BrowserModel = IDEAL, **complete_ms: float) -> dict[str, float]:
    """Where all that is not named is complete at 20 ms."""
    complete = {item.id: complete_ms.get(item.id, 20.0) for item in of.resources}
    return AfterPaint.of(of).estimate(complete, FCP_MS, model)


# Total Blocking Time


def test_a_task_blocks_by_what_is_beyond_50_ms() -> None:
    made = page(script("a", 80, "async"), script("b", 50, "async"), script("c", 300, "async"))
    assert estimate(made, a=200, b=400, c=600) == {"tbt_ms": 30 + 0 + 250}


def test_only_what_comes_after_the_first_paint_blocks() -> None:
    assert estimate(page(script("a", 90, "async")), a=20)["tbt_ms"] == 0
    assert estimate(page(script("a", 200, "async")), a=20)["tbt_ms"] == pytest.approx(20 + 200 - FCP_MS - 50)


def test_scripts_take_turns_on_the_main_thread_and_stay_tasks_of_their_own() -> None:
    together = estimate(page(script("a", 80, "async"), script("b", 80, "async")), a=200, b=200)
    assert together["tbt_ms"] == 60


def test_scripts_of_the_document_run_in_its_order_and_others_when_they_come() -> None:
    """The second one comes early, but runs after the paint, behind the first."""
    assert estimate(page(script("a", 10), script("b", 150)), a=300, b=20)["tbt_ms"] == 100
    assert estimate(page(script("a", 10), script("b", 75, "async")), a=300, b=20)["tbt_ms"] == 0


def test_deferred_scripts_wait_for_the_document() -> None:
    assert estimate(page(script("a", 75, "defer")), a=20, html=20)["tbt_ms"] == 0
    assert estimate(page(script("a", 75, "defer")), a=20, html=300)["tbt_ms"] == 25


def test_what_the_browser_needs_for_the_bytes_of_a_script_is_work_too() -> None:
    made = page({**script("a", 80, "async"), "body_bytes": 10_000})
    assert estimate(made, BrowserModel("slow", "", script_ms_per_kb=2.0), a=200)["tbt_ms"] == 50


# Cumulative Layout Shift


def test_shifts_after_the_first_paint_add_up() -> None:
    made = page(shifting("a", 0.02), shifting("b", 0.05), shifting("early", 0.5))
    assert estimate(made, a=300, b=900, early=99) == {"cls": pytest.approx(0.07)}


def test_the_worst_session_of_shifts_counts() -> None:
    """A second of rest ends a session."""
    made = page(shifting("a", 0.02), shifting("b", 0.05), shifting("c", 0.04))
    assert estimate(made, a=300, b=1300, c=2000)["cls"] == pytest.approx(0.09)


def test_no_session_is_longer_than_five_seconds() -> None:
    made = page(*(shifting(f"s{index}", 0.01) for index in range(10)))
    assert estimate(made, **{f"s{index}": 200 + 900 * index for index in range(10)})["cls"] == pytest.approx(0.06)


@given(st.lists(st.tuples(st.floats(0, 0.1), st.floats(0, 20_000)), min_size=1, max_size=8), st.floats(0, 20_000))
def test_a_later_first_paint_never_makes_more_shift(shifts: list[tuple[float, float]], later_ms: float) -> None:
    needs = AfterPaint.of(page(*(shifting(f"s{index}", 0.001 + score) for index, (score, _) in enumerate(shifts))))
    complete = {f"s{index}": at_ms for index, (_, at_ms) in enumerate(shifts)}
    early, late = (needs.estimate(complete, fcp_ms)["cls"] for fcp_ms in (FCP_MS, FCP_MS + later_ms))
    assert late <= early + 1e-12


# In records and in playback


@given(pages())
def test_pages_that_tell_neither_have_neither(made: Page) -> None:
    record = record_of(made)
    assert list(record["estimate_ms"]) == ["fcp", "lcp", "si"]
    assert "estimate_cls" not in record
    assert AfterPaint.of(made).estimate({}, 0.0) == {}


def test_a_record_tells_what_the_page_tells() -> None:
    made = page(script("a", 80, "async"), shifting("b", 0.05))
    record = record_of(made)
    assert record["estimate_ms"]["tbt"] == 30.0
    assert record["estimate_cls"] == 0.05
    assert {"tbt_ms", "cls"} <= Recorder(made).values(play(made)).keys()


def test_a_script_works_before_what_it_finds_is_asked_for_and_a_blocking_one_delays_the_first_paint() -> None:
    def made(work_ms: float) -> Page:
        child = {"id": "child", "kind": "image", "found_by": "a", "found_when": "complete", "delay_ms": 5}
        return page(script("a", work_ms, "in_head"), child)

    idle, busy = (record_of(made(work_ms)) for work_ms in (0, 40))
    requested = [{item["id"]: item["requested_ms"] for item in record["resources"]}["child"] for record in (idle, busy)]
    assert requested[1] == requested[0] + 40
    assert busy["estimate_ms"]["fcp"] == idle["estimate_ms"]["fcp"] + 40


# In the page format


def test_the_fields_are_part_of_a_pages_fingerprint_only_if_it_has_them() -> None:
    plain = page({"id": "a", "kind": "script"})
    assert plain.fingerprint == "94bfc457e1879bde"
    assert len({plain.fingerprint, page(script("a", 5)).fingerprint, page(shifting("a", 0.1)).fingerprint}) == 3


@pytest.mark.parametrize(
    "item", [{**shifting("a", 0.1), "work_ms": 5}, script("a", -1), script("a", 1e9), shifting("a", 1.5)]
)
def test_impossible_work_and_shifts_are_refused(item: dict[str, object]) -> None:
    with pytest.raises(PageError, match="'a' is refused"):
        page(item)
