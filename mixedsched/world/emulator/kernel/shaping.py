"""A profile as arguments of tc: which queueing discipline each hop of a kernel-emulated link gets. Pure.

As in the testbed of Sander et al. (PerformanceHOL, section on the testbed): a packet first meets a hop that only limits
the rate and queues (tbf), then one that only delays and loses (netem), so losses come after the queue; with both directions
there are four hops. The netns and vm back ends apply the same words, one in namespaces of this kernel, one inside a router.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from mixedsched.errors import UsageError
from mixedsched.model.profile import ETHERNET_HEADER_BYTES, FULL_PACKET_BYTES, Direction, GilbertElliott, Profile

Side = Literal["down", "up"]
Kind = Literal["tbf", "netem"]

HOP_NAMES = ("tbf-down", "netem-down", "netem-up", "tbf-up")  # from the server to the client
ALL_KINDS: Collection[str] = ("tbf", "netem", "codel")
COUNTING_PACKETS = 100_000  # of a fifo that never fills and only counts
UNLIMITED_QUEUE_BYTES = 1 << 30  # tbf needs a limit
UNLIMITED_QUEUE_PACKETS = 1 << 20  # codel, too
MIN_NETEM_PACKETS = 1000  # netem's own default
UNPACED_NETEM_PACKETS = 200_000  # without a rate, the number in flight is unknown
_FRAME_OVERHEAD_BYTES = 28 + ETHERNET_HEADER_BYTES  # what the kernel counts beyond a datagram's payload
_SMALLEST_FRAME_BYTES = 60
# How late the kernel's timer may wake tbf before tokens overflow, where the profile leaves the choice.
_TIMER_SLACK_US = 100
_ORDER_KEEPING_RATE = "100gbit"
_LARGEST_SEED = 1 << 62

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """One bridge that shapes one direction."""

    kind: Kind
    """Its purpose. A plain fifo counts packets if the profile does not need it, or the kernel does not have it."""
    side: Side
    qdiscs: tuple[Words, ...]
    """What follows `tc qdisc add dev DEVICE`, the root first."""

    @property
    def name(self) -> str:
        """Such as tbf-down."""
        return f"{self.kind}-{self.side}"

    @property
    def toward(self) -> Literal["client", "server"]:
        """Where the packets go that meet this hop's qdiscs; those of the other direction pass untouched."""
        return "client" if self.side == "down" else "server"

    def tc_lines(self, device: str) -> list[str]:
        """Input of `tc -batch -` that sets up the device, with empty queues and counters at zero."""
        return [f"qdisc add dev {device} {' '.join(words)}" for words in self.qdiscs]


@dataclass(frozen=True, slots=True)
class Shaping:
    """A link as the kernel emulates it."""

    hops: tuple[Hop, ...]
    """From the server to the client."""
    notes: tuple[str, ...]
    """What differs from the profile, in words for a report."""


def shape(
    profile: Profile, *, seed: int | None = None, kinds: Collection[str] = ALL_KINDS, unloaded: Collection[str] = ()
) -> Shaping:
    """The qdiscs for a profile.

    seed: of netem's randomness; None if kernel or tc takes none (Linux 6.6 and iproute2 6.6 do). kinds: the qdiscs that the
    kernel has. unloaded: those that it would have if their modules were loaded. Raises UsageError for a trace, which no qdisc
    can follow.
    """
    notes: dict[str, list[Side]] = {}
    down, up = (_Shaper(profile, side, seed, kinds, unloaded, notes) for side in ("down", "up"))
    hops = (down.tbf_hop(), down.netem_hop(), up.netem_hop(), up.tbf_hop())
    texts = [f"{'both ways' if len(sides) == 2 else sides[0]}: {text}" for text, sides in notes.items()]
    if seed is None and "netem" in kinds and profile.is_random:
        texts.append("netem takes no seed here (Linux and iproute2 6.6 do): losses and jitter differ from link to link")
    return Shaping(hops, tuple(texts))


