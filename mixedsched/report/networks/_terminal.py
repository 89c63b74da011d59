"""Networks as lines of text: bars for rates, a mark for every packet. Colour alone says nothing."""

from rich.text import Text

from mixedsched.model.profile import Direction
from mixedsched.report.networks._views import full_queue_ms, loss_view, rate_view
from mixedsched.units import format_ms, format_rate

_BARS = " ▁▂▃▄▅▆▇█"
_FLAT = "─"
_ARRIVES, _LOST = "·", "█"


def rate_text(direction: Direction, width: int) -> Text:
    """Rate over time in at most `width` characters (at least 30), with its scale; "no limit" where there is none."""
    if direction.mean_rate_bps is None:
        return Text("no limit")
    view = rate_view(direction, max(10, width - 32))
    if view.is_flat:
        return Text(f"{_FLAT * 20} {format_rate(view.rates_bps[0])}")
    most = max(view.rates_bps)
    bars = "".join(_BARS[round(rate / most * (len(_BARS) - 1))] for rate in view.rates_bps)
    return Text.assemble((bars, "cyan"), f"▏0 to {format_rate(most)} in {format_ms(view.duration_ms)}")


def queue_text(direction: Direction) -> str:
    """How long a full queue delays; "" where that has no limit."""
    full_ms = full_queue_ms(direction)
    if full_ms is None:
        return ""
    return f"a full queue delays by {format_ms(full_ms)}" + (" on average" if direction.trace is not None else "")


def loss_text(direction: Direction, seed: int, side: str, packets: int) -> Text | None:
    """How many packets are lost among those shown, then a mark for each; None where none is ever lost."""
    if not direction.loss.mean_ratio:
        return None
    view = loss_view(direction, seed, side, packets)
    before = "" if view.first == 1 else "; all before arrive"
    drawn = Text(f"{sum(view.lost)} of packets {view.first} to {view.last}{before}\n")
    for lost in view.lost:
        drawn.append(_LOST if lost else _ARRIVES, style="bold red" if lost else "dim")
    return drawn
