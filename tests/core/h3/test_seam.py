"""The scheduler seam: order on the wire, retransmissions, flow control, and what we rely on in aioquic."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from aioquic.quic.configuration import QuicConfiguration
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.seam import ObservedConnection
from mixedsched.core.schedulers import SCHEMES
from tests.core.h3.pair import Pair, pattern, runs
from tests.examples import examples

HOME = Path(__file__).resolve().parents[3]
SIZE = 30_000
PATH = f"/{SIZE}"
every_scheme = pytest.mark.parametrize("scheme", [*SCHEMES, "mixed:n_interrupts_i=no", "ip:alpha=0"])


def complete(pair: Pair) -> bool:
    return all(bytes(body) == pattern(len(body)) for body in pair.bodies.values()) and len(pair.done) == len(
        pair.bodies
    )


def test_sequential_sends_in_order_of_request() -> None:
    pair = Pair("sequential").connect()
    streams = [pair.request(PATH, "u=7"), pair.request(PATH, "u=0, i"), pair.request(PATH)]
    assert pair.finish().blocks() == streams
    assert complete(pair)


def test_urgent_responses_go_first_and_incremental_ones_interleave() -> None:
    pair = Pair("eps").connect()
    late = pair.request(PATH, "u=5")
    one, two = pair.request(PATH, "u=3, i"), pair.request(PATH, "u=3, i")
    first = pair.request(PATH, "u=0")
    blocks = pair.finish().blocks()
    assert blocks[0] == first
    assert blocks[-1] == late
    assert set(blocks[1:-1]) == {one, two}
    assert len(blocks) > 20
    assert complete(pair)


def test_mixed_places_by_chromium_priority_and_destination() -> None:
    pair = Pair("mixed").connect()
    image = pair.request(PATH, "u=2, i", "image")
    script = pair.request(PATH, "u=1", "script")
    style = pair.request(PATH, "u=0", "style")
    assert pair.finish().blocks() == [style, script, image]
    placed = {served.stream_id: (served.kind, served.chromium_priority, served.placement) for served in pair.log}
    assert placed[image] == ("image", "Medium", "u=4, i")
    assert placed[script] == ("script", "High", "u=2")
    assert placed[style] == ("stylesheet", "VeryHigh", "u=1")


@every_scheme
@pytest.mark.parametrize("loss_ratio", [0.0, 0.05, 0.2])
def test_everything_arrives_whole_whatever_the_scheme_and_loss(scheme: str, loss_ratio: float) -> None:
    pair = Pair(scheme, loss_ratio=loss_ratio, seed=7).connect()
    sizes = [0, 1, 1199, 5000, 70_000, 3]
    for index, size in enumerate(sizes):
        pair.request(f"/{size}?{index}", f"u={index}" + (", i" if index % 2 else ""))
    assert complete(pair.finish())
    assert all(served.complete for served in pair.log)
    assert [served.body_bytes for served in sorted(pair.log, key=lambda served: served.stream_id)] == [
        0,
        1,
        1199,
        5000,
        70_000,
        3,
    ]


@every_scheme
def test_a_response_is_pulled_and_never_piled_up(scheme: str) -> None:
    pair = Pair(scheme, rate_bps=2_000_000).connect()
    stream_id = pair.request("/2000000")
    pair.run(until_s=pair.now_s + 0.5)
    held = len(pair.session.quic._streams[stream_id].sender._buffer)
    in_flight = pair.session.quic._loss.bytes_in_flight
    assert 0 < held <= in_flight + 1500, "the send buffer holds what is not acknowledged, nothing more"


def test_lost_data_follows_the_priority_of_its_stream() -> None:
    pair = Pair("eps", loss_ratio=0.15, seed=3).connect()
    background = pair.request("/200000", "u=7")
    urgent = pair.request("/200000", "u=0")
    pair.finish()
    last_urgent = max(index for index, write in enumerate(pair.writes) if write[0] == urgent)
    lost_again = sum(size for stream, size, _ in pair.writes if stream == urgent) - 200_000
    assert lost_again > 5_000, "something was lost and sent again"
    while_waiting = [write for write in pair.writes[:last_urgent] if write[0] == background]
    assert complete(pair)
    # While the urgent stream waits for news of its last packets the link must not idle, so a little background goes in between.
    assert sum(size for _, size, _ in while_waiting) < 200_000


@pytest.mark.parametrize("scheme", ["nip", "mixed", "eps", "sequential"])
def test_a_lost_packet_of_an_earlier_block_does_not_wait_for_a_later_one_to_finish(scheme: str) -> None:
    pair = Pair(scheme, rate_bps=4_000_000, loss_ratio=0.02, seed=4).connect()
    style = pair.request("/40000", "u=0", "style")
    script = pair.request("/600000", "u=1", "script")
    pair.finish()
    assert sum(size for stream, size, _ in pair.writes if stream == style) > 40_000, "something of it was lost"
    last_of_style = max(index for index, (stream, _, _) in enumerate(pair.writes) if stream == style)
    script_before = sum(size for stream, size, _ in pair.writes[:last_of_style] if stream == script)
    assert script_before < 400_000, "it was repaired within some round trips, not after the script"


def test_a_late_urgent_response_overtakes_at_the_next_packet() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    slow = pair.request("/1000000", "u=3")
    pair.run(until_s=pair.now_s + 0.5)
    urgent = pair.request("/20000", "u=0")
    before = len(pair.writes)
    pair.run(until_s=pair.now_s + 0.5)
    after = list(runs(stream for stream, _, _ in pair.writes[before:]))
    assert after[:3] in ([slow, urgent, slow], [urgent, slow])
    started = next(index for index, write in enumerate(pair.writes) if write[0] == urgent)
    block = [stream for stream, _, _ in pair.writes[started : started + 17]]
    assert set(block) == {urgent}, "nothing less urgent was chosen while the urgent response had bytes"


def test_a_closed_connection_window_stops_all_and_its_opening_resumes_by_priority() -> None:
    pair = Pair("eps", max_data=60_000).connect()
    background, urgent = pair.request("/200000", "u=6"), pair.request("/200000", "u=1")
    assert complete(pair.finish())
    assert pair.done == [urgent, background]


def test_a_closed_stream_window_lets_others_go_on() -> None:
    pair = Pair("sequential", max_stream_data=20_000).connect()
    first, second = pair.request("/100000"), pair.request("/100000")
    pair.finish()
    assert complete(pair)
    blocks = pair.blocks()
    assert blocks[:2] == [first, second], "the second goes on when the first is blocked"
    assert len(blocks) > 4


@pytest.mark.parametrize("scheme", ["sequential", "eps", "mixed"])
def test_tiny_windows_and_loss_together_do_not_stall(scheme: str) -> None:
    pair = Pair(scheme, max_data=5_000, max_stream_data=3_000, loss_ratio=0.1, seed=11).connect()
    for index in range(4):
        pair.request(f"/20000?{index}", f"u={index}, i")
    assert complete(pair.finish())


def test_a_cancelled_response_leaves_the_others_alone() -> None:
    pair = Pair("sequential", rate_bps=4_000_000).connect()
    first, second = pair.request("/500000"), pair.request(PATH)
    pair.run(until_s=pair.now_s + 0.3)
    pair.client.stop_stream(first, 0x10C)
    pair.run(until_s=pair.now_s + 5)
    assert pair.done == [second]
    cancelled = next(served for served in pair.log if served.stream_id == first)
    assert not cancelled.complete
    assert 0 < cancelled.sent_bytes < 500_000
    assert {stream % 4 for stream in pair.session.quic._service._senders} <= {2, 3}, "nothing is remembered of either"


def test_streams_are_forgotten_when_they_are_over() -> None:
    pair = Pair("eps", loss_ratio=0.02).connect()
    for _ in range(5):
        for index in range(20):
            pair.request(f"/3000?{index}", "u=2, i")
        pair.finish()
    pair.run(until_s=pair.now_s + 2)
    service = pair.session.quic._service
    assert not service._other_frames
    assert not service._ahead
    assert {stream % 4 for stream in service._senders} <= {2, 3}, "only control and QPACK streams are left"


@examples(25)
@given(
    scheme=st.sampled_from(sorted(SCHEMES)),
    sizes=st.lists(st.integers(0, 40_000), min_size=1, max_size=6),
    loss_ratio=st.sampled_from([0.0, 0.03, 0.3]),
    seed=st.integers(0, 10_000),
    window=st.sampled_from([4_000, 30_000, 1_000_000]),
)
def test_any_mixture_arrives_whole(scheme: str, sizes: list[int], loss_ratio: float, seed: int, window: int) -> None:
    pair = Pair(scheme, loss_ratio=loss_ratio, seed=seed, max_data=2 * window, max_stream_data=window)
    for index, size in enumerate(sizes):
        pair.request(f"/{size}?{index}", f"u={(index * 3) % 8}{', i' if index % 2 else ''}")
    assert complete(pair.finish())


def test_the_same_seed_gives_the_same_wire_to_the_byte() -> None:
    def writes() -> list[tuple[int, int, bool]]:
        pair = Pair("mixed", rate_bps=4_000_000, loss_ratio=0.05, seed=5).connect()
        for index in range(8):
            pair.request(f"/20000?{index}", f"u={index % 4}, i", "image")
        return pair.finish().writes

    assert writes() == writes()


@pytest.mark.slow
def test_hash_seeds_do_not_change_the_wire() -> None:
    """Order never comes from a set or a hash: fresh processes with different hash seeds agree."""
    script = (
        "from tests.core.h3.pair import Pair\n"
        "pair = Pair('mixed', rate_bps=4_000_000, loss_ratio=0.05, seed=5).connect()\n"
        "for index in range(6): pair.request(f'/20000?{index}', f'u={index % 4}, i', 'image')\n"
        "print(pair.finish().writes)\n"
    )

    def wire(hash_seed: str) -> str:
        command = [sys.executable, "-c", script]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(command, cwd=HOME, env=environment, capture_output=True, text=True, check=True).stdout

    first = wire("1")
    assert len(first) > 1000
    assert wire("2") == first


@pytest.mark.parametrize("loss_ratio", [0.0, 0.05])
def test_a_client_may_send_more_than_the_first_window_of_a_stream(loss_ratio: float) -> None:
    pair = Pair("eps", loss_ratio=loss_ratio).connect()
    stream_id = pair.client.get_next_available_stream_id()
    fields = [(b":method", b"POST"), (b":scheme", b"https"), (b":authority", b"pair.test"), (b":path", b"/10")]
    pair.h3.send_headers(stream_id, fields)
    pair.bodies[stream_id] = bytearray()
    pair.h3.send_data(stream_id, bytes(3_000_000), end_stream=True)
    pair.finish()
    pair.run(until_s=pair.now_s + 60)
    assert pair.session.quic.is_discarded(stream_id), "all of it has arrived"


def test_an_observed_client_tells_each_packet_once_with_what_it_brought() -> None:
    told: list[tuple[int, list[tuple[int, int, int]]]] = []
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="pair.test", verify_mode=0)
    client = ObservedConnection(configuration=configuration, received=lambda *packet: told.append(packet))
    pair = Pair("stock", loss_ratio=0.05, seed=2, client=client).connect()
    streams = [pair.request("/20000"), pair.request("/30000")]
    pair.finish()
    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers))
    assert len(numbers) < numbers[-1] + 1, "some were lost"
    for stream_id, size_bytes in zip(streams, (20_000, 30_000), strict=True):
        pieces = [frame[1:] for _, frames in told for frame in frames if frame[0] == stream_id]
        there = {place for offset, size in pieces for place in range(offset, offset + size)}
        assert there == set(range(len(there)))
        assert size_bytes < len(there) < size_bytes + 100, "the body, and headers"


def test_trailers_are_no_second_request() -> None:
    pair = Pair("eps").connect()
    stream_id = pair.client.get_next_available_stream_id()
    fields = [(b":method", b"POST"), (b":scheme", b"https"), (b":authority", b"pair.test"), (b":path", b"/5000")]
    pair.h3.send_headers(stream_id, fields)
    pair.bodies[stream_id] = bytearray()
    pair.run(until_s=pair.now_s + 0.2)
    pair.h3.send_data(stream_id, b"x" * 100, end_stream=False)
    pair.h3.send_headers(stream_id, [(b"checksum", b"1")], end_stream=True)
    other = pair.request("/10")
    pair.finish()
    assert (pair.terminated, sorted(pair.done)) == (None, [stream_id, other])


def test_a_request_cancelled_before_it_is_complete_is_not_answered() -> None:
    pair = Pair("eps").connect()
    cancelled = pair.request("/5000")
    pair.client.stop_stream(cancelled, 0x10C)
    other = pair.request("/10")
    pair.run(until_s=pair.now_s + 2)
    assert pair.done[-1:] == [other]
    assert pair.terminated is None


def test_a_listener_that_fails_does_not_spoil_the_packet() -> None:
    pair = Pair("eps").connect()
    pair.request("/5000")
    told = []

    def fail(served: object) -> None:
        told.append(served)
        raise BrokenPipeError

    pair.session._events = replace(pair.session._events, served=fail)
    with pytest.raises(BrokenPipeError):
        pair.finish()
    assert complete(pair.finish())
    assert len(told) == 1
