"""The back ends by name. Each is imported when it is asked for."""

from __future__ import annotations

import importlib
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import cast

from mixedsched.errors import UsageError, nearest_hint
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.backend import Backend


class BackendName(StrEnum):
    """Who emulates the network."""

    RELAY = "relay"
    NETNS = "netns"
    VM = "vm"


RELAY = BackendName.RELAY.value


def open_backend(name: str, profile: Profile) -> AbstractAsyncContextManager[Backend]:
    """Set up an emulated network; it goes with the `async with`.

    Raises UsageError for a name that there is not and for what the back end cannot emulate, MissingPartError for what this
    machine has not got.
    """
    if name not in set(BackendName):
        raise UsageError(f"there is no back end '{name}'", fix=nearest_hint(name, BackendName))
    module = importlib.import_module(f"mixedsched.world.emulator.{name}.backend")
    return cast(AbstractAsyncContextManager[Backend], getattr(module, f"{name}_backend")(profile))
