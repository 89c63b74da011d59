"""What a session does beside moving bytes: refusing, thinking, leaving; and what it never does, whatever a client sends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mixedsched.core.h3._http_sending import MAX_SECTION_BYTES
from mixedsched.core.h3.codes import ErrorCode
from mixedsched.model.request import Request
from tests.core.h3.pair import Pair, pattern, pause, server_frames
from tests.core.h3.raw import GET, GOAWAY
from tests.core.h3.wishes import Wishes


def wishing(**arguments: float) -> Pair:
    return Pair("eps", responder=Wishes(), **arguments).connect()  # type: ignore[arg-type]


def with_method(method: bytes, path: bytes = b"/5000") -> list[tuple[bytes, bytes]]:
    return [(b":method", method), *GET[1:3], (b":path", path)]


# Requests and responses


@pytest.mark.parametrize(
    ("method", "path"), [(b"HEAD", b"/5000?bare"), (b"GET", b"/5000?bare&status=304"), (b"GET", b"/9?bare&status=204")]
)
def test_a_response_that_may_have_no_body_has_none(method: bytes, path: bytes) -> None:
    pair = wishing()
    stream_id = pair.send_request(with_method(method, path))
    pair.finish()
    (served,) = pair.log
    assert (pair.bodies[stream_id], served.body_bytes, served.complete) == (b"", 0, True)
    assert pair.headers[stream_id][b":status"] in {b"200", b"204", b"304"}
    assert served.sent_bytes < 100


def test_connect_is_not_implemented_whatever_the_responder_thinks() -> None:
    pair = wishing()
    stream_id = pair.send_request([(b":method", b"CONNECT"), (b":authority", b"example.test:443")], end_stream=False)
    pair.finish()
    assert pair.headers[stream_id][b":status"] == b"501"
    assert pair.log[0].placement == "u=3, i"


@pytest.mark.parametrize("method", [b"POST", b"BREW", b"get", b"OPTIONS"])
def test_any_other_method_is_for_the_responder_and_its_body_is_dropped(method: bytes) -> None:
    pair = wishing()
    stream_id = pair.send_request(with_method(method), bytes(300_000))
    pair.finish()
    pause(pair, 5)
    assert (pair.headers[stream_id][b":status"], pair.log[0].method) == (b"200", method.decode())
    assert pair.session.quic.is_discarded(stream_id), "all of the body was read"


def test_a_head_that_is_too_large_is_answered_with_431() -> None:
    pair = wishing()
    large = pair.send_request([*GET, (b"x", b"~" * MAX_SECTION_BYTES)])
    many = pair.send_request([*GET, *[(b"a", b"b")] * 300])
    small = pair.request("/10")
    pair.finish()
    statuses = [pair.headers[stream_id][b":status"] for stream_id in (large, many, small)]
    assert statuses == [b"431", b"431", b"200"]
    assert sorted(served.status for served in pair.log) == [200, 431, 431]


def test_a_malformed_request_costs_its_own_stream_only() -> None:
    pair = wishing()
    bad = [pair.send_request(GET[:3]), pair.send_request([*GET, (b"connection", b"close")])]
    bad.append(pair.send_request([*GET, (b"content-length", b"9")], b"not nine chars"))
    good = pair.request("/5000")
    pause(pair, 2)
    assert (pair.done, pair.terminated) == ([good], None)
    assert pair.resets == dict.fromkeys(bad, ErrorCode.H3_MESSAGE_ERROR)
    assert pair.session._exchanges == {}


def test_a_body_that_breaks_its_promise_cuts_the_response_off() -> None:
    pair = wishing(rate_bps=4_000_000)
    fields = [*with_method(b"POST", b"/500000"), (b"content-length", b"9")]
    stream_id = pair.send_request(fields, b"four", end_stream=False)
    pause(pair, 0.2)
    pair.h3.send_data(stream_id, b"", end_stream=True)
    pause(pair, 1)
    assert pair.resets == {stream_id: ErrorCode.H3_MESSAGE_ERROR}
    (served,) = pair.log
    assert not served.complete
    assert 0 < served.sent_bytes < 500_000


def test_more_requests_than_streams_are_granted_close_the_connection() -> None:
    pair = wishing()
    for index in range(128):
        pair.request(f"/10?delay_ms=60000&{index}")
    pause(pair)
    assert pair.terminated is None
    pair.client._remote_max_streams_bidi = 1000  # a client that does not keep to what it was granted
    pair.request("/10")
    pause(pair, 2)
    assert pair.terminated is not None
    assert pair.terminated.error_code == 0x4, "STREAM_LIMIT_ERROR"


@pytest.mark.parametrize("critical", [3, 7, 11])
@pytest.mark.parametrize("request_first", [True, False])
def test_stopping_a_critical_stream_closes_the_connection_in_whichever_order_it_is_told(
    critical: int, request_first: bool
) -> None:
    pair = wishing()
    if not request_first:
        pair.client.stop_stream(critical, ErrorCode.H3_REQUEST_CANCELLED)
    for _ in range(3):
        pair.request("/10", None, None, **{"x-new": "to be acknowledged on the decoder stream"})
    if request_first:
        pair.client.stop_stream(critical, ErrorCode.H3_REQUEST_CANCELLED)
    pause(pair, 2)
    assert pair.terminated is not None
    assert pair.terminated.error_code == ErrorCode.H3_CLOSED_CRITICAL_STREAM


# Think time


def test_a_response_waits_for_its_think_time_and_others_go_on() -> None:
    pair = wishing()
    asked_s = pair.now_s
    slow = pair.request("/5000?delay_ms=300", "u=0")
    quick = pair.request("/5000", "u=5")
    assert pair.finish().done == [quick, slow]
    by_stream = {served.stream_id: served for served in pair.log}
    waited_ms = by_stream[slow].first_byte_ms - by_stream[slow].requested_ms  # type: ignore[operator]
    assert waited_ms == pytest.approx(300, abs=0.01)
    assert by_stream[slow].requested_ms == pytest.approx((asked_s + 0.010) * 1000, abs=1)
    assert pair.bodies[slow] == pattern(5000)


def test_think_times_end_in_order_of_when_they_are_due() -> None:
    pair = wishing()
    streams = [pair.request(f"/10?delay_ms={delay_ms}") for delay_ms in (300, 100, 200, 100.5, 0)]
    assert pair.finish().done == [streams[index] for index in (4, 1, 3, 2, 0)]


def test_an_update_counts_while_the_site_thinks() -> None:
    pair = wishing()
    first = pair.request("/30000?delay_ms=200", "u=1")
    second = pair.request("/30000?delay_ms=200", "u=2")
    pause(pair, 0.05)
    pair.update_priority(first, "u=4")
    assert pair.finish().done == [second, first]
    assert {served.stream_id: served.placement for served in pair.log} == {first: "u=4", second: "u=2"}


def test_a_response_is_placed_when_it_begins_and_when_its_signal_changes_and_not_for_the_log() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    configured, placed = pair.session._scheme, []

    def place(request: Request, *arguments: Any) -> Any:
        placed.append(str(request.signal))
        return configured.scheme.place(request, *arguments)

    pair.session._scheme = replace(configured, scheme=replace(configured.scheme, place=place))
    stream_id = pair.request("/100000", "u=5")
    for value in ("u=1", "u=1", "u=2"):
        pause(pair, 0.03)
        pair.update_priority(stream_id, value)
    pair.finish()
    assert placed == ["u=5", "u=1", "u=2"]
    assert [served.placement for served in pair.log] == ["u=2"]


def test_who_cancels_while_the_site_thinks_is_sent_nothing() -> None:
    pair = wishing()
    cancelled = pair.request("/5000?delay_ms=200")
    pause(pair, 0.05)
    pair.client.stop_stream(cancelled, ErrorCode.H3_REQUEST_CANCELLED)
    pause(pair, 1)
    (served,) = pair.log
    assert (served.complete, served.sent_bytes, served.first_byte_ms) == (False, 0, None)
    assert (pair.session._exchanges, pair.session._thinking, pair.writes) == ({}, [], [])


def test_a_connection_that_ends_while_the_site_thinks_ends_the_thought() -> None:
    pair = wishing()
    pair.request("/5000?delay_ms=50000")
    pause(pair, 0.05)
    pair.client.close(ErrorCode.H3_NO_ERROR)
    pause(pair, 5)
    assert pair.session.is_closed
    assert [served.complete for served in pair.log] == [False]
    assert pair.session.next_timer_s() is None


# Leaving


def test_leaving_finishes_what_was_asked_for_and_refuses_the_rest() -> None:
    pair = wishing(rate_bps=4_000_000)
    running, thinking = pair.request("/200000"), pair.request("/5000?delay_ms=700")
    pause(pair, 0.1)
    pair.session.shut_down(pair.now_s)
    pause(pair, 0.1)
    assert server_frames(pair)[-1] == (GOAWAY, b"\x08")
    late = pair.request("/10")
    pair.finish()
    pause(pair, 2)
    assert pair.done == [running, thinking]
    assert pair.resets == {late: ErrorCode.H3_REQUEST_REJECTED}
    assert pair.terminated is not None
    assert pair.terminated.error_code == ErrorCode.H3_NO_ERROR
    assert (pair.bodies[running], pair.bodies[thinking]) == (pattern(200_000), pattern(5000))
    assert pair.session.is_closed
    assert all(served.complete for served in pair.log)


def test_leaving_with_nothing_under_way_is_done_at_once_but_says_so() -> None:
    pair = wishing()
    left_s = pair.now_s
    pair.session.shut_down(left_s)
    pair.session.shut_down(left_s)
    while pair.terminated is None:
        pause(pair, 0.1)
    assert pair.now_s - left_s < 0.5, "the time that QUIC takes to close"
    assert [frame_type for frame_type, _ in server_frames(pair)].count(GOAWAY) == 1
    assert pair.terminated.error_code == ErrorCode.H3_NO_ERROR


def test_leaving_waits_no_longer_than_its_grace() -> None:
    pair = wishing(rate_bps=1_000_000)
    pair.request("/5000000")
    pause(pair, 0.1)
    left_s = pair.now_s
    pair.session.shut_down(left_s, grace_s=2.0)
    written = []
    for at_s in (1.8, 2.02, 30.0):
        pair.run(until_s=left_s + at_s)
        written.append(len(pair.writes))
    assert written[0] < written[1] == written[2]
    assert pair.session.is_closed
    assert [served.complete for served in pair.log] == [False]


def test_leaving_waits_for_a_request_that_has_begun_to_arrive() -> None:
    pair = wishing()
    stream_id = pair.send_request(with_method(b"POST"), b"the first half", end_stream=False)
    pause(pair, 0.5)
    pair.session.shut_down(pair.now_s)
    pause(pair, 0.5)
    assert pair.terminated is None
    pair.h3.send_data(stream_id, b"and the second", end_stream=True)
    pause(pair, 0.5)
    assert pair.terminated is not None
    assert [served.complete for served in pair.log] == [True]


def test_leaving_before_the_handshake_is_closing() -> None:
    pair = Pair("eps", responder=Wishes())
    pair.session.shut_down(0.0)
    pair.run(until_s=5)
    assert pair.terminated is not None
    assert pair.log == []


def test_an_error_while_leaving_is_told_as_such() -> None:
    pair = wishing(rate_bps=1_000_000)
    pair.request("/500000")
    pause(pair, 0.1)
    pair.session.shut_down(pair.now_s)
    pair.update_priority(1, "u=1")
    pause(pair, 2)
    assert pair.terminated is not None
    assert pair.terminated.error_code == ErrorCode.H3_ID_ERROR
    assert pair.session.is_closed
