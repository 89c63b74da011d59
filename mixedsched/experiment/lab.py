"""The browser rung: one page load through server, emulated link and Chromium, as a Run."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from mixedsched.browser import LighthouseRunner, NetLog, PageLoad, PageLoadFailed, PageLoadJob, read_netlog
from mixedsched.errors import InputError, MixedschedError
from mixedsched.experiment.children import Child, child
from mixedsched.experiment.model import Arm, Arrival, Run, RunStatus
from mixedsched.profile import Profile

MAX_LATE_RATIO = 0.05  # of packets delivered over 1 ms late, beyond which a run is not trusted


@dataclass(frozen=True, slots=True)
class Scene:
    """What all runs of an experiment have in common. site_argument: how `serve` is told of the site."""

    site_argument: str
    url: str
    hosts: tuple[str, ...]
    profile: Profile
    form_factor: str
    limit_s: float = 120.0


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
        self._runner = LighthouseRunner()
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
        blank = Run(block, attempt, arm, position, RunStatus.OK, started_at=started_at)
        server = self._servers[arm]
        server.take_lines()
        async with self._relay(server, link_seed) as relay:
            try:
                load: PageLoad | None = await self._runner.run(self._job(server, relay))
                failure = ""
            except PageLoadFailed as error:
                load, failure = None, f"{error.reason}: {error.detail}"
        counters: dict[str, Any] = next((line for line in relay.take_lines() if "punctuality" in line), {})
        run = replace(
            blank,
            cost_s=round(time.monotonic() - started, 3),
            placements=tuple(line["request"] for line in server.take_lines() if "request" in line),
            relay=counters,
        )
        if load is None:
            return replace(run, status=RunStatus.FAILED, reason=failure)
        return self._judged(replace(run, page_load=load.to_dict()), load)

    def _server(self, arm: Arm) -> Any:
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

    def _relay(self, server: Child, link_seed: int) -> Any:
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

    def _job(self, server: Child, relay: Child) -> PageLoadJob:
        port = int(relay.first["listening"][1])
        return PageLoadJob(
            url=self._scene.url,
            hosts=dict.fromkeys(self._scene.hosts, port),
            spki_sha256=(str(server.first["spki_sha256"]),),
            form_factor="desktop" if self._scene.form_factor == "desktop" else "mobile",
            netlog=self._netlog,
            limit_s=self._scene.limit_s,
        )

    def _judged(self, run: Run, load: PageLoad) -> Run:
        """The run with what the NetLog shows, and marked invalid if it must not be trusted."""
        try:
            log = read_netlog(self._netlog)
        except InputError as error:
            return replace(run, status=RunStatus.INVALID, reason=f"netlog: {error}")
        finally:
            self._netlog.unlink(missing_ok=True)
        run = replace(
            run,
            arrivals=tuple(_arrivals(log)),
            connections=len(log.connections),
            lost_packets=log.packets_missing,
        )
        reason = invalid_reason(load, self._scene.hosts, run.relay)
        return replace(run, status=RunStatus.INVALID, reason=reason) if reason else run


def invalid_reason(load: PageLoad, hosts: Sequence[str], relay: Mapping[str, Any]) -> str:
    """Why a load must not be trusted; empty if it may."""
    answered = [request for request in load.requests if request.url.startswith("http") and request.protocol]
    other = sorted({request.protocol for request in answered if request.protocol != "h3"})
    if other:
        return f"protocol: requests over {', '.join(other)}"
    if not answered:
        return "protocol: no request was answered"
    stray = sorted({urlsplit(request.url).hostname or "" for request in answered} - set(hosts))
    if stray:
        return f"stray_host: answers from {', '.join(stray)}"
    punctuality = relay.get("punctuality", {"delivered": 0, "late": 0})
    if punctuality["late"] > MAX_LATE_RATIO * max(1, punctuality["delivered"]):
        return f"late_link: {punctuality['late']} of {punctuality['delivered']} packets left the link over 1 ms late"
    return ""


def _arrivals(log: NetLog) -> Iterator[Arrival]:
    """Neighbouring frames of one response as one entry, with the time they came in."""
    paths = {(request.session, request.stream_id): request.path for request in log.requests}
    frames = [frame for frame in log.arrivals if frame.length_bytes]
    for key, group in groupby(frames, key=lambda frame: (frame.session, frame.stream_id)):
        run = list(group)
        yield Arrival(
            paths.get(key, f"stream {key[1]}"),
            run[0].time_ms,
            run[-1].time_ms,
            len(run),
            sum(frame.length_bytes for frame in run),
        )


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
