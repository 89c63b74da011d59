"""The process of the vm back end, `python -m mixedsched.world.emulator.vm`: it owns two namespaces and the router between them.

What it reads and says: kernel/testbed.py; in "ready" also which "accelerator" the machine got, its "kernel", how long it took
to get ready ("ready_s"), and how long it takes by itself to pass a packet on ("transit_us"). The machine ends with this
process, even if that is killed; the namespaces then go with the next start.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Literal

from mixedsched.errors import MixedschedError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.kernel.namespaces import Claim, network_of, run_in
from mixedsched.world.emulator.kernel.qdiscs import link_counters
from mixedsched.world.emulator.kernel.shaping import Shaping, shape
from mixedsched.world.emulator.kernel.testbed import CLIENT_HOST, FIRST_SEED, SERVER_HOST, own_testbed
from mixedsched.world.emulator.netns.topology import set_up_end
from mixedsched.world.emulator.vm._router import join_commands, parse_stats, seed_command, shape_command, stats_command
from mixedsched.world.emulator.vm._transit import (
    Transit,
    corrected,
    measure,
    probe_profile,
    require_true_clock,
    transit_notes,
    udp_socket,
)
from mixedsched.world.emulator.vm.image import Image, image_folder, ready_image
from mixedsched.world.emulator.vm.machine import Machine, accelerators, open_tap, remember, start_fastest

_ROLES: tuple[Literal["server", "client"], ...] = ("server", "client")
_DEVICE = "toward-router"
_TAP_QUEUE_PACKETS = 20_000  # so that a burst waits for the router instead of being lost before it


class RouterTestbed:
    """Two namespaces, joined by a router that shapes."""

    def __init__(self, profile: Profile, claim: Claim, stack: ExitStack) -> None:
        image = ready_image(lambda _: None)
        began_s = time.monotonic()
        self._namespaces = claim.namespaces
        self._machine = _start(image, claim, stack)
        for command in join_commands():
            self._machine.run(command)
        self._takes_seeds = self._succeeds(seed_command())
        self._dropped_before: dict[str, int] = {}
        self._profile = probe_profile()
        self.renew(FIRST_SEED)
        transits = self._measure_transits()
        require_true_clock(transits)
        self._transit_notes = transit_notes(profile, transits)
        self._profile = corrected(profile, transits["down"], transits["up"])
        self._shaping = self.renew(FIRST_SEED)
        self.facts: Mapping[str, Any] = {
            "accelerator": self._machine.accelerator,
            "kernel": image.version,
            "ready_s": round(time.monotonic() - began_s, 3),
            "transit_us": {side: asdict(transit) for side, transit in transits.items()},
        }

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self._shaping.notes, *self._transit_notes)

    def renew(self, seed: int) -> Shaping:
        shaping = shape(self._profile, seed=seed if self._takes_seeds else None)
        self._machine.run(shape_command(shaping.hops))
        self._dropped_before = self._dropped_at_ports()
        self._shaping = shaping
        return shaping

    def counters(self) -> dict[str, dict[str, int]]:
        """As Testbed.counters; dropped_at_port: packets for which the router was too slow, which is not part of the model."""
        hops = self._shaping.hops
        counters = link_counters(parse_stats(hops, self._machine.run(stats_command(hops))))
        for side, dropped in self._dropped_at_ports().items():
            counters[side]["dropped_at_port"] = dropped - self._dropped_before[side]
        return counters

    def check(self) -> None:
        self._machine.check()

    def _measure_transits(self) -> dict[str, Transit]:
        with ExitStack() as sockets:
            ends = {
                role: sockets.enter_context(udp_socket(self._namespaces[role], host))
                for role, host in (("server", SERVER_HOST), ("client", CLIENT_HOST))
            }
            ends["server"].connect(ends["client"].getsockname())
            ends["client"].connect(ends["server"].getsockname())
            return {"down": measure(ends["server"], ends["client"]), "up": measure(ends["client"], ends["server"])}

    def _dropped_at_ports(self) -> dict[str, int]:
        """Packets that found no room in the tap devices' queues: "down" at the server's, "up" at the client's."""
        return {side: _tx_dropped(self._namespaces[role]) for side, role in (("down", "server"), ("up", "client"))}

    def _succeeds(self, command: str) -> bool:
        try:
            self._machine.run(command)
        except MixedschedError:
            return False
        return True


def _tx_dropped(namespace: str) -> int:
    (told,) = json.loads(run_in(namespace, "ip", "-json", "-statistics", "link", "show", "dev", _DEVICE))
    dropped: int = told["stats64"]["tx"]["dropped"]
    return dropped


def _start(image: Image, claim: Claim, stack: ExitStack) -> Machine:
    """The machine with its ports, ready for commands."""

    def start(accelerator: str) -> Machine:
        machine = Machine.start(image, accelerator, taps, claim.folder)
        claim.note_helper(machine.pid)
        return machine

    note = image_folder() / "accelerator.json"
    tried = accelerators(note)
    with ExitStack() as ports:  # once it has started, the machine holds them, and they go with it
        taps = _plug_in(claim, ports)
        machine = start_fastest(start, tried)
    stack.callback(machine.stop)
    remember(note, tried, machine.accelerator)
    return machine


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


if __name__ == "__main__":
    sys.exit(own_testbed("vm", _ROLES, RouterTestbed))
