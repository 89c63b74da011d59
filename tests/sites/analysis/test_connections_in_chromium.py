"""The numbers of connections that are worked out, held against those that Chromium opens.

Watched loads, which end as soon as the page is quiet. tests/lab/test_validity_in_chromium.py holds the number against one that
Lighthouse measures.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mixedsched.cli._sites import open_site
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Origins, Site
from mixedsched.world.browser.observation import Observation, ObservationJob
from mixedsched.world.browser.observe import Observer
from mixedsched.world.server.running import ServerInput, running_server
from tests.sites.analysis.connection_cases import CASES, case_site

pytestmark = pytest.mark.usefixtures("chromium")

TRIED = ["image", "font and image", "crossorigin script", "font and frame", "own manifest"]


async def loaded(site: Site, observer: Observer) -> tuple[Observation, int]:
    """What the browser asked for, and how many connections carried it, as the server tells."""
    async with running_server(ServerInput(served_site(site)), site.name) as server:
        hosts = dict.fromkeys(site.hosts, server.facts.address[1])
        job = ObservationJob(site.url, hosts, spki_sha256=(server.facts.spki_sha256,), quiet_s=1.0, screenshot=False)
        seen = await observer.observe(job)
        requests, _ = server.take_log()
        return seen, len({request["connection"] for request in requests})


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How many connections carried each page, loaded one after the other, each in a browser of its own."""
    folder = tmp_path_factory.mktemp("cases")

    async def all_loaded() -> dict[str, int]:
        async with Observer(temp_dir=folder) as observer:
            return {name: (await loaded(case_site(folder / name, name), observer))[1] for name in TRIED}

    return asyncio.run(all_loaded())


@pytest.mark.parametrize("name", TRIED)
def test_chromium_opens_as_many_connections_as_were_worked_out(
    opened: dict[str, int], name: str, tmp_path: Path
) -> None:
    assert expected_connections(case_site(tmp_path / "site", name)).count == CASES[name].connections
    assert opened[name] == CASES[name].connections


@pytest.mark.parametrize(("origins", "expected"), [(Origins.KEEP, 2), (Origins.MERGE, 1)])
def test_the_page_of_three_hosts_loads_with_its_hosts_kept_and_merged(
    tmp_path: Path, origins: Origins, expected: int
) -> None:
    async def watched() -> tuple[Observation, int]:
        async with Observer(temp_dir=tmp_path) as observer:
            return await loaded(open_site("three-hosts", origins), observer)

    seen, connections = asyncio.run(watched())
    assert connections == expected
    answered = {item.url for item in seen.requests if item.status == 200}
    assert len(answered) == 20, "all that the page is made of"
    assert {urlsplit(url).hostname for url in answered} == (
        {"three-hosts.test"}
        if origins is Origins.MERGE
        else {"three-hosts.test", "three-hosts-static.test", "three-hosts-fonts.test"}
    )
