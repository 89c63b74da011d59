"""What is at the other end of the network while a command runs: a site of ours, or a server of the user's."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mixedsched.errors import MixedschedError, UsageError
from mixedsched.lab.command.request import CommandRequest
from mixedsched.world.emulator.backend import Address, Backend
from mixedsched.world.server.running import ServerInput, running_server
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.system.programs import with_path
from mixedsched.world.system.udp import host_and_port
from mixedsched.world.system.user_programs import end_program, ends_with_us

_LISTEN_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class OtherEnd:
    """The server of a command."""

    address: Address | None = None
    """Where it listens; None if there is no server."""
    spki_sha256: str = ""
    """Of its certificate's key, where it is ours."""
    has_stopped: Callable[[], bool] = lambda: False
    """Whether it has ended by itself; always False if we did not start it. A server command may end without an error, as one
    that serves one client does."""


@asynccontextmanager
async def serving(backend: Backend, request: CommandRequest) -> AsyncIterator[OtherEnd]:
    """Start the server that is requested, where servers are, and stop it at the end.

    Raises MixedschedError if it does not start.
    """
    if request.served is not None:
        # The kernel's shaping would take a flight of packets for one.
        settings = ServerSettings(host=backend.server_host, gso=False)
        given, name = ServerInput(request.served, request.scheme, settings=settings), str(request.site)
        async with running_server(given, name, prefix=backend.server_prefix) as ours:
            yield OtherEnd(ours.facts.address, ours.facts.spki_sha256, lambda: not ours.process.is_alive)
    elif request.server is not None and request.server_words:
        words = filled_in(request.server_words, request.server)
        async with _server_command(backend, words, request.server) as process:
            yield OtherEnd(request.server, has_stopped=lambda: process.returncode not in {None, 0})
    else:
        yield OtherEnd(request.server)


@asynccontextmanager
async def _server_command(
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
            process_group=0,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise UsageError(f"the server command '{words[0]}' cannot be run", why=error.strerror or "") from error
    try:
        await _until_it_listens(process, address)
        yield process
    finally:
        await end_program(process)


async def _until_it_listens(process: asyncio.subprocess.Process, address: Address) -> None:
    """Raises MixedschedError if it ends before, or takes too long."""
    deadline_s = time.monotonic() + _LISTEN_LIMIT_S
    while not has_udp_port(process.pid, address[1]):
        if process.returncode is not None:
            in_background = (
                "have it stay in the foreground: what goes into the background cannot be ended with the command"
            )
            raise MixedschedError(
                "the server command ended at once",
                why=f"exit code {process.returncode}",
                fix="" if process.returncode else in_background,
            )
        if time.monotonic() > deadline_s:
            raise MixedschedError(
                "the server command does not listen",
                why=f"nothing has UDP port {address[1]} after {_LISTEN_LIMIT_S:g} s",
            )
        await asyncio.sleep(0.02)


def has_udp_port(pid: int, port: int) -> bool:
    """Whether a program in the network namespace of this process has the port; assumed where the system does not tell."""
    if not Path("/proc/self/net/udp").exists():
        return True
    for name in ("udp", "udp6"):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:]
            if any(line.split()[1].endswith(f":{port:04X}") for line in lines):
                return True
    return False


def filled_in(words: Sequence[str], address: Address) -> list[str]:
    """The words of a command, with {server}, {host} and {port} filled in; other braces are left alone."""
    host, port = address
    marks = {"{server}": host_and_port(host, port), "{host}": host, "{port}": str(port)}
    filled = list(words)
    for mark, text in marks.items():
        filled = [word.replace(mark, text) for word in filled]
    return filled
