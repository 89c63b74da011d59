"""The rules of validity on a real load: one that is as it should be, and what makes it otherwise."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.cli._sites import open_site
from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.lab._validity import LoadEvidence, ServerView, why_invalid
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.site import Connections
from mixedsched.world import catalog
from mixedsched.world.browser.netlog import read_netlog
from mixedsched.world.browser.pageload import BrowserLoad, PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner
from mixedsched.world.emulator.backend import RELAY, open_backend
from tests.world.server.client import RunningServer, serving
from tests.world.server.quic import Client

pytestmark = pytest.mark.usefixtures("chromium")


def test_a_load_of_three_hosts_counts_and_strangers_void_it(tmp_path: Path) -> None:
    site = open_site("three-hosts")

    async def load(server: RunningServer) -> tuple[BrowserLoad, dict[str, object]]:
        async with (
            open_backend(RELAY, catalog.load_profile("cable")) as network,
            LighthouseRunner(temp_dir=tmp_path) as runner,
        ):
            async with network.link(("127.0.0.1", server.port), 1) as link:
                job = PageLoadJob(
                    site.url,
                    dict.fromkeys(site.hosts, link.address[1]),
                    (server.first["spki_sha256"],),
                    netlog=tmp_path / "netlog.json",
                    metrics=QUICK_METRICS,
                )
                result = await runner.run(job)
            return result, dict(link.counters)

    with serving("three-hosts", "--log-connections") as server:
        result, counters = asyncio.run(load(server))
        with Client(server.port, server_name="ads.example") as stranger:
            stranger.connect()
        lines = asked_so_far(server)
    counters.pop("punctuality", None)  # machines that test are noisy
    strangers = [line for line in lines["connection"] if line["server_name"] == "ads.example"]
    assert len(strangers) == 1
    own = [line for line in lines["connection"] if line not in strangers]
    seen = ServerView(lines["request"], own)
    log = read_netlog(tmp_path / "netlog.json")
    evidence = LoadEvidence(result, site.hosts, expected_connections(site), log, counters, seen)
    assert why_invalid(evidence) == ""
    assert "ads.example" in why_invalid(replace(evidence, server=replace(seen, connections=lines["connection"])))
    assert why_invalid(replace(evidence, expected=Connections(1, "all is on one host"))).startswith(
        "connections: 2 instead"
    )
    assert "three-hosts-fonts.test" in why_invalid(replace(evidence, hosts=site.hosts[:2]))


def asked_so_far(server: RunningServer) -> dict[str, list[dict[str, object]]]:
    """The lines of the server's log up to the stranger's, by their kind."""
    lines: dict[str, list[dict[str, object]]] = {"request": [], "connection": []}
    assert server.process.stdout is not None
    for text in server.process.stdout:
        line = json.loads(text)
        for kind in lines:
            if kind in line:
                lines[kind].append(line[kind])
        if line.get("connection", {}).get("server_name") == "ads.example":
            break
    return lines
