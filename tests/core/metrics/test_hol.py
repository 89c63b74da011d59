"""HOL bytes: the published test vectors, an oracle that counts byte by byte, and what must hold for any packets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.metrics.hol import HolCounter, StreamFrame

Packets = Sequence[Sequence[StreamFrame] | None]
A, B = 0, 4


def count_hol(packets: Iterable[Sequence[StreamFrame] | None]) -> HolCounter:
    """Counts a list by packet number, with None for packets never seen (which do not count at the end)."""
    counter = HolCounter()
    for number, frames in enumerate(packets):
        if frames is not None:
            counter.packet(number, frames)
    return counter


def vector(script: str) -> list[list[StreamFrame] | None]:
    """ "A:0 x A:200+B:0": packets with frames of 100 bytes, x = never seen."""
    return [
        None if item == "x" else [(4 * "ABC".index(frame[0]), int(frame[2:]), 100) for frame in item.split("+")]
        for item in script.split()
    ]


@pytest.mark.parametrize(
    ("script", "stream_bytes"),
    [
        ("A:0 x A:200 A:300 A:400 A:100", 300),
        ("A:0 B:0 x B:100 A:200 B:200 A:100 B:300", 100),
        ("A:0 A:100 A:200", 0),
        ("A:0 x B:0 B:100", 0),  # another stream's loss does not hurt
        ("A:0 x A:200 A:200 A:100", 100),  # a duplicate adds nothing
        ("x A:100 A:0", 100),
        ("x x A:200 A:100 A:0", 200),
        ("x x A:200 A:0 A:100", 100),
        ("A:0 x A:200 x A:400 A:100 A:300", 200),  # a gap behind the gap
        ("A:0 x A:200+B:0 A:100+B:100", 100),
    ],
)
def test_bytes_behind_a_gap_of_their_stream_count_once(script: str, stream_bytes: int) -> None:
    assert count_hol(vector(script)).stream_hol_bytes == stream_bytes


@pytest.mark.parametrize(
    ("script", "connection_bytes"),
    [
        ("A:0 x A:200 A:300 A:400 A:100", 300),  # one stream: the same for both
        ("A:0 B:0 x A:200 B:100 B:200 A:100 B:300", 200),  # B:100 is the first frame after the loss, which is missed
        ("A:0 B:0 x A:200 A:100 B:100 B:200", 100),  # nobody waits any more
        ("A:0 x A:200 B:0 B:100", 100),  # B was not known when A was blocked
        ("A:0 x A:200 B:0 B:100 A:300 B:200 B:300", 300),  # but it was at the second one
        ("A:0 B:0 x A:200 B:200 B:100 B:300", 300),  # B:200 is blocked, B:100 repairs it, B:300 waits for A
    ],
)
def test_an_ordered_transport_would_hold_back_more(script: str, connection_bytes: int) -> None:
    assert count_hol(vector(script)).connection_hol_bytes == connection_bytes


def test_lost_packets_are_the_numbers_never_seen() -> None:
    counter = count_hol(vector("x A:0 x x A:100 x"))
    assert (counter.packets_seen, counter.packets_lost) == (2, 3)  # the last one is beyond the highest seen


def test_packets_without_stream_data_count_as_packets_only() -> None:
    counter = count_hol([[], [(A, 0, 0)], [(A, 0, 100)]])
    assert (counter.packets_seen, counter.packets_lost, counter.stream_hol_bytes) == (3, 0, 0)


def test_each_frame_is_told_how_much_of_it_is_blocked() -> None:
    counter = HolCounter()
    assert counter.packet(0, [(A, 0, 100), (B, 0, 50)]) == [0, 0]
    assert counter.packet(2, [(A, 150, 100), (B, 50, 50), (A, 200, 100)]) == [100, 0, 50]
    assert counter.packet(3, [(A, 100, 50)]) == [0]
    assert counter.stream_hol_bytes == 150


def test_numbers_must_rise() -> None:
    counter = HolCounter()
    counter.packet(3, [])
    with pytest.raises(ValueError, match="packet 3 comes after packet 3"):
        counter.packet(3, [])


def test_overlapping_pieces_count_their_new_bytes_only() -> None:
    packets = [[(A, 0, 10)], None, [(A, 20, 10)], [(A, 40, 10)], [(A, 15, 40)], [(A, 5, 30)]]
    assert count_hol(packets).stream_hol_bytes == 10 + 10 + 20


def test_a_gap_of_one_byte_is_a_gap() -> None:
    assert count_hol([[(A, 0, 10)], [(A, 11, 10)]]).stream_hol_bytes == 10


def oracle(packets: Packets) -> tuple[int, int]:
    """Stream and connection figures, by sets of bytes and a note for each other stream at each blocked frame."""
    there: dict[int, set[int]] = {}
    notes: dict[int, list[tuple[int, int, int]]] = {}  # stream: (blocked stream, blocked offset, own highest then)
    stream_bytes = connection_bytes = 0

    def first_missing(stream: int) -> int:
        return next(place for place in range(10_000) if place not in there[stream])

    for stream, offset, length in (frame for packet in packets if packet is not None for frame in packet):
        there.setdefault(stream, set())
        notes.setdefault(stream, [])
        if not length:
            continue
        before, old = first_missing(stream), len(there[stream])
        there[stream] |= set(range(offset, offset + length))
        new = len(there[stream]) - old
        if first_missing(stream) == before:
            stream_bytes += new
            connection_bytes += new
            for other in there:
                if other != stream:
                    notes[other].append((stream, offset, max(there[other], default=-1) + 1))
        elif any(first_missing(other) < at and offset > highest for other, at, highest in notes[stream]):
            connection_bytes += new
    return stream_bytes, connection_bytes


frames = st.tuples(st.sampled_from([0, 4, 8, 3]), st.integers(0, 12), st.integers(0, 4))
packet_lists = st.lists(st.none() | st.lists(frames, max_size=3), max_size=30)


@given(packets=packet_lists)
def test_agrees_with_the_oracle_whatever_comes(packets: Packets) -> None:
    counter = count_hol(packets)
    assert (counter.stream_hol_bytes, counter.connection_hol_bytes) == oracle(packets)


FRAMES = 20_000
GAPPED = [[(A, 200 * place + 100, 100)] for place in range(FRAMES)]
REPAIRS = [[(A, 200 * place, 100)] for place in range(FRAMES)]


@pytest.mark.parametrize(
    ("packets", "stream_bytes", "connection_bytes"),
    [
        (GAPPED, 100 * FRAMES, 100 * FRAMES),
        (GAPPED + REPAIRS, 100 * FRAMES, 100 * FRAMES),
        (GAPPED + REPAIRS[::-1], 200 * FRAMES - 100, 200 * FRAMES - 100),  # only the last repair delivers anything
        # Another stream, of 1 byte a frame, meets all that is blocked; its first frame after the loss is missed.
        ([[(B, 0, 1)], *GAPPED, *([(B, 1 + place, 1)] for place in range(FRAMES))], 100 * FRAMES, 101 * FRAMES - 1),
        # Every frame is blocked in a stream of its own.
        (
            [[(4 * place, 5, 5)] for place in range(FRAMES)] + [[(3, place, 1)] for place in range(FRAMES)],
            5 * FRAMES,
            5 * FRAMES,
        ),
    ],
    ids=["never repaired", "repaired in order", "repaired backwards", "beside another stream", "many streams"],
)
def test_time_grows_with_the_frames_and_not_with_the_open_gaps(
    packets: Packets, stream_bytes: int, connection_bytes: int
) -> None:
    """Looking at all gaps for each frame would take these 20 s and more, instead of a fraction of one."""
    started_s = time.process_time()
    counter = count_hol(packets)
    assert time.process_time() - started_s < 6
    assert (counter.stream_hol_bytes, counter.connection_hol_bytes) == (stream_bytes, connection_bytes)


@st.composite
def transfers(draw: st.DrawFn) -> tuple[list[list[StreamFrame]], list[int]]:
    """Streams cut into frames of 10 bytes and mixed, one frame a packet; and which of the packets are lost and sent again."""
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    turns = draw(st.permutations([stream for stream, size in enumerate(sizes) for _ in range(size)]))
    offsets = dict.fromkeys(range(len(sizes)), 0)
    packets: list[list[StreamFrame]] = []
    for stream in turns:
        packets.append([(4 * stream, offsets[stream], 10)])
        offsets[stream] += 10
    return packets, draw(st.lists(st.integers(0, len(packets) - 1), max_size=8, unique=True))


@given(transfer=transfers())
def test_nothing_lost_nothing_blocked(transfer: tuple[list[list[StreamFrame]], list[int]]) -> None:
    packets, _ = transfer
    counter = count_hol(packets)
    assert (counter.stream_hol_bytes, counter.connection_hol_bytes, counter.packets_lost) == (0, 0, 0)


@given(transfer=transfers(), after=st.integers(1, 10))
def test_bounds_when_lost_packets_are_repaired(transfer: tuple[list[list[StreamFrame]], list[int]], after: int) -> None:
    packets, lost = transfer
    sent: list[list[StreamFrame] | None] = []
    repairs: dict[int, list[list[StreamFrame]]] = {}
    for index, packet in enumerate(packets):
        sent.append(None if index in lost else packet)
        if index in lost:
            repairs.setdefault(index + after, []).append(packet)
        sent += repairs.pop(index, [])
    sent += [packet for at in sorted(repairs) for packet in repairs[at]]
    counter = count_hol(sent)
    total_bytes = 10 * len(packets)
    assert counter.packets_lost == len(lost)
    assert counter.stream_hol_bytes <= counter.connection_hol_bytes <= total_bytes
    assert counter.stream_hol_bytes < total_bytes, "what fills a gap is never blocked itself"


def test_packets_lost_in_a_row_are_counted_by_how_many_they_are() -> None:
    counter = HolCounter()
    for number in (1, 4, 5, 8, 9, 11):
        counter.packet(number, [])
    assert counter.loss_runs == {1: 2, 2: 2}
    assert sum(length * count for length, count in counter.loss_runs.items()) == counter.packets_lost
