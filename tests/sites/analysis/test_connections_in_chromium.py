"""The numbers of connections that are worked out, held against those that Chromium opens."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from mixedsched.sites.analysis import expected_connections
from mixedsched.world.browser.netlog import NetLog, read_netlog
from mixedsched.world.browser.pageload import PageLoadFailed, PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner
from tests.sites.analysis.connection_cases import CASES, case_site
from tests.world.server.client import serving

pytestmark = pytest.mark.usefixtures("chromium")

TRIED = ["image", "font and image", "crossorigin script", "font and frame", "own manifest"]


def loaded(site: str | Path, folder: Path, *options: str) -> NetLog:
    """What the browser's log tells of one load."""

    async def load(port: int, spki_sha256: str, url: str, hosts: list[str]) -> None:
        async with LighthouseRunner(temp_dir=folder) as runner:
            job = PageLoadJob(
                url, dict.fromkeys(hosts, port), (spki_sha256,), netlog=folder / "netlog.json", frames=False
            )
            with contextlib.suppress(PageLoadFailed):  # a busy machine may cost a metric; the log tells what was opened
                await runner.run(job)

    with serving(site, *options) as server:
        asyncio.run(load(server.port, server.first["spki_sha256"], server.first["url"], server.first["hosts"]))
    return read_netlog(folder / "netlog.json")


@pytest.mark.parametrize("name", TRIED)
def test_chromium_opens_as_many_connections_as_were_worked_out(tmp_path: Path, name: str) -> None:
    site = tmp_path / "site"
    assert expected_connections(case_site(site, name)).count == CASES[name].connections
    log = loaded(site, tmp_path)
    assert len(log.connections) == CASES[name].connections, [(item.host, item.why) for item in log.connections]


@pytest.mark.parametrize(("origins", "connections"), [("keep", 2), ("merge", 1)])
def test_the_page_of_three_hosts_loads_with_its_hosts_kept_and_merged(
    tmp_path: Path, origins: str, connections: int
) -> None:
    log = loaded("three-hosts", tmp_path, "--origins", origins)
    assert len(log.connections) == connections
    assert len({(item.authority, item.path) for item in log.requests}) == 20, "all that the page is made of"
    assert {item.authority for item in log.requests} == (
        {"three-hosts.test"}
        if origins == "merge"
        else {"three-hosts.test", "three-hosts-static.test", "three-hosts-fonts.test"}
    )
