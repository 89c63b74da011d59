"""Network profiles: what a link does to packets, for each direction separately. `profile_file` reads them from TOML."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from mixedsched.units import format_bytes, format_rate

FULL_PACKET_BYTES = 1514  # an Ethernet frame, its check sum not counted
IP_UDP_HEADER_BYTES = 28  # IPv4 and UDP; a real link carries them too
ETHERNET_HEADER_BYTES = 14
OPPORTUNITY_BYTES = 1500  # what one line of a packet-delivery trace lets pass


@dataclass(frozen=True, slots=True)
class RandomLoss:
    """Packets are lost independently of each other."""

    ratio: float = 0.0
    """Share of packets that are lost."""

    @property
    def mean_ratio(self) -> float:
        return self.ratio


@dataclass(frozen=True, slots=True)
class GilbertElliott:
    """Losses in bursts: a chain with a good and a bad state that advances with every packet, like netem's `gemodel`.

    The loss of a packet is drawn with the current state's ratio: the packet on which good turns bad still has the good one's.
    """

    p: float
    """Probability of turning from good to bad, for each packet."""
    r: float
    """Probability of turning from bad to good. With the usual ratios bursts have 1/r packets on average."""
    bad_loss_ratio: float = 1.0
    good_loss_ratio: float = 0.0

    @property
    def mean_ratio(self) -> float:
        """Share of packets lost in the long run."""
        if not self.p + self.r:
            return self.good_loss_ratio
        return (self.p * self.bad_loss_ratio + self.r * self.good_loss_ratio) / (self.p + self.r)


Loss = RandomLoss | GilbertElliott

NO_LOSS = RandomLoss(0.0)


@dataclass(frozen=True, slots=True)
class CoDel:
    """Active queue management of RFC 8289: packets that would wait too long, for too long, are dropped as they leave."""

    target_us: int = 5_000
    interval_us: int = 100_000


@dataclass(frozen=True, slots=True)
class Trace:
    """A rate that varies, as Mahimahi describes it: at each of these times one packet of OPPORTUNITY_BYTES may pass."""

    name: str
    opportunities_ms: tuple[int, ...]
    """Rising; several may be at the same time. After the last one it starts again. An unused opportunity is lost."""

    @property
    def period_ms(self) -> int:
        return self.opportunities_ms[-1]

    @property
    def mean_rate_bps(self) -> int:
        return len(self.opportunities_ms) * OPPORTUNITY_BYTES * 8 * 1000 // self.period_ms


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link. Packets meet the queue (with CoDel), the rate or trace, losses, and the delay, in this order."""

    rate_bps: int | None = None
    """None = unlimited, unless trace sets the pace."""
    delay_us: int = 0
    """A packet is delayed by `delay_us`, more or less by up to `jitter_us` (evenly distributed)."""
    queue_bytes: int | None = None
    """None = unlimited."""
    loss: Loss = NO_LOSS
    """Losses after the queue."""
    burst_bytes: int = 0
    """Size of a token bucket; 0 = none: as on a wire, transmitting a packet takes its size divided by the rate."""
    jitter_us: int = 0
    keeps_order: bool = True
    """Whether jitter never lets a packet overtake another one."""
    reorder_ratio: float = 0.0
    """Share of packets that are not delayed at all, and so overtake others."""
    duplicate_ratio: float = 0.0
    """Share of packets that arrive twice."""
    codel: CoDel | None = None
    """None = drop-tail: only a full queue drops packets."""
    trace: Trace | None = None
    overhead_bytes: int = IP_UDP_HEADER_BYTES
    """Added to each datagram's payload on this link: headers."""

    @property
    def mean_rate_bps(self) -> int | None:
        """The rate in the long run; None if there is no limit."""
        return self.trace.mean_rate_bps if self.trace is not None else self.rate_bps

    @property
    def may_reorder(self) -> bool:
        """Whether packets may arrive in another order than they were sent."""
        return self.reorder_ratio > 0 or (self.jitter_us > 0 and not self.keeps_order)

    @property
    def is_random(self) -> bool:
        """Whether what happens to packets differs by seed: losses, jitter (also in order), reordering, duplicates."""
        return bool(self.loss.mean_ratio or self.jitter_us or self.reorder_ratio or self.duplicate_ratio)

    def facts(self) -> dict[str, Any]:
        """For JSON: every number, and the loss with the name of its model."""
        return {**asdict(self), "loss": {"model": _MODEL_NAMES[type(self.loss)], **asdict(self.loss)}}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """The reverse of facts(). What is missing is as by default; `loss_ratio` is what earlier versions stored."""
        known = {field.name: facts[field.name] for field in fields(cls) if field.name in facts}
        if "loss_ratio" in facts:
            known["loss"] = {"model": "random", "ratio": facts["loss_ratio"]}
        if "loss" in known:
            loss = dict(known["loss"])
            known["loss"] = _LOSS_MODELS[loss.pop("model")](**loss)
        if known.get("codel") is not None:
            known["codel"] = CoDel(**known["codel"])
        if known.get("trace") is not None:
            trace = known["trace"]
            known["trace"] = Trace(trace["name"], tuple(trace["opportunities_ms"]))
        return cls(**known)


