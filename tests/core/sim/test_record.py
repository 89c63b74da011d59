"""Rules of a load's record: the keys that other programs rely on, and the figures behind them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mixedsched.core.sim.load import PlayedLoad, ResourceTimes
from mixedsched.core.sim.record import Recorder, above_fold_ids
from mixedsched.model.page import Page

PAGE = Page.from_dict(
    {
        "format": "mixedsched.page/1",
        "name": "made up",
        "resources": [
            {"id": "html", "path": "/", "kind": "document", "body_bytes": 1000, "header_bytes": 1000, "found_by": None},
            *(
                {"id": name, "path": name, "kind": kind, "body_bytes": size, "found_by": "html", "flags": flags}
                | {"found_when": "requested"}
                for name, kind, size, flags in (
                    ("font", "font", 2000, []),
                    ("below", "image", 4000, []),
                    ("seen", "image", 0, ["above_fold"]),
                )
            ),
        ],
    }
)


def load(**changes: Any) -> PlayedLoad:
    """A load of PAGE with floats as they come of arithmetic."""
    made = PlayedLoad(
        page=PAGE,
        scheme="mixed:alpha=0.5",
        rung="pipe",
        send_buffer_bytes=14_000,
        resources=(
            ResourceTimes("html", 0.0, 0.1 + 0.2, 100.0),
            ResourceTimes("below", 0.0, 20.0, 700.0000000001),
            ResourceTimes("font", 10.0, 30.0, 300.0),
            ResourceTimes("seen", 10.0, 10.0, 10.0),
        ),
        order=(("html", 2), ("below", 3), ("font", 2)),
    )
    return replace(made, **changes)


def test_the_keys_are_those_that_others_rely_on() -> None:
    record = json.loads(json.dumps(Recorder(PAGE).record(load())))
    assert record == {
        "page": "made up",
        "scheme": "mixed:alpha=0.5",
        "rung": "pipe",
        "send_buffer_bytes": 14_000,
        "finished_ms": 700.0,
        "byte_index_ms": {"all": 450.0, "atf": 200.0},
        "estimate_ms": {"fcp": 0.3, "lcp": 10.0, "si": 0.3},
        "hol_bytes": 0,
        "packets": 7,
        "resources": [
            {"id": "html", "requested_ms": 0.0, "first_byte_ms": 0.3, "complete_ms": 100.0},
            {"id": "below", "requested_ms": 0.0, "first_byte_ms": 20.0, "complete_ms": 700.0},
            {"id": "font", "requested_ms": 10.0, "first_byte_ms": 30.0, "complete_ms": 300.0},
            {"id": "seen", "requested_ms": 10.0, "first_byte_ms": 10.0, "complete_ms": 10.0},
        ],
        "order": [["html", 2], ["below", 3], ["font", 2]],
    }


def test_times_show_no_dust_of_floats() -> None:
    record = Recorder(PAGE).record(load(resources=tuple(replace(item, complete_ms=1 / 3) for item in load().resources)))
    assert record["finished_ms"] == 0.333
    assert record["byte_index_ms"] == {"all": 0.333, "atf": 0.333}


def test_above_the_fold_are_main_critical_hero_and_fonts() -> None:
    assert above_fold_ids(PAGE) == {"html", "font"}


def test_the_main_document_is_above_the_fold_without_any_flag() -> None:
    assert PAGE.main.flags == frozenset()
    assert PAGE.main.id in above_fold_ids(PAGE)


def test_weights_are_header_and_body_or_one_each() -> None:
    assert Recorder(PAGE).byte_indexes(load()).all_ms == pytest.approx((2000 * 100 + 2000 * 300 + 4000 * 700) / 8000)
    assert Recorder(PAGE, "count").byte_indexes(load()).all_ms == pytest.approx((100 + 300 + 700 + 10) / 4)
    assert Recorder(PAGE, "count").byte_indexes(load()).atf_ms == pytest.approx(200.0)


def test_sampling_is_passed_on() -> None:
    assert Recorder(PAGE, sample_ms=250).byte_indexes(load()).atf_ms == pytest.approx((2000 * 250 + 2000 * 500) / 4000)


def test_facts_of_the_rung_stand_under_their_own_keys() -> None:
    plain, told = (
        Recorder(PAGE).record(load()),
        Recorder(PAGE).record(load(facts={"link": "4g", "seed": 7}, hol_bytes=12)),
    )
    assert told == {**plain, "link": "4g", "seed": 7, "hol_bytes": 12}


def test_one_recorder_serves_many_loads_of_its_page() -> None:
    recorder = Recorder(PAGE)
    assert [recorder.record(load(scheme=name))["scheme"] for name in ("rr", "fifo")] == ["rr", "fifo"]
    assert recorder.record(load()) == Recorder(PAGE).record(load())
