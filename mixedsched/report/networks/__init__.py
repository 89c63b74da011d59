"""Pictures of networks: rate over time, time under way, delays and losses of a seed; in a terminal, as SVG, as HTML."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup
from rich.text import Text

from mixedsched.errors import UsageError
from mixedsched.model.profile import Direction, Profile
from mixedsched.report.networks._picture import COLUMN_WIDTH, picture_of
from mixedsched.report.networks._views import full_queue_ms, loss_view, rate_view
from mixedsched.report.svg import Stack, drawing, moved, style_sheet, svg_file, text
from mixedsched.units import format_ms, format_rate

__all__ = ["loss_text", "queue_text", "rate_text", "render_networks", "write_networks_plot"]


_MARGIN, _GAP = 24.0, 40.0
_WIDTH = 2 * COLUMN_WIDTH + _GAP
_CHARACTERS = 170  # that fit on a line


def write_networks_plot(profiles: Sequence[Profile], path: Path, seed: int) -> None:
    """Draw networks into a file: `.svg` is one picture that stands alone, `.html` a page with the same pictures.

    profiles: at least one. The same profiles and seed give the same bytes. Raises UsageError for another suffix, OSError if it
    cannot be written.
    """
    path.write_text(render_networks(profiles, path.suffix.lower(), seed), encoding="utf-8")


def render_networks(profiles: Sequence[Profile], suffix: str, seed: int) -> str:
    """The text of the file that write_networks_plot writes."""
    match suffix:
        case ".svg":
            return _svg(profiles, seed)
        case ".html":
            from mixedsched.report._document import render  # here, because templates take time to load

            pictures = [(profile, _inline(profile, seed)) for profile in profiles]
            return render("networks.html.j2", pictures=pictures, seed=seed, title=_title(profiles))
    raise UsageError(f"no picture can be written as '{suffix}'", fix="its name must end in .svg or .html")


def _svg(profiles: Sequence[Profile], seed: int) -> str:
    stack = Stack(_MARGIN, _CHARACTERS)
    for profile in profiles:
        stack.put(26, text(0, 16, profile.name, class_="title"))
        stack.words(f"{profile.description} Source: {profile.source}. Seed {seed}.")
        picture = picture_of(profile, seed)
        columns = [
            moved(place * (COLUMN_WIDTH + _GAP), 0, *column.shapes) for place, column in enumerate(picture.columns)
        ]
        stack.y += 8
        spoken = "; ".join(column.spoken for column in picture.columns)
        stack.put(picture.height + 32, *columns, role="img", aria_label=spoken)
    title, style = _title(profiles), style_sheet("networks.css")
    return svg_file(title, "net", style, _WIDTH + 2 * _MARGIN, stack.y, *stack.shapes)


def _title(profiles: Sequence[Profile]) -> str:
    return f"The network {profiles[0].name}" if len(profiles) == 1 else f"{len(profiles)} networks"


def _inline(profile: Profile, seed: int) -> list[Markup]:
    """A drawing for each direction, so that the page can put the second one below the first where it is narrow."""
    picture = picture_of(profile, seed)
    return [
        drawing(COLUMN_WIDTH, picture.height, f"{profile.name}, {column.spoken}", *column.shapes, class_="net")
        for column in picture.columns
    ]


# As lines of text: bars for rates, a mark for every packet. Colour alone says nothing


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
