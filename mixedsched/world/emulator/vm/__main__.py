"""The process of the vm back end, `python -m mixedsched.world.emulator.vm`: it owns two namespaces and the router between them.

It talks as `mixedsched.world.emulator.netns` does, and says in "ready" also which "accelerator" the machine got, its "kernel",
how long it took to get ready ("ready_s"), and how long it takes by itself to pass a packet on ("transit_us"). The machine ends
with this process, even if that is killed; the namespaces then go with the next start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Literal

from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.child_talk import Orders, error_facts, obey, say
from mixedsched.world.emulator.kernel.counters import link_counters
from mixedsched.world.emulator.kernel.namespaces import Claim, claimed_namespaces, network_of, run_in
from mixedsched.world.emulator.kernel.privilege import Privilege
from mixedsched.world.emulator.kernel.shaping import Shaping, shape
from mixedsched.world.emulator.netns.topology import CLIENT_HOST, SERVER_HOST, set_up_end
from mixedsched.world.emulator.vm.accelerator import accelerators, remember
from mixedsched.world.emulator.vm.image import Image, image_folder, ready_image
from mixedsched.world.emulator.vm.machine import Machine, start_fastest
from mixedsched.world.emulator.vm.ports import open_tap, udp_socket
from mixedsched.world.emulator.vm.router import join_commands, parse_stats, seed_command, shape_command, stats_command
from mixedsched.world.emulator.vm.transit import (
    Transit,
    corrected,
    measure,
    probe_profile,
    require_true_clock,
    transit_notes,
)

_FIRST_SEED = 0
_ROLES: tuple[Literal["server", "client"], ...] = ("server", "client")
_DEVICE = "toward-router"
_TAP_QUEUE_PACKETS = 20_000  # so that a burst waits for the router instead of being lost before it


class Testbed:
    """Two namespaces, joined by a router that shapes."""

    def __init__(self, profile: Profile, claim: Claim, machine: Machine) -> None:
        self._namespaces = claim.namespaces
        self._machine = machine
        for command in join_commands():
            machine.run(command)
        self._takes_seeds = self._succeeds(seed_command())
        self._dropped_before: dict[str, int] = {}
        self._profile = probe_profile()
        self.renew(_FIRST_SEED)
        self.transits = self._measure_transits()
        require_true_clock(self.transits)
        self._transit_notes = transit_notes(profile, self.transits)
        self._profile = corrected(profile, self.transits["down"], self.transits["up"])
        self._shaping = self.renew(_FIRST_SEED)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self._shaping.notes, *self._transit_notes)

    def renew(self, seed: int) -> Shaping:
        """Empty queues, counters at zero, and netem's randomness from the seed where it takes one."""
        shaping = shape(self._profile, seed=seed if self._takes_seeds else None)
        self._machine.run(shape_command(shaping.hops))
        self._dropped_before = self._dropped_at_ports()
        self._shaping = shaping
        return shaping

    def counters(self) -> dict[str, dict[str, int]]:
        """Since the link was made fresh. dropped_at_port: packets for which the router was too slow, beside the model."""
        hops = self._shaping.hops
        counters = link_counters(parse_stats(hops, self._machine.run(stats_command(hops))))
        for side, dropped in self._dropped_at_ports().items():
            counters[side]["dropped_at_port"] = dropped - self._dropped_before[side]
        return counters

    def _measure_transits(self) -> dict[str, Transit]:
        with ExitStack() as sockets:
            ends = {
                role: sockets.enter_context(udp_socket(self._namespaces[role], host))
                for role, host in (("server", SERVER_HOST), ("client", CLIENT_HOST))
            }
            ends["server"].connect(ends["client"].getsockname())
            ends["client"].connect(ends["server"].getsockname())
            return {
                "down": measure(ends["server"], ends["client"]),
                "up": measure(ends["client"], ends["server"]),
            }

    def _dropped_at_ports(self) -> dict[str, int]:
        """What did not find room in the tap devices' queues: "down" at the server's, "up" at the client's."""
        return {side: _sent_in_vain(self._namespaces[role]) for side, role in (("down", "server"), ("up", "client"))}

    def _succeeds(self, command: str) -> bool:
        try:
            self._machine.run(command)
        except MixedschedError:
            return False
        return True


def _sent_in_vain(namespace: str) -> int:
    """Packets for which the port of this namespace had no room."""
    (told,) = json.loads(run_in(namespace, "ip", "-json", "-statistics", "link", "show", "dev", _DEVICE))
    dropped: int = told["stats64"]["tx"]["dropped"]
    return dropped


def _plug_in(claim: Claim, ports: ExitStack) -> list[int]:
    """A tap device in each namespace; returns the descriptors of their other ends."""
    taps: list[int] = []
    for role in _ROLES:
        namespace = claim.namespaces[role]
        with network_of(namespace):
            taps.append(open_tap(_DEVICE))
        ports.callback(os.close, taps[-1])
        run_in(namespace, *f"ip link set dev {_DEVICE} mtu 1500 txqueuelen {_TAP_QUEUE_PACKETS}".split())
        set_up_end(role, namespace, _DEVICE)
    return taps


def _start(image: Image, claim: Claim, stack: ExitStack) -> Machine:
    """The machine with its ports, ready for commands."""

    def start(accelerator: str) -> Machine:
        machine = Machine.start(image, accelerator, taps, claim.folder)
        claim.note_helper(machine.pid)
        return machine

    note = image_folder() / "accelerator.json"
    tried = accelerators(note)
    with ExitStack() as ports:  # the machine has them then, and with it they go
        taps = _plug_in(claim, ports)
        machine = start_fastest(start, tried)
    stack.callback(machine.stop)
    remember(note, tried, machine.accelerator)
    return machine


def main() -> int:
    """Entry point of the process; returns its exit code."""
    orders = Orders()
    settings = next(orders, None)
    if settings is None:
        return ExitCode.DONE
    name = str(settings.get("name", ""))
    try:
        profile = Profile.from_facts(name, settings["profile"])
        image = ready_image(lambda _: None)
        privilege = Privilege(settings.get("privilege", Privilege.ROOT))
        with claimed_namespaces(_ROLES, f"vm {name}".strip(), privilege) as claim, ExitStack() as stack:
            began_s = time.monotonic()
            machine = _start(image, claim, stack)
            testbed = Testbed(profile, claim, machine)
            ready_s = round(time.monotonic() - began_s, 3)
            say({"ready": _ready_facts(claim, testbed, image, machine.accelerator, ready_s)})
            obey(orders, testbed)
    except MixedschedError as error:
        say(error_facts(error))
        return error.exit_code
    return ExitCode.DONE


def _ready_facts(claim: Claim, testbed: Testbed, image: Image, accelerator: str, ready_s: float) -> dict[str, Any]:
    return {
        "namespaces": dict(claim.namespaces),
        "server_host": SERVER_HOST,
        "client_host": CLIENT_HOST,
        "notes": list(testbed.notes),
        "accelerator": accelerator,
        "kernel": image.version,
        "ready_s": ready_s,
        "transit_us": {side: asdict(transit) for side, transit in testbed.transits.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
