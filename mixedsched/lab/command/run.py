"""What `lab run` does: network up, server up, command run, everything down in order."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any

from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.lab.command._server import OtherEnd, filled_in, serving
from mixedsched.lab.command.request import CommandRequest
from mixedsched.units import counted, format_bytes
from mixedsched.world.emulator.backend import Address, LinkInUse, open_backend
from mixedsched.world.system.udp import host_and_port
from mixedsched.world.system.user_programs import StopRequest, run_command

_NEWS_S = 0.02  # until we know of everything that ended together with the command

_COUNTED = {
    "overflowed": "did not fit in the queue",
    "dropped_by_aqm": "dropped by codel",
    "lost": "lost on the way",
    "duplicated": "duplicated",
    "reordered": "reordered",
    "missed": "never met the link",
    "dropped_at_port": "never met the link",
    "too_large": "too large for the link",
    "undeliverable": "that the system would not send on",
}


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How it ended."""

    backend: str
    link: str
    seed: int
    exit_code: int
    """The command's; 128 and the signal's number if one ended it; 1 if it went well and something else failed."""
    counters: Mapping[str, Any]
    """Of the link, per direction."""
    notes: tuple[str, ...]
    failures: tuple[str, ...]
    """What failed beside the command, so that its results do not count."""

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "counters": dict(self.counters)}


def carry_out(request: CommandRequest, say_note: Callable[[str], None]) -> CommandResult:
    """Run the command over the network; everything is down again when this returns or raises.

    request: a `checked` one. A signal to stop (Ctrl-C, SIGTERM, a closed terminal) ends the command, and gives the exit code.
    say_note: called at once with each difference between the back end and the profile.
    """
    return asyncio.run(_carry_out(request, say_note))


async def _carry_out(request: CommandRequest, say_note: Callable[[str], None]) -> CommandResult:
    stop = StopRequest()
    notes: tuple[str, ...] = ()
    exit_code: int | None = None
    link: LinkInUse | None = None
    failures: list[str] = []
    try:
        async with AsyncExitStack() as stack:
            with stop.cancelling():
                backend = await stack.enter_async_context(open_backend(request.backend, request.profile))
                notes = tuple(backend.notes)
                for note in notes:
                    say_note(note)
                server = await stack.enter_async_context(serving(backend, request))
                listens_at = server.address or (backend.server_host, 0)
                link = await stack.enter_async_context(backend.link(listens_at, request.seed, request.packet_log))
            words = [*backend.client_prefix, *filled_in(request.command, link.address)]
            exit_code = await run_command(words, _environment(link.address, server), stop.event)
            await asyncio.sleep(_NEWS_S)
            if server.has_stopped():
                failures.append("the server has stopped before its time")
    except asyncio.CancelledError:
        if not stop.number:
            raise
    except MixedschedError as error:
        if exit_code is None:
            raise
        failures.append(f"the link has stopped before its time: {error}")
    else:
        if link is not None and not link.counters:
            failures.append("the link has stopped before its time, so nothing is known of what it did")
    if stop.number:
        exit_code = stop.exit_code
    return CommandResult(
        request.backend,
        request.profile.name,
        request.seed,
        exit_code or (ExitCode.FAILED if failures else ExitCode.DONE),
        {} if link is None else dict(link.counters),
        notes,
        tuple(failures),
    )


def _environment(address: Address, server: OtherEnd) -> dict[str, str]:
    """Variables by which the command finds the server; without one, only the host where it would be."""
    host, port = address
    found = {"MIXEDSCHED_SERVER_HOST": host}
    if server.address is not None:
        found |= {"MIXEDSCHED_SERVER": host_and_port(host, port), "MIXEDSCHED_SERVER_PORT": str(port)}
    if server.spki_sha256:
        found["MIXEDSCHED_SPKI_SHA256"] = server.spki_sha256
    return found


def counters_text(counters: Mapping[str, int]) -> str:
    """The counters of a direction; zeros are left out where they say nothing."""
    if not counters:
        return "nothing was counted"
    parts = [counted(counters["packets"], "packet"), format_bytes(counters["size_bytes"])]
    return ", ".join(parts + [f"{counters[key]} {text}" for key, text in _COUNTED.items() if counters.get(key)])
