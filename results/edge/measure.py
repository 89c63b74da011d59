"""Loads pages in Chromium from a web server and from an edge before it, and appends a line for each load to loads.jsonl.

    python results/edge/measure.py [--blocks 10] [--only SITE@LINK]

Wants root or the right to make namespaces, QEMU and a quiet machine. What is there already is not loaded again.
TCP and QUIC go through the same emulated link, that of the back end `vm`: the relay of other measurements knows only QUIC.
"""

import argparse
import asyncio
import datetime as dt
import json
import random
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from origins import Origin, running_origin

from mixedsched.core.h3.certificate import make_certificate
from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.report.papers.script import Countdown, run_script
from mixedsched.sites.opening import open_site
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Site
from mixedsched.world import catalog
from mixedsched.world.browser.pageload import BrowserLoad, PageLoadFailed, PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner
from mixedsched.world.edge.run import running_edge
from mixedsched.world.edge.settings import CertificateFiles, EdgeInput, EdgeSettings
from mixedsched.world.emulator.backend import Backend, open_backend
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.servers.fitting import levelled
from mixedsched.world.servers.kind import Abilities

HERE = Path(__file__).parent
DATA = HERE / "loads.jsonl"
TUNED = HERE.parent / "tuned"
PLACES = [(site, link) for link in ("slow-4g", "sander-loss2") for site in ("davies-meenan", "agency")]
NGINX, EDGE_NGINX, CADDY, EDGE_CADDY, EDGE_EPS = "nginx", "edge+nginx", "caddy", "edge+caddy", "edge+caddy:eps"
ARMS = (NGINX, EDGE_NGINX, CADDY, EDGE_CADDY, EDGE_EPS)
TRIES = 3
KEPT = ("fcp_ms", "lcp_ms", "si_ms")


class Testbed:
    """A page on a network: a server per arm, found under a port each."""

    def __init__(self, site: Site, link: str, backend: Backend, runner: LighthouseRunner, spki_sha256: str) -> None:
        self.site, self.link, self.backend, self.runner, self.spki_sha256 = site, link, backend, runner, spki_sha256
        self.ports: dict[str, int] = {}
        self.versions: dict[str, str] = {}

    async def load(self, arm: str, seed: int) -> tuple[BrowserLoad | None, str]:
        """A result, or why there is none, or why it must not be trusted."""
        async with self.backend.link((self.backend.server_host, self.ports[arm]), seed) as link:
            address, port = link.address
            job = PageLoadJob(
                url=self.site.url,
                hosts=dict.fromkeys(self.site.hosts, port),
                spki_sha256=(self.spki_sha256,),
                metrics=QUICK_METRICS,
                address=address,
                limit_s=180.0,
                frames=False,
                over_tcp=arm == NGINX,
            )
            try:
                load = await self.runner.run(job)
            except PageLoadFailed as error:
                return None, f"{error.reason}: {error.detail}"
        return load, self.fault(load, "h2" if arm == NGINX else "h3")

    def fault(self, load: BrowserLoad, protocol: str) -> str:
        asked = [item for item in load.requests if item.url.startswith("https:") and item.status > 0]
        if odd := [item for item in asked if item.protocol != protocol]:
            return f"{odd[0].url} came over {odd[0].protocol}"
        there = {f"https://{self.site.hosts[host]}{path}" for host, path in self.site.files}
        if odd := [item for item in asked if item.status != 200 and item.url in there]:
            return f"{odd[0].url} has status {odd[0].status}"
        return "" if len(asked) > 1 else "nothing was asked for"


