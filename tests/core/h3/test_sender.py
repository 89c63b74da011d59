"""The send part of a stream: every byte once and in its place, whatever is lost or acknowledged in whatever order."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from aioquic.quic.packet_builder import QuicDeliveryState
from aioquic.quic.stream import QuicStream
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.response import BytesBody
from mixedsched.core.h3.seam._streams import PullingSender
from tests.core.h3.pair import pattern
from tests.core.h3.quic_pair import QuicPair
from tests.examples import examples

ACKED, LOST = QuicDeliveryState.ACKED, QuicDeliveryState.LOST


class Charges:
    """Stands for the service queue."""

    lost_body = False

    def __init__(self) -> None:
        self.new_bytes = self.repeated_bytes = 0

    def charge(self, sender: PullingSender, frame: Any, again_bytes: int, filled: bool) -> None:
        assert 0 <= again_bytes <= len(frame.data)
        self.repeated_bytes += again_bytes
        self.new_bytes += len(frame.data) - again_bytes

    def note(self, stream_id: int) -> None:
        """Nothing is sorted here."""


steps = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(-1, 400), st.integers(0, 3000)),
        st.tuples(st.just("fate"), st.integers(0, 50), st.sampled_from([ACKED, ACKED, LOST])),
    ),
    max_size=60,
)


@examples(500)
@given(head=st.binary(max_size=40), size_bytes=st.integers(0, 2500), steps=steps)
def test_every_byte_arrives_in_its_place(head: bytes, size_bytes: int, steps: list[tuple[str, Any, Any]]) -> None:
    charges = Charges()
    sender = PullingSender(QuicStream(stream_id=0), True, charges)  # type: ignore[arg-type]
    sender.body = BytesBody(pattern(size_bytes))
    sender.write(head)
    whole = head + pattern(size_bytes)
    arrived: dict[int, int] = {}
    in_flight: list[tuple[int, int, bool]] = []
    sent_bytes = 0

    def send(max_size: int, credit: int) -> bool:
        nonlocal sent_bytes
        limit = max(sender.highest_offset, credit)
        frame = sender.get_frame(max_size, limit)
        if frame is None:
            return False
        stop = frame.offset + len(frame.data)
        assert frame.data == whole[frame.offset : stop]
        assert len(frame.data) <= max_size
        assert stop <= limit
        assert frame.fin == (stop == len(whole))
        in_flight.append((frame.offset, stop, frame.fin))
        sent_bytes += len(frame.data)
        return True

    def meet(index: int, fate: QuicDeliveryState) -> None:
        start, stop, fin = in_flight.pop(index)
        sender.on_data_delivery(fate, start, stop, fin)
        if fate is ACKED:
            arrived.update(dict.fromkeys(range(start, stop), 1))

    for what, first, second in steps:
        if what == "send":
            send(first, second)
        elif in_flight:
            meet(first % len(in_flight), second)
        held = sum(stop - start for start, stop, _ in in_flight) + sum(len(r) for r in sender._pending)
        out_of_order = sum(len(r) for r in sender._acked)
        assert len(sender._buffer) == held + out_of_order, "what is neither under way nor lost is not kept"
        assert all(found.start > sender._buffer_start for found in sender._acked), "nor what was acknowledged early"
    while not sender.is_finished:
        assert sender.has_work or in_flight, "it is not forgotten"
        while send(300, len(whole)):
            pass
        while in_flight:
            meet(0, ACKED)
    assert sorted(arrived) == list(range(len(whole)))
    assert charges.new_bytes == len(whole)
    assert charges.new_bytes + charges.repeated_bytes == sent_bytes
    assert (len(sender._buffer), sender.has_work) == (0, False)


class Zeros:
    """A body that takes no memory."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = self.remaining_bytes = size_bytes

    def read(self, size_bytes: int) -> bytes:
        read = bytes(min(size_bytes, self.remaining_bytes))
        self.remaining_bytes -= len(read)
        return read


class Emptying(QuicPair):
    """Bodies of zeros, which the client drops as they come."""

    def body(self, size_bytes: int) -> Zeros:
        return Zeros(size_bytes)

    def _take_answer(self, event: Any) -> None:
        self.counted_bytes = getattr(self, "counted_bytes", 0) + len(getattr(event, "data", b""))

    def _watch(self) -> None:
        """Nothing is kept."""


def peak_bytes(size_bytes: int, received_bytes: int) -> int:
    """The most memory in use while so much of a response of this size arrives; some 100 KB are under way at any time.

    The link's queue says how much: aioquic's client doubles its flow-control window again and again.
    """
    pair = Emptying("eps", rate_bps=50_000_000, delay_us=1000, queue_bytes=50_000)
    pair.ask([size_bytes])
    tracemalloc.start()
    try:
        while pair.counted_bytes < received_bytes:
            pair.run(0.01)
        assert pair.counted_bytes < size_bytes, "it is still under way"
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_follow_the_body() -> None:
    small = peak_bytes(1_000_000, 500_000)
    assert peak_bytes(100_000_000, 3_000_000) < small + 200_000 < 2_000_000
