"""One direction of an emulated link at work. Whoever owns the time drives it: a relay with a clock, or a simulator.

Packets meet, in this order: the queue (droptail, codel), the pace at which they leave it (pace), the loss (loss) and the delay
(delay). What becomes of each is counted, and told on demand (fate); preview shows it without packets.
"""

from mixedsched.core.link._fate import Fate, LinkCounters, Observer, PacketRecord
from mixedsched.core.link._link import Link
from mixedsched.core.link._preview import loss_pattern, rate_over_time
from mixedsched.core.link._randomness import direction_rng
from mixedsched.model.profile import IP_UDP_HEADER_BYTES

__all__ = [
    "IP_UDP_HEADER_BYTES",
    "Fate",
    "Link",
    "LinkCounters",
    "Observer",
    "PacketRecord",
    "direction_rng",
    "loss_pattern",
    "rate_over_time",
]
