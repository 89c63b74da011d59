"""A page of three hosts in Chromium, its two connections scheduled apart and together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import pytest

from mixedsched.world import catalog
from mixedsched.world.browser import observe
from mixedsched.world.browser.netlog import FrameArrival, LoggedRequest, NetLog, read_netlog
from mixedsched.world.browser.observation import ObservationJob
from mixedsched.world.browser.observe import Observer
from mixedsched.world.emulator.backend import RELAY, open_backend
from tests.world.server.client import serving

pytestmark = pytest.mark.usefixtures("chromium", "real_time")

FONTS = "three-hosts-fonts.test"


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[NetLog]:
    """What the browser's log told of each load. An observer takes a part of it, and removes it."""
    kept: list[NetLog] = []
    traffic_of = observe.read_traffic

    def kept_traffic(log: Path, bodies_dir: Path | None) -> tuple[LoggedRequest, ...]:
        kept.append(read_netlog(log))
        return traffic_of(log, bodies_dir)

    monkeypatch.setattr(observe, "read_traffic", kept_traffic)
    return kept


def load(*options: str) -> None:
    """Over a link of 9 Mbit/s, 170 ms."""

    async def watched(port: int, spki_sha256: str, url: str, hosts: list[str]) -> None:
        async with (
            open_backend(RELAY, catalog.load_profile("4g")) as network,
            Observer() as observer,
            network.link(("127.0.0.1", port), 1) as link,
        ):
            addresses = dict.fromkeys(hosts, link.address[1])
            await observer.observe(
                ObservationJob(url, addresses, spki_sha256=(spki_sha256,), quiet_s=1.0, screenshot=False)
            )

    with serving("three-hosts", *options) as server:
        asyncio.run(watched(server.port, server.first["spki_sha256"], server.first["url"], server.first["hosts"]))


def time_of(share: float, arrivals: Sequence[FrameArrival]) -> float:
    """When this share of the bytes had come."""
    wanted_bytes = share * sum(item.length_bytes for item in arrivals)
    so_far = accumulate(item.length_bytes for item in arrivals)
    return next(item.time_ms for item, came_bytes in zip(arrivals, so_far, strict=True) if came_bytes >= wanted_bytes)


def bytes_beside_the_fonts(log: NetLog) -> int:
    """Bytes of images that came on the other connection while the fonts were coming."""
    paths: Mapping[tuple[int, int], tuple[str, str]] = {
        (item.session, item.stream_id): (item.authority, item.path) for item in log.requests
    }
    fonts = [item for item in log.arrivals if paths[item.session, item.stream_id][1].endswith(".woff2")]
    # What was on its way when the fonts' first bytes were sent came before them: the link keeps the order. A packet that the
    # link's full queue drops is sent again a round trip later, behind images that were no rivals: so not to the last byte.
    from_ms, to_ms = fonts[0].time_ms, time_of(0.8, fonts)
    sizes: Counter[str] = Counter()
    for item in log.arrivals:
        if from_ms < item.time_ms < to_ms:
            sizes[paths[item.session, item.stream_id][1].rpartition(".")[2]] += item.length_bytes
    return sizes["jpg"]


def test_fonts_do_not_share_the_link_with_images_of_another_connection(logs: list[NetLog]) -> None:
    load("--scheme", "eps", "--across-connections")
    load("--scheme", "eps")
    together, apart = logs
    assert len(together.connections) == len(apart.connections) == 2
    beside_together, beside_apart = bytes_beside_the_fonts(together), bytes_beside_the_fonts(apart)
    assert beside_together < beside_apart / 2, (beside_together, beside_apart)
