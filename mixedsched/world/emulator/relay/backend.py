"""The relay as a back end: a fresh relay process for each link, on the loopback interface."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mixedsched.model.profile import Direction, Profile
from mixedsched.world.emulator.awake import kept_awake
from mixedsched.world.emulator.backend import Address, Backend, LinkInUse
from mixedsched.world.system.children import child
from mixedsched.world.system.precedence import Promptness

LOOPBACK, _IPV6_LOOPBACK = "127.0.0.1", "::1"
_MODULE = "mixedsched.world.emulator.relay"
_FAILURE = "the relay did not start"


class RelayBackend:
    """Server and client run like any other programs; only their datagrams go through the relay."""

    name = "relay"
    server_host = LOOPBACK
    server_prefix: tuple[str, ...] = ()
    client_prefix: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __init__(self, profile: Profile, promptness: Promptness = Promptness.ORDINARY) -> None:
        self.promptness = promptness
        self._profile = profile

    @asynccontextmanager
    async def link(self, server: Address, seed: int, packet_log: Path | None = None) -> AsyncIterator[LinkInUse]:
        """A relay before this server; see Backend.link. Raises MixedschedError if it does not start."""
        settings: dict[str, Any] = {
            "profile": self._profile.facts(),
            "seed": seed,
            "server": server,
            "listen": [_IPV6_LOOPBACK if ":" in server[0] else LOOPBACK, 0],
            "packet_log": None if packet_log is None else str(packet_log.absolute()),
        }
        with kept_awake():
            async with child(_MODULE, failure=_FAILURE, settings=settings) as relay:
                host, port = relay.first["listening"]
                link = LinkInUse((host, port))
                yield link
        link.counters = next((line for line in relay.take_lines() if "punctuality" in line), {})


@asynccontextmanager
async def relay_backend(profile: Profile) -> AsyncIterator[Backend]:
    """Nothing is set up before the first link, except that a relay is asked for its promptness; nothing is taken down."""
    yield RelayBackend(profile, await _promptness_here())


async def _promptness_here() -> Promptness:
    """What relays get on this machine, asked of one that relays nothing."""
    nowhere = {"profile": Profile("none", "", "", Direction(), Direction()).facts(), "seed": 0, "packet_log": None}
    settings = {**nowhere, "server": (LOOPBACK, 9), "listen": (LOOPBACK, 0)}
    async with child(_MODULE, failure=_FAILURE, settings=settings) as relay:
        return Promptness(relay.first["promptness"])
