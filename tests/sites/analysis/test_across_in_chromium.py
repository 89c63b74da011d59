"""A page of three hosts in Chromium, its two connections scheduled apart and together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import pytest

from mixedsched.world import catalog
from mixedsched.world.browser.netlog import FrameArrival, NetLog, read_netlog
from mixedsched.world.browser.pageload import PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner
from mixedsched.world.emulator.backend import RELAY, open_backend
from tests.world.server.client import serving

pytestmark = pytest.mark.usefixtures("chromium", "real_time")

FONTS = "three-hosts-fonts.test"


def loaded(folder: Path, *options: str) -> NetLog:
    """What the browser's log tells of a load over a link of 9 Mbit/s, 170 ms."""

    async def load(port: int, spki_sha256: str, url: str, hosts: list[str]) -> None:
        async with (
            open_backend(RELAY, catalog.load_profile("4g")) as network,
            LighthouseRunner(temp_dir=folder) as runner,
            network.link(("127.0.0.1", port), 1) as link,
        ):
            job = PageLoadJob(
                url, dict.fromkeys(hosts, link.address[1]), (spki_sha256,), netlog=folder / "netlog.json", frames=False
            )
            await runner.run(job)

    with serving("three-hosts", *options) as server:
        asyncio.run(load(server.port, server.first["spki_sha256"], server.first["url"], server.first["hosts"]))
    return read_netlog(folder / "netlog.json")


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


def test_fonts_do_not_share_the_link_with_images_of_another_connection(tmp_path: Path) -> None:
    together = loaded(tmp_path / "together", "--scheme", "eps", "--across-connections")
    apart = loaded(tmp_path / "apart", "--scheme", "eps")
    assert len(together.connections) == len(apart.connections) == 2
    beside_together, beside_apart = bytes_beside_the_fonts(together), bytes_beside_the_fonts(apart)
    assert beside_together < beside_apart / 2, (beside_together, beside_apart)
