"""Arms before an application that runs: each is an edge, which tells what it was asked and how the application fared."""

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mixedsched.lab._validity import ServerView
from mixedsched.lab.model import Arm
from mixedsched.sites.site import Application, Site, site_name_of
from mixedsched.world.edge.settings import PAUSE_MAX_S, EdgeInput, EdgeLogs, OriginAddress
from mixedsched.world.server.running import MemorySettings, RunningServer
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.system.children import Child

RETURNS_S = 10.0  # for which a load waits for an application that does not listen, such as one that starts again
_ASK_AGAIN_S = 0.25
# Of a journal's lines: none of it is needed, and some is private.
_NOT_KEPT = ("time", "client", "referer", "user_agent")


@dataclass(frozen=True, slots=True)
class OwnServer:
    """One of ours, with its log."""

    running: RunningServer

    @property
    def process(self) -> Child:
        return self.running.process

    @property
    def address(self) -> tuple[str, int]:
        return self.running.facts.address

    @property
    def spki_sha256(self) -> str:
        return self.running.facts.spki_sha256

    @property
    def pid(self) -> int:
        return self.running.process.pid


@dataclass(slots=True)
class Journal:
    """The access log of an edge, read as it grows."""

    file: Path
    _read_bytes: int = field(default=0, init=False)

    def take(self) -> list[dict[str, Any]]:
        """The requests that are over since it was last asked, with `origin_ms` and `error`."""
        try:
            with self.file.open("rb") as file:
                file.seek(self._read_bytes)
                lines = file.read()
        except FileNotFoundError:
            return []
        whole = lines[: lines.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        entries = [json.loads(line) for line in whole.splitlines()]
        return [{key: value for key, value in entry.items() if key not in _NOT_KEPT} for entry in entries]


@dataclass(frozen=True, slots=True)
class LiveEdge(OwnServer):
    """An edge before an application."""

    journal: Journal

    def told(self) -> ServerView:
        """Its log since it was last asked."""
        _, connections = self.running.take_log()
        return ServerView(self.journal.take(), connections)


@asynccontextmanager
async def running_before(
    site: Site, arm: Arm, settings: ServerSettings, memory: MemorySettings | None, folder: Path
) -> AsyncIterator[LiveEdge]:
    """Start an arm's edge before a live site. folder: for its journal, which goes with it.

    The site's own `priority` fields, which an edition of it has, become rules. Raises MixedschedError if it does not start.
    """
    from mixedsched.sites.brought import edge_before  # here: few sites are live, and edges take a while to load
    from mixedsched.world.edge.run import running_edge

    application = site.application
    assert application is not None, "the site is live"
    name = files_name(arm.label, "lessons" if memory is not None and memory.every_visit else "loads")
    journal = Journal(folder / f"{name}.jsonl")
    journal.file.unlink(missing_ok=True)
    rules = folder / f"{name}-rules.txt"
    rules.write_text(rules_of(site), encoding="utf-8")
    table = None
    if arm.mapping is not None and Path(arm.mapping).is_file():
        # An edge reads its files again when they change, but the loads of an experiment are all of one kind.
        table = folder / f"{name}-mapping.toml"
        shutil.copyfile(arm.mapping, table)
    edge = replace(edge_before(application), rules=rules, log=EdgeLogs(access_json=journal.file))
    mapping = str(table) if table is not None else arm.mapping
    try:
        async with running_edge(EdgeInput(edge, arm.scheme, mapping, settings, memory), arm.label) as running:
            yield LiveEdge(running, journal)
    finally:
        for file in (journal.file, rules, table):
            if file is not None:
                file.unlink(missing_ok=True)


def files_name(label: str, purpose: str) -> str:
    """How names of files of an arm's edge begin: readable, and another for each arm, however long and alike labels are."""
    return f"edge-{site_name_of(label)}-{hashlib.sha256(label.encode()).hexdigest()[:8]}-{purpose}"


def rules_of(site: Site) -> str:
    """Lines for an edge: the `priority` fields that a live site has for single paths, then the operator's rules.

    A path counts with any query: applications put what changes there.
    """
    lines = {
        path.partition("?")[0]: value
        for (_, path), settings in site.settings.items()
        for name, values in settings.headers
        if name == "priority"
        for value in values
    }
    application = site.application
    rules = application.rules if application is not None else None
    own = rules.read_text(encoding="utf-8") if rules is not None else ""
    return "".join(f"{path} {value}\n" for path, value in lines.items()) + own


async def why_absent(application: Application, limit_s: float = RETURNS_S) -> str:
    """Why nobody can connect to it, after some patience; empty if it can be connected to, also by an edge that could not."""
    address = OriginAddress.parse(application.origin)
    began_s = time.monotonic()
    was_absent = False
    while True:
        try:
            async with asyncio.timeout(limit_s):
                _, writer = await asyncio.open_connection(address.host, address.port)
        except OSError as error:  # TimeoutError among them
            if time.monotonic() >= began_s + limit_s:
                return f"nothing answers at {application.origin} ({_words(error)})"
            was_absent = True
            await asyncio.sleep(_ASK_AGAIN_S)
        else:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            if was_absent:
                await asyncio.sleep(PAUSE_MAX_S)
            return ""


def _words(error: OSError) -> str:
    known = os.strerror(error.errno) if error.errno else ""
    return known or "it took too long"