@asynccontextmanager
async def testbed(name: str, link: str, folder: Path) -> AsyncIterator[Testbed]:
    """All servers of a place, until the end."""
    site = open_site(name)
    served, _ = levelled(served_site(site), [Abilities()], folder / "levelled")
    made = make_certificate(list(site.hosts), dt.datetime.now(dt.UTC))
    pem = folder / "certificate.pem"
    pem.write_text(made.to_pem())
    async with AsyncExitStack() as stack:
        backend = await stack.enter_async_context(open_backend("vm", catalog.load_profile(link)))
        runner = await stack.enter_async_context(LighthouseRunner(prefix=backend.client_prefix))
        found = Testbed(site, link, backend, runner, made.spki_sha256)
        versions = await runner.versions()
        found.versions = {"chromium": versions.chromium, "lighthouse": versions.lighthouse}
        where = (backend.server_host, pem, backend.server_prefix)
        origins = {
            arm: await stack.enter_async_context(running_origin(arm, served, folder / arm, *where))
            for arm in (NGINX, CADDY)
        }
        for arm, origin in origins.items():
            found.ports[arm], found.versions[arm] = origin.port, origin.version
        for arm, behind, tuned in ((EDGE_NGINX, NGINX, True), (EDGE_CADDY, CADDY, True), (EDGE_EPS, CADDY, False)):
            given = edge_before(origins[behind], served.hosts, pem, backend, f"{name.replace('/', '-')}-{link}", tuned)
            edge = await stack.enter_async_context(running_edge(given, arm, prefix=backend.server_prefix))
            found.ports[arm] = edge.facts.address[1]
        yield found


def edge_before(
    origin: Origin, hosts: tuple[str, ...], pem: Path, backend: Backend, place: str, tuned: bool
) -> EdgeInput:
    """As `mixedsched edge` would be told. tuned: with what `tune` ships for this place; else as browsers ask."""
    rules = TUNED / place / "ship" / "headers.txt" if tuned else None
    settings = EdgeSettings(
        origin=f"unix:{origin.socket}", hosts=hosts, certificates=(CertificateFiles(pem, pem),), rules=rules
    )
    # A kernel's link would take a flight of packets that leave in one system call for one packet.
    sending = ServerSettings(host=backend.server_host, gso=False, max_datagram_bytes=None)
    return EdgeInput(settings, "eps", None, sending)


async def play(name: str, link: str, blocks: int, known: list[dict[str, Any]]) -> None:
    """The blocks that are missing, each arm once in each, in an order that its number decides."""
    done = {
        (item["block"], item["arm"])
        for item in known
        if (item["site"], item["link"]) == (name, link) and not item["why"]
    }
    missing = [(block, arm) for block in range(1, blocks + 1) for arm in ARMS if (block, arm) not in done]
    if not missing:
        return
    countdown = Countdown(len(missing))
    with tempfile.TemporaryDirectory(prefix="mixedsched-edge-") as text:
        async with testbed(name, link, Path(text)) as bed:
            for block in sorted({block for block, _ in missing}):
                order = list(ARMS)
                random.Random(f"{name} {link} {block}").shuffle(order)
                for position, arm in enumerate(order):
                    if (block, arm) in missing:
                        row = {"site": name, "link": link, "block": block, "arm": arm, "position": position}
                        countdown.done(f"{name} over {link}, block {block}, {arm}: {await load_once(bed, row)}")


async def load_once(bed: Testbed, row: dict[str, Any]) -> str:
    """A row for each try, until one is good. Returns what came of the last, in words."""
    for attempt in range(1, TRIES + 1):
        load, why = await bed.load(row["arm"], row["block"])
        found = {**row, "attempt": attempt, "why": why, "versions": bed.versions}
        if load is not None:
            found |= {key: round(load.metrics[key], 1) for key in KEPT}
            found["requests"] = sum(item.status == 200 for item in load.requests)
        with DATA.open("a") as file:
            file.write(json.dumps(found) + "\n")
        if not why:
            return f"LCP {found['lcp_ms']} ms"
    return f"given up after {TRIES} tries: {why}"


def main() -> None:
    options = argparse.ArgumentParser(description="Loads pages from web servers and from an edge before them.")
    options.add_argument("--blocks", type=int, default=10, help="in which each arm is loaded once")
    options.add_argument("--only", choices=[f"{name}@{link}" for name, link in PLACES], help="one place")
    given = options.parse_args()
    known = [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.exists() else []
    for name, link in PLACES:
        if given.only in (None, f"{name}@{link}"):
            asyncio.run(play(name, link, given.blocks, known))


if __name__ == "__main__":
    run_script(main)
