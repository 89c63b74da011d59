"""The process behind the netns back end, `python -m mixedsched.world.emulator.netns`: it owns the namespaces of one network.

What it reads and says: kernel/testbed.py.
"""

import sys
from collections.abc import Mapping
from typing import Any

from mixedsched.model.profile import Profile
from mixedsched.world.emulator.kernel.qdiscs import link_counters, qdisc_kinds, takes_seeds, unloaded_kinds
from mixedsched.world.emulator.kernel.shaping import Shaping, shape
from mixedsched.world.emulator.kernel.testbed import FIRST_SEED, own_testbed
from mixedsched.world.emulator.netns.topology import ROLES, connect, hop_stats, shape_hop


class NamespaceTestbed:
    """Namespaces that are joined and shaped. namespaces: by role."""

    facts: Mapping[str, Any] = {}

    def __init__(self, profile: Profile, namespaces: Mapping[str, str]) -> None:
        self._profile = profile
        self._namespaces = namespaces
        somewhere = namespaces["tbf-down"]
        self._kinds = qdisc_kinds(somewhere)
        self._unloaded = unloaded_kinds(self._kinds)
        self._takes_seeds = "netem" in self._kinds and takes_seeds(somewhere)
        connect(namespaces)
        self._shaping = self.renew(FIRST_SEED)

    @property
    def notes(self) -> tuple[str, ...]:
        return self._shaping.notes

    def renew(self, seed: int) -> Shaping:
        seed_here = seed if self._takes_seeds else None
        shaping = shape(self._profile, seed=seed_here, kinds=self._kinds, unloaded=self._unloaded)
        for hop in shaping.hops:
            shape_hop(self._namespaces[hop.name], hop)
        self._shaping = shaping
        return shaping

    def counters(self) -> dict[str, dict[str, int]]:
        return link_counters({hop.name: hop_stats(self._namespaces[hop.name], hop) for hop in self._shaping.hops})

    def check(self) -> None:
        """Namespaces are there as long as this process."""


if __name__ == "__main__":
    sys.exit(own_testbed("netns", ROLES, lambda profile, claim, _: NamespaceTestbed(profile, claim.namespaces)))
