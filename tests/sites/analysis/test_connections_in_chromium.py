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
def loads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Observation, int]]:
    """Pages that are loaded one after the other, each in a browser of its own."""
    folder = tmp_path_factory.mktemp("cases")
    sites = {name: case_site(folder / name, name) for name in TRIED}
    sites |= {origins.value: open_site("three-hosts", origins) for origins in Origins}

    async def all_loaded() -> dict[str, tuple[Observation, int]]:
        async with Observer(temp_dir=folder) as observer:
            return {name: await loaded(site, observer) for name, site in sites.items()}

    return asyncio.run(all_loaded())


@pytest.mark.parametrize("name", TRIED)
def test_chromium_opens_as_many_connections_as_were_worked_out(
    loads: dict[str, tuple[Observation, int]], name: str, tmp_path: Path
) -> None:
    assert expected_connections(case_site(tmp_path / "site", name)).count == CASES[name].connections
    assert loads[name][1] == CASES[name].connections


@pytest.mark.parametrize(
    ("origins", "expected", "hosts"),
    [
        (Origins.KEEP, 2, {"three-hosts.test", "three-hosts-static.test", "three-hosts-fonts.test"}),
        (Origins.MERGE, 1, {"three-hosts.test"}),
    ],
)
def test_the_page_of_three_hosts_loads_with_its_hosts_kept_and_merged(
    loads: dict[str, tuple[Observation, int]], origins: Origins, expected: int, hosts: set[str]
) -> None:
    seen, connections = loads[origins.value]
    assert connections == expected
    answered = {item.url for item in seen.requests if item.status == 200}
    assert len(answered) == 20, "all that the page is made of"
    assert {urlsplit(url).hostname for url in answered} == hosts
