"""Traces of rung `stack`, in virtual time."""

from __future__ import annotations

import pytest

from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.stack import play_stack
from mixedsched.model.profile import Direction, Profile, RandomLoss
from tests.core.h3.traces import named, packed_bytes, read_trace, scheduled_bytes
from tests.core.sim.pages import page, resource, scheme

NETWORK = Profile("made-up", "", "", *[Direction(4_000_000, 30_000, None, RandomLoss(0.02))] * 2)
PAGE = page(
    resource("html", 20_000, kind="document"),
    resource("a", 60_000, "html@100", kind="image"),
    resource("b", 60_000, "html@100", kind="stylesheet"),
)


def test_a_trace_is_of_virtual_time_and_changes_nothing() -> None:
    records: list[bytes] = []
    traced = play_stack(Discoveries.of(PAGE), scheme("eps"), NETWORK, seed=3, qlog=records.append)
    assert traced == play_stack(Discoveries.of(PAGE), scheme("eps"), NETWORK, seed=3)
    header, events = read_trace(b"".join(records))
    assert header["trace"]["common_fields"]["reference_time"] == 0
    assert "eps, made-up, seed 3" in header["title"]
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert times[0] == pytest.approx(30, abs=5), "the client's first packet needs 30 ms"
    assert times[-1] <= max(item.complete_ms for item in traced.resources)
    assert scheduled_bytes(events) == packed_bytes(events)


def test_a_trace_tells_how_chromium_signals_and_where_the_scheme_places() -> None:
    records: list[bytes] = []
    play_stack(Discoveries.of(PAGE), scheme("eps"), NETWORK, seed=3, qlog=records.append)
    _, events = read_trace(b"".join(records))
    assert {placed["kind"] for placed in named(events, "mixedsched:stream_placed")} == {
        "document",
        "image",
        "stylesheet",
    }
    assert {update["signal"] for update in named(events, "http3:priority_updated")} == {"update"}
