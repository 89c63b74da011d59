"""The netns back end: the kernel's own tbf and netem between namespaces, as in the testbed of Sander et al."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mixedsched.model.profile import Profile
from mixedsched.world.emulator.kernel.privilege import require_privilege
from mixedsched.world.emulator.kernel.shaping import shape
from mixedsched.world.emulator.kernel.testbed import TestbedBackend, owned_testbed


@asynccontextmanager
async def netns_backend(profile: Profile) -> AsyncIterator[TestbedBackend]:
    """Set up namespaces with the kernel's own links.

    Raises MissingPartError without the privilege or the tools, UsageError for what no kernel can emulate.
    """
    shape(profile)  # refuses what is impossible before anything is set up
    privilege = require_privilege()
    async with owned_testbed("netns", profile, privilege, "the namespaces could not be set up") as backend:
        yield backend
