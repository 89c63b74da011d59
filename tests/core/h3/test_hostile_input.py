"""Clients that send anything: nothing but the right error code comes of it, and nothing stays of what is over.

The generators and the independent reading they are judged by are those of tests/fuzz, which runs them for hours.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3._control import ControlStream
from mixedsched.core.h3._http import HttpLayer
from mixedsched.core.h3._requests import RequestStream
from mixedsched.core.h3.codes import Http3Error
from tests.core.h3.pair import Pair
from tests.core.h3.raw import CONTROL, Raw
from tests.examples import examples
from tests.fuzz import reference
from tests.fuzz.seeds import CONTROL_STREAMS, CONVERSATION, FRAME_TYPES, NUMBERS, REQUEST_STREAMS, Frame, update
from tests.fuzz.seeds import settings as settings_frame
from tests.fuzz.session import try_session
from tests.fuzz.trial import RuleBrokenError, Trial

NUMBER = st.integers(0, 1 << 62)


def encoded(frames: tuple[Frame, ...]) -> bytes:
    return b"".join(frame.encode() for frame in frames)


# The layer, without QUIC


@examples(1500)
@given(NUMBER)
def test_a_hostile_connection_ends_as_the_reference_says_and_leaves_nothing(number: int) -> None:
    Trial(number).run()


@pytest.mark.parametrize("frames", CONTROL_STREAMS + REQUEST_STREAMS)
@pytest.mark.parametrize("is_control", [True, False])
def test_any_stream_may_be_cut_anywhere(frames: tuple[Frame, ...], is_control: bool) -> None:
    """Each frame sequence on each kind of stream, cut at every place: the same events, the same end."""
    stream_id, start = (CONTROL, b"\0") if is_control else (0, b"")
    data = start + encoded(frames)

    def outcome(cuts: list[int]) -> tuple[object, ...]:
        raw = Raw(with_settings=False).feed_pieces(stream_id, data, cuts, end_stream=not is_control)
        return raw.events if raw.error_code is None else [], raw.error_code, raw.quic.resets

    whole = outcome([])
    assert outcome(list(range(1, len(data)))) == whole
    for cut in range(len(data) + 1):
        assert outcome([cut]) == whole


def code_of_server(stream: ControlStream, data: bytes) -> int | None:
    try:
        list(stream.feed(data))
    except Http3Error as error:
        return error.error_code
    return None


def code_of_reference(data: bytes) -> int | None:
    try:
        reference.read_control(data)
    except reference.BrokenError as error:
        return error.error_code
    return None


@pytest.mark.parametrize("frame_type", FRAME_TYPES)
def test_a_frame_of_any_type_and_length_is_judged_as_the_reference_does(frame_type: int) -> None:
    for size in NUMBERS:
        payload = bytes(min(size, 40_000))
        data = settings_frame().encode() + Frame(frame_type, payload, size).encode()
        stream = ControlStream()
        assert code_of_server(stream, data) == code_of_reference(data), size
        assert stream.held_bytes <= (len(payload) if code_of_reference(data) else 1024), size


def test_frames_in_every_order_of_three() -> None:
    """All triples of frames on the control stream, behind SETTINGS."""
    kinds = [
        *(Frame(frame_type, b"\x04") for frame_type in FRAME_TYPES),
        *(Frame(0xF0700, b""), Frame(0x07, b"\0"), Frame(0x0D, b"\x08"), Frame(0x0D, b"\x40\x04"), update(8, b"u=1,")),
    ]
    beginning = settings_frame().encode()
    for first in kinds:
        for second in kinds:
            for third in kinds:
                data = beginning + encoded((first, second, third))
                assert code_of_server(ControlStream(), data) == code_of_reference(data)


def test_the_judge_notices_a_layer_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fuzzer that finds nothing must be able to find something."""

    def broken(numbers: range = range(600)) -> bool:
        try:
            for number in numbers:
                Trial(number).run()
        except (RuleBrokenError, reference.BrokenError, KeyError):
            return True
        return False

    assert not broken()
    with monkeypatch.context() as patch:
        patch.setattr(HttpLayer, "forget", lambda self, stream_id: None)
        assert broken(), "requests stay"
    with monkeypatch.context() as patch:
        patch.setattr("mixedsched.core.h3._requests._NOT_HERE", frozenset())
        assert broken(), "frames are let pass"
    with monkeypatch.context() as patch:
        patch.setattr(RequestStream, "require_complete", lambda self: None)
        assert broken(), "requests are neither read nor refused"


# A live session, behind QUIC


@pytest.mark.parametrize("loss_ratio", [0.0, 0.1])
@examples(40)
@given(number=NUMBER)
def test_a_hostile_session_closes_with_the_right_code_or_forgets_all_its_streams(
    number: int, loss_ratio: float
) -> None:
    try_session(number, loss_ratio)


def test_a_session_lives_through_thousands_of_broken_requests_and_keeps_nothing() -> None:
    """State does not grow with what was (RFC 9114 section 10.5)."""
    pair = Pair("eps").connect()
    pair.h3.handle_event = lambda event: []  # type: ignore[method-assign]
    cut_off = encoded((replace(REQUEST_STREAMS[0][0], size=5000),))
    broken = [  # what a stream holds, and whether it then ends or is reset
        (encoded(REQUEST_STREAMS[6]), True),
        (encoded(REQUEST_STREAMS[7]), False),
        (encoded(REQUEST_STREAMS[8]), True),
        (cut_off, False),
        (encoded(CONVERSATION.sections[3]), False),
        (b"", True),
    ]
    kept = []
    for index in range(2400):
        stream_id = pair.client.get_next_available_stream_id()
        data, ends = broken[index % len(broken)]
        pair.client.send_stream_data(stream_id, data, end_stream=ends)
        if index % 10 == 9:
            pair.run(until_s=pair.now_s + 0.5)
        if not ends and stream_id in pair.client._streams:
            pair.client.reset_stream(stream_id, 0x10C)
        if index % 600 == 599:
            pair.run(until_s=pair.now_s + 30)
            http = pair.session.http
            assert http is not None
            kept.append(
                (len(http._requests), len(http._unidirectional), http._held_bytes, len(pair.session.quic._streams))
            )
    assert pair.terminated is None
    assert kept == [(0, 3, 0, 6)] * 4
    assert pair.session._exchanges == {}
    assert pair.session._signals._early == {}