_LOSS_MODELS: Mapping[str, type[RandomLoss] | type[GilbertElliott]] = {
    "random": RandomLoss,
    "gilbert-elliott": GilbertElliott,
}
_MODEL_NAMES = {model: name for name, model in _LOSS_MODELS.items()}


@dataclass(frozen=True, slots=True)
class Profile:
    """A network between a server and its client: `down` is from the server to the client."""

    name: str
    description: str
    source: str
    down: Direction
    up: Direction

    @property
    def rtt_ms(self) -> float:
        return (self.down.delay_us + self.up.delay_us) / 1000

    @property
    def is_random(self) -> bool:
        """Whether loads over it differ by seed."""
        return self.down.is_random or self.up.is_random

    def facts(self) -> dict[str, Any]:
        """The numbers that matter, for plans, reports and other processes."""
        return {"down": self.down.facts(), "up": self.up.facts()}

    @classmethod
    def from_facts(cls, name: str, facts: Mapping[str, Any]) -> Self:
        """The reverse of facts()."""
        return cls(name, "", "", Direction.from_facts(facts["down"]), Direction.from_facts(facts["up"]))


def direction_text(direction: Direction) -> str:
    """All that a direction does, the usual settings left out."""
    return ", ".join([_pace_text(direction), *_delay_texts(direction), _queue_text(direction), *_harm_texts(direction)])


def loss_text(loss: Loss) -> str:
    """A loss model: "no random loss", "loss 2 %", "loss 2 % in bursts of 5", "loss 2 %, unevenly (Gilbert-Elliott)"."""
    if not loss.mean_ratio:
        return "no random loss"
    text = f"loss {loss.mean_ratio * 100:.3g} %"
    if not isinstance(loss, GilbertElliott) or not loss.p or not loss.r:
        return text
    comes_in_bursts = (loss.bad_loss_ratio, loss.good_loss_ratio) == (1.0, 0.0)
    return f"{text} in bursts of {1 / loss.r:.3g}" if comes_in_bursts else f"{text}, unevenly (Gilbert-Elliott)"


def _pace_text(direction: Direction) -> str:
    if direction.trace is not None:
        return f"rate after the trace {direction.trace.name}, {format_rate(direction.trace.mean_rate_bps)} on average"
    if direction.rate_bps is None:
        return "no rate limit"
    burst = f" (bursts of {format_bytes(direction.burst_bytes)})" if direction.burst_bytes else ""
    return format_rate(direction.rate_bps) + burst


def _delay_texts(direction: Direction) -> list[str]:
    if not direction.delay_us:
        return ["no delay"]
    texts = [f"{direction.delay_us / 1000:g} ms"]
    if direction.jitter_us:
        order = "" if direction.keeps_order else ", which may reorder"
        texts.append(f"jitter ±{direction.jitter_us / 1000:g} ms{order}")
    return texts


def _queue_text(direction: Direction) -> str:
    size = f"queue {format_bytes(direction.queue_bytes)}" if direction.queue_bytes else "queue without limit"
    if direction.codel is None:
        return size
    return f"{size} under CoDel ({direction.codel.target_us / 1000:g}/{direction.codel.interval_us / 1000:g} ms)"


def _harm_texts(direction: Direction) -> list[str]:
    texts = [loss_text(direction.loss)]
    if direction.reorder_ratio:
        texts.append(f"{direction.reorder_ratio * 100:g} % overtake")
    if direction.duplicate_ratio:
        texts.append(f"{direction.duplicate_ratio * 100:g} % come twice")
    if direction.overhead_bytes != IP_UDP_HEADER_BYTES:
        texts.append(f"packets counted with {direction.overhead_bytes} bytes of headers")
    return texts
