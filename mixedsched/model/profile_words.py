"""A link in words for people: "9 Mbit/s, 85 ms, queue 191 kB, loss 0.05 %"."""

from mixedsched.model.profile import IP_UDP_HEADER_BYTES, Direction, GilbertElliott, Loss
from mixedsched.units import format_bytes, format_rate


def direction_text(direction: Direction) -> str:
    """All that a direction does, the usual settings left out."""
    return ", ".join([_pace_text(direction), *_delay_texts(direction), _queue_text(direction), *_harm_texts(direction)])


def loss_text(loss: Loss) -> str:
    """A loss model: "no random loss", "loss 2 %", "loss 2 % in bursts of 5"."""
    if not loss.mean_ratio:
        return "no random loss"
    text = f"loss {loss.mean_ratio * 100:.3g} %"
    return f"{text} in bursts of {1 / loss.r:.3g}" if isinstance(loss, GilbertElliott) and loss.r else text


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
