"""Pictures of networks: rate over time, time under way, delays and losses of a seed; in a terminal, as SVG, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mixedsched.errors import UsageError
from mixedsched.model.profile import Profile
from mixedsched.report.networks._terminal import loss_text, queue_text, rate_text

__all__ = ["loss_text", "queue_text", "rate_text", "render_networks", "write_networks_plot"]


def write_networks_plot(profiles: Sequence[Profile], path: Path, seed: int) -> None:
    """Draw networks into a file: `.svg` is one picture that stands alone, `.html` a page with the same pictures.

    profiles: at least one. The same profiles and seed give the same bytes. Raises UsageError for another suffix, OSError if it
    cannot be written.
    """
    path.write_text(render_networks(profiles, path.suffix.lower(), seed), encoding="utf-8")


def render_networks(profiles: Sequence[Profile], suffix: str, seed: int) -> str:
    """As write_networks_plot, the file's text."""
    from mixedsched.report.networks._document import render_html, render_svg  # templates take time to load

    match suffix:
        case ".svg":
            return render_svg(profiles, seed)
        case ".html":
            return render_html(profiles, seed)
    raise UsageError(f"no picture can be written as '{suffix}'", fix="its name must end in .svg or .html")
