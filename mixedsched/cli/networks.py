"""`networks`: lists the network profiles and draws them."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mixedsched.cli._console import out, say_written, shown
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._simulation_options import check_plot
from mixedsched.core.link import loss_pattern
from mixedsched.model.profile import Direction, Profile, direction_text
from mixedsched.report.networks import loss_text, queue_text, rate_text, write_networks_plot
from mixedsched.units import printable
from mixedsched.world import catalog

PACKETS = 200
_INDENT = 4
_LABELS = 8  # columns of the widest label and its gap


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched networks sander-burst5 4g --seed 3 --plot networks.html")(networks)


def networks(
    names: Annotated[list[str] | None, typer.Argument(help="Only these, by name or file.", metavar="[NAME...]")] = None,
    seed: Annotated[int, typer.Option(help="Seed for the losses that are drawn.")] = 1,
    packets: Annotated[int, typer.Option(help="Number of packets to draw.", min=1, max=100_000)] = PACKETS,
    plot: Annotated[Path | None, typer.Option(help="Draw them into a file, .svg or .html.", metavar="FILE")] = None,
    as_json: Json = False,
) -> None:
    """List the network profiles that pages can be loaded over, and draw the rate over time and the losses of a seed.

    One mark is one packet: · arrives, █ is lost.
    """
    if plot is not None:
        check_plot(plot)
    profiles = [catalog.load_profile(name) for name in names] if names else catalog.profiles()
    if as_json:
        say_json([_facts(profile, seed, packets) for profile in profiles], indent=2)
    else:
        for profile in profiles:
            _print(profile, seed, packets)
    if plot is not None:
        from mixedsched.lab.results import writing_to  # here, because it takes databases, of which others have no use

        with writing_to(plot):
            write_networks_plot(profiles, plot, seed)
        say_written("picture", plot)


def _facts(profile: Profile, seed: int, packets: int) -> dict[str, Any]:
    def lost(direction: Direction, side: str) -> list[int]:
        fates = loss_pattern(direction, seed, side, packets)
        return [number for number, is_lost in enumerate(fates, start=1) if is_lost]

    return {
        "name": profile.name,
        "description": profile.description,
        "source": profile.source,
        "rtt_ms": profile.rtt_ms,
        **profile.facts(),
        "losses": {"seed": seed, "packets": packets, "down": lost(profile.down, "down"), "up": lost(profile.up, "up")},
    }


def _print(profile: Profile, seed: int, packets: int) -> None:
    out.print(f"[bold cyan]{shown(profile.name)}[/]")
    indent = (0, 0, 0, _INDENT)
    out.print(Padding(shown(profile.description), indent))
    same = profile.down == profile.up
    for side, direction in (("down", profile.down), ("up", profile.up)):
        out.print(Padding(_side(side, direction, seed, packets, drawn=side == "down" or not same), indent))
    out.print(Padding(f"[dim]source:[/] {shown(profile.source)}", indent))
    out.print()


def _side(side: str, direction: Direction, seed: int, packets: int, *, drawn: bool) -> Table:
    """One direction: in words, then as pictures, each with a label. drawn: whether to draw its rate and queue."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(style="dim", no_wrap=True, min_width=_LABELS - 1)
    table.add_column(overflow="fold")
    table.add_row(f"{side}:", Text(printable(direction_text(direction))))
    if drawn and direction.mean_rate_bps is not None:
        table.add_row("  rate", rate_text(direction, out.width - _INDENT - _LABELS))
    queue = queue_text(direction)
    if drawn and queue:
        table.add_row("  queue", queue)
    losses = loss_text(direction, seed, side, packets)
    if losses is not None:
        table.add_row("  losses", losses)
    return table
