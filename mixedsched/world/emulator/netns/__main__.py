"""The process behind the netns back end, `python -m mixedsched.world.emulator.netns`: it owns the namespaces of one network.

It reads lines of JSON and answers each with one. First the settings, {"profile": facts, "name": "4g", "privilege": "root"}
(`kernel.privilege`; it was started with the prefix of that), answered by {"ready": {"namespaces": {role: name}, "server_host":
..., "client_host": ..., "notes": [...]}}; then {"op": "link", "seed": n}, which makes the link fresh and is answered by
{"link": {}}; and {"op": "counters"}, answered by {"counters": {"down": ..., "up": ...}}. What cannot be done is answered by
{"error": {"what", "why", "fix", "exit_code"}}.

It takes everything down when its standard input ends, however its parent came to its end, and on SIGTERM. If it is killed
itself, the next start sweeps.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.child_talk import Orders, error_facts, obey, say
from mixedsched.world.emulator.kernel.counters import link_counters
from mixedsched.world.emulator.kernel.namespaces import claimed_namespaces
from mixedsched.world.emulator.kernel.privilege import Privilege
from mixedsched.world.emulator.kernel.shaping import Shaping, shape
from mixedsched.world.emulator.kernel.trials import qdisc_kinds, takes_seeds, unloaded_kinds
from mixedsched.world.emulator.netns.topology import CLIENT_HOST, ROLES, SERVER_HOST, connect, hop_stats, shape_hop

_FIRST_SEED = 0


class Testbed:
    """Namespaces that are joined and shaped. namespaces: by role."""

    def __init__(self, profile: Profile, namespaces: Mapping[str, str]) -> None:
        self._profile = profile
        self._namespaces = namespaces
        somewhere = namespaces["tbf-down"]
        self._kinds = qdisc_kinds(somewhere)
        self._unloaded = unloaded_kinds(self._kinds)
        self._takes_seeds = "netem" in self._kinds and takes_seeds(somewhere)
        connect(namespaces)
        self._shaping = self.renew(_FIRST_SEED)

    @property
    def notes(self) -> tuple[str, ...]:
        return self._shaping.notes

    def renew(self, seed: int) -> Shaping:
        """Empty queues, counters at zero, and netem's randomness from the seed where it takes one."""
        seed_here = seed if self._takes_seeds else None
        shaping = shape(self._profile, seed=seed_here, kinds=self._kinds, unloaded=self._unloaded)
        for hop in shaping.hops:
            shape_hop(self._namespaces[hop.name], hop)
        self._shaping = shaping
        return shaping

    def counters(self) -> dict[str, dict[str, int]]:
        """Since the link was made fresh."""
        return link_counters({hop.name: hop_stats(self._namespaces[hop.name], hop) for hop in self._shaping.hops})


def main() -> int:
    """Entry point of the process; returns its exit code."""
    orders = Orders()
    settings = next(orders, None)
    if settings is None:
        return ExitCode.DONE
    name = str(settings.get("name", ""))
    try:
        profile = Profile.from_facts(name, settings["profile"])
        privilege = Privilege(settings.get("privilege", Privilege.ROOT))
        with claimed_namespaces(ROLES, f"netns {name}".strip(), privilege) as claim:
            testbed = Testbed(profile, claim.namespaces)
            say({"ready": _ready_facts(claim.namespaces, testbed)})
            obey(orders, testbed)
    except MixedschedError as error:
        say(error_facts(error))
        return error.exit_code
    return ExitCode.DONE


def _ready_facts(namespaces: Mapping[str, str], testbed: Testbed) -> dict[str, Any]:
    return {
        "namespaces": dict(namespaces),
        "server_host": SERVER_HOST,
        "client_host": CLIENT_HOST,
        "notes": list(testbed.notes),
    }


if __name__ == "__main__":
    sys.exit(main())
