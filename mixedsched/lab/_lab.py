"""The browser rung: one page load through server, emulated link and a browser, as a Run."""

import asyncio
import contextlib
import datetime as dt
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from mixedsched.core.metrics import PAGE_METRICS, QUICK_METRICS, TTI
from mixedsched.errors import InputError, MixedschedError
from mixedsched.lab._arms import ArmServer, Fleet, misses_in, pid_that_waits, what_it_tells
from mixedsched.lab._live import why_absent
from mixedsched.lab._teaching import lesson_file, teach
from mixedsched.lab._validity import LoadEvidence, ServerView, application_fault, why_invalid
from mixedsched.lab.diagnostics import Waits
from mixedsched.lab.learning.taught import asks_for_beacons, is_adaptive
from mixedsched.lab.model import AS_USUAL, Arm, Arrival, Conditions, Connection, Run, RunStatus
from mixedsched.model.profile import Profile
from mixedsched.model.request import Flag
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.site import Site
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.browser.netlog import NetLog, arrival_order, read_netlog
from mixedsched.world.browser.pageload import BrowserLoad, PageLoadFailed, PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner
from mixedsched.world.edge.settings import PAUSE_MAX_S
from mixedsched.world.emulator.awake import processors_to_keep_awake
from mixedsched.world.emulator.backend import RELAY, Backend, LinkInUse, open_backend
from mixedsched.world.server.running import MemorySettings
from mixedsched.world.servers import RunningProgram
from mixedsched.world.system.loops import first_of
from mixedsched.world.system.precedence import Precedence, browser_courtesy, kernel_release

LIMIT_SLACK_S = 40.0  # a page that still loads so long before the limit is scored as it is, and not trusted


