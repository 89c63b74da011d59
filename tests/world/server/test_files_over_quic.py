"""Files over two QUIC connections in virtual time: what a response holds is released however it ends."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from aioquic.quic.events import QuicEvent, StreamReset

from mixedsched.world.server.site import SiteEntry
from tests.core.h3.pair import Pair
from tests.world.server.asking import site_files, written

LARGE = os.urandom(400_000)


class Client(Pair):
    """Notes which streams the server has reset, and with which code."""

    def __init__(self, entries: dict[str, SiteEntry], rate_bps: int = 8_000_000, loss_ratio: float = 0.0) -> None:
        self.resets: dict[int, int] = {}
        super().__init__("eps", rate_bps=rate_bps, loss_ratio=loss_ratio, responder=site_files(entries))

    def _take(self, event: QuicEvent) -> None:
        if isinstance(event, StreamReset):
            self.resets[event.stream_id] = event.error_code
        super()._take(event)


@pytest.fixture
def entries(tmp_path: Path) -> dict[str, SiteEntry]:
    return {
        "/large": SiteEntry(written(tmp_path, "large", LARGE), "video/mp4"),
        "/other": SiteEntry(written(tmp_path, "other", LARGE[::-1]), "video/mp4"),
        "/slow": SiteEntry(written(tmp_path, "slow", LARGE), "video/mp4", delay_ms=500.0),
    }


@pytest.fixture(autouse=True)
def nothing_stays_open(entries: dict[str, SiteEntry]) -> Iterator[None]:
    """Not by the collector of garbage, which must not be needed."""
    gc.collect()
    gc.disable()
    try:
        yield
        names = {str(entry.file) for entry in entries.values()}
        assert not names & {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}
    finally:
        gc.enable()


def test_large_files_arrive_whole_though_packets_are_lost(entries: dict[str, SiteEntry]) -> None:
    client = Client(entries, loss_ratio=0.03).connect()
    streams = {client.request(path): path for path in ("/large", "/other", "/slow")}
    client.finish()
    assert {path: bytes(client.bodies[stream_id]) for stream_id, path in streams.items()} == {
        "/large": LARGE,
        "/other": LARGE[::-1],
        "/slow": LARGE,
    }


def test_a_range_arrives_with_its_headers(entries: dict[str, SiteEntry]) -> None:
    client = Client(entries).connect()
    stream_id = client.request("/large", range="bytes=1000-200999")
    client.finish()
    assert client.headers[stream_id][b":status"] == b"206"
    assert client.headers[stream_id][b"content-range"] == b"bytes 1000-200999/400000"
    assert bytes(client.bodies[stream_id]) == LARGE[1000:201_000]


@pytest.mark.parametrize("path", ["/large", "/slow"])
def test_a_cancelled_response_lets_go_of_its_file(entries: dict[str, SiteEntry], path: str) -> None:
    client = Client(entries).connect()
    stream_id = client.request(path)
    client.run(until_s=client.now_s + 0.1)
    client.client.stop_stream(stream_id, 0x10C)
    client.run(until_s=client.now_s + 2.0)
    assert len(client.bodies[stream_id]) < len(LARGE)
    assert [served.complete for served in client.log] == [False]


def test_a_client_that_leaves_lets_go_of_all_files(entries: dict[str, SiteEntry]) -> None:
    client = Client(entries).connect()
    for path in entries:
        client.request(path)
    client.run(until_s=client.now_s + 0.1)
    client.client.close(error_code=0x100)
    client.run(until_s=client.now_s + 30.0)
    assert [served.complete for served in client.log] == [False] * 3


@pytest.mark.parametrize("loss_ratio", [0.0, 0.05])
@pytest.mark.parametrize("others", [[], ["/other"]])
def test_a_file_that_shrinks_costs_its_own_response_only(
    entries: dict[str, SiteEntry], others: list[str], loss_ratio: float
) -> None:
    client = Client(entries, loss_ratio=loss_ratio).connect()
    shrinking = client.request("/large")
    intact = [client.request(path) for path in others]
    client.run(until_s=client.now_s + 0.1)
    os.truncate(entries["/large"].file, 1000)
    client.run(until_s=client.now_s + 20.0)
    assert client.resets == {shrinking: 0x102}
    assert LARGE.startswith(bytes(client.bodies[shrinking])), "nothing made up"
    assert [bytes(client.bodies[stream_id]) for stream_id in intact] == [LARGE[::-1]] * len(others)
    assert client.terminated is None
    assert {served.stream_id: served.complete for served in client.log}[shrinking] is False


def test_a_response_whose_file_shrank_before_its_first_byte_is_reset(entries: dict[str, SiteEntry]) -> None:
    client = Client(entries).connect()
    stream_id = client.request("/slow")
    client.run(until_s=client.now_s + 0.1)
    os.truncate(entries["/slow"].file, 1000)
    client.run(until_s=client.now_s + 5.0)
    assert client.resets == {stream_id: 0x102}
