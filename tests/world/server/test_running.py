"""A server as a child process of a program: `python -m mixedsched.world.server`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import UsageError
from mixedsched.sites.opening import load_site
from mixedsched.sites.serving import served_site
from mixedsched.world.server.running import FACTS, INPUT, RunningServer, ServerFacts, ServerInput, running_server
from mixedsched.world.server.settings import Limits, LogSettings, RetryPolicy, ServerSettings
from mixedsched.world.server.site import RecordedAnswer, ServedSite, SiteEntry
from tests.world.server.client import Answer, fetch

pytestmark = pytest.mark.slow  # servers in processes of their own


@pytest.fixture
def site(tmp_path: Path) -> ServedSite:
    (tmp_path / "index.html").write_text("<!doctype html><p>shop")
    return served_site(load_site(tmp_path))


async def asked(running: RunningServer) -> tuple[Answer, list[dict[str, Any]], list[dict[str, Any]]]:
    answer = (await asyncio.to_thread(fetch, running.facts.address[1], ("GET", "/")))[0]
    while not (log := running.take_log())[0]:
        await asyncio.sleep(0.01)
    return answer, *log


def test_it_serves_what_it_is_given_and_tells_its_facts_and_its_log(site: ServedSite) -> None:
    async def load() -> ServerFacts:
        given = ServerInput(site, "mixed:alpha=0.5", settings=ServerSettings(log=LogSettings(connections=True)))
        async with running_server(given, "a test") as running:
            answer, requests, connections = await asked(running)
            assert answer.body == b"<!doctype html><p>shop"
            assert [item["path"] for item in requests] == ["/"]
            assert [item["connection"] for item in connections] == [requests[0]["connection"]]
            return running.facts

    facts = asyncio.run(load())
    assert (facts.site, facts.hosts, facts.scheme, facts.workers) == (site.name, site.hosts, "mixed:alpha=0.5", 1)
    assert facts.mapping is not None
    assert FACTS.validate_json(json.dumps(asdict(facts))) == facts


def test_what_it_cannot_serve_is_an_error_of_its_caller(site: ServedSite) -> None:
    async def start() -> None:
        async with running_server(ServerInput(site, "none-such"), "a test"):
            raise AssertionError("it runs")

    with pytest.raises(UsageError, match="there is no scheme 'none-such'"):
        asyncio.run(start())


def test_its_input_comes_through_json_as_it_was(tmp_path: Path, site: ServedSite) -> None:
    entry = SiteEntry(
        tmp_path / "ä.css", "text/css", "br", delay_ms=1.5, headers=((b"x-one", (b"1", b"2")), (b"etag", ()))
    )
    recorded = [RecordedAnswer("POST", "shop.test", "/?q=1", 304, entry, '"tag"')]
    settings = ServerSettings(
        port=4433,
        retry=RetryPolicy.ALWAYS,
        limits=Limits(connections=3),
        log=LogSettings(qlog_folder=tmp_path, schedule=True),
    )
    given = ServerInput(
        ServedSite("shop", "https://shop.test/", ("shop.test",), site.entries, recorded, 2),
        "eps",
        "gupta2024",
        settings,
    )
    assert INPUT.validate_json(INPUT.dump_json(given)) == given
