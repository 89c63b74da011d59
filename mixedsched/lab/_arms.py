"""The servers of arms: ours, which report each request, and those of other people, which report nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from mixedsched.lab._live import LiveEdge, OwnServer, running_before
from mixedsched.lab._validity import ServerView
from mixedsched.lab.model import Arm, Conditions
from mixedsched.model.congestion import CongestionControl
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Site
from mixedsched.world.browser.pageload import BrowserLoad
from mixedsched.world.emulator.backend import RELAY, Backend
from mixedsched.world.server.running import MemorySettings, ServerInput, running_server
from mixedsched.world.server.settings import LogSettings, ServerSettings
from mixedsched.world.server.site import ServedSite
from mixedsched.world.servers import (
    FoundServer,
    RunningProgram,
    ServerChoice,
    fit_site,
    is_server,
    levelled,
    read_choice,
    require_server,
    running_program,
)
from mixedsched.world.system.children import Child

_DECODED = "decoded"  # in the folder of results
_NOT_THERE = 404


class ArmServer(Protocol):
    """The server of an arm while it runs."""

    @property
    def process(self) -> Child:
        """Our child: the server, or what keeps it."""

    @property
    def address(self) -> tuple[str, int]: ...

    @property
    def spki_sha256(self) -> str: ...

    @property
    def pid(self) -> int:
        """Of the process that sends."""


@dataclass(slots=True)
class Fleet:
    """What each arm is served by. Made before anything is started, so that what is impossible is reported first.

    sites, choices: by label of the arm; only servers of other people have a choice.
    """

    sites: Mapping[str, ServedSite]
    choices: Mapping[str, ServerChoice]
    found: Mapping[str, FoundServer]
    notes: tuple[str, ...]  # how arms differ from what they stand for, sentences for a report
    live: Mapping[str, Site] = field(default_factory=dict)  # of arms that are edges, by label
    journals: Path = Path()  # folder for what edges write down
    _sizes: dict[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, arms: Sequence[Arm], sites: Mapping[str, Site], conditions: Conditions, folder: Path) -> Fleet:
        """folder: for what must be made of a site's files.

        Raises MissingPartError for a server that is not here, SiteError for a site that one cannot serve.
        """
        live = {label: site for label, site in sites.items() if site.application is not None}
        if live:
            return cls({}, {}, {}, (), live, folder)
        choices = {arm.label: read_choice(arm.scheme) for arm in arms if is_server(arm.scheme)}
        found = {label: require_server(choice.kind) for label, choice in choices.items()}
        abilities = [choice.kind.abilities for choice in choices.values()]
        notes: list[str] = []
        level: dict[int, ServedSite] = {}
        for arm in arms:
            site = sites[arm.label]
            if id(site) not in level:
                level[id(site)], words = levelled(served_site(site), abilities, folder / _DECODED)
                notes += words
        served = {arm.label: level[id(sites[arm.label])] for arm in arms}
        for label, choice in choices.items():
            fit = fit_site(choice.kind, served[label])
            fit.raise_if_refused(label, served[label].name)
            notes += [f"{label}: {words}" for words in fit.told]
            notes += _about(label, found[label], conditions)
        return cls(served, choices, found, tuple(dict.fromkeys(notes)))

    @property
    def versions(self) -> dict[str, str]:
        """Of other people's servers, by name."""
        return {f"@{item.kind.name}": item.version.name for item in self.found.values() if item.version is not None}

    @asynccontextmanager
    async def started(
        self,
        arm: Arm,
        backend: Backend,
        *,
        across_connections: bool,
        congestion_control: CongestionControl,
        memory: MemorySettings | None = None,
    ) -> AsyncIterator[ArmServer]:
        """Start an arm's server where the emulated network has it. memory: of a scheme that learns."""
        bursts = backend.name == RELAY  # a kernel's link would take a flight of packets for one
        if arm.label in self.choices:
            program = running_program(
                arm.scheme,
                self.found[arm.label],
                self.sites[arm.label],
                backend.server_host,
                bursts=bursts,
                prefix=backend.server_prefix,
            )
            async with program as other:
                yield other
            return
        settings = ServerSettings(
            host=backend.server_host,
            gso=bursts,
            log=LogSettings(connections=True),
            across_connections=across_connections,
            congestion_control=congestion_control,
        )
        if arm.label in self.live:
            async with running_before(self.live[arm.label], arm, settings, memory, self.journals) as edge:
                yield edge
            return
        given = ServerInput(self.sites[arm.label], arm.scheme, arm.mapping, settings, memory)
        async with running_server(given, arm.label, prefix=backend.server_prefix) as own:
            yield OwnServer(own)

    def sizes(self, label: str) -> Mapping[str, int]:
        """Bytes of each file that another server is to send, by URL, as it reports nothing itself; empty for ours."""
        if label not in self.choices:
            return {}
        if label not in self._sizes:
            self._sizes[label] = {
                f"https://{host}{path}": entry.file.stat().st_size
                for host, of_host in self.sites[label].entries.items()
                for path, entry in of_host.items()
                if entry.file is not None and entry.status == 200
            }
        return self._sizes[label]


def _about(label: str, found: FoundServer, conditions: Conditions) -> list[str]:
    assert found.version is not None
    words = []
    if not found.is_known:
        read = ", ".join(found.kind.read_versions) or "none"
        words.append(f"{label}: version {found.version.name} is not one whose priorities were read ({read})")
    if conditions.congestion_control is not CongestionControl.CUBIC:
        words.append(f"{label}: its congestion control is its own, not {conditions.congestion_control}")
    return words


def what_it_tells(server: ArmServer) -> ServerView:
    """Its log since it was last asked; nothing of a server that keeps none for us."""
    if isinstance(server, RunningProgram):
        server.process.take_lines()
        return ServerView()
    if isinstance(server, LiveEdge):
        return server.told()
    assert isinstance(server, OwnServer)
    return ServerView(*server.running.take_log())


def pid_that_waits(server: ArmServer) -> int | None:
    """The process whose waits for a processor are to be recorded; None for one with several threads.

    The system reports them for a process's first thread only, which then need not be the one that sends.
    """
    if isinstance(server, OwnServer):
        return server.pid
    try:
        threads = len(list(Path(f"/proc/{server.pid}/task").iterdir()))
    except OSError:  # it has ended, or this is another system
        return None
    return server.pid if threads == 1 else None


def misses_in(load: BrowserLoad | None, sizes: Mapping[str, int]) -> tuple[Mapping[str, Any], ...]:
    """What another server did not have according to the browser, as entries of a log."""
    if load is None or not sizes:
        return ()
    return tuple(
        {
            "method": "GET",
            "authority": parts.netloc,
            "path": parts.path + ("?" + parts.query if parts.query else ""),
            "missed": True,
        }
        for item in load.requests
        if item.status == _NOT_THERE
        for parts in (urlsplit(item.url),)
    )
