"""What a qlog trace of a connection holds."""

from __future__ import annotations

from typing import Any

import pytest

from mixedsched.core.h3.qlog import QlogTrace
from mixedsched.core.h3.response import BytesBody, RequestHead, Response
from mixedsched.model.priority import Priority
from tests.core.h3.pair import Pair, pattern
from tests.core.h3.traces import named, packed_bytes, read_trace, scheduled_bytes


class Urgent:
    """A site that wants "/hero" sooner than clients do."""

    def respond(self, head: RequestHead) -> Response:
        own = [(b"priority", b"u=1")] if head.path == "/hero" else []
        return Response(200, [(b"content-length", b"50000"), *own], BytesBody(pattern(50_000)), "image/png")


class Traced:
    """A pair with a trace of its server."""

    def __init__(self, scheme: str = "eps", **options: Any) -> None:
        self.records: list[bytes] = []
        self.pair = Pair(scheme, qlog=self.records.append, **options).connect()

    def read(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        self.pair.trace.flush()
        return read_trace(b"".join(self.records))

    def events(self) -> list[dict[str, Any]]:
        return self.read()[1]


@pytest.fixture(scope="module")
def lossy() -> Traced:
    """Five responses over a slow, lossy link, one of them moved on the way."""
    traced = Traced("rr", rate_bps=4_000_000, loss_ratio=0.02, seed=3)
    ids = [traced.pair.request("/90000", priority="u=2", destination="image") for _ in range(5)]
    traced.pair.run(until_s=traced.pair.now_s + 0.2)
    traced.pair.update_priority(ids[3], "u=0")
    traced.pair.finish()
    return traced


def test_the_first_record_is_what_viewers_ask_for(lossy: Traced) -> None:
    header, _ = lossy.read()
    assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
    trace = header["trace"]
    assert trace["vantage_point"]["type"] == "server"
    assert trace["common_fields"] == {
        "ODCID": lossy.pair.client.original_destination_connection_id.hex(),
        "protocol_type": ["QUIC", "HTTP3"],
        "time_format": "relative",
        "reference_time": 0.0,
    }


def test_every_event_has_a_time_a_name_and_data_and_they_are_in_order_of_time(lossy: Traced) -> None:
    events = lossy.events()
    assert all(event.keys() == {"time", "name", "data"} for event in events)
    assert all(event["name"].count(":") == 1 for event in events)
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert 0 < times[-1] <= 1000 * lossy.pair.now_s


def test_quic_and_http_events_are_there(lossy: Traced) -> None:
    names = {event["name"] for event in lossy.events()}
    assert {
        "transport:parameters_set",
        "transport:packet_sent",
        "transport:packet_received",
        "recovery:metrics_updated",
        "recovery:packet_lost",
        "http:stream_type_set",
        "http:frame_parsed",
        "http:frame_created",
        "http3:priority_updated",
        "mixedsched:stream_placed",
        "mixedsched:stream_scheduled",
    } <= names


def test_received_packets_come_with_their_frames(lossy: Traced) -> None:
    # aioquic adds them after it has told of the packet
    packets = named(lossy.events(), "transport:packet_received")
    assert len(packets) > 100
    assert all(packet["frames"] for packet in packets)


def test_names_of_older_drafts_are_replaced(lossy: Traced) -> None:
    events = lossy.events()
    assert all("congestion_window" in metrics for metrics in named(events, "recovery:metrics_updated"))
    lost = named(events, "recovery:packet_lost")
    sent = {packet["header"]["packet_number"] for packet in named(events, "transport:packet_sent")}
    assert {packet["header"]["packet_number"] for packet in lost} <= sent


def test_decisions_add_up_to_what_the_packets_held(lossy: Traced) -> None:
    events = lossy.events()
    assert scheduled_bytes(events) == packed_bytes(events)
    assert len(scheduled_bytes(events)) == 5


def test_repeats_are_told_apart(lossy: Traced) -> None:
    events = lossy.events()
    runs = named(events, "mixedsched:stream_scheduled")
    repeated = sum(run["repeated_bytes"] for run in runs)
    ends: dict[int, int] = {}
    for packet in named(events, "transport:packet_sent"):
        for frame in packet["frames"]:
            if frame["frame_type"] == "stream" and frame["stream_id"] % 4 == 0:
                ends[frame["stream_id"]] = max(ends.get(frame["stream_id"], 0), frame["offset"] + frame["length"])
    assert repeated > 0
    assert sum(run["bytes"] for run in runs) - repeated == sum(ends.values()), "each byte of a stream once"


def test_a_run_is_one_event() -> None:
    traced = Traced("sequential")
    for _ in range(3):
        traced.pair.request("/200000")
    traced.pair.finish()
    runs = named(traced.events(), "mixedsched:stream_scheduled")
    assert [run["stream_id"] for run in runs] == traced.pair.blocks() == [0, 4, 8]
    assert all(run["packets"] > 100 for run in runs)


def test_a_packet_that_carries_two_responses_counts_for_both() -> None:
    traced = Traced("sequential")
    for _ in range(2):
        traced.pair.request("/50")
    traced.pair.finish()
    assert [run["packets"] for run in named(traced.events(), "mixedsched:stream_scheduled")] == [1, 1]
    carriers = [
        packet
        for packet in named(traced.events(), "transport:packet_sent")
        if {frame.get("stream_id") for frame in packet["frames"]} >= {0, 4}
    ]
    assert len(carriers) == 1


def test_a_signal_in_a_field_is_the_first_priority() -> None:
    traced = Traced()
    stream_id = traced.pair.request("/100", priority="u=1, i")
    traced.pair.finish()
    assert named(traced.events(), "http3:priority_updated") == [
        {
            "stream_id": stream_id,
            "new": "u=1, i",
            "trigger": "client_signal_received",
            "reason": "client_signal_only",
            "signal": "header",
        }
    ]


def test_an_update_on_the_way_has_old_and_new_and_moves_the_response() -> None:
    traced = Traced(rate_bps=1_000_000)
    stream_id = traced.pair.request("/60000", priority="u=5")
    traced.pair.run(until_s=traced.pair.now_s + 0.2)
    traced.pair.update_priority(stream_id, "u=0, i")
    traced.pair.finish()
    events = traced.events()
    assert named(events, "http3:priority_updated")[-1] == {
        "stream_id": stream_id,
        "old": "u=5",
        "new": "u=0, i",
        "trigger": "client_signal_received",
        "signal": "update",
    }
    assert [placed["placement"] for placed in named(events, "mixedsched:stream_placed")] == ["u=5", "u=0, i"]
    at = max(place for place, event in enumerate(events) if event["name"] == "http3:priority_updated")
    before, after = scheduled_bytes(events[:at]), scheduled_bytes(events[at:])
    assert before[stream_id] > 0, "decisions made before the update stand before it"
    assert after[stream_id] > 0


def test_an_update_before_its_request_has_no_old_priority() -> None:
    traced = Traced()
    traced.pair.update_priority(0, "u=6")
    traced.pair.run(until_s=traced.pair.now_s + 0.1)
    traced.pair.request("/100", priority="u=1")
    traced.pair.finish()
    updates = named(traced.events(), "http3:priority_updated")
    assert [(update.get("old"), update["new"], update["signal"]) for update in updates] == [(None, "u=6", "update")]


def test_the_sites_own_wish_is_a_local_trigger() -> None:
    traced = Traced(responder=Urgent())
    stream_id = traced.pair.request("/hero", priority="u=4, i")
    traced.pair.finish()
    assert named(traced.events(), "http3:priority_updated")[-1] == {
        "stream_id": stream_id,
        "old": "u=4, i",
        "new": "u=1, i",
        "trigger": "local",
        "reason": "client_server_merged",
        "signal": "response",
    }


def test_frames_show_what_was_in_them() -> None:
    traced = Traced()
    stream_id = traced.pair.request("/100", priority="u=1", **{"x-bytes": "caf\u00e9"})
    traced.pair.update_priority(stream_id, "u=0")
    traced.pair.finish()
    frames = {frame["frame"]["frame_type"]: frame["frame"] for frame in named(traced.events(), "http:frame_parsed")}
    assert {"name": ":path", "value": "/100"} in frames["headers"]["headers"]
    assert {"name": "x-bytes", "value": "caf\u00e9"} in frames["headers"]["headers"]
    assert frames["priority_update"] == {
        "frame_type": "priority_update",
        "stream_id": stream_id,
        "priority_field_value": "u=0",
    }
    assert {"name": "settings_qpack_max_table_capacity", "value": 4096} in frames["settings"]["settings"]


def test_fields_that_are_not_utf_8_are_written_as_escapes() -> None:
    traced = Traced()
    names = ((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"pair.test"), (b":path", b"/100"))
    traced.pair.send_request([*names, (b"x-bytes", b"\xff\x1b")])
    traced.pair.finish()
    lines = [
        line
        for frame in named(traced.events(), "http:frame_parsed")
        for line in frame["frame"].get("headers", [])
        if line["name"] == "x-bytes"
    ]
    assert lines == [{"name": "x-bytes", "value": "\\xff\x1b"}]


def test_a_trace_changes_nothing_that_is_sent() -> None:
    def writes(**options: Any) -> list[tuple[int, int, bool]]:
        pair = Pair("eps", rate_bps=3_000_000, loss_ratio=0.02, seed=5, **options).connect()
        for urgency in (3, 1, 1, 6):
            pair.request("/70000", priority=f"u={urgency}, i")
        return pair.finish().writes

    assert writes(qlog=lambda _: None) == writes()


def test_a_trace_that_grows_too_long_ends_with_a_note() -> None:
    limit_bytes = 40_000
    traced = Traced(qlog_bytes=limit_bytes)
    traced.pair.request("/300000")
    traced.pair.finish()
    _, events = traced.read()
    size_bytes = sum(map(len, traced.records))
    assert limit_bytes - 2_000 < size_bytes <= limit_bytes
    assert events[-1]["name"] == "loglevel:warning"
    assert "limit" in events[-1]["data"]["message"]
    assert [event["name"] for event in events].count("loglevel:warning") == 1
    assert traced.pair.bodies[0] == pattern(300_000)


def test_time_never_runs_backwards() -> None:
    clock = iter([0.010, 0.005, 0.020])
    records: list[bytes] = []
    trace = QlogTrace(original_id=b"12345678", clock_s=lambda: next(clock), write=records.append, title="made up")
    for stream_id in (0, 4, 8):
        trace.priority_updated(0.0, stream_id, None, Priority(), "header")
    assert [event["time"] for event in read_trace(b"".join(records))[1]] == [10.0, 10.0, 20.0]
