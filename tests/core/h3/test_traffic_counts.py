"""What a connection counts of its packets and bytes: those lost, those sent again, and those that were late."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.h3.pair import Pair
from tests.examples import examples

SIZE_BYTES = 60_000


def late_bytes(pair: Pair) -> int:
    return pair.session.quic.late_bytes


def test_without_loss_nothing_is_lost_or_sent_again() -> None:
    pair = Pair(rate_bps=8_000_000).connect()
    pair.request(f"/{SIZE_BYTES}")
    pair.run()
    assert (pair.session.quic.lost_packets, pair.session.again_bytes) == (0, 0)


def test_what_the_link_loses_is_counted_and_so_is_what_is_sent_again() -> None:
    pair = Pair(rate_bps=8_000_000, loss_ratio=0.05).connect()
    stream_id = pair.request("/1000000")
    pair.run()
    assert len(pair.bodies[stream_id]) == 1_000_000
    assert 10 < pair.session.quic.lost_packets < 200
    assert pair.session.again_bytes > 10_000
    sent_bytes = sum(size for written, size, _ in pair.writes if written == stream_id)
    assert sent_bytes - pair.session.again_bytes < 1_001_000


def test_in_order_of_urgency_nothing_is_late() -> None:
    pair = Pair("eps", rate_bps=8_000_000).connect()
    for urgency in (5, 1, 3, 0):
        pair.request(f"/{SIZE_BYTES}", f"u={urgency}")
    pair.run()
    assert late_bytes(pair) == 0


def test_in_order_of_arrival_what_goes_before_a_more_urgent_response_is_late() -> None:
    pair = Pair("sequential", mapping="chromium", rate_bps=8_000_000).connect()
    pair.request(f"/{SIZE_BYTES}", "u=5", "image")
    pair.request(f"/{SIZE_BYTES}", "u=1", "image")
    pair.run()
    first = next(index for index, (stream_id, _, fin) in enumerate(pair.writes) if stream_id == 0 and fin)
    assert all(stream_id == 0 for stream_id, _, _ in pair.writes[: first + 1])
    assert late_bytes(pair) >= SIZE_BYTES


def test_alike_urgencies_are_never_late() -> None:
    pair = Pair("stock", rate_bps=8_000_000).connect()
    for _ in range(4):
        pair.request(f"/{SIZE_BYTES}", "u=2")
    pair.run()
    assert late_bytes(pair) == 0


def test_what_waits_for_credit_makes_nothing_late() -> None:
    pair = Pair("eps", rate_bps=8_000_000, max_stream_data=10_000).connect()
    pair.request(f"/{SIZE_BYTES}", "u=0")
    pair.request(f"/{SIZE_BYTES}", "u=6")
    pair.run()
    assert late_bytes(pair) == 0


def test_a_response_that_becomes_more_urgent_makes_the_others_late_from_then_on() -> None:
    pair = Pair("stock", rate_bps=2_000_000).connect()
    first = pair.request(f"/{SIZE_BYTES}", "u=4")
    pair.request(f"/{SIZE_BYTES}", "u=4")
    pair.run(until_s=pair.now_s + 0.1)
    before = late_bytes(pair)
    pair.update_priority(first, "u=1")
    pair.run()
    assert before == 0
    assert 0 < late_bytes(pair) < SIZE_BYTES


@examples(20)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 20_000)), min_size=1, max_size=8), st.sampled_from([0.0, 0.05])
)
def test_late_bytes_are_none_in_order_of_urgency_and_never_more_than_were_sent(
    asked: list[tuple[int, int]], loss_ratio: float
) -> None:
    for scheme in ("eps", "stock"):
        pair = Pair(scheme, rate_bps=8_000_000, loss_ratio=loss_ratio).connect()
        for urgency, size_bytes in asked:
            pair.request(f"/{size_bytes}", f"u={urgency}")
        pair.run()
        least = min(urgency for urgency, _ in asked)
        urgencies = dict(zip(range(0, 4 * len(asked), 4), (urgency for urgency, _ in asked), strict=True))
        less_urgent = sum(size for stream_id, size, _ in pair.writes if urgencies.get(stream_id, 0) > least)
        assert late_bytes(pair) <= (0 if scheme == "eps" else less_urgent)