@dataclass(frozen=True, slots=True)
class LabSetup:
    """Everything that the runs of an experiment have in common."""

    profile: Profile
    form_factor: str
    sites: Mapping[str, Site]  # by label of the arm; all of one URL and the same hosts
    backend: str = RELAY  # which emulated network, see emulator.backend
    across_connections: bool = False  # whether servers schedule across a client's connections
    # Those asked for; all that can be had without waiting for TTI are measured anyway.
    metrics: tuple[str, ...] = PAGE_METRICS
    conditions: Conditions = AS_USUAL
    packet_logs: Path | None = None  # folder for the fate of every packet, one folder a run; None for none
    limit_s: float = 180.0  # for one load
    inspect: bool = False  # whether loads also tell what could be saved; their times are not to be compared then

    @property
    def site(self) -> Site:
        """One of them, for its URL and hosts."""
        return next(iter(self.sites.values()))


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A run after its load, and what is needed to judge it."""

    run: Run
    seen: ServerView
    load: BrowserLoad | None  # None if there is no result


class Lab:
    """Keeps the emulated network, a server per arm and one browser worker; every run gets a fresh browser and a fresh link.

    folder: where the browser's log lies while a page is loaded. Use with `async with`. All child processes end with it, and
    also if this process is killed.
    """

    def __init__(
        self, setup: LabSetup, arms: Sequence[Arm], folder: Path, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._setup = setup
        self._folder = folder
        self._say = say
        self._arms = {arm.label: arm for arm in arms}
        self._netlog = folder / "netlog.json"
        self._fleet: Fleet
        self._servers: dict[str, ArmServer] = {}
        # The highest number of a connection that each server has logged before the load in progress.
        self._highest_connection = dict.fromkeys(self._arms, 0)
        self._memories: dict[str, MemorySettings] = {}
        self._stack = AsyncExitStack()
        self._backend: Backend
        self._runner: LighthouseRunner

    async def __aenter__(self) -> Self:
        arms = tuple(self._arms.values())
        self._fleet = Fleet.of(arms, self._setup.sites, self._setup.conditions, self._folder)
        try:
            self._backend = await self._stack.enter_async_context(
                open_backend(self._setup.backend, self._setup.profile)
            )
            runner = LighthouseRunner(
                prefix=self._backend.client_prefix, courtesy=self.precedence.browser, browser=self._browser
            )
            self._runner = await self._stack.enter_async_context(runner)
            for label, arm in self._arms.items():
                if is_adaptive(arm.scheme):
                    await self._teach(arm)
                await self._start_server(label)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stack.__aexit__(*error)

    @property
    def _browser(self) -> Browser:
        return self._setup.conditions.browser

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what the emulated network cannot do of what its profile asks, or does differently."""
        return self._backend.notes

    @property
    def server_notes(self) -> tuple[str, ...]:
        """Remarks on arms that are other people's servers, and on what all arms leave out for their sake."""
        return self._fleet.notes

    @property
    def precedence(self) -> Precedence:
        """Who runs first on this machine."""
        network = self._backend.promptness
        awake = len(processors_to_keep_awake())
        return Precedence(network, browser_courtesy(network, kernel_release()), awake)

    async def versions(self) -> dict[str, str]:
        """Versions of the browser, Node, Lighthouse and other people's servers, and who runs first: loads are compared only if
        all of these are equal.
        """
        versions = await self._runner.versions()
        return {**versions.to_dict(), "precedence": str(self.precedence), **self._fleet.versions}

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        """Load the page once. Whatever goes wrong with the load becomes a failed run; only a broken lab raises."""
        started, started_at = time.monotonic(), dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        server = self._servers[arm]
        heroes = _declared_heroes(self._setup.sites[arm])
        run = Run(block, attempt, arm, position, RunStatus.OK, started_at=started_at, heroes=heroes)
        application = self._setup.sites[arm].application
        if application is not None and (absent := await why_absent(application)):
            return replace(run, status=RunStatus.FAILED, reason=f"application: {absent}")
        try:
            loaded = await self._load(run, server, link_seed)
            run = replace(loaded.run, cost_s=round(time.monotonic() - started, 3))
            if not server.process.is_alive:
                stopped = await _stopped(arm, server)
                if not isinstance(server, RunningProgram):
                    raise stopped
                await self._start_server(arm)  # for the next attempt
                return replace(run, status=RunStatus.FAILED, reason=f"server: {stopped.why}")
            if loaded.load is None:
                return run
            return self._judged(replace(run, page_load=loaded.load.to_dict()), loaded.load, loaded.seen)
        finally:
            self._netlog.unlink(missing_ok=True)

    async def _load(self, run: Run, server: ArmServer, link_seed: int) -> _Loaded:
        """One load over a fresh link; without a page load, the run says why there is none."""
        self._seen(run.arm, server)  # stragglers of the load before
        load, status, reason = None, RunStatus.OK, ""
        waits = Waits({"server": pid_that_waits(server), "worker": self._runner.worker_pid})
        async with self._backend.link(server.address, link_seed, self._packet_log(run)) as link:
            try:
                load = await self._browse(server, link)
            except PageLoadFailed as error:
                status, reason = RunStatus.FAILED, f"{error.reason}: {error.detail}"
        if load is None and not link.counters:
            reason = f"link: the emulated link has stopped before its time, and the load ended with {reason}"
        seen = self._seen(run.arm, server)
        if load is None and (fault := application_fault(seen.requests)):
            reason = f"{fault}; the load ended with {reason.partition(': ')[0]}"
            await asyncio.sleep(PAUSE_MAX_S)  # the next load is not for an edge that still waits before it tries again
        finished = {item["connection"] for item in seen.requests if item["complete"]}
        placements = tuple(item for item in seen.requests if item["connection"] in finished)
        placements += misses_in(load, self._fleet.sizes(run.arm))
        run = replace(
            run, status=status, reason=reason, placements=placements, relay=link.counters, waited_ms=waits.so_far_ms()
        )
        return _Loaded(run, seen, load)

    async def _browse(self, server: ArmServer, link: LinkInUse) -> BrowserLoad:
        """Raises PageLoadFailed, also once the server has ended: the browser would wait for it until its time is over."""
        load: BrowserLoad | None
        load, _ = await first_of(self._runner.run(self._job(server, link)), server.process.ended())
        if load is None:
            raise PageLoadFailed("server_died", "it has ended meanwhile")
        return load

    def _seen(self, arm: str, server: ArmServer) -> ServerView:
        """The server's log since it was last read: entries of connections that are new since then."""
        seen = what_it_tells(server)
        if seen.connections is None:
            return seen
        before = self._highest_connection[arm]
        new = ServerView(
            [item for item in seen.requests if item["connection"] > before],
            [item for item in seen.connections if item["connection"] > before],
        )
        numbers = (item["connection"] for item in (*new.requests, *(new.connections or ())))
        self._highest_connection[arm] = max(numbers, default=before)
        return new

    def _packet_log(self, run: Run) -> Path | None:
        folder = self._setup.packet_logs
        return None if folder is None else folder / f"block-{run.block}-attempt-{run.attempt}" / file_name(run.arm)

    async def _teach(self, arm: Arm) -> None:
        """Visits from which an adaptive arm learns before its first block; they count for nothing else."""
        beacons = asks_for_beacons(arm.scheme)
        memory = lesson_file(
            *(self._folder, self._setup.sites[arm.label], self._setup.profile, self._setup.form_factor), beacons=beacons
        )
        teaching = MemorySettings(memory, every_visit=True, beacons=beacons)

        async def visit(server: ArmServer, number: int) -> None:
            async with self._backend.link(server.address, number, None) as link:
                with contextlib.suppress(PageLoadFailed):
                    await self._browse(server, link)
            if not server.process.is_alive:
                raise await _stopped(arm.label, server)

        try:
            await teach(memory, lambda: self._server(arm, teaching), visit, self._say)
        finally:
            self._netlog.unlink(missing_ok=True)
        self._memories[arm.label] = MemorySettings(memory, frozen=True)

    async def _start_server(self, label: str) -> None:
        """Start an arm's server, or start it again; it stops with the laboratory."""
        started = self._server(self._arms[label], self._memories.get(label))
        self._servers[label] = await self._stack.enter_async_context(started)

    def _server(self, arm: Arm, memory: MemorySettings | None) -> AbstractAsyncContextManager[ArmServer]:
        return self._fleet.started(
            arm,
            self._backend,
            across_connections=self._setup.across_connections,
            congestion_control=self._setup.conditions.congestion_control,
            memory=memory,
        )

    def _job(self, server: ArmServer, link: LinkInUse) -> PageLoadJob:
        address, port = link.address
        return PageLoadJob(
            url=self._setup.site.url,
            hosts=dict.fromkeys(self._setup.site.hosts, port),
            spki_sha256=(server.spki_sha256,),
            browser=self._browser,
            metrics=self._metrics(),
            address=address,
            form_factor="desktop" if self._setup.form_factor == "desktop" else "mobile",
            netlog=self._netlog,
            limit_s=self._setup.limit_s,
            max_wait_s=self._setup.limit_s - LIMIT_SLACK_S,
            cpu_slowdown=self._setup.conditions.cpu_slowdown,
            throttling=self._setup.conditions.throttling,
            inspect=self._setup.inspect,
        )

    def _metrics(self) -> tuple[str, ...]:
        """All that the browser has, but for one that takes long, if it was not asked for."""
        asked = PAGE_METRICS if TTI in self._setup.metrics else QUICK_METRICS
        return tuple(key for key in asked if key in self._browser.metrics)

    def _judged(self, run: Run, load: BrowserLoad, seen: ServerView) -> Run:
        """The run with what the browser's own log shows, if it has one, and marked invalid if it must not be trusted."""
        log = None
        if self._browser is Browser.CHROMIUM:
            try:
                log = read_netlog(self._netlog)
            except InputError as error:
                return replace(run, status=RunStatus.INVALID, reason=f"netlog: {error}")
            run = with_evidence(run, log)
        else:
            run = replace(run, connections=len({item["connection"] for item in seen.requests}))
        site = self._setup.sites[run.arm]
        sizes = self._fleet.sizes(run.arm)
        expected = expected_connections(site) if site.application is None else None
        reason = why_invalid(LoadEvidence(load, site.hosts, expected, log, run.relay, seen, sizes))
        return replace(run, status=RunStatus.INVALID, reason=reason) if reason else run


