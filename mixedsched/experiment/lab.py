"""The browser rung: one page load through server, emulated link and Chromium, as a Run."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from mixedsched import catalog
from mixedsched.browser import LighthouseRunner, PageLoad, PageLoadFailed, PageLoadJob, arrival_order, read_netlog
from mixedsched.errors import InputError, MixedschedError
from mixedsched.experiment.children import Child, child
from mixedsched.experiment.model import Arm, Arrival, Run, RunStatus
from mixedsched.profile import Profile

TOO_SLOW = "loaded too slowly"  # in Lighthouse's warning about a page that did not get quiet
NEEDS_OWN_WAITS = "needs_own_waits"  # a long task came so late that Lighthouse must wait longer to find TTI
LIMIT_SLACK_S = 40.0  # a page that still loads so long before the limit is scored as it is, and not trusted
MAX_LATE_RATIO = 0.05  # of packets delivered over 1 ms late, beyond which a run is not trusted


@dataclass(frozen=True, slots=True)
class Scene:
    """What all runs of an experiment have in common. site_argument: how `serve` is told of the site."""

    site_argument: str
    url: str
    hosts: tuple[str, ...]
    profile: Profile
    form_factor: str
    limit_s: float = 180.0


class Lab:
    """Keeps a server per arm and one browser worker; every run gets a fresh browser and a fresh link.

    folder: where the browser's log lies while a page is loaded. Use with `async with`. All child processes end with it, and
    also if this process is killed.
    """

    def __init__(self, scene: Scene, arms: Sequence[Arm], folder: Path) -> None:
        self._scene = scene
        self._arms = {arm.label: arm for arm in arms}
        self._netlog = folder / "netlog.json"
        self._servers: dict[str, Child] = {}
        self._highest_connection = dict.fromkeys(
            self._arms, 0
        )  # that each server has told of before the load in progress
        self._runner = LighthouseRunner(catalog.home() / "lighthouse-runner")
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._stack.enter_async_context(self._runner)
            for label, arm in self._arms.items():
                self._servers[label] = await self._stack.enter_async_context(self._server(arm))
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def versions(self) -> dict[str, str]:
        """Of Lighthouse, Chromium and Node."""
        versions = await self._runner.versions()
        return {"lighthouse": versions.lighthouse, "chromium": versions.chromium, "node": versions.node}

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        """Load the page once. Whatever goes wrong with the load becomes a failed run; only a broken lab raises."""
        started, started_at = time.monotonic(), dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        server = self._servers[arm]
        run = Run(block, attempt, arm, position, RunStatus.OK, started_at=started_at)
        try:
            run, load = await self._load(run, server, link_seed, own_waits=False)
            if run.reason == NEEDS_OWN_WAITS:
                run, load = await self._load(run, server, link_seed, own_waits=True)
            run = replace(run, cost_s=round(time.monotonic() - started, 3))
            if not server.is_alive:
                raise MixedschedError(f"the server for {arm} has stopped", why=await server.last_words())
            return run if load is None else self._judged(replace(run, page_load=load.to_dict()), load)
        finally:
            self._netlog.unlink(missing_ok=True)

    async def _load(self, run: Run, server: Child, link_seed: int, *, own_waits: bool) -> tuple[Run, PageLoad | None]:
        """One load over a fresh link; None with a run that says why there is no result."""
        earlier = (request["connection"] for request in _requests(server))
        self._highest_connection[run.arm] = max(earlier, default=self._highest_connection[run.arm])
        load, status, reason = None, RunStatus.OK, ""
        async with self._relay(server, link_seed) as relay:
            try:
                load = await self._runner.run(self._job(server, relay, own_waits))
            except PageLoadFailed as error:
                status = RunStatus.FAILED
                reason = NEEDS_OWN_WAITS if error.needs_own_waits else f"{error.reason}: {error.detail}"
        requests = [item for item in _requests(server) if item["connection"] > self._highest_connection[run.arm]]
        self._highest_connection[run.arm] = max(
            (item["connection"] for item in requests), default=self._highest_connection[run.arm]
        )
        finished = {item["connection"] for item in requests if item["complete"]}
        counters: dict[str, Any] = next((line for line in relay.take_lines() if "punctuality" in line), {})
        placements = tuple(item for item in requests if item["connection"] in finished)
        return replace(run, status=status, reason=reason, placements=placements, relay=counters), load

    def _server(self, arm: Arm) -> AbstractAsyncContextManager[Child]:
        arguments = [
            "serve",
            self._scene.site_argument,
            "--scheme",
            arm.scheme,
            "--port",
            "0",
            "--json",
            "--stop-with-stdin",
        ]
        if arm.mapping is not None:
            arguments += ["--mapping", arm.mapping]
        return child(
            "mixedsched", arguments, lambda why: MixedschedError(f"the server for {arm.label} did not start", why=why)
        )

    def _relay(self, server: Child, link_seed: int) -> AbstractAsyncContextManager[Child]:
        host, _, port = str(server.first["listening"]).rpartition(":")
        settings = {
            "profile": self._scene.profile.facts(),
            "seed": link_seed,
            "server": [host, int(port)],
            "listen": ["127.0.0.1", 0],
        }
        return child(
            "mixedsched.emulator.relay",
            [json.dumps(settings)],
            lambda why: MixedschedError("the relay did not start", why=why),
        )

    def _job(self, server: Child, relay: Child, own_waits: bool) -> PageLoadJob:
        port = int(relay.first["listening"][1])
        return PageLoadJob(
            url=self._scene.url,
            hosts=dict.fromkeys(self._scene.hosts, port),
            spki_sha256=(str(server.first["spki_sha256"]),),
            form_factor="desktop" if self._scene.form_factor == "desktop" else "mobile",
            netlog=self._netlog,
            limit_s=self._scene.limit_s,
            max_wait_s=self._scene.limit_s - LIMIT_SLACK_S,
            own_waits=own_waits,
        )

    def _judged(self, run: Run, load: PageLoad) -> Run:
        """The run with what the NetLog shows, and marked invalid if it must not be trusted."""
        try:
            log = read_netlog(self._netlog)
        except InputError as error:
            return replace(run, status=RunStatus.INVALID, reason=f"netlog: {error}")
        run = replace(
            run,
            arrivals=tuple(
                Arrival(item.path, item.from_ms, item.to_ms, item.frames, item.size_bytes)
                for item in arrival_order(log)
            ),
            connections=len(log.connections),
            lost_packets=log.packets_missing,
        )
        reason = invalid_reason(load, self._scene.hosts, run.relay)
        return replace(run, status=RunStatus.INVALID, reason=reason) if reason else run


def invalid_reason(load: PageLoad, hosts: Sequence[str], relay: Mapping[str, Any]) -> str:
    """Why a load must not be trusted; empty if it may."""
    requests = [request for request in load.requests if request.url.startswith("http")]
    answered = [request for request in requests if request.protocol]
    if not answered:
        return "protocol: no request was answered"
    other = load.answered_without_h3()
    if other:
        return f"protocol: {len(other)} requests over another protocol, for instance {other[0].url} over {other[0].protocol}"
    stray = sorted({_host(request.url) for request in answered} - set(hosts))
    if stray:
        return f"stray_host: answers from {', '.join(stray)}"
    open_ones = [request.url for request in requests if _host(request.url) in hosts and not request.finished]
    if open_ones:
        return f"unfinished: {len(open_ones)} requests without a complete answer, for instance {open_ones[0]}"
    if TOO_SLOW in " ".join(load.warnings):
        return f"too_slow: {load.warnings[0]}"
    if "punctuality" not in relay:
        return "link: the emulated link has stopped before its time"
    punctuality = relay["punctuality"]
    if punctuality["late"] > MAX_LATE_RATIO * max(1, punctuality["delivered"]):
        return f"late_link: {punctuality['late']} of {punctuality['delivered']} packets left the link over 1 ms late"
    return ""


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _requests(server: Child) -> list[dict[str, Any]]:
    """The requests that the server has logged since it was asked last."""
    return [line["request"] for line in server.take_lines() if "request" in line]


def machine_facts() -> dict[str, Any]:
    """The machine as far as it bears on results."""
    import platform

    import psutil

    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "load_before": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
