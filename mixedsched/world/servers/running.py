"""A server of other people's while it runs, and its keeper: a process of ours, `python -m mixedsched.world.servers`, that
starts, watches and stops it.

The keeper ends with its standard input, as all our children do, and takes the server with it; the kernel ends the server if the
keeper is killed. So no server outlives us.
"""

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from mixedsched.world.server.site import ServedSite
from mixedsched.world.servers.catalog import FoundServer
from mixedsched.world.servers.kind import Program
from mixedsched.world.system.children import Child, child

LOG_NAME = "log"


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """What a keeper is to start: its first line, as JSON."""

    spec: str  # of the arm
    program: Program
    site: ServedSite
    folder: Path  # for its files; empty, and its own
    host: str
    port: int = 0  # 0 for any free one
    bursts: bool = True  # whether flights of packets may leave in one system call


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """A server that listens: the first line of its keeper."""

    address: tuple[str, int]  # host and UDP port
    spki_sha256: str  # of the certificate's public key, in base64
    pid: int


PROGRAM_INPUT = TypeAdapter(ProgramInput)
PROGRAM_FACTS = TypeAdapter(ProgramFacts)


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A server that listens, and its keeper, which ends with it; the keeper's complaint has the end of the server's log."""

    process: Child
    facts: ProgramFacts

    @property
    def address(self) -> tuple[str, int]:
        return self.facts.address

    @property
    def spki_sha256(self) -> str:
        return self.facts.spki_sha256

    @property
    def pid(self) -> int:
        """Of the server itself."""
        return self.facts.pid


@asynccontextmanager
async def running_program(
    spec: str,
    found: FoundServer,
    site: ServedSite,
    host: str,
    *,
    port: int = 0,
    bursts: bool = True,
    prefix: Sequence[str] = (),
) -> AsyncIterator[RunningProgram]:
    """Start a server for a site, wait until it listens, and stop it at the end; it also stops if this process is killed.

    spec: as `read_choice` takes it. found: what of it is here. prefix: words before the command, see children.child. Raises
    MixedschedError, with the end of its log, if it does not start.
    """
    assert found.program is not None
    with tempfile.TemporaryDirectory(prefix="mixedsched-server-", ignore_cleanup_errors=True) as folder:
        given = ProgramInput(spec, found.program, site, Path(folder), host, port, bursts)
        async with child(
            "mixedsched.world.servers",
            failure=f"{spec} did not start",
            settings=PROGRAM_INPUT.dump_python(given, mode="json"),
            prefix=prefix,
        ) as process:
            yield RunningProgram(process, PROGRAM_FACTS.validate_python(process.first))
