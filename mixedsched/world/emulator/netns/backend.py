"""The netns back end: the kernel's own tbf and netem between namespaces, as in the testbed of Sander et al."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mixedsched.errors import MixedschedError, UsageError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.awake import kept_awake
from mixedsched.world.emulator.backend import Address, LinkInUse
from mixedsched.world.emulator.kernel.namespaces import enter, sweep
from mixedsched.world.emulator.kernel.privilege import Privilege, require_privilege
from mixedsched.world.emulator.kernel.shaping import shape
from mixedsched.world.system.children import Child, child
from mixedsched.world.system.json_lines import raise_error_in
from mixedsched.world.system.precedence import Promptness

_ANSWER_LIMIT_S = 20.0


class NetnsBackend:
    """A testbed that is up, in a child process of its own; the vm back end's looks the same from outside."""

    promptness = Promptness.KERNEL

    def __init__(self, name: str, privilege: Privilege, process: Child, ready: dict[str, Any]) -> None:
        self.name = name
        self.privilege = privilege
        self._process = process
        self._namespaces: dict[str, str] = ready["namespaces"]
        self.server_host: str = ready["server_host"]
        self.notes: tuple[str, ...] = tuple(ready["notes"])

    @property
    def server_prefix(self) -> tuple[str, ...]:
        return enter(self._namespaces["server"])

    @property
    def client_prefix(self) -> tuple[str, ...]:
        return enter(self._namespaces["client"])

    @asynccontextmanager
    async def link(self, server: Address, seed: int, packet_log: Path | None = None) -> AsyncIterator[LinkInUse]:
        """The server is found at its own address. Raises UsageError if a log of packets is wanted."""
        if packet_log is not None:
            raise UsageError(f"{self.name} keeps no log of packets", fix="use --backend relay, which does")
        await self._ask({"op": "link", "seed": seed})
        link = LinkInUse(server)
        with kept_awake():
            yield link
        link.counters = (await self._ask({"op": "counters"}))["counters"]

    async def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        self._process.take_lines()  # an answer that nobody waited for
        self._process.tell(order)
        answer = await self._process.next_line(_ANSWER_LIMIT_S)
        if answer is None:
            raise MixedschedError("the process that owns the namespaces has stopped")
        raise_error_in(answer)
        return answer


@asynccontextmanager
async def owned_testbed(name: str, profile: Profile, privilege: Privilege, failure: str) -> AsyncIterator[NetnsBackend]:
    """The testbed of the child process `mixedsched.world.emulator.NAME`; it goes with the `async with`, and if we are killed.

    failure: what is said of a child that does not start.
    """
    settings = {"profile": profile.facts(), "name": profile.name, "privilege": privilege}
    try:
        async with child(
            f"mixedsched.world.emulator.{name}",
            failure=failure,
            settings=settings,
            prefix=privilege.owner_prefix,
        ) as process:
            yield NetnsBackend(name, privilege, process, process.first["ready"])
    finally:
        sweep()  # after a child that had to be killed, as when we are interrupted while it starts


@asynccontextmanager
async def netns_backend(profile: Profile) -> AsyncIterator[NetnsBackend]:
    """Set up namespaces with the kernel's own links.

    Raises MissingPartError without the privilege or the tools, UsageError for what no kernel can emulate.
    """
    shape(profile)  # what cannot be, is refused before anything is set up
    privilege = require_privilege()
    async with owned_testbed("netns", profile, privilege, "the namespaces could not be set up") as backend:
        yield backend
