"""What `lab run` does: network up, server up, command run, everything down in order."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from mixedsched.cli._lab_command import SIGNALLED, run_command
from mixedsched.cli._lab_outing import Outing, checked
from mixedsched.cli._lab_server import ServerAtWork, listed_words, serving
from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.units import format_bytes
from mixedsched.world.emulator.backend import Address, LinkInUse
from mixedsched.world.emulator.backends import open_backend
from mixedsched.world.system.udp import host_and_port

_NEWS_S = 0.02  # for the news to come in of what ended together with the command


@dataclass(frozen=True, slots=True)
class Result:
    """exit_code: the command's; 128 and the signal's number if one ended it; 1 if it went well and something else failed.

    counters: of the link, per direction. failures: what went wrong beside the command, so that its findings do not count.
    """

    backend: str
    link: str
    seed: int
    exit_code: int
    counters: Mapping[str, Any]
    notes: tuple[str, ...]
    failures: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "backend": self.backend,
            "link": self.link,
            "seed": self.seed,
            "exit_code": self.exit_code,
            "counters": dict(self.counters),
            "notes": list(self.notes),
            "failures": list(self.failures),
        }


def carry_out(outing: Outing, say_note: Callable[[str], None]) -> Result:
    """Run the command over the network; everything is down again when this returns or raises.

    A signal to end (Ctrl-C, SIGTERM, a closed terminal) ends the command, and the result tells of the signal. say_note: told at
    once of each thing that the back end does differently from the profile.
    """
    return asyncio.run(_carry_out(checked(outing), say_note))


class _Told:
    """Whether we have been told to end. number: by which signal; 0 = not."""

    def __init__(self) -> None:
        self.number = 0
        self.event = asyncio.Event()
        self._cancels: asyncio.Task[Any] | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._note, number)

    @contextlib.contextmanager
    def cancelling(self) -> Iterator[None]:
        """While things are set up, the word to end stops this task wherever it waits."""
        self._cancels = asyncio.current_task()
        try:
            yield
        finally:
            self._cancels = None

    def _note(self, number: int) -> None:
        self.number = self.number or number
        self.event.set()
        if self._cancels is not None:
            self._cancels.cancel()


async def _carry_out(outing: Outing, say_note: Callable[[str], None]) -> Result:
    told = _Told()
    notes: tuple[str, ...] = ()
    exit_code: int | None = None
    link: LinkInUse | None = None
    failures: list[str] = []
    try:
        async with AsyncExitStack() as stack:
            with told.cancelling():
                backend = await stack.enter_async_context(open_backend(outing.backend, outing.profile))
                notes = tuple(backend.notes)
                for note in notes:
                    say_note(note)
                server = await stack.enter_async_context(
                    serving(backend, outing.site, outing.scheme, outing.server, outing.server_words)
                )
                listens_at = server.address or (backend.server_host, 0)
                link = await stack.enter_async_context(backend.link(listens_at, outing.seed, outing.packet_log))
            words = [*backend.client_prefix, *listed_words(outing.command, link.address)]
            exit_code = await run_command(words, _environment(link.address, server), told.event)
            await asyncio.sleep(_NEWS_S)
            if server.has_stopped():
                failures.append("the server has stopped before its time")
    except asyncio.CancelledError:
        if not told.number:
            raise
    except MixedschedError as error:
        if exit_code is None:
            raise
        failures.append(f"the link has stopped before its time: {error}")
    else:
        if link is not None and not link.counters:
            failures.append("the link has stopped before its time, so nothing is known of what it did")
    if told.number:
        exit_code = SIGNALLED + told.number
    return Result(
        outing.backend,
        outing.profile.name,
        outing.seed,
        exit_code or (ExitCode.FAILED if failures else ExitCode.DONE),
        {} if link is None else dict(link.counters),
        notes,
        tuple(failures),
    )


def _environment(address: Address, server: ServerAtWork) -> dict[str, str]:
    """How the command finds the server; without one, just where it would be."""
    host, port = address
    found = {"MIXEDSCHED_SERVER_HOST": host}
    if server.address is not None:
        found |= {"MIXEDSCHED_SERVER": host_and_port(host, port), "MIXEDSCHED_SERVER_PORT": str(port)}
    if server.spki_sha256:
        found["MIXEDSCHED_SPKI_SHA256"] = server.spki_sha256
    return found


def counters_text(counters: Mapping[str, int]) -> str:
    """What a direction has counted, with zeros left out where they tell nothing."""
    if not counters:
        return "nothing was counted"
    drops = {"overflowed": "did not fit in the queue", "dropped_by_aqm": "dropped by codel", "lost": "lost on the way"}
    beside = {
        "missed": "never met the link",
        "dropped_at_port": "never met the link",
        "undeliverable": "that the system would not send on",
    }
    extras = {"duplicated": "duplicated", "reordered": "reordered"}
    packets = counters["packets"]
    parts = [f"{packets} packet{'' if packets == 1 else 's'}, {format_bytes(counters['size_bytes'])}"]
    parts += [f"{counters[key]} {text}" for key, text in {**drops, **extras, **beside}.items() if counters.get(key)]
    return ", ".join(parts)