async def _stopped(label: str, server: ArmServer) -> MixedschedError:
    return MixedschedError(f"the server for {label} has stopped", why=await server.process.complaint())


def _declared_heroes(site: Site) -> tuple[str, ...]:
    """URLs of what the manifest flags as the largest paint."""
    heroes = (item for item in site.page.resources if Flag.HERO in item.flags)
    return tuple(f"https://{site.hosts[item.host]}{item.path}" for item in heroes)


def file_name(label: str) -> str:
    """An arm's label as a name of files: `mixed:alpha=0.5` -> `mixed-alpha-0.5`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-")


def with_evidence(run: Run, log: NetLog) -> Run:
    """The run with what the browser's own log of the load shows.

    A log without its end gives no HOL bytes: those that are in it would be too few to be compared.
    """
    return replace(
        run,
        arrivals=tuple(
            Arrival(
                item.path, item.from_ms, item.to_ms, item.frames, item.size_bytes, item.blocked_bytes, item.authority
            )
            for item in arrival_order(log)
        ),
        connections=len(log.connections),
        lost_packets=log.packets_lost,
        quic=tuple(
            Connection(
                host=session.host,
                reason=session.reason.value,
                why=session.why,
                hol_bytes=None if log.truncated else session.hol_bytes,
                connection_hol_bytes=None if log.truncated else session.connection_hol_bytes,
                packets_seen=session.packets_seen,
                packets_lost=session.packets_lost,
                losses=session.losses,
            )
            for session in log.connections
        ),
    )
