"""PRIORITY_UPDATE and the priority field: which one counts, when, and what closes the connection."""

from __future__ import annotations

import pytest
from aioquic.buffer import encode_uint_var
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.h3.control import ControlStreamError, PriorityUpdate, UnidirectionalStreamReader
from mixedsched.priority import PriorityParameters
from tests.h3.pair import Pair

REQUEST_UPDATE, PUSH_UPDATE = 0xF0700, 0xF0701
SIZE = "/60000"


def frame(frame_type: int, payload: bytes) -> bytes:
    return encode_uint_var(frame_type) + encode_uint_var(len(payload)) + payload


def update(stream_id: int, value: bytes, frame_type: int = REQUEST_UPDATE) -> bytes:
    return frame(frame_type, encode_uint_var(stream_id) + value)


SETTINGS = frame(0x04, b"")


def signalled(pair: Pair, stream_id: int) -> tuple[str, str]:
    served = next(item for item in pair.log if item.stream_id == stream_id)
    return served.signal, served.signalled_by


def test_without_a_signal_the_defaults_count() -> None:
    pair = Pair("eps").connect()
    stream_id = pair.request("/10")
    assert signalled(pair.finish(), stream_id) == ("u=3", "default")


def test_an_early_update_outranks_the_field_of_its_request() -> None:
    pair = Pair("eps").connect()
    pair.update_priority(0, "u=6, i")
    pair.run(until_s=pair.now_s + 0.2)
    stream_id = pair.request("/10", "u=1")
    assert stream_id == 0
    assert signalled(pair.finish(), stream_id) == ("u=6, i", "update")


def test_of_several_early_updates_the_last_one_counts() -> None:
    pair = Pair("eps").connect()
    for value in ("u=6, i", "u=2", "i"):
        pair.update_priority(0, value)
    pair.run(until_s=pair.now_s + 0.2)
    assert signalled(_finish_one(pair), 0) == ("u=3, i", "update")


def _finish_one(pair: Pair) -> Pair:
    pair.request("/10", "u=0")
    return pair.finish()


def test_an_update_says_all_there_is_and_what_it_omits_has_its_default() -> None:
    pair = Pair("eps").connect()
    pair.update_priority(0, "")
    pair.run(until_s=pair.now_s + 0.2)
    assert signalled(_finish_one(pair), 0) == ("u=3", "update")


def test_an_update_moves_a_response_under_way_at_the_next_packet() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    first, second = pair.request("/400000", "u=3"), pair.request("/400000", "u=3")
    pair.run(until_s=pair.now_s + 0.3)
    assert {stream for stream, _, _ in pair.writes} == {first}
    pair.update_priority(second, "u=1")
    assert pair.finish().done == [second, first]


def test_an_update_that_is_no_dictionary_is_ignored() -> None:
    pair = Pair("eps").connect()
    pair.update_priority(0, "u=1,")
    pair.run(until_s=pair.now_s + 0.2)
    assert signalled(_finish_one(pair), 0) == ("u=0", "field")


def test_an_update_for_a_response_that_is_over_is_ignored_and_remembered_nowhere() -> None:
    pair = Pair("eps").connect()
    _finish_one(pair)
    pair.run(until_s=pair.now_s + 1)
    pair.update_priority(0, "u=1")
    pair.run(until_s=pair.now_s + 1)
    assert pair.terminated is None
    assert pair.session._signals._early == {}


@pytest.mark.parametrize(
    ("payload", "error_code"),
    [
        (update(2, b"u=1"), 0x108),
        (update(1, b"u=1"), 0x108),
        (update(4 * 128, b"u=1"), 0x108),
        (update(0, b"u=1", PUSH_UPDATE), 0x108),
        (frame(REQUEST_UPDATE, b""), 0x106),
        (frame(REQUEST_UPDATE, b"\x80"), 0x106),
        (update(0, b"x" * 2000), 0x107),
    ],
)
def test_a_wrong_update_closes_the_connection_with_the_right_code(payload: bytes, error_code: int) -> None:
    pair = Pair("eps").connect()
    pair.send_control(payload)
    pair.run(until_s=pair.now_s + 1)
    assert pair.terminated is not None
    assert pair.terminated.error_code == error_code


FRAMES = [update(0, b"u=1"), update(8, b""), frame(0x21, b"grease" * 9), frame(0x0D, b"\x08")]


@given(st.lists(st.sampled_from(FRAMES), max_size=6), st.data())
def test_frames_may_be_split_anywhere(frames: list[bytes], data: st.DataObject) -> None:
    stream = b"\x00" + SETTINGS + b"".join(frames)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    reader, found = UnidirectionalStreamReader(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += list(reader.feed(stream[start:end]))
    expected = {
        update(0, b"u=1"): PriorityUpdate(0, PriorityParameters(urgency=1)),
        update(8, b""): PriorityUpdate(8, PriorityParameters()),
    }
    assert found == [expected[item] for item in frames if item in expected]


@given(st.lists(st.binary(max_size=200), max_size=8), st.sampled_from([b"", b"\x00", b"\x00" + SETTINGS, b"\x02"]))
def test_no_bytes_on_a_control_stream_raise_anything_else(pieces: list[bytes], start: bytes) -> None:
    reader = UnidirectionalStreamReader()
    error_code = None
    try:
        for piece in (start, *pieces):
            list(reader.feed(piece))
    except ControlStreamError as error:
        error_code = error.error_code
    assert error_code in {None, 0x106, 0x107, 0x108}
    assert len(reader._buffer) < 2100, "what is buffered is bounded"


def test_other_streams_of_the_client_are_not_read_for_updates() -> None:
    reader = UnidirectionalStreamReader()
    assert list(reader.feed(b"\x02" + update(0, b"u=0"))) == []


def test_nothing_is_remembered_of_streams_that_are_over() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    for _ in range(20):
        stream_id = pair.request("/3000", "u=2")
        while stream_id not in pair.done:
            pair.update_priority(stream_id, "u=1")
            pair.run(until_s=pair.now_s + 0.005)
        pair.update_priority(stream_id, "u=5")
    pair.run(until_s=pair.now_s + 2)
    assert pair.session._signals._early == {}
    assert pair.session._exchanges == {}


def test_a_unidirectional_stream_that_ends_is_forgotten() -> None:
    pair = Pair("eps").connect()
    before = len(pair.session._readers)
    for _ in range(50):
        pair.client.send_stream_data(pair.client.get_next_available_stream_id(is_unidirectional=True), b"\x21abc", True)
        pair.run(until_s=pair.now_s + 0.1)
    assert len(pair.session._readers) == before
