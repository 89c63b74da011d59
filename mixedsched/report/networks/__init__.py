"""Pictures of networks: rate over time, time under way, delays and losses of a seed; in a terminal, as SVG, as HTML."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from mixedsched.errors import UsageError
from mixedsched.model.profile import Profile
from mixedsched.report.networks._picture import COLUMN_WIDTH, picture_of
from mixedsched.report.networks._terminal import loss_text, queue_text, rate_text
from mixedsched.report.svg import Stack, drawing, moved, style_sheet, svg_file, text

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