class _Shaper:
    """One direction's two hops."""

    def __init__(
        self,
        profile: Profile,
        side: Side,
        seed: int | None,
        kinds: Collection[str],
        unloaded: Collection[str],
        notes: dict[str, list[Side]],
    ) -> None:
        self._direction: Direction = getattr(profile, side)
        self._side: Side = side
        self._rtt_us = profile.down.delay_us + profile.up.delay_us
        self._seed = None if seed is None else (2 * seed + (side == "up")) % _LARGEST_SEED
        self._kinds = kinds
        self._unloaded = unloaded
        self._notes = notes
        if self._direction.trace is not None:
            raise UsageError(
                f"{side}: the kernel cannot follow the trace '{self._direction.trace.name}'",
                why="tbf knows one rate only",
                fix="use --backend relay, which follows traces",
            )

    def tbf_hop(self) -> Hop:
        """Rate, burst and queue."""
        direction = self._direction
        if direction.rate_bps is None or "tbf" not in self._kinds:
            if direction.rate_bps is not None:
                self._note_absence("tbf", "the rate is not limited and nothing queues", "use relay or vm")
            return self._hop("tbf", (*self._root(), *_counting_fifo()))
        queue = direction.queue_bytes if direction.queue_bytes is not None else UNLIMITED_QUEUE_BYTES
        tbf = (
            *self._root(),
            *("tbf", "rate", f"{direction.rate_bps}bit"),
            *("burst", str(self._burst_bytes(direction.rate_bps)), "limit", str(queue)),
        )
        return self._hop("tbf", tbf, *self._codel())

    def netem_hop(self) -> Hop:
        """Loss, delay and what goes with it."""
        if self._direction.delay_us <= 0 and not self._direction.is_random:
            return self._hop("netem", ("root", "handle", "1:", *_counting_fifo()))
        if "netem" not in self._kinds:
            instead = "use relay, or vm, whose router has a kernel with netem"
            self._note_absence("netem", f"{self._unapplied()} not applied", instead)
            return self._hop("netem", ("root", "handle", "1:", *_counting_fifo()))
        netem = ("root", "handle", "1:", "netem", "limit", str(self._netem_packets()))
        return self._hop(
            "netem", (*netem, *self._delay(), *self._loss(), *self._duplicate(), *self._reorder(), *self._seeded())
        )

    def _hop(self, kind: Kind, *qdiscs: Words) -> Hop:
        return Hop(kind, self._side, qdiscs)

    def _note(self, text: str) -> None:
        self._notes.setdefault(text, []).append(self._side)

    def _note_absence(self, kind: str, what: str, instead: str) -> None:
        if kind in self._unloaded:
            self._note(f"sch_{kind} is not loaded: {what}; run: sudo modprobe sch_{kind}, or {instead}")
        else:
            self._note(f"this kernel has no sch_{kind}: {what}; {instead}")

    def _root(self) -> Words:
        """The kernel counts whole frames; a size table corrects this to the overhead that the profile counts with."""
        correction = self._direction.overhead_bytes - _FRAME_OVERHEAD_BYTES
        root = ("root", "handle", "1:")
        return (*root, "stab", "overhead", str(correction), "linklayer", "ethernet") if correction else root

    def _burst_bytes(self, rate_bps: int) -> int:
        """tbf always drops what is larger than its bucket: the largest packet must fit.

        If it just fits, every late timer costs rate (1.2 % measured with full packets at 10 Mbit/s on a busy machine), because
        tokens that find no room are lost. So a wire, which has no bucket, gets one with some room for them.
        """
        largest = FULL_PACKET_BYTES + max(0, self._direction.overhead_bytes - _FRAME_OVERHEAD_BYTES)
        if self._direction.burst_bytes >= largest:
            return self._direction.burst_bytes
        burst = largest + math.ceil(rate_bps * _TIMER_SLACK_US / 8e6)
        self._note(
            f"tbf has a bucket of {burst} bytes, a full packet and some room for late timers: on an idle link packets arrive "
            f"up to {burst * 8000 / rate_bps:.3g} ms earlier than over a wire"
        )
        return burst

    def _codel(self) -> tuple[Words, ...]:
        """Replaces tbf's own queue and its limit: codel's limit counts packets."""
        direction = self._direction
        if direction.codel is None:
            return ()
        if "codel" not in self._kinds:
            self._note_absence("codel", "the queue drops only what does not fit", "use relay or vm")
            return ()
        limit = UNLIMITED_QUEUE_PACKETS
        if direction.queue_bytes is not None:
            limit = max(2, direction.queue_bytes // FULL_PACKET_BYTES)
            self._note(f"codel counts its queue in packets: {limit} for {direction.queue_bytes} bytes")
        times = ("target", f"{direction.codel.target_us}us", "interval", f"{direction.codel.interval_us}us")
        return (("parent", "1:1", "handle", "10:", "codel", "limit", str(limit), *times, "noecn"),)

    def _unapplied(self) -> str:
        direction = self._direction
        parts = [f"delay of {direction.delay_us / 1000:g} ms"] if direction.delay_us else []
        parts += ["jitter"] if direction.jitter_us else []
        parts += [f"loss of {direction.loss.mean_ratio * 100:.3g} %"] if direction.loss.mean_ratio else []
        parts += ["duplicates"] if direction.duplicate_ratio else []
        parts += ["reordering"] if direction.reorder_ratio else []
        return f"{', '.join(parts)} {'is' if len(parts) == 1 else 'are'}"

    def _netem_packets(self) -> int:
        """Enough for netem never to overflow: the study's ten BDP of full packets, and all of the smallest that fit."""
        direction = self._direction
        if direction.rate_bps is None or "tbf" not in self._kinds:
            return UNPACED_NETEM_PACKETS
        held_us = direction.delay_us + direction.jitter_us
        full = math.ceil(10 * direction.rate_bps * self._rtt_us / 8e6 / FULL_PACKET_BYTES)
        held_bytes = direction.burst_bytes + direction.rate_bps * held_us / 8e6
        smallest = math.ceil(held_bytes / _SMALLEST_FRAME_BYTES)
        return max(MIN_NETEM_PACKETS, full, smallest)

    def _delay(self) -> Words:
        """Without a named distribution, netem's jitter is uniform.

        It sorts packets by the time at which they are due, so jitter reorders them, and since Linux 3.3 a fifo below it
        cannot undo that. With a rate, a packet waits for the one before it; a rate too high to matter keeps the order.
        """
        direction = self._direction
        if not direction.jitter_us:
            return ("delay", f"{direction.delay_us}us") if direction.delay_us else ()
        order = ("rate", _ORDER_KEEPING_RATE) if direction.keeps_order else ()
        return ("delay", f"{direction.delay_us}us", f"{direction.jitter_us}us", *order)

    def _loss(self) -> Words:
        loss = self._direction.loss
        if isinstance(loss, GilbertElliott):
            ratios = (loss.p, loss.r, loss.bad_loss_ratio, loss.good_loss_ratio)
            return ("loss", "gemodel", *(_percent(ratio) for ratio in ratios))
        return ("loss", "random", _percent(loss.ratio)) if loss.ratio else ()

    def _duplicate(self) -> Words:
        ratio = self._direction.duplicate_ratio
        return ("duplicate", _percent(ratio)) if ratio else ()

    def _reorder(self) -> Words:
        """Packets that are not delayed overtake others; without a delay none can."""
        ratio = self._direction.reorder_ratio
        return ("reorder", _percent(ratio)) if ratio and self._direction.delay_us else ()

    def _seeded(self) -> Words:
        return ("seed", str(self._seed)) if self._seed is not None and self._direction.is_random else ()


def _counting_fifo() -> Words:
    return ("pfifo", "limit", str(COUNTING_PACKETS))


def _percent(ratio: float) -> str:
    """A percentage for tc, finer than the kernel's resolution of 2^-32."""
    return f"{100 * ratio:.9f}".rstrip("0").rstrip(".") + "%"
