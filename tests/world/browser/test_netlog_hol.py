"""HOL bytes and losses from a NetLog: the published vectors, number spaces, repeated headers, and a naive transcription."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.world.browser.netlog import ArrivalRun, arrival_order
from tests.examples import examples
from tests.world.browser.netlog_script import FRAME, HEADER, Script

Frames = Sequence[tuple[int, int, int]]


def vector(script: str) -> Script:
    """ "A:0 x A:200+B:0": packets with frames of 100 bytes, x = lost."""
    log = Script().session()
    for number, item in enumerate(script.split()):
        if item != "x":
            log.packet(number, *((4 * "AB".index(frame[0]), int(frame[2:]), 100) for frame in item.split("+")))
    return log


@pytest.mark.parametrize(
    ("script", "hol_bytes"), [("A:0 x A:200 A:300 A:400 A:100", 300), ("A:0 B:0 x B:100 A:200 B:200 A:100 B:300", 100)]
)
def test_the_published_vectors(tmp_path: Path, script: str, hol_bytes: int) -> None:
    log = vector(script).read(tmp_path)
    assert (log.hol_bytes, log.packets_lost) == (hol_bytes, 1)
    assert log.packets_seen == len(script.split()) - 1


def test_a_browser_that_does_not_tell_of_its_handshake_has_connections_all_the_same(tmp_path: Path) -> None:
    """The four events of the published evaluation are enough."""
    script = vector("A:0 x A:200")
    log = script.read(tmp_path, without=("QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE",))
    assert (len(log.connections), log.hol_bytes) == (1, 100)


def test_packets_go_by_number_not_by_arrival(tmp_path: Path) -> None:
    log = Script().session().packet(0, (0, 0, 100)).packet(2, (0, 200, 100)).packet(1, (0, 100, 100)).read(tmp_path)
    assert (log.hol_bytes, log.packets_lost) == (0, 0)


def test_a_late_handshake_packet_wipes_nothing(tmp_path: Path) -> None:
    script = Script().session().header(0, long="INITIAL").packet(0, (0, 0, 100)).packet(2, (0, 200, 100))
    script.header(0, long="HANDSHAKE").header(2, long="HANDSHAKE").packet(3, (0, 100, 100))
    log = script.read(tmp_path)
    assert (log.hol_bytes, log.packets_seen, log.packets_lost) == (100, 3, 1)


def test_a_header_told_again_wipes_nothing(tmp_path: Path) -> None:
    """As for duplicates, and for packets that had to wait for their keys."""
    script = Script().session().packet(0, (0, 0, 100)).packet(2, (0, 200, 100)).header(2).header(0)
    script.packet(3, (0, 300, 100)).packet(2, (0, 200, 100)).packet(4, (0, 100, 100))
    log = script.read(tmp_path)
    assert (log.hol_bytes, log.packets_seen, log.packets_lost) == (200, 4, 1)


def test_spaces_that_all_begin_at_zero_are_counted_apart(tmp_path: Path) -> None:
    script = Script().session().header(0, long="INITIAL").header(0, long="HANDSHAKE").header(1, long="HANDSHAKE")
    log = script.packet(0).packet(3).read(tmp_path)
    assert (log.packets_seen, log.packets_lost) == (2, 2)  # 1 and 2, though a Handshake packet was number 1


def test_a_server_that_goes_on_counting_from_the_handshake_lost_nothing_by_it(tmp_path: Path) -> None:
    """As aioquic does: no number is used in two spaces."""
    script = Script().session().header(0, long="INITIAL").header(1, long="INITIAL").header(3, long="HANDSHAKE")
    log = script.packet(4).packet(7).packet(6).read(tmp_path)
    assert (log.packets_seen, log.packets_lost) == (3, 2)  # 2, of the handshake, and 5


def test_numbers_may_be_text_or_floating_point(tmp_path: Path) -> None:
    script = Script().session().header("0").frame(0, "0", 100.0).header(9_007_199_254_740_993.0).frame(0, "200", "100")
    log = script.read(tmp_path)
    assert log.hol_bytes == 100
    assert log.packets_lost == int(9_007_199_254_740_993.0) - 1, "counted without counting them one by one"


def test_sessions_are_counted_apart_and_added_up(tmp_path: Path) -> None:
    script = Script().session(1).session(2, 105)
    script.packet(0, (0, 0, 100)).packet(0, (0, 0, 50), source=2).packet(2, (0, 200, 30)).packet(
        1, (0, 50, 50), source=2
    )
    script.packet(4, (0, 150, 20), source=2)
    log = script.read(tmp_path)
    assert [(item.hol_bytes, item.packets_lost) for item in log.connections] == [(30, 1), (20, 2)]
    assert (log.hol_bytes, log.packets_lost, log.packets_seen) == (50, 3, 5)


def test_streams_and_frames_tell_which_bytes_waited(tmp_path: Path) -> None:
    script = (
        Script().session().request(0, "/").packet(0, (0, 0, 100), time_ms=120).packet(2, (0, 200, 100), time_ms=121)
    )
    script.packet(3, (0, 250, 100), (3, 5, 7), time_ms=122).packet(4, (0, 100, 100), time_ms=123)
    log = script.read(tmp_path)
    assert {item.stream_id: item.hol_bytes for item in log.streams} == {0: 150, 3: 7}
    assert [frame.blocked_bytes for frame in log.arrivals] == [0, 100, 50, 0]
    assert log.hol_bytes == 157
    assert arrival_order(log) == [
        ArrivalRun("site.test", "/", 20, 20, 1, 100),
        ArrivalRun("site.test", "/", 21, 22, 2, 200, blocked_bytes=150),
        ArrivalRun("site.test", "/", 23, 23, 1, 100),
    ]


def test_losses_show_when_the_packet_after_them_came(tmp_path: Path) -> None:
    log = (
        Script().session().packet(0, time_ms=110).packet(3, time_ms=130).packet(5, time_ms=150).packet(4).read(tmp_path)
    )
    assert log.sessions[0].losses == ((30, 2),)


# --- what a log cannot tell


@pytest.mark.parametrize("missing", [HEADER, FRAME])
def test_of_a_browser_without_these_events_no_figure_is_made_up(tmp_path: Path, missing: str) -> None:
    log = vector("A:0 x A:200").read(tmp_path, without=(missing,))
    assert (log.hol_bytes, log.connection_hol_bytes) == (None, None)
    assert all(item.hol_bytes is None for item in log.streams)
    assert "HOL bytes" in log.unavailable
    assert (log.packets_seen is None) == (missing == HEADER)


def test_frames_without_a_packet_leave_hol_unknown(tmp_path: Path) -> None:
    log = Script().session().frame(0, 0, 100).packet(0, (0, 100, 100)).read(tmp_path)
    assert (log.hol_bytes, log.packets_seen) == (None, 1)


def test_a_log_without_a_session_measured_nothing(tmp_path: Path) -> None:
    log = Script().event("HTTP2_SESSION", 5, 3, phase=1, host="site.test:443").read(tmp_path)
    assert (log.hol_bytes, log.packets_seen, log.packets_lost, log.connections) == (None, None, None, ())
    assert log.http2_hosts == ("site.test:443",)


def test_attempts_that_came_to_nothing_measured_nothing(tmp_path: Path) -> None:
    log = Script().session(finished=False).close().read(tmp_path)
    assert (len(log.sessions), log.connections, log.hol_bytes) == (1, (), None)


# --- against a transcription of the algorithm, list by list as it is written down


def naive(packets: dict[int, list[tuple[int, int, int]]]) -> int:
    """Each stream starts with one missing range; bytes that do not move its start are blocked, once."""
    missing: dict[int, list[tuple[float, float]]] = {}
    blocked = 0.0
    for number in range(max(packets, default=-1) + 1):
        for stream, offset, length in packets.get(number, []):
            ranges = missing.setdefault(stream, [(0, float("inf"))])
            if length == 0:
                continue
            left: list[tuple[float, float]] = []
            for start, stop in ranges:
                left += [(start, min(stop, offset)), (max(start, offset + length), stop)]
            left = [(start, stop) for start, stop in left if start < stop]
            overlaps = (min(stop, offset + length) - max(start, offset) for start, stop in ranges)
            new_bytes = sum(overlap for overlap in overlaps if overlap > 0)
            blocked += new_bytes if left[0][0] == ranges[0][0] else 0
            missing[stream] = left
    return int(blocked)


frames = st.lists(st.tuples(st.sampled_from([0, 4, 3]), st.integers(0, 12), st.integers(0, 5)), max_size=3)


@examples(60)
@given(packets=st.dictionaries(st.integers(0, 14), frames, min_size=1), data=st.data())
def test_agrees_with_the_naive_transcription_in_any_order_of_arrival(
    packets: dict[int, Frames], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(sorted(packets)))
    script = Script().session().header(3, long="INITIAL")
    for number in order:
        script.packet(number, *packets[number])
        if data.draw(st.booleans()):  # a duplicate, or a Handshake packet of the same number
            script.header(number, long=data.draw(st.sampled_from([None, "HANDSHAKE"])))
    with tempfile.TemporaryDirectory() as folder:
        log = script.read(Path(folder))
    expected = naive({number: list(items) for number, items in packets.items()})
    assert log.hol_bytes == expected
    assert sum(item.hol_bytes or 0 for item in log.streams) == expected
    assert sum(frame.blocked_bytes for frame in log.arrivals) == sum(
        item.hol_bytes or 0 for item in log.streams if item.is_request
    )
    assert log.packets_seen == len(packets)
