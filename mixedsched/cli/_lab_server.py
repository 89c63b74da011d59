"""What stands at the other end of the network while `lab run` runs a command: a site of ours, or a server of the user's."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mixedsched.cli._sites import open_site
from mixedsched.errors import MixedschedError, UsageError
from mixedsched.sites.serving import served_site
from mixedsched.world.emulator.backend import Address, Backend
from mixedsched.world.server.running import ServerInput, running_server
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.system.programs import find_program, with_path
from mixedsched.world.system.udp import host_and_port

_GRACE_S = 2.0  # for a server that is told to end
_LISTEN_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class ServerAtWork:
    """address: where it listens; None if there is no server. spki_sha256: of its certificate's key, where it is ours.

    has_stopped: whether it has ended by itself; one that we did not start tells nothing. A server command may end without
    an error, as one that serves one client does.
    """

    address: Address | None = None
    spki_sha256: str = ""
    has_stopped: Callable[[], bool] = lambda: False


@asynccontextmanager
async def serving(
    backend: Backend, site: str | None, scheme: str, server: Address | None, server_words: Sequence[str]
) -> AsyncIterator[ServerAtWork]:
    """Start what shall serve, where the server is, and stop it at the end. Raises MixedschedError if it does not start."""
    if site is not None:
        # The kernel's shaping would take a flight of packets for one.
        given = ServerInput(
            served_site(open_site(site)), scheme, settings=ServerSettings(host=backend.server_host, gso=False)
        )
        async with running_server(given, site, prefix=backend.server_prefix) as ours:
            yield ServerAtWork(
                ours.facts.address, ours.facts.spki_sha256, has_stopped=lambda: not ours.process.is_alive
            )
    elif server is not None and server_words:
        async with _command(backend, listed_words(server_words, server), server) as running:
            yield ServerAtWork(server, has_stopped=lambda: running.returncode not in {None, 0})
    else:
        yield ServerAtWork(server)


@asynccontextmanager
async def _command(
    backend: Backend, words: Sequence[str], address: Address
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A server of the user's. What it prints goes to our standard error: standard output is the command's."""
    try:
        process = await asyncio.create_subprocess_exec(
            *ends_with_us(),
            *backend.server_prefix,
            *with_path(words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise UsageError(f"the server command '{words[0]}' cannot be run", why=error.strerror or "") from error
    try:
        await _listening(process, address)
        yield process
    finally:
        await _stopped(process)


@functools.cache
def ends_with_us() -> tuple[str, ...]:
    """Words before a command that end it if we are killed, where the system can (setpriv of util-linux 2.33)."""
    setpriv = find_program("setpriv")
    if setpriv is None:
        return ()
    usage = subprocess.run([setpriv, "--help"], capture_output=True, check=False).stdout
    return (setpriv, "--pdeathsig", "KILL") if b"--pdeathsig" in usage else ()


async def _listening(process: asyncio.subprocess.Process, address: Address) -> None:
    """Wait until it has its UDP port. Raises MixedschedError if it ends before, or takes too long."""
    deadline_s = time.monotonic() + _LISTEN_LIMIT_S
    while not _has_udp_port(process.pid, address[1]):
        if process.returncode is not None:
            raise MixedschedError("the server command ended at once", why=f"exit code {process.returncode}")
        if time.monotonic() > deadline_s:
            raise MixedschedError(
                "the server command does not listen",
                why=f"nothing has UDP port {address[1]} after {_LISTEN_LIMIT_S:g} s",
            )
        await asyncio.sleep(0.02)


def _has_udp_port(pid: int, port: int) -> bool:
    """Whether somebody in the network namespace of this process has the port; assumed where the system does not tell."""
    tables = [Path(f"/proc/{pid}/net/{name}") for name in ("udp", "udp6")]
    if not Path("/proc/self/net/udp").exists():
        return True
    for table in tables:
        with contextlib.suppress(OSError):
            lines = table.read_text(encoding="ascii").splitlines()[1:]
            if any(line.split()[1].endswith(f":{port:04X}") for line in lines):
                return True
    return False


async def _stopped(process: asyncio.subprocess.Process) -> None:
    """End it with all that it started in its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def listed_words(words: Sequence[str], address: Address) -> list[str]:
    """The words of a command, with {server}, {host} and {port} filled in; other braces are left alone."""
    host, port = address
    marks = {"{server}": host_and_port(host, port), "{host}": host, "{port}": str(port)}
    filled = list(words)
    for mark, text in marks.items():
        filled = [word.replace(mark, text) for word in filled]
    return filled


def parse_address(text: str) -> Address:
    """Read HOST:PORT, or [HOST]:PORT. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"'{text}' is no HOST:PORT", fix="such as 198.18.0.1:4433")
    return host.removeprefix("[").removesuffix("]"), int(port)
