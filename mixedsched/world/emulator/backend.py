"""What an emulated network offers to a measurement: places where server and client run, and a link for each run.

There are three: `relay` (userspace, no privilege, repeats exactly), `netns` (the kernel's tbf and netem in namespaces) and
`vm` (the same inside a router in a virtual machine, for kernels without netem).
"""

import importlib
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, cast

from mixedsched.errors import UsageError, nearest_hint
from mixedsched.model.profile import Profile
from mixedsched.world.system.precedence import Promptness

Address = tuple[str, int]


class BackendName(StrEnum):
    """Who emulates the network."""

    RELAY = "relay"
    NETNS = "netns"
    VM = "vm"


RELAY = BackendName.RELAY.value


@dataclass(slots=True)
class LinkInUse:
    """A link while programs use it."""

    address: Address
    """Where the client finds the server."""
    counters: Mapping[str, Any] = field(default_factory=dict)
    """Filled in when the link is closed: {"down": ..., "up": ...}, each with packets, size_bytes, overflowed and lost at least;
    "punctuality" where the back end delivers packets itself. Empty if the link stopped before its time, unless closing it
    raises MixedschedError then."""


class Backend(Protocol):
    """An emulated network that is up. Ends, and leaves nothing behind, with the `async with` that made it."""

    name: str
    """relay, netns or vm."""
    server_host: str
    """The address that the server must listen at."""
    server_prefix: tuple[str, ...]
    """Words before a command that is to run where the server is; often none."""
    client_prefix: tuple[str, ...]
    """The same for the client."""
    promptness: Promptness
    """What lets the emulated network run ahead of the programs that use it."""
    notes: tuple[str, ...]
    """What differs from the profile, in words for a report."""

    def link(
        self, server: Address, seed: int, packet_log: Path | None = None
    ) -> AbstractAsyncContextManager[LinkInUse]:
        """A fresh link: empty queues, counters at zero, losses from the seed where the back end can.

        server: where the server listens. packet_log: folder for a log of each packet's fate (relay only).
        """


def open_backend(name: str, profile: Profile) -> AbstractAsyncContextManager[Backend]:
    """Set up an emulated network; it goes with the `async with`.

    Raises UsageError for an unknown name and for what the back end cannot emulate, MissingPartError for what this
    machine lacks.
    """
    if name not in set(BackendName):
        raise UsageError(f"there is no back end '{name}'", fix=nearest_hint(name, BackendName))
    module = importlib.import_module(f"mixedsched.world.emulator.{name}.backend")
    return cast(AbstractAsyncContextManager[Backend], getattr(module, f"{name}_backend")(profile))
