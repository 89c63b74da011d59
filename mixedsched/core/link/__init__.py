"""One direction of an emulated link at work. Whoever owns the time drives it: a relay with a clock, or a simulator.

Packets meet, in this order: the queue, the pace at which they leave it, the loss and the delay. What becomes of each is
counted, and told on demand (_fate.py); previews show rate and losses without packets.
"""

from mixedsched.core.link._fate import Fate, LinkCounters, Observer, PacketRecord
from mixedsched.core.link._link import Link
from mixedsched.core.link._loss import direction_rng, loss_pattern
from mixedsched.core.link._pace import rate_over_time
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
