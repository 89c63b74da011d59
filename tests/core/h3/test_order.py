"""The same script through a bare scheduler and through two real connections gives the same order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.schedulers import SCHEMES
from tests.core.h3.pair import Pair, runs
from tests.examples import examples

Script = list[tuple[int, str, str]]
"""(body size, priority field, destination) of responses that are all asked for at once."""

MIXED: Script = [
    (20_000, "u=0, i", "document"),
    (30_000, "u=2, i", "image"),
    (5_000, "u=0", "style"),
    (0, "u=1", "script"),
    (45_000, "u=1", "script"),
    (12_345, "u=0", "font"),
    (61_000, "u=3, i", "image"),
    (1, "u=2", "script"),
    (33_333, "u=1, i", "empty"),
    (8_000, "u=4", "style"),
    (70_000, "u=3, i", "video"),
    (26_000, "u=3", "script"),
]
ALIKE: Script = [(15_000, "u=3, i", "image")] * 6
IN_ONE_PACKET: Script = [(size, "u=1", "script") for size in (10, 300, 5, 2000, 40, 900, 7)]

each_scheme = pytest.mark.parametrize("scheme", [*SCHEMES, "batched-rr:packets=3", "ip:alpha=0"])


class Recorded:
    """What a server was asked for (stream ID and placement, in order), and the STREAM frames that it sent (stream ID, size)."""

    def __init__(self, scheme: str, script: Script) -> None:
        pair = Pair(scheme, delay_us=500_000).connect()
        self.scheduler = pair.session._scheme.create_scheduler()
        self.placements: list[tuple[int, Any]] = []
        opened = pair.session.quic.open_response

        def open_response(stream_id: int, placement: Any, body: Any) -> None:
            self.placements.append((stream_id, placement))
            opened(stream_id, placement, body)

        pair.session.quic.open_response = open_response  # type: ignore[method-assign]
        # All of it leaves before the first acknowledgement: what a scheduler is told then is no part of the script.
        pair.session.quic._loss._cc.congestion_window = 1 << 40
        for index, (size_bytes, priority, destination) in enumerate(script):
            pair.request(f"/{size_bytes}?{index}", priority, destination)
        pair.run(until_s=pair.now_s + 0.9)
        self.frames = [(stream_id, size_bytes) for stream_id, size_bytes, _ in pair.writes]
        assert [fin for _, _, fin in pair.writes].count(True) == len(script)

    def play_bare(self) -> list[tuple[int, int]]:
        """The frames of a scheduler without a connection: whom it picks, with the size of the frame really sent then."""
        left: dict[int, int] = {}
        for stream_id, size_bytes in self.frames:
            left[stream_id] = left.get(stream_id, 0) + size_bytes
        for stream_id, placement in self.placements:
            self.scheduler.open(stream_id, placement)
        frames = []
        for _, size_bytes in self.frames:
            picked = self.scheduler.pick()
            if picked is None:
                break
            frames.append((picked, size_bytes))
            self.scheduler.sent(picked, size_bytes)
            left[picked] -= size_bytes
            if left[picked] <= 0:
                self.scheduler.pause(picked)
        return frames


@each_scheme
@pytest.mark.parametrize("script", [MIXED, ALIKE, IN_ONE_PACKET], ids=["mixed", "alike", "in_one_packet"])
def test_bare_scheduler_and_real_connection_agree(scheme: str, script: Script) -> None:
    recorded = Recorded(scheme, script)
    bare = recorded.play_bare()
    assert list(runs(stream_id for stream_id, _ in bare)) == list(runs(stream_id for stream_id, _ in recorded.frames))
    assert bare == recorded.frames


responses = st.tuples(
    st.integers(0, 20_000),
    st.builds("u={}{}".format, st.integers(0, 4), st.sampled_from(["", ", i"])),
    st.sampled_from(["document", "style", "font", "script", "image", "video", "empty"]),
)


@examples(60)
@given(scheme=st.sampled_from(sorted(SCHEMES)), script=st.lists(responses, min_size=1, max_size=8))
def test_they_agree_on_any_script(scheme: str, script: Script) -> None:
    recorded = Recorded(scheme, script)
    assert recorded.play_bare() == recorded.frames
