"""How long the router itself takes to pass a packet on, beyond netem's delay.

A virtual machine wakes up late, more so without KVM: some tenths of a millisecond if packets are rare, less if they follow
each other closely. Both are measured once the router is up, and netem's delay is shortened by a value between them.
"""

import select
import socket
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mixedsched.errors import MixedschedError
from mixedsched.model.profile import Direction, Profile
from mixedsched.world.emulator.kernel.namespaces import network_of

MAX_CORRECTION_US = 600  # more than that is due to a busy machine, not to the router
BUSY_US = 2000  # a router that takes so long waits for the processor
_EARLY_US = -300  # packets earlier than that mean that a clock is wrong
PROBE_DELAY_US = 3000
_RARE_GAP_US, _DENSE_GAP_US = 6000, 200
_PACKETS = 40
_PACKET_BYTES = 300
_STRAGGLER_LIMIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Transit:
    """Median extra delay of one direction."""

    rare_us: int
    """Of packets alone on the link."""
    dense_us: int
    """Of packets in quick succession."""

    @property
    def correction_us(self) -> int:
        """What netem's delay is shortened by: more like rare packets, as on most links they are a millisecond or more apart."""
        return max(0, min(MAX_CORRECTION_US, (3 * self.rare_us + self.dense_us) // 4))


def udp_socket(namespace: str, host: str) -> socket.socket:
    """A UDP socket inside a namespace, bound to a free port."""
    with network_of(namespace):
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((host, 0))
    return end


def require_true_clock(transits: Mapping[str, Transit]) -> None:
    """Raises MixedschedError if packets come too early."""
    earliest_us = min(transit.rare_us for transit in transits.values())
    if earliest_us < _EARLY_US:
        raise MixedschedError(
            "the router VM's clock runs too fast",
            why=f"packets with a delay of {PROBE_DELAY_US} us came {-earliest_us} us early",
            fix="try again; if it stays so, use --backend relay",
        )


def transit_notes(profile: Profile, transits: Mapping[str, Transit]) -> tuple[str, ...]:
    """For the report: what was corrected, and whether the router got the processor when it needed it."""
    notes = []
    for side, transit in transits.items():
        extra_ms = transit.correction_us / 1000
        held = getattr(profile, side).delay_us >= transit.correction_us
        done = "netem's delay is shorter by as much" if held else "packets are delayed by as much"
        notes.append(f"{side}: the router takes about {extra_ms:.2g} ms to pass a packet on; {done}")
        if transit.rare_us > BUSY_US:
            late_ms = transit.rare_us / 1000
            notes.append(f"{side}: the machine was busy, and packets {late_ms:.2g} ms late, when the router started")
    return tuple(notes)


def probe_profile() -> Profile:
    """The link on which transits are measured: a delay and nothing else."""
    only_delay = Direction(delay_us=PROBE_DELAY_US)
    return Profile("probe", "", "", only_delay, only_delay)


def corrected(profile: Profile, down: Transit, up: Transit) -> Profile:
    """The profile for the router, so that packets are delayed as `profile` says. A delay of zero stays."""
    return replace(
        profile, down=_shortened(profile.down, down.correction_us), up=_shortened(profile.up, up.correction_us)
    )


def _shortened(direction: Direction, correction_us: int) -> Direction:
    return replace(direction, delay_us=max(0, direction.delay_us - correction_us))


def measure(sender: socket.socket, receiver: socket.socket, now_us: Callable[[], int] | None = None) -> Transit:
    """Send packets over a link of probe_profile(), from a connected UDP socket to a bound one.

    Raises MixedschedError if none arrives.
    """
    now_us = now_us or _now_us
    _delays_us(sender, receiver, _RARE_GAP_US, now_us)  # warms up
    rare, dense = (_delays_us(sender, receiver, gap_us, now_us) for gap_us in (_RARE_GAP_US, _DENSE_GAP_US))
    return Transit(_extra_us(rare), _extra_us(dense))


def _extra_us(delays_us: Sequence[int]) -> int:
    if not delays_us:
        raise MixedschedError("the router VM passes no packets on", fix="try again, or use --backend relay")
    return round(statistics.median(delays_us)) - PROBE_DELAY_US


def _delays_us(sender: socket.socket, receiver: socket.socket, gap_us: int, now_us: Callable[[], int]) -> list[int]:
    """One-way delays, as a program sees them. Packets carry their time of departure."""
    delays: list[int] = []
    sent, next_us = 0, now_us()
    deadline_us = next_us + _PACKETS * gap_us + round(_STRAGGLER_LIMIT_S * 1e6)
    while len(delays) < _PACKETS and (now := now_us()) < deadline_us:
        if sent < _PACKETS and now >= next_us:
            sender.send(now_us().to_bytes(8, "big").ljust(_PACKET_BYTES, b"\0"))
            sent, next_us = sent + 1, next_us + gap_us
        wait_us = max(0, (next_us if sent < _PACKETS else deadline_us) - now_us())
        if select.select([receiver], [], [], wait_us / 1e6)[0]:
            arrived_us = now_us()
            delays.append(arrived_us - int.from_bytes(receiver.recv(_PACKET_BYTES)[:8], "big"))
    return delays


def _now_us() -> int:
    return time.monotonic_ns() // 1000
