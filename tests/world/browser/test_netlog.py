"""Reading NetLogs: sessions, requests, arrivals, and files that are no logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.errors import ExitCode, InputError
from mixedsched.world.browser.netlog import ArrivalRun, Closing, arrival_order, read_netlog
from tests.world.browser.netlog_script import Script, read


def test_only_finished_handshakes_are_connections(tmp_path: Path) -> None:
    log = Script().session(1, 100, finished=False).session(2, 101).read(tmp_path)
    assert [session.source_id for session in log.sessions] == [1, 2]
    assert [session.source_id for session in log.connections] == [2]
    assert log.connections[0].privacy_mode == "disabled"


def test_times_count_from_the_first_event_of_the_first_session(tmp_path: Path) -> None:
    script = Script().event("URL_REQUEST_START_JOB", 50).session(1, 100).request(0, "/").frame(0, 0, 1200, 125)
    log = script.read(tmp_path)
    assert log.requests[0].sent_ms == 10
    assert log.arrivals[0].time_ms == 25


def test_a_request_has_its_header_and_all_its_priority_updates(tmp_path: Path) -> None:
    script = Script().session(1, 100)
    script.event("HTTP3_PRIORITY_UPDATE_SENT", 109, prioritized_element_id=4, priority_field_value="u=2, i")
    script.request(0, "/").request(4, "/hero.png", "priority: u=2, i")
    script.event("HTTP3_PRIORITY_UPDATE_SENT", 130, prioritized_element_id=4, priority_field_value="u=1, i")
    plain, hero = script.read(tmp_path).requests
    assert (plain.path, plain.priority, plain.priority_updates) == ("/", None, ())
    assert (hero.path, hero.priority, hero.priority_updates) == ("/hero.png", "u=2, i", ("u=2, i", "u=1, i"))


def test_arrivals_are_those_of_request_streams_only(tmp_path: Path) -> None:
    log = Script().session(1, 100).frame(3, 0, 12).frame(7, 0, 1).frame(0, 0, 5).frame(2, 0, 9).read(tmp_path)
    assert [frame.stream_id for frame in log.arrivals] == [0]


def test_arrival_order_joins_neighbouring_frames_of_a_response(tmp_path: Path) -> None:
    script = Script().session(1, 100).request(0, "/").request(4, "/a.js")
    script.frame(0, 0, 1000, 120).frame(0, 1000, 200, 123).frame(4, 0, 700, 124)
    script.frame(0, 1200, 0, 125, fin=True).frame(4, 700, 50, 130, fin=True)
    assert arrival_order(script.read(tmp_path)) == [
        ArrivalRun("site.test", "/", 20, 23, 2, 1200),
        ArrivalRun("site.test", "/a.js", 24, 30, 2, 750),
    ]


def test_frames_of_a_stream_without_a_request_are_named_by_its_number(tmp_path: Path) -> None:
    log = Script().session(1, 100).frame(8, 0, 10, 120).read(tmp_path)
    assert arrival_order(log) == [ArrivalRun("", "stream 8", 20, 20, 1, 10)]


def test_equal_stream_ids_of_two_connections_are_two_responses(tmp_path: Path) -> None:
    script = Script().session(1, 100).session(2, 101).request(0, "/").request(0, "/font.woff2", source=2)
    script.frame(0, 0, 10).frame(0, 0, 20, source=2)
    assert [run.path for run in arrival_order(script.read(tmp_path))] == ["/", "/font.woff2"]


def test_datagrams_are_counted_as_the_browser_counts_them(tmp_path: Path) -> None:
    script = (
        Script().session(1, 100).event("QUIC_SESSION_PACKET_RECEIVED", 102).event("QUIC_SESSION_PACKET_RECEIVED", 103)
    )
    script.event("QUIC_SESSION_PACKET_SENT", 103).event("QUIC_SESSION_PACKET_LOST", 104, packet_number=3)
    log = script.read(tmp_path)
    assert log.packets_declared_lost == 1
    assert (log.connections[0].packets_received, log.connections[0].packets_sent) == (2, 1)


def test_a_connection_tells_how_it_ended_though_chromium_says_it_twice(tmp_path: Path) -> None:
    script = Script().session(1, 100).close(1, 400).session(2, 110)
    first, second = script.read(tmp_path).sessions
    assert first.closing == Closing(300, "net error", "QUIC_CONNECTION_CANCELLED", from_peer=False)
    assert second.closing is None


def test_streams_come_in_the_order_of_their_first_byte_with_what_they_received(tmp_path: Path) -> None:
    script = Script().session().request(0, "/").request(4, "/a.js").request(8, "/never.js")
    script.header(0).frame(4, 0, 700, 120).frame(0, 0, 0, 121).frame(0, 0, 90, 125).frame(4, 600, 100, 130)
    streams = script.read(tmp_path).streams
    assert [
        (item.stream_id, item.first_byte_ms, item.last_byte_ms, item.received_bytes, item.frames) for item in streams
    ] == [(4, 20, 30, 800, 2), (0, 25, 25, 90, 1), (8, None, None, 0, 0)]


def test_a_request_keeps_all_headers_as_sent(tmp_path: Path) -> None:
    log = Script().session().request(0, "/", "accept: */*", "cookie: a=b: c").read(tmp_path)
    assert log.requests[0].headers == (
        (":method", "GET"),
        (":authority", "site.test"),
        (":path", "/"),
        ("accept", "*/*"),
        ("cookie", "a=b: c"),
    )


@pytest.mark.parametrize("text", ["", "no JSON at all", "[]", "{}", '{"constants": {}, "events": []}', "\x00\x01"])
def test_a_file_that_is_no_netlog_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"net\.json is not a NetLog") as caught:
        read(tmp_path, text)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert "--log-net-log" in caught.value.fix


def test_an_event_without_its_fields_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not as expected"):
        Script().session(1, 100).event("QUIC_SESSION_STREAM_FRAME_RECEIVED", 101, stream_id=0).read(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_netlog(tmp_path / "none.json")
