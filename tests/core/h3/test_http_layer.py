"""HTTP/3 as RFC 9114 wants it of a server: what is a request, what gives up a stream, what closes the connection."""

from __future__ import annotations

import tracemalloc

import pylsqpack
import pytest
from aioquic.buffer import encode_uint_var
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3._http import MAX_FIELD_LINES, MAX_HELD_BYTES
from mixedsched.core.h3._http_sending import MAX_SECTION_BYTES
from mixedsched.core.h3._qpack import count_lines
from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.events import BodyReceived, RequestFailed, RequestReceived, RequestTooLarge
from tests.core.h3.raw import (
    CANCEL_PUSH,
    CONTROL,
    DATA,
    DECODER,
    ENCODER,
    GET,
    GOAWAY,
    HEADERS,
    MAX_PUSH_ID,
    POST,
    PUSH_PROMISE,
    PUSH_UPDATE,
    REQUEST_UPDATE,
    SETTINGS,
    Raw,
    frame,
    head,
    section,
    update,
)
from tests.examples import examples


def test_the_layer_opens_its_critical_streams_and_announces_its_limits() -> None:
    sent = Raw().quic.sent
    assert (sent[3][:2], sent[7], sent[11]) == (b"\x00\x04", b"\x02", b"\x03")
    settings_payload = sent[3][3:]
    assert settings_payload[:3] == b"\x01" + encode_uint_var(4096)
    assert encode_uint_var(6) + encode_uint_var(MAX_SECTION_BYTES) in settings_payload


def test_a_request_is_told_with_its_head() -> None:
    raw = Raw().feed(0, head((b"priority", b"u=1"), (b"accept", b"*/*")), True)
    (event,) = raw.events
    assert isinstance(event, RequestReceived)
    assert (event.head.method, event.head.authority, event.head.path) == ("GET", "pair.test", "/10")
    assert event.head.fields == [(b"priority", b"u=1"), (b"accept", b"*/*")]


def test_a_host_field_may_stand_for_the_authority() -> None:
    raw = Raw().feed(0, frame(HEADERS, section([*GET[:2], GET[3], (b"host", b"pair.test")])), True)
    assert isinstance(raw.events[0], RequestReceived)
    assert raw.events[0].head.authority == "pair.test"


def test_a_body_is_counted_and_not_kept() -> None:
    raw = Raw().feed(0, head((b"content-length", b"300000"), fields=POST) + encode_uint_var(DATA))
    raw.feed(0, encode_uint_var(300_000))
    for _ in range(30):
        raw.feed(0, bytes(10_000))
        assert raw.layer._held_bytes == 0
    raw.feed(0, b"", True)
    assert (raw.requests, raw.quic.resets, raw.error_code) == ([0], [], None)


