"""A body that comes with time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3._frames import FrameReader
from mixedsched.core.h3.codes import FrameType
from mixedsched.core.h3.response import GrowingBody

steps = st.lists(st.one_of(st.binary(max_size=300), st.integers(1, 200)), max_size=40)


@given(steps)
def test_what_is_read_is_what_was_fed_as_data_frames_in_pieces_of_any_size(steps: list[bytes | int]) -> None:
    taken: list[int] = []
    body = GrowingBody(taken=taken.append)
    read, fed = b"", b""
    for step in steps:
        if isinstance(step, bytes):
            body.feed(step)
            fed += step
        else:
            here = body.remaining_bytes
            piece = body.read(step)
            assert len(piece) == min(step, here)
            read += piece
        assert body.remaining_bytes >= 0
    body.end()
    read += body.read(1_000_000)
    assert body.remaining_bytes == 0
    assert sum(taken) == len(read)
    frames = FrameReader()
    frames.feed(read)
    content = b""
    while (head := frames.head()) is not None:
        assert head.type == FrameType.DATA
        content += frames.payload() or b""
    assert content == fed


def test_it_tells_when_there_is_something_to_read_again_and_when_it_ends() -> None:
    told: list[int] = []
    body = GrowingBody()
    body.changed = lambda: told.append(body.remaining_bytes)
    body.feed(b"")
    assert told == []
    body.feed(b"abc")
    body.feed(b"def")
    assert told == [5]
    body.read(100)
    body.end(b"trailers")
    assert told == [5, 8]
    assert body.is_ended


def test_nothing_comes_behind_the_end() -> None:
    body = GrowingBody()
    body.end()
    body.feed(b"abc")
    body.end(b"abc")
    assert body.remaining_bytes == 0


def test_closing_releases_what_was_not_read_once() -> None:
    taken: list[int] = []
    closed: list[bool] = []
    body = GrowingBody(taken=taken.append, closed=lambda: closed.append(True))
    body.feed(b"abc")
    body.close()
    assert (sum(taken), closed, body.read(10)) == (5, [True], b"")
