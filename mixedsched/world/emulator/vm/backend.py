"""The vm back end: the kernel's tbf and netem inside a router in a virtual machine, for kernels without netem."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mixedsched.model.profile import Profile
from mixedsched.world.emulator.kernel.privilege import require_privilege
from mixedsched.world.emulator.kernel.shaping import shape
from mixedsched.world.emulator.kernel.testbed import TestbedBackend, owned_testbed
from mixedsched.world.emulator.vm.image import ready_image
from mixedsched.world.emulator.vm.machine import require_qemu, require_taps


@asynccontextmanager
async def vm_backend(profile: Profile) -> AsyncIterator[TestbedBackend]:
    """Start the router between two namespaces. It ends with the `async with`, and also if this process is killed.

    Builds the router's image first where it is missing. Raises MissingPartError without QEMU, the privilege or the
    packages, UsageError for what no kernel can emulate.
    """
    shape(profile)  # refuses what is impossible before anything is set up
    privilege = require_privilege()
    require_taps()
    require_qemu()
    await asyncio.to_thread(ready_image, _tell)
    async with owned_testbed("vm", profile, privilege, "the router VM could not be started") as backend:
        yield backend


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
