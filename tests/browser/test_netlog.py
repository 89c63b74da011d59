"""Reading NetLogs: whole, cut off, and files that are none. The events are Chromium's own form, the numbers are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mixedsched.browser import ArrivalRun, NetLog, arrival_order, read_netlog
from mixedsched.errors import ExitCode, InputError

NAMES = {
    name: number
    for number, name in enumerate(
        (
            "QUIC_SESSION",
            "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE",
            "QUIC_SESSION_STREAM_FRAME_RECEIVED",
            "QUIC_SESSION_PACKET_RECEIVED",
            "QUIC_SESSION_PACKET_SENT",
            "QUIC_SESSION_PACKET_LOST",
            "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED",
            "HTTP3_HEADERS_SENT",
            "HTTP3_PRIORITY_UPDATE_SENT",
            "URL_REQUEST_START_JOB",
        ),
        start=700,
    )
}


class Script:
    """Builds a log event by event, as Chromium would write it: constants in the first line, then an event a line."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def event(self, name: str, time_ms: int, source: int = 1, **params: Any) -> Script:
        self.events.append(
            {
                "type": NAMES[name],
                "time": str(time_ms),
                "source": {"id": source, "type": 13},
                "phase": 0,
                "params": params,
            }
        )
        return self

    def session(self, source: int, time_ms: int, *, finished: bool = True) -> Script:
        self.event("QUIC_SESSION", time_ms, source, host="site.test", privacy_mode="disabled")
        return self.event("QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE", time_ms + 1, source) if finished else self

    def request(self, stream_id: int, path: str, *headers: str, source: int = 1) -> Script:
        lines = [":method: GET", ":authority: site.test", f":path: {path}", *headers]
        return self.event("HTTP3_HEADERS_SENT", 110, source, stream_id=stream_id, headers=lines)

    def frame(
        self, stream_id: int, offset: int, length: int, time_ms: int = 120, source: int = 1, *, fin: bool = False
    ) -> Script:
        params = {"stream_id": stream_id, "offset": offset, "length": length, "fin": fin}
        return self.event("QUIC_SESSION_STREAM_FRAME_RECEIVED", time_ms, source, **params)

    def text(self) -> str:
        constants = {"logEventTypes": NAMES, "clientInfo": {"version": "156.0.1.2", "command_line": "chromium --x"}}
        lines = ",\n".join(json.dumps(event) for event in self.events)
        return f'{{"constants":{json.dumps(constants)},\n"events": [\n{lines}],\n"polledData": [{{}}]\n}}\n'

    def read(self, directory: Path) -> NetLog:
        return read(directory, self.text())


def read(directory: Path, text: str) -> NetLog:
    file = directory / "net.json"
    file.write_text(text)
    return read_netlog(file)


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


def test_packets_missing_are_gaps_in_the_servers_1rtt_numbers(tmp_path: Path) -> None:
    script = Script().session(1, 100)
    header = "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED"
    script.event(header, 101, packet_number=0, long_header_type="INITIAL")
    for number in (5, 8, 6, 9, 9):  # 7 is missing, 9 came twice
        script.event(header, 102, packet_number=number).event("QUIC_SESSION_PACKET_RECEIVED", 102)
    script.event("QUIC_SESSION_PACKET_SENT", 103).event("QUIC_SESSION_PACKET_LOST", 104, packet_number=3)
    log = script.read(tmp_path)
    assert (log.packets_missing, log.packets_declared_lost) == (1, 1)
    assert (log.connections[0].packets_received, log.connections[0].packets_sent) == (5, 1)


def test_a_log_cut_off_anywhere_among_its_events_keeps_the_whole_lines(tmp_path: Path) -> None:
    script = Script().session(1, 100).request(0, "/").frame(0, 0, 1000).frame(0, 1000, 500)
    text = script.text()
    whole = script.read(tmp_path)
    assert not whole.truncated
    first = text.index('"events": [\n') + len('"events": [\n')
    for end in range(first, len(text) - 2):
        log = read(tmp_path, text[:end])
        assert log.truncated
        kept = log.sessions + log.requests + log.arrivals
        assert set(log.arrivals) <= set(whole.arrivals)
        assert len(kept) <= len(whole.sessions + whole.requests + whole.arrivals)
    assert read(tmp_path, text[: text.rindex('"polledData"')]).arrivals == whole.arrivals


@pytest.mark.parametrize("text", ["", "no JSON at all", "[]", "{}", '{"constants": {}, "events": []}', "\x00\x01"])
def test_a_file_that_is_no_netlog_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"net\.json is no NetLog") as caught:
        read(tmp_path, text)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert "--log-net-log" in caught.value.fix


def test_an_event_without_its_fields_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not as expected"):
        Script().session(1, 100).event("QUIC_SESSION_STREAM_FRAME_RECEIVED", 101, stream_id=0).read(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_netlog(tmp_path / "none.json")
