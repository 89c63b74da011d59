"""Rules 1 to 42 of docs/conformance.md: what clients and sites signal, which of it counts, and what closes the connection."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aioquic.buffer import Buffer, encode_uint_var
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3._signals import PriorityUpdate, Signals
from mixedsched.core.h3.events import RequestReceived
from mixedsched.core.h3.response import RequestHead
from mixedsched.model.priority import Priority, PriorityParameters
from tests.core.h3.pair import Pair, pause, runs, server_frames
from tests.core.h3.raw import (
    CONTROL,
    DECODER,
    ENCODER,
    GET,
    HEADERS,
    MAX_PUSH_ID,
    PUSH_UPDATE,
    REQUEST_UPDATE,
    SETTINGS,
    Raw,
    frame,
    head,
    section,
    update,
)
from tests.core.h3.wishes import Wishes

DEFAULT = Priority()


def signalled(pair: Pair, stream_id: int) -> tuple[str, str]:
    served = next(item for item in pair.log if item.stream_id == stream_id)
    return served.signal, served.signalled_by


def finish_one(pair: Pair, priority: str | None = "u=0", path: str = "/10") -> tuple[str, str]:
    """Make a request, and see what it counted as."""
    stream_id = pair.request(path, priority)
    return signalled(pair.finish(), stream_id)


# 1 to 14: the value


def by_field(*lines: bytes) -> Priority:
    """What `priority` field lines of a request mean."""
    (event,) = Raw().feed(0, head(*((b"priority", line) for line in lines)), True).events
    assert isinstance(event, RequestReceived)
    return Signals().of_request(0, event.head).priority


def by_frame(value: bytes) -> Priority | None:
    """What a PRIORITY_UPDATE means; None if it is ignored."""
    raw = Raw().feed(CONTROL, update(0, value))
    (event,) = raw.events
    assert isinstance(event, PriorityUpdate)
    return event.priority(1)


VALUES: list[tuple[int, bytes, Priority | None]] = [
    (1, b'x="u=2, u=5", i', Priority(3, True)),
    (1, b'x="\\"u=0", u=1', Priority(1)),
    (3, b"", DEFAULT),
    (3, b"  ", DEFAULT),
    *((4, f"u={urgency}".encode(), Priority(urgency)) for urgency in range(8)),
    (5, b"u=8, i", Priority(3, True)),
    (5, b"u=-1, i", Priority(3, True)),
    (5, b"u=100, i", Priority(3, True)),
    (5, b"u=999999999999999, i", Priority(3, True)),
    (6, b"u, i", Priority(3, True)),
    (6, b"u=?1, i", Priority(3, True)),
    (6, b"u=5.0, i", Priority(3, True)),
    (6, b'u="5", i', Priority(3, True)),
    (6, b"u=(5), i", Priority(3, True)),
    (6, b"u=:NQ==:, i", Priority(3, True)),
    (6, b"u=five, i", Priority(3, True)),
    (6, b"u=@5, i", Priority(3, True)),
    (7, b"i", Priority(3, True)),
    (7, b"i=?1", Priority(3, True)),
    (7, b"i=?0", DEFAULT),
    (8, b"u=1, i=1", Priority(1)),
    (8, b"u=1, i=true", Priority(1)),
    (8, b'u=1, i="?1"', Priority(1)),
    (8, b"u=1, i=(?1)", Priority(1)),
    (8, b"i=0, u=1", Priority(1)),
    (9, b"o=5, u=1, i", Priority(1, True)),
    (9, b"p, u=1, r=1.5, i", Priority(1, True)),
    (9, b"x=(u=1 i);u=0, u=1", None),
    (9, b"x=(1 2);u=0, u=1", Priority(1)),
    (9, b"u=2;x=1, i;u=0", Priority(2, True)),
    (9, b"*x-.1=token/with:chars, u=1", Priority(1)),
    (10, b"u=1, u=9", DEFAULT),
    (10, b"u=9, u=1", Priority(1)),
    (10, b"u=1, u", DEFAULT),
    (10, b"i, i=?0", DEFAULT),
    (10, b"i, i=1", DEFAULT),
    *(
        (11, value, None)
        for value in (
            b"u=1,",
            b"u=",
            b"U=1",
            b"u=1 i",
            b"u=1;",
            b"u=1,,i",
            b",u=1",
            b"u=1, @@",
            b"=1",
            b"1=1",
            b"u=1=2",
        )
    ),
    *(
        (11, value, None)
        for value in (b"u=1\xff", b"\xc3\xa9", b"u=1, x=\xe2\x82\xac", b"u=(1", b'x="', b"x=:a", b"u=--1")
    ),
    (12, b"u=1 ,\ti", Priority(1, True)),
    (12, b"u=1\t , \t i", Priority(1, True)),
    (12, b"  u=1,i  ", Priority(1, True)),
    (12, b"\tu=1", None),
    (12, b"u=1\t", Priority(1)),
    (12, b"u =1", None),
    (12, b"u= 1", None),
    (12, b"u=003", DEFAULT),
    (12, b"u=000000000000005", Priority(5)),
    (12, b"u=0000000000000005", None),
    (12, b"u=-0", Priority(0)),
    (12, b"u=+1", None),
    (13, b"x=@1700000000, u=1, i", Priority(1, True)),
    (13, b"x=@-1, u=1", Priority(1)),
    (13, b"x=@999999999999999, u=1", Priority(1)),
    (13, b"x=@-999999999999999, u=1", Priority(1)),
    (13, b"x=@9999999999999999, u=1", None),
    (13, b"x=@1.5, u=1", None),
    (13, b"u=@1, i", Priority(3, True)),
    (13, b'x=%"f%c3%bc", u=1', Priority(1)),
    (13, b'x=%"%ff", u=1', None),
]


@pytest.mark.parametrize(
    ("value", "expected"), [item[1:] for item in VALUES], ids=[f"rule_{rule:02}:{value!r}" for rule, value, _ in VALUES]
)
def test_rules_01_to_13_a_value_means_the_same_in_a_field_and_in_a_frame(
    value: bytes, expected: Priority | None
) -> None:
    assert by_frame(value) == expected
    if not value.startswith((b" ", b"\t")) and not value.endswith((b" ", b"\t")):  # which no field has
        assert by_field(value) == (expected or DEFAULT)


def test_rule_02_several_field_lines_are_one_dictionary() -> None:
    assert by_field(b"u=1", b"i") == Priority(1, True)
    assert by_field(b"u=1, i", b"u=5") == Priority(5, True)
    assert by_field(b"u=1", b"@@") == DEFAULT, "the second line voids the first"
    assert by_field(b'x="a', b'b", u=1') == Priority(1), "a string may go on behind the comma that joins them"


def test_rule_03_without_a_signal_the_defaults_count() -> None:
    assert by_field() == DEFAULT
    assert finish_one(Pair("eps").connect(), None) == ("u=3", "default")
    assert finish_one(Pair("eps").connect(), "") == ("u=3", "field")


@given(st.binary(max_size=60))
def test_rule_11_no_value_closes_the_connection(value: bytes) -> None:
    raw = Raw().feed(CONTROL, update(0, value))
    assert (raw.error_code, len(raw.events)) == (None, 1)


def test_rule_14_a_priority_field_in_trailers_is_ignored() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    fields = [(b":method", b"POST"), *GET[1:3], (b":path", b"/60000"), (b"priority", b"u=5")]
    stream_id = pair.send_request(fields, b"a body", end_stream=False)
    pause(pair, 0.03)
    assert len(pair.bodies[stream_id]) < 60_000, "it is under way"
    pair.h3.send_headers(stream_id, [(b"priority", b"u=0, i")], end_stream=True)
    pair.finish()
    assert (signalled(pair, stream_id), pair.terminated) == (("u=5", "field"), None)


# 15 to 29: the frame


def test_rule_15_an_update_names_a_stream_and_carries_a_value() -> None:
    raw = Raw().feed(CONTROL, update(64, b"u=1, i"))
    assert raw.events == [PriorityUpdate(64, PriorityParameters(1, True))]
    wasteful = frame(REQUEST_UPDATE, b"\xc0\0\0\0\0\0\0\x04u=2")
    assert Raw().feed(CONTROL, wasteful).events == [PriorityUpdate(4, PriorityParameters(2))]


@pytest.mark.parametrize("payload", [b"", b"\x40", b"\x80\0\0", b"\xc0\0\0\0\0\0\0"])
@pytest.mark.parametrize("frame_type", [REQUEST_UPDATE, PUSH_UPDATE])
def test_rule_16_a_frame_without_a_whole_id_is_a_frame_error(payload: bytes, frame_type: int) -> None:
    assert Raw().feed(CONTROL, frame(frame_type, payload)).error_code == 0x106


def test_rule_17_an_empty_value_resets_to_the_defaults() -> None:
    pair = Pair("eps").connect()
    pair.update_priority(0, "u=6, i")
    pair.update_priority(0, "")
    pause(pair)
    assert finish_one(pair) == ("u=3", "update")


def test_rule_18_what_an_update_omits_has_its_default() -> None:
    pair = Pair("eps").connect()
    pair.update_priority(0, "u=6, i")
    pair.update_priority(0, "u=6")
    pair.update_priority(4, "u=1, i")
    pair.update_priority(4, "i")
    pause(pair)
    assert finish_one(pair) == ("u=6", "update")
    assert finish_one(pair) == ("u=3, i", "update")


def test_rule_19_a_frame_whose_value_is_no_dictionary_is_ignored() -> None:
    pair = Pair("eps").connect()
    pair.update_priority(0, "u=1,")
    pair.update_priority(4, "u=6")
    pair.update_priority(4, "u=1 i")
    pause(pair)
    assert finish_one(pair) == ("u=0", "field")
    assert finish_one(pair) == ("u=6", "update"), "it does not undo the one before either"
    assert pair.terminated is None


@pytest.mark.parametrize("value", ["u=9, i", "u=-1, i", "u=?1, i", "u, i", "u=1.0, i", 'u="1", i'])
def test_rule_20_an_unusable_parameter_in_a_frame_is_ignored_alone(value: str) -> None:
    pair = Pair("eps").connect()
    pair.update_priority(0, value)
    pause(pair)
    assert (finish_one(pair), pair.terminated) == (("u=3, i", "update"), None)


@pytest.mark.parametrize("before", [b"", head(), frame(0x21, b"grease")])
@pytest.mark.parametrize("frame_type", [REQUEST_UPDATE, PUSH_UPDATE])
def test_rule_21_an_update_on_a_request_stream_is_unexpected(before: bytes, frame_type: int) -> None:
    assert Raw().feed(0, before + update(0, b"u=1", frame_type)).error_code == 0x105
    beginning = encode_uint_var(frame_type) + encode_uint_var(1 << 40)
    assert Raw().feed(0, before + beginning).error_code == 0x105, "it is not waited for"


@pytest.mark.parametrize(
    ("stream_id", "stream_type", "error_code"),
    [(ENCODER, b"\x02", 0x201), (DECODER, b"\x03", 0x202), (14, b"\x01", 0x103)],
)
def test_rule_21_on_other_critical_streams_it_is_no_frame_at_all(
    stream_id: int, stream_type: bytes, error_code: int
) -> None:
    assert Raw().feed(stream_id, stream_type + update(0, b"u=1") * 40).error_code == error_code


def test_rule_21_also_over_a_real_connection() -> None:
    pair = Pair("eps").connect()
    stream_id = pair.client.get_next_available_stream_id()
    pair.client.send_stream_data(stream_id, head() + update(stream_id, b"u=1"))
    pause(pair, 1)
    assert pair.terminated is not None
    assert pair.terminated.error_code == 0x105


@pytest.mark.parametrize("stream_id", [1, 2, 3, 5, 6, 7, (1 << 62) - 1])
def test_rule_22_an_id_that_is_no_request_stream_is_an_id_error(stream_id: int) -> None:
    assert Raw().feed(CONTROL, update(stream_id, b"u=1")).error_code == 0x108


@pytest.mark.parametrize(("stream_id", "error_code"), [(4 * 127, None), (4 * 128, 0x108), (4 * (1 << 59), 0x108)])
def test_rule_23_an_id_beyond_the_stream_limit_is_an_id_error(stream_id: int, error_code: int | None) -> None:
    pair = Pair("eps").connect()
    assert pair.session.quic.request_stream_limit == 128
    pair.update_priority(stream_id, "u=1")
    pause(pair, 1)
    assert (pair.terminated.error_code if pair.terminated else None) == error_code


@pytest.mark.parametrize("push_id", [0, 1, 2, 3, 8, 1 << 40])
@pytest.mark.parametrize("allowed", [b"", frame(MAX_PUSH_ID, b"\x08")])
def test_rule_24_an_update_for_a_push_is_an_id_error_as_none_is_ever_promised(push_id: int, allowed: bytes) -> None:
    assert Raw().feed(CONTROL, allowed + update(push_id, b"u=1", PUSH_UPDATE)).error_code == 0x108


def test_rule_25_a_server_never_sends_one() -> None:
    pair = Pair("eps", responder=Wishes()).connect()
    pair.update_priority(0, "u=1")
    for priority in ("u=0", "u=5, i"):
        pair.request("/5000?priority=u%3D2", priority)
    pair.finish()
    assert [frame_type for frame_type, _ in server_frames(pair)] == [SETTINGS]


@pytest.mark.parametrize(
    "first", [update(0, b"u=1"), frame(MAX_PUSH_ID, b"\0"), frame(0x21), frame(0x00), frame(HEADERS)]
)
def test_rule_26_anything_before_settings_lacks_them(first: bytes) -> None:
    assert Raw(with_settings=False).feed(CONTROL, b"\0" + first).error_code == 0x10A


FRAMES = [
    update(0, b"u=1"),
    update(8, b""),
    frame(0x21, b"grease" * 9),
    frame(MAX_PUSH_ID, b"\x08"),
    update(4, b"i;x, u=9"),
]
WHOLE = b"\0" + frame(SETTINGS, b"\x01\x00") + b"".join(FRAMES)
READ = [
    PriorityUpdate(0, PriorityParameters(urgency=1)),
    PriorityUpdate(8, PriorityParameters()),
    PriorityUpdate(4, PriorityParameters(incremental=True)),
]


def test_rule_27_frames_may_be_split_at_any_byte() -> None:
    for cut in range(len(WHOLE) + 1):
        assert Raw(with_settings=False).feed_pieces(CONTROL, WHOLE, [cut]).events == READ, cut


def test_rule_27_or_come_byte_by_byte_or_many_at_once() -> None:
    assert Raw(with_settings=False).feed_pieces(CONTROL, WHOLE, range(1, len(WHOLE))).events == READ
    raw = Raw().feed(CONTROL, update(0, b"u=1") * 500)
    assert raw.events == READ[:1] * 500


@given(st.sets(st.integers(0, len(WHOLE)), max_size=12))
def test_rule_27_or_in_any_pieces(cuts: set[int]) -> None:
    assert Raw(with_settings=False).feed_pieces(CONTROL, WHOLE, cuts).events == READ


def test_rule_28_an_update_for_a_closed_stream_is_ignored_and_remembered_nowhere() -> None:
    pair = Pair("eps").connect()
    finish_one(pair)
    pause(pair, 1)
    pair.update_priority(0, "u=1")
    pause(pair, 1)
    assert pair.terminated is None
    assert pair.session._signals._early == {}
    assert pair.session._exchanges == {}


def test_rule_28_nothing_is_remembered_however_updates_and_ends_cross() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    for index in range(24):
        stream_id = pair.request("/3000", "u=2")
        if index % 3 == 0:
            pair.client.stop_stream(stream_id, 0x10C)
            pair.done.append(stream_id)
        while stream_id not in pair.done:
            pair.update_priority(stream_id, "u=1")
            pause(pair, 0.005)
        pair.update_priority(stream_id, "u=5")
    pause(pair, 2)
    assert pair.session._signals._early == {}
    assert pair.session._exchanges == {}


def test_rule_28_an_update_for_a_request_that_was_refused_is_ignored() -> None:
    pair = Pair("eps").connect()
    stream_id = pair.send_request(GET[:3], b"not the end", end_stream=False)
    pause(pair)
    pair.update_priority(stream_id, "u=1")
    pause(pair)
    assert (pair.resets, pair.session._signals._early) == ({stream_id: 0x10E}, {})


def test_rule_29_an_update_behind_our_goaway_is_ignored() -> None:
    pair = Pair("eps", rate_bps=2_000_000).connect()
    running = pair.request("/100000", "u=5")
    pause(pair, 0.1)
    pair.session.shut_down(pair.now_s)
    pair.update_priority(running, "u=1")
    pair.update_priority(running + 4, "u=1")
    pair.request("/10")
    pause(pair, 0.1)
    assert pair.session._signals._early == {}
    pause(pair, 3)
    assert signalled(pair, running) == ("u=1", "update")
    assert pair.resets == {running + 4: 0x10B}


# 30 to 42: state, precedence, bounds


def test_rule_30_an_early_update_is_kept_until_its_request_comes() -> None:
    pair = Pair("eps").connect()
    pair.update_priority(8, "u=6, i")
    pause(pair, 5)
    assert [finish_one(pair, None) for _ in range(3)] == [("u=3", "default"), ("u=3", "default"), ("u=6, i", "update")]
    assert pair.session._signals._early == {}


def test_rule_31_of_several_early_updates_the_last_one_counts() -> None:
    pair = Pair("eps").connect()
    for value in ("u=6, i", "u=2", "u=4, i"):
        pair.update_priority(0, value)
    pause(pair)
    assert len(pair.session._signals._early) == 1
    assert finish_one(pair) == ("u=4, i", "update")


@pytest.mark.parametrize("early", [True, False])
def test_rule_32_the_frame_wins_over_the_field_in_whichever_order_they_come(early: bool) -> None:
    pair = Pair("eps").connect()
    if early:
        pair.update_priority(0, "u=6, i")
        pause(pair)
    stream_id = pair.request("/100000", "u=1")
    if not early:
        pause(pair, 0.011)
        pair.update_priority(0, "u=6, i")
    assert signalled(pair.finish(), stream_id) == ("u=6, i", "update")


def test_rule_33_the_frame_wins_wherever_it_cuts_the_request_in_two() -> None:
    pair = Pair("eps").connect()
    whole = head((b"priority", b"u=0"))
    for cut in range(len(whole) + 1):
        stream_id = pair.client.get_next_available_stream_id()
        pair.bodies[stream_id] = bytearray()
        pair.client.send_stream_data(stream_id, whole[:cut])
        pause(pair, 0.05)
        pair.update_priority(stream_id, "u=6, i")
        pause(pair, 0.05)
        pair.client.send_stream_data(stream_id, whole[cut:], end_stream=True)
        if cut < len(whole):  # else the response has left before
            assert signalled(pair.finish(), stream_id) == ("u=6, i", "update")


def test_rule_33_the_frame_wins_while_the_head_waits_for_qpack() -> None:
    pair = Pair("eps").connect()
    fields = [*GET, (b"priority", b"u=0"), (b"x-new", b"never seen before")]
    instructions, _ = pair.h3._encoder.encode(0, fields)
    more, encoded = pair.h3._encoder.encode(0, fields)
    pair.client.send_stream_data(0, frame(HEADERS, encoded), end_stream=True)
    pair.bodies[0] = bytearray()
    pause(pair)
    assert pair.done == []
    pair.update_priority(0, "u=6, i")
    pause(pair)
    assert pair.h3._local_encoder_stream_id is not None
    pair.client.send_stream_data(pair.h3._local_encoder_stream_id, instructions + more)
    assert signalled(pair.finish(), 0) == ("u=6, i", "update")


def test_rule_34_early_updates_are_kept_for_as_many_streams_as_may_be_opened() -> None:
    pair = Pair("eps").connect()
    for stream_id in range(0, 4 * 128, 4):
        pair.update_priority(stream_id, f"u={stream_id % 7}")
        pair.update_priority(stream_id, f"u={stream_id % 7}, i")
    pause(pair)
    assert len(pair.session._signals._early) == 128
    for _ in range(128):
        pair.request("/10", "u=7")
    pair.finish()
    assert all(signalled(pair, stream_id) == (f"u={stream_id % 7}, i", "update") for stream_id in range(0, 4 * 128, 4))


def test_rule_35_long_values_are_read_and_endless_ones_refused() -> None:
    def value(size_bytes: int) -> bytes:
        return b'u=1, x="' + b"y" * (size_bytes - 9) + b'"'

    assert Raw().feed(CONTROL, update(0, value(1023))).events == [PriorityUpdate(0, PriorityParameters(1))]
    assert Raw().feed(CONTROL, update(0, value(1024))).error_code == 0x107
    beginning = encode_uint_var(REQUEST_UPDATE) + encode_uint_var(1 << 40)
    assert Raw().feed(CONTROL, beginning).error_code == 0x107, "it is not waited for"
    assert by_field(value(1000)) == Priority(1)
    assert by_field(value(1025)) == by_field(*[b"u=1, x=1"] * 200) == DEFAULT, "a field's is ignored"


def test_rule_36_a_flood_of_updates_closes_the_connection() -> None:
    pair = Pair("eps").connect()
    for index in range(1500):
        pair.update_priority(4 * (index % 100), f"u={index % 8}")
    pause(pair, 1)
    assert pair.terminated is not None
    assert pair.terminated.error_code == 0x107


def test_rule_36_time_and_requests_make_room_for_more_updates() -> None:
    raw = Raw().feed(CONTROL, update(0, b"u=1") * 990)
    raw.now_s = 5.0
    raw.feed(CONTROL, update(0, b"u=1") * 500)
    assert raw.error_code is None
    for stream_id in range(0, 4 * 3000, 4):
        raw.feed(CONTROL, update(stream_id, b"u=1")).feed(stream_id, head(), True)
        raw.layer.forget(stream_id)
    assert raw.error_code is None, "one for each request is no flood, however fast they come"
    assert raw.feed(CONTROL, update(0, b"u=1") * 600).error_code == 0x107


@pytest.mark.parametrize(
    ("first", "then", "after"),
    [
        (("u=3", "u=3"), "u=1", [4, 0]),
        (("u=3, i", "u=3, i"), "u=1, i", [4, 0]),
        (("u=3, i", "u=5"), "u=3, i", [4, 0, 4, 0, 4]),
        (("u=1", "u=3"), "u=0, i", [4, 0]),
        (("u=3", "u=3"), "i", [4, 0, 4, 0, 4]),
    ],
)
def test_rule_37_an_update_counts_from_the_next_packet_on(first: tuple[str, str], then: str, after: list[int]) -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    for priority in first:
        pair.request("/400000", priority)
    pause(pair, 0.3)
    pair.update_priority(4, then)
    moved: list[int] = []
    reprioritize = pair.session.quic.reprioritize

    def note(stream_id: int, placement: object) -> None:
        moved.append(len(pair.writes))
        reprioritize(stream_id, placement)

    pair.session.quic.reprioritize = note  # type: ignore[method-assign]
    pair.finish()
    assert len(moved) == 1
    blocks = list(runs(stream_id for stream_id, _, _ in pair.writes[moved[0] :]))
    assert blocks[: len(after)] == after


def test_rule_37_what_is_sent_again_follows_a_later_update_too() -> None:
    pair = Pair("eps", delay_us=200_000).connect()
    stream_id = pair.request("/2000", "u=3")
    pause(pair, 0.3)
    assert pair.log[0].complete
    moved = []
    pair.session.quic.reprioritize = lambda *call: moved.append(call)  # type: ignore[method-assign]
    pair.update_priority(stream_id, "u=1")
    pause(pair, 0.21)
    assert moved == [(stream_id, Priority(1))], "its last byte has left and is not acknowledged"


@pytest.mark.parametrize("same", ["u=3, i", "i", "i=?1, u=3", "u=9, i, x=5"])
def test_rule_38_an_update_that_changes_nothing_moves_nothing(same: str) -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    streams = [pair.request("/100000", "u=3, i") for _ in range(3)]
    pause(pair, 0.2)
    moved = []
    pair.session.quic.reprioritize = lambda *call: moved.append(call)  # type: ignore[method-assign]
    for _ in range(10):
        pair.update_priority(streams[1], same)
        pause(pair, 0.01)
    assert pair.finish().terminated is None
    assert moved == []


@pytest.mark.parametrize(
    ("client", "server", "merged"),
    [
        ("u=1, i", "u=2", "u=2, i"),
        ("u=1, i", "i=?0", "u=1"),
        ("u=1", "i", "u=1, i"),
        ("u=1, i", "u=0, i=?0", "u=0"),
        ("u=1, i", "", "u=1, i"),
        ("u=1, i", "u=9", "u=1, i"),
        ("u=1, i", "u=2,", "u=1, i"),
        ("u=1, i", "x=5", "u=1, i"),
        (None, "u=5", "u=5"),
    ],
)
def test_rule_39_what_the_response_says_overrides_and_the_rest_stays(
    client: str | None, server: str, merged: str
) -> None:
    pair = Pair("eps", responder=Wishes()).connect()
    stream_id = pair.request("/10?priority=" + server.replace("=", "%3D"), client)
    pair.finish()
    (served,) = pair.log
    assert (served.effective_signal, served.placement) == (merged, merged)
    assert served.signal == (client or "u=3"), "what the client wanted is still told"
    assert pair.headers[stream_id].get(b"priority", b"") == server.encode()


def test_rule_39_it_places_the_response_before_its_first_byte() -> None:
    pair = Pair("eps", responder=Wishes()).connect()
    late = pair.request("/30000?priority=u%3D6", "u=0")
    early = pair.request("/30000", "u=3")
    assert pair.finish().done == [early, late]


def test_rule_40_what_the_site_said_stays_and_the_rest_follows_the_client() -> None:
    pair = Pair("eps", rate_bps=4_000_000, responder=Wishes()).connect()
    pair.request("/100000?priority=u%3D2", "u=1, i")
    pause(pair, 0.05)
    told: list[tuple[str, str]] = []
    for value in ("u=5", "u=0, i", ""):
        pair.update_priority(0, value)
        pause(pair, 0.03)
        exchange = pair.session._exchanges[0]
        told.append((str(exchange.signal.client), str(exchange.signal.priority)))
    assert told == [("u=5", "u=2"), ("u=0, i", "u=2, i"), ("u=3", "u=2")]


def test_rule_41_the_setting_of_http2_is_ignored_and_never_sent() -> None:
    raw = Raw(with_settings=False).feed(CONTROL, b"\0" + frame(SETTINGS, b"\x09\x01") + update(0, b"u=1"))
    assert raw.events == READ[:1]
    buffer = Buffer(data=bytes(raw.quic.sent[3]))
    assert (buffer.pull_uint_var(), buffer.pull_uint_var(), buffer.pull_uint_var()) == (
        0,
        SETTINGS,
        buffer.capacity - 3,
    )
    sent = []
    while not buffer.eof():
        sent.append(buffer.pull_uint_var())
        buffer.pull_uint_var()
    assert sent == [0x01, 0x06, 0x07]


def test_rule_42_fields_go_through_as_they_are_and_frames_do_not() -> None:
    wishes = Wishes()
    pair = Pair("eps", responder=wishes).connect()
    pair.update_priority(0, "u=6")
    pause(pair)
    pair.request("/10?priority=i, x;y=2", "u=9,  i;a , z=(1 2)")
    pair.finish()
    assert wishes.heads[0].field_lines(b"priority") == [b"u=9,  i;a , z=(1 2)"]
    assert pair.headers[0][b"priority"] == b"i, x;y=2"


# Beside the rules


def test_a_tunnel_is_incremental_unless_it_says_otherwise() -> None:
    """Rule 52, as far as signals go."""

    def placed(*lines: bytes) -> Priority:
        fields = [(b"priority", line) for line in lines]
        return Signals().of_request(0, RequestHead("CONNECT", "pair.test:443", "", fields)).priority

    assert placed() == Priority(3, True)
    assert placed(b"u=1") == Priority(1)
    assert placed(b"u=1, i") == Priority(1, True)
    signals = Signals()
    signals.keep(0, Priority(2))
    assert signals.of_request(0, RequestHead("CONNECT", "pair.test:443", "", [])).priority == Priority(2)


def test_a_listener_is_told_of_every_change_with_its_cause() -> None:
    pair = Pair("eps", rate_bps=4_000_000, responder=Wishes()).connect()
    told: list[tuple[int, str | None, str, str]] = []
    times: list[float] = []

    def priority_updated(now_s: float, stream_id: int, old: Priority | None, new: Priority, trigger: str) -> None:
        times.append(now_s)
        told.append((stream_id, None if old is None else str(old), str(new), trigger))

    pair.session._events = replace(pair.session._events, priority_updated=priority_updated)
    pair.update_priority(0, "u=6")
    pair.update_priority(0, "u=6, i")
    pause(pair)
    pair.request("/50000?priority=u%3D2", "u=1")
    pair.request("/50000", "u=1")
    pair.request("/10")
    pause(pair, 0.03)
    pair.update_priority(0, "u=6")
    pair.update_priority(4, "u=1")
    pair.finish()
    assert told == [
        (0, None, "u=6", "update"),
        (0, "u=6", "u=6, i", "update"),
        (0, "u=6, i", "u=2, i", "response"),
        (4, None, "u=1", "header"),
        (0, "u=2, i", "u=2", "update"),
    ]
    assert times == sorted(times)
    assert times[0] > 1.0


def test_sections_and_frames_of_these_tests_are_what_they_seem() -> None:
    assert head() == frame(HEADERS, section(GET))
    assert update(4, b"u=1") == b"\x80\x0f\x07\x00\x04\x04u=1"