MALFORMED = {
    "no_path": GET[:3],
    "empty_path": [*GET[:3], (b":path", b"")],
    "no_scheme": [GET[0], *GET[2:]],
    "empty_scheme": [GET[0], (b":scheme", b""), *GET[2:]],
    "scheme_is_none": [GET[0], (b":scheme", b"ht tps"), *GET[2:]],
    "no_authority_in_capitals": [GET[0], (b":scheme", b"HTTPS"), GET[3]],
    "no_method": GET[1:],
    "method_is_no_token": [(b":method", b"G ET"), *GET[1:]],
    "no_authority": [*GET[:2], GET[3]],
    "empty_authority": [*GET[:2], (b":authority", b""), GET[3]],
    "user_information": [*GET[:2], (b":authority", b"me:secret@pair.test"), GET[3]],
    "user_information_in_host": [*GET[:2], GET[3], (b"host", b"me@pair.test")],
    "two_authorities": [*GET, (b"host", b"other.test")],
    "two_hosts": [*GET, (b"host", b"pair.test"), (b"host", b"pair.test")],
    "doubled_pseudo": [*GET, GET[0]],
    "unknown_pseudo": [*GET, (b":protocol", b"websocket")],
    "pseudo_of_a_response": [*GET, (b":status", b"200")],
    "late_pseudo": [*GET[:3], (b"accept", b"*/*"), GET[3]],
    "upper_case_name": [*GET, (b"Accept", b"*/*")],
    "space_in_name": [*GET, (b"a b", b"x")],
    "newline_in_value": [*GET, (b"a", b"x\r\ny: z")],
    "nul_in_value": [*GET, (b"a", b"x\0")],
    "padded_value": [*GET, (b"a", b" x")],
    "connection": [*GET, (b"connection", b"close")],
    "transfer_encoding": [*GET, (b"transfer-encoding", b"chunked")],
    "te_gzip": [*GET, (b"te", b"gzip")],
    "negative_length": [*GET, (b"content-length", b"-1")],
    "length_is_no_number": [*GET, (b"content-length", b"1e3")],
    "two_lengths": [*GET, (b"content-length", b"0"), (b"content-length", b"1")],
    "huge_length": [*GET, (b"content-length", b"9" * 5000)],
    "length_without_body": [*GET, (b"content-length", b"5")],
    "connect_with_path": [(b":method", b"CONNECT"), (b":authority", b"a:1"), (b":path", b"/")],
    "connect_without_authority": [(b":method", b"CONNECT")],
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_request_gives_up_its_stream_only(fields: list[tuple[bytes, bytes]]) -> None:
    raw = Raw().feed(0, frame(HEADERS, section(fields)), True).feed(4, head(), True)
    assert raw.quic.resets == [(0, ErrorCode.H3_MESSAGE_ERROR)]
    assert (raw.error_code, raw.requests[-1]) == (None, 4)


def test_a_malformed_request_under_way_is_stopped() -> None:
    raw = Raw().feed(0, frame(HEADERS, section(GET[:3])))
    assert raw.quic.stops == raw.quic.resets == [(0, ErrorCode.H3_MESSAGE_ERROR)]
    raw.feed(0, head() + frame(SETTINGS), True)
    assert (raw.events[1:], raw.error_code) == ([], None)


@pytest.mark.parametrize("body", [b"", b"x" * 4, b"x" * 6])
def test_a_body_of_another_length_than_announced_is_malformed(body: bytes) -> None:
    raw = Raw().feed(0, head((b"content-length", b"5"), fields=POST) + frame(DATA, body), True)
    assert raw.events[-1] == RequestFailed(0, ErrorCode.H3_MESSAGE_ERROR)


def test_pseudo_header_fields_in_trailers_are_malformed() -> None:
    raw = Raw().feed(0, head() + frame(HEADERS, section([(b":path", b"/")])), True)
    assert raw.events[-1] == RequestFailed(0, ErrorCode.H3_MESSAGE_ERROR)


@pytest.mark.parametrize("data", [b"", frame(0x21, b"grease")])
def test_a_stream_that_ends_without_a_request_is_incomplete(data: bytes) -> None:
    assert Raw().feed(0, data, True).events == [RequestFailed(0, ErrorCode.H3_REQUEST_INCOMPLETE)]


def test_a_request_cut_off_before_its_head_is_incomplete_and_one_cut_off_later_is_answered() -> None:
    raw = Raw().feed(0, head()[:5]).reset(0)
    assert raw.events == [RequestFailed(0, ErrorCode.H3_REQUEST_INCOMPLETE)]
    raw.feed(4, head(fields=POST)).reset(4)
    raw.feed(8, head(), True).reset(8)
    assert (raw.requests, len(raw.events), raw.error_code) == ([4, 8], 3, None)


BROKEN = {
    "data_first": (0, frame(DATA, b"x"), 0x105),
    "data_after_trailers": (0, head() + frame(HEADERS, section([])) + frame(DATA), 0x105),
    "headers_after_trailers": (0, head() + frame(HEADERS, section([])) * 2, 0x105),
    "settings_on_a_request": (0, frame(SETTINGS), 0x105),
    "goaway_on_a_request": (0, frame(GOAWAY, b"\0"), 0x105),
    "push_promise": (0, frame(PUSH_PROMISE, b"\0"), 0x105),
    "http2_priority_on_a_request": (0, head() + frame(0x02, b"12345"), 0x105),
    "undecodable": (0, frame(HEADERS, b"\xff" * 9), 0x200),
    "empty_headers": (0, frame(HEADERS), 0x200),
    "push_stream": (14, b"\x01", 0x103),
    "second_control_stream": (14, b"\x00", 0x103),
    "second_settings": (CONTROL, frame(SETTINGS), 0x105),
    "data_on_control": (CONTROL, frame(DATA), 0x105),
    "headers_on_control": (CONTROL, frame(HEADERS), 0x105),
    "http2_ping_on_control": (CONTROL, frame(0x06), 0x105),
    "cancel_push": (CONTROL, frame(CANCEL_PUSH, b"\0"), 0x108),
    "empty_cancel_push": (CONTROL, frame(CANCEL_PUSH), 0x106),
    "lower_max_push_id": (CONTROL, frame(MAX_PUSH_ID, b"\x05") + frame(MAX_PUSH_ID, b"\x04"), 0x108),
    "longer_max_push_id": (CONTROL, frame(MAX_PUSH_ID, b"\x05\x00"), 0x106),
    "cut_max_push_id": (CONTROL, frame(MAX_PUSH_ID, b"\x40"), 0x106),
    "higher_goaway": (CONTROL, frame(GOAWAY, b"\x05") + frame(GOAWAY, b"\x06"), 0x108),
    "endless_goaway": (CONTROL, encode_uint_var(GOAWAY) + encode_uint_var(1 << 40), 0x106),
    "encoder_stream": (ENCODER, b"\x02" + b"\x3f\xff\xff\xff\x7f", 0x201),
    "decoder_stream": (DECODER, b"\x03" + b"\x00", 0x202),
}


@pytest.mark.parametrize(("stream_id", "data", "error_code"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("bytewise", [False, True])
def test_a_broken_rule_closes_the_connection(stream_id: int, data: bytes, error_code: int, bytewise: bool) -> None:
    raw = Raw()
    raw.feed_pieces(stream_id, data, range(1, len(data)) if bytewise else ())
    assert raw.error_code == error_code


@pytest.mark.parametrize("cut", range(1, len(head() + frame(DATA, b"xyz"))))
def test_a_stream_that_ends_within_a_frame_closes_the_connection(cut: int) -> None:
    whole = head() + frame(DATA, b"xyz")
    expected = None if cut == len(head()) else 0x106
    assert Raw().feed(0, whole[:cut], True).error_code == expected


SETTINGS_FRAMES = {
    "unknown": (b"\x40\x99\x05", None),
    "grease": (b"\x21\x05", None),
    "no_rfc7540_priorities": (b"\x09\x01", None),
    "twice": (b"\x01\x00\x01\x00", 0x109),
    "of_http2": (b"\x03\x04", 0x109),
    "cut": (b"\x01", 0x106),
    "connect_protocol_2": (b"\x08\x02", 0x109),
    "datagram_2": (b"\x33\x02", 0x109),
    "huge_table": (b"\x01" + encode_uint_var((1 << 62) - 1), None),
}


@pytest.mark.parametrize(("payload", "error_code"), SETTINGS_FRAMES.values(), ids=SETTINGS_FRAMES.keys())
def test_settings_are_checked(payload: bytes, error_code: int | None) -> None:
    raw = Raw(with_settings=False).feed(CONTROL, b"\0" + frame(SETTINGS, payload))
    assert raw.error_code == error_code


@pytest.mark.parametrize("stream_id", [CONTROL, ENCODER, DECODER])
def test_a_critical_stream_that_closes_closes_the_connection(stream_id: int) -> None:
    def opened() -> Raw:
        return Raw().feed(ENCODER, b"\x02").feed(DECODER, b"\x03")

    assert opened().feed(stream_id, b"", True).error_code == ErrorCode.H3_CLOSED_CRITICAL_STREAM
    assert opened().reset(stream_id).error_code == ErrorCode.H3_CLOSED_CRITICAL_STREAM


def test_writing_on_a_critical_stream_that_was_stopped_meanwhile_closes_the_connection() -> None:
    """QUIC knows of it when it has read the datagram, we when we are told of the frame."""
    instructions, headers = blocked()
    raw = Raw().feed(ENCODER, instructions)
    send = raw.quic.send_stream_data

    def send_stream_data(stream_id: int, data: bytes, end_stream: bool = False) -> None:
        if stream_id == 11:
            raise RuntimeError("Cannot send data after the stream was reset")
        send(stream_id, data, end_stream)

    raw.quic.send_stream_data = send_stream_data  # type: ignore[method-assign]
    assert raw.feed(0, headers, True).error_code == ErrorCode.H3_CLOSED_CRITICAL_STREAM


def test_streams_of_unknown_types_are_read_and_forgotten() -> None:
    raw = Raw()
    for stream_id in range(14, 4014, 4):
        raw.feed(stream_id, b"\x21" + update(0, b"u=1") * 3).feed(stream_id, b"more", True)
    raw.feed(5014, b"\x40").reset(5014).feed(5018, b"", True)
    assert (raw.events, raw.error_code) == ([], None)
    assert set(raw.layer._unidirectional) == {CONTROL}


# Bounds


def test_a_head_that_is_too_long_is_refused_before_it_comes() -> None:
    raw = Raw().feed(0, encode_uint_var(HEADERS) + encode_uint_var(MAX_SECTION_BYTES + 1))
    assert raw.events == [RequestTooLarge(0)]
    raw.feed(0, bytes(MAX_SECTION_BYTES + 1) + frame(DATA, b"x"), True)
    assert (raw.events[1:], raw.error_code, raw.layer._held_bytes) == ([], None, 0)


def test_a_head_with_too_many_lines_is_refused_undecoded() -> None:
    fields = [*GET, *[(b"accept", b"*/*")] * MAX_FIELD_LINES]
    assert len(section(fields)) < 1000, "each line takes a byte or two"
    assert Raw().feed(0, frame(HEADERS, section(fields)), True).events == [RequestTooLarge(0)]
    fields = [*GET, *[(b"accept", b"*/*")] * (MAX_FIELD_LINES - len(GET))]
    assert Raw().feed(0, frame(HEADERS, section(fields)), True).requests == [0]


def test_a_head_that_is_too_large_when_decoded_is_refused() -> None:
    encoder = pylsqpack.Encoder()
    raw = Raw().feed(ENCODER, b"\x02" + encoder.apply_settings(4096, 16))
    long = (b"x", b"y" * 1500)
    for stream_id, count in ((0, 1), (4, 1), (8, 1), (12, 30)):
        instructions, encoded = encoder.encode(stream_id, [*GET, *[long] * count])
        raw.feed(ENCODER, instructions).feed(stream_id, frame(HEADERS, encoded), True)
    assert len(encoded) < 100, "the dynamic table was used"
    assert (raw.requests, raw.events[-1]) == ([0, 4, 8], RequestTooLarge(12))


def test_frames_that_are_begun_and_not_finished_are_bounded_over_all_streams() -> None:
    raw = Raw()
    unfinished = encode_uint_var(HEADERS) + encode_uint_var(MAX_SECTION_BYTES) + bytes(MAX_SECTION_BYTES - 1)
    streams = MAX_HELD_BYTES // MAX_SECTION_BYTES
    for index in range(streams):
        raw.feed(4 * index, unfinished)
    assert raw.error_code is None
    raw.feed(4 * streams, unfinished)
    assert raw.error_code == ErrorCode.H3_EXCESSIVE_LOAD


@pytest.mark.parametrize("empty", [frame(0x21), frame(DATA), frame(0x21, b"x")])
def test_frames_that_bring_nothing_are_bounded(empty: bytes) -> None:
    raw = Raw().feed(0, head(fields=POST) + empty * 990)
    assert raw.error_code is None
    raw.now_s += 1.0
    raw.feed(0, empty * 90)
    assert raw.error_code is None
    assert raw.feed(0, empty * 100).error_code == ErrorCode.H3_EXCESSIVE_LOAD


def cancelled(count: int, *, of: bytes, is_complete: bool, how: str) -> int | None:
    """The connection's error code after so many requests, each sent and cancelled at once."""
    raw = Raw()
    for stream_id in range(0, 4 * count, 4):
        raw.feed(stream_id, of, end_stream=is_complete)
        if how in ("reset", "both"):
            raw.reset(stream_id)
        if how in ("stop", "both"):
            raw.stop(stream_id)
        if how == "mistake":
            raw.feed(stream_id, b"", end_stream=True)
            assert raw.error_code is not None or raw.quic.resets[-1] == (stream_id, ErrorCode.H3_MESSAGE_ERROR)
        raw.layer.forget(stream_id)
    return raw.error_code


@pytest.mark.parametrize(
    ("of", "is_complete", "how"),
    [
        (head()[:3], False, "reset"),  # of a request that is incomplete
        (head(), False, "reset"),
        (head(), False, "both"),  # as browsers cancel
        (head(), True, "stop"),  # a complete one has no other way
        (head((b"content-length", b"5"), fields=POST), False, "mistake"),  # for which we reset the stream
    ],
)
def test_rapid_cancelling_is_bounded_in_whichever_way(of: bytes, is_complete: bool, how: str) -> None:
    """Otherwise each request costs work, and the limit on open ones stops nobody."""
    assert cancelled(300, of=of, is_complete=is_complete, how=how) is None, (
        "someone leaves a page with hundreds of images"
    )
    assert cancelled(2000, of=of, is_complete=is_complete, how=how) == ErrorCode.H3_EXCESSIVE_LOAD


def test_who_stops_an_upload_because_we_ask_for_it_cancels_nothing() -> None:
    """RFC 9000 section 3.5: the answer to STOP_SENDING is RESET_STREAM."""
    raw = Raw(is_live=True)
    for stream_id in range(0, 8000, 4):
        raw.feed(stream_id, head(fields=POST))
        raw.layer.stop_reading(stream_id, ErrorCode.H3_NO_ERROR)
        raw.reset(stream_id)
        raw.layer.forget(stream_id)
    assert (raw.error_code, len(raw.quic.stops)) == (None, 2000)


def test_requests_make_room_for_cancelling_others() -> None:
    raw = Raw()
    for stream_id in range(0, 20_000, 4):
        raw.feed(stream_id, head(), end_stream=True)
        if stream_id % 12 == 0:
            raw.stop(stream_id)
        raw.layer.forget(stream_id)
    assert raw.error_code is None


# QPACK


def blocked(stream_id: int = 0, fields: list[tuple[bytes, bytes]] = GET) -> tuple[bytes, bytes]:
    """Instructions of the encoder, and a HEADERS frame that waits for them."""
    encoder = pylsqpack.Encoder()
    start = encoder.apply_settings(4096, 16)
    fields = [*fields, (b"x-new", b"never seen before")]
    warm, _ = encoder.encode(stream_id, fields)
    more, encoded = encoder.encode(stream_id, fields)
    return b"\x02" + start + warm + more, frame(HEADERS, encoded)


def test_a_head_waits_for_the_encoder_stream() -> None:
    instructions, headers = blocked()
    raw = Raw().feed(0, headers, True)
    assert raw.requests == []
    raw.feed(ENCODER, instructions)
    assert raw.requests == [0]
    assert len(raw.quic.sent[11]) > 1, "the section is acknowledged"


def test_body_and_trailers_may_come_while_a_head_waits() -> None:
    instructions, headers = blocked()
    raw = Raw().feed(0, headers + frame(DATA, b"x" * 5000) + frame(HEADERS, section([(b"a", b"b")])), True)
    assert raw.layer._held_bytes < 500
    raw.feed(ENCODER, instructions)
    assert (raw.requests, raw.error_code, raw.layer._held_bytes) == ([0], None, 0)


def test_a_body_that_is_kept_while_its_head_waits_counts_against_the_clients_credit() -> None:
    """Else a client whose encoder says nothing could have any amount kept. Afterwards the responder says what it has taken."""
    instructions, headers = blocked()
    raw = Raw(is_live=True).feed(0, headers).feed(0, frame(DATA, bytes(5000)) + frame(DATA, bytes(700))[:300])
    assert raw.quic.held == {0: 5297}
    raw.feed(ENCODER, instructions)
    assert [type(event) for event in raw.events] == [RequestReceived, BodyReceived]
    assert raw.quic.held == {}


def test_a_body_of_single_bytes_takes_no_more_memory_than_it_counts_while_its_head_waits() -> None:
    instructions, headers = blocked()
    raw = Raw(is_live=True).feed(0, headers)
    tracemalloc.start()
    before_bytes, _ = tracemalloc.get_traced_memory()
    for number in range(5000):
        raw.feed(0, frame(DATA, bytes([number % 256])))
    after_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert raw.quic.held == {0: 5000}
    assert after_bytes - before_bytes < 20_000
    raw.feed(ENCODER, instructions)
    assert raw.events[-1] == BodyReceived(0, bytes(number % 256 for number in range(5000)))


@pytest.mark.parametrize("how", ["reset", "forgotten", "malformed"])
def test_nothing_counts_any_more_of_a_body_that_is_given_up(how: str) -> None:
    instructions, headers = blocked(fields=POST[:2])
    raw = Raw(is_live=True).feed(0, headers).feed(0, frame(DATA, bytes(5000)))
    if how == "reset":
        raw.reset(0)
    elif how == "forgotten":
        raw.layer.forget(0)
    else:
        raw.feed(ENCODER, instructions)
    assert raw.quic.held == {}


def test_trailers_that_are_too_long_fail_a_request_whose_responder_waits_for_them() -> None:
    """Its end would never be told. For any other they are not needed."""
    lines = [(b"x-%d" % number, b"") for number in range(MAX_FIELD_LINES + 1)]
    trailers = frame(HEADERS, section(lines))
    raw = Raw(is_live=True).feed(0, head(fields=POST) + trailers, end_stream=True)
    assert raw.events[-1] == RequestFailed(0, ErrorCode.H3_EXCESSIVE_LOAD)
    assert raw.error_code is None
    raw = Raw().feed(0, head(fields=POST) + trailers, end_stream=True)
    assert [type(event) for event in raw.events] == [RequestReceived]


TUNNEL = [(b":method", b"CONNECT"), (b":protocol", b"websocket"), *GET[1:]]


@pytest.mark.parametrize(
    "more",
    [section([]), section([(b"a", b"b")]), b"", bytes(MAX_SECTION_BYTES + 1)],
    ids=["no_lines", "a_line", "no_bytes", "too_long"],
)
@pytest.mark.parametrize("waits", [True, False])
def test_a_tunnel_has_no_trailers(more: bytes, waits: bool) -> None:
    """RFC 9114 section 4.4: only DATA frames, and those of unknown types."""
    instructions, headers = blocked(fields=TUNNEL) if waits else (b"", head(fields=TUNNEL))
    raw = Raw(is_live=True).feed(0, headers + frame(DATA, b"abc") + frame(0x21, b"grease"))
    if waits and len(more) <= MAX_SECTION_BYTES:
        raw.feed(0, frame(HEADERS, more)).feed(ENCODER, instructions)
    else:
        raw.feed(ENCODER, instructions or b"\x02")
        assert [type(event) for event in raw.events] == [RequestReceived, BodyReceived]
        raw.feed(0, frame(HEADERS, more))
    assert raw.error_code == ErrorCode.H3_FRAME_UNEXPECTED


def test_heads_that_waited_are_told_in_order_of_stream() -> None:
    instructions, headers = blocked()
    raw = Raw()
    for stream_id in (12, 4, 8):
        raw.feed(stream_id, headers, True)
    assert raw.requests == []
    raw.feed(ENCODER, instructions)
    assert raw.requests == [4, 8, 12]


def test_a_stream_that_is_over_while_its_head_waits_is_cancelled() -> None:
    instructions, headers = blocked()
    raw = Raw().feed(0, headers, True)
    raw.layer.forget(0)
    assert raw.quic.sent[11][1:] == b"\x40", "stream cancellation"
    raw.feed(ENCODER, instructions)
    assert (raw.events, raw.error_code) == ([], None)


def test_more_blocked_streams_than_allowed_close_the_connection() -> None:
    _, headers = blocked()
    raw = Raw()
    for stream_id in range(0, 17 * 4, 4):
        raw.feed(stream_id, headers)
    assert raw.error_code == ErrorCode.QPACK_DECOMPRESSION_FAILED


@given(
    st.lists(st.tuples(st.sampled_from([b":path", b"accept", b"x-a", b"cookie"]), st.binary(max_size=300)), max_size=40)
)
def test_lines_of_a_section_are_counted_as_they_are_decoded(fields: list[tuple[bytes, bytes]]) -> None:
    encoded = section(fields)
    assert count_lines(encoded, 1000) == len(fields)
    assert count_lines(encoded, 5) == min(6, len(fields))


def test_lines_that_need_the_dynamic_table_are_counted_too() -> None:
    encoder = pylsqpack.Encoder()
    encoder.apply_settings(4096, 16)
    fields = [*GET, *[(f"x-{index}".encode(), b"a value") for index in range(20)]]
    for stream_id in range(0, 40, 4):
        assert count_lines(encoder.encode(stream_id, fields)[1], 1000) == len(fields)


# Shutting down


def test_after_goaway_requests_are_rejected_and_those_begun_are_read() -> None:
    raw = Raw().feed(0, head(), True).feed(8, head()[:4])
    raw.layer.send_goaway()
    assert raw.layer._goaway_id == 12
    assert not raw.layer.awaits_request(12)
    assert raw.quic.sent[3].endswith(frame(GOAWAY, encode_uint_var(12)))
    raw.feed(12, head(), True).feed(4, head(), True).feed(8, head()[4:], True)
    assert raw.requests == [0, 4, 8]
    assert raw.quic.resets == [(12, ErrorCode.H3_REQUEST_REJECTED)]
    assert not raw.layer.is_reading


# Anything


PIECES = [
    head(),
    head()[:7],
    head(fields=POST),
    frame(DATA, b"some body"),
    frame(HEADERS, section([(b"trailer", b"1")])),
    blocked()[1],
    blocked()[0],
    blocked()[0][1:],
    frame(SETTINGS, b"\x01\x50\x00"),
    frame(GOAWAY, b"\x04"),
    frame(MAX_PUSH_ID, b"\x08"),
    frame(0x21, b"grease"),
    update(0, b"u=1, i"),
    update(4, b""),
    update(0, b"u=1", PUSH_UPDATE),
    encode_uint_var(REQUEST_UPDATE) + encode_uint_var(1 << 30),
    b"\x00",
    b"\x02",
    b"\x03",
    b"",
]
KNOWN_CODES = {None, *range(0x101, 0x10F), 0x200, 0x201, 0x202}


@examples(600)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 4, 8, 2, 6, 10]), st.sampled_from(PIECES) | st.binary(max_size=30), st.integers(0, 9)
        )
    )
)
def test_no_bytes_raise_anything_but_a_known_error(script: list[tuple[int, bytes, int]]) -> None:
    raw = Raw(with_settings=False)
    ended: set[int] = set()
    for stream_id, data, ending in script:
        if stream_id in ended:
            continue
        if ending == 9:
            raw.reset(stream_id)
        else:
            raw.feed(stream_id, data, ending == 0)
        if ending in {0, 9}:
            ended.add(stream_id)
    assert raw.error_code in KNOWN_CODES
    if raw.error_code is None:
        requests = raw.layer._requests.values()
        assert raw.layer._held_bytes == sum(item.held_bytes for item in requests) + raw.layer._control.held_bytes
        for stream_id in (0, 4, 8):
            raw.layer.forget(stream_id)
        assert raw.layer._held_bytes == raw.layer._control.held_bytes


@pytest.mark.parametrize("body_bytes", [None, 0, 70_000])
def test_a_head_ends_the_stream_unless_a_body_follows_in_one_data_frame(body_bytes: int | None) -> None:
    raw = Raw().feed(0, head(), end_stream=True)
    fields = [(b":status", b"200")]
    raw.layer.send_head(0, fields, body_bytes)
    data_head = b"" if body_bytes is None else bytes([DATA]) + encode_uint_var(body_bytes)
    assert bytes(raw.quic.sent[0]) == head(fields=fields) + data_head
    assert raw.quic.ended == ([0] if body_bytes is None else [])
