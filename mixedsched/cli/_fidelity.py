"""How a load in Chromium agrees with a site's manifest, in words and tables."""

import asyncio
from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from mixedsched.cli._console import err, out, shown
from mixedsched.cli._options import Screen
from mixedsched.lab.fidelity import Fidelity, check_site
from mixedsched.sites.site import Site
from mixedsched.units import printable

_SHOWN_MAX = 40  # rows; --json has them all


def load_in_chromium(site: Site, screen: Screen) -> Fidelity:
    """Load a site once over loopback, and compare the load with its manifest."""
    err.print("loading it in Chromium", style="dim")
    return asyncio.run(check_site(site, "desktop" if screen is Screen.DESKTOP else "mobile"))


def say_fidelity(found: Fidelity) -> None:
    """Print the verdict on a load, and each deviation."""
    style = "green" if found.is_good else "yellow"
    asked = "-" if found.order_correlation is None else f"{found.order_correlation:.3f}"
    sent = "-" if found.sent_correlation is None else f"{found.sent_correlation:.3f}"
    out.print(
        f"\n[bold]in Chromium {shown(found.chromium_version)}, {found.form_factor}[/]: {found.requested} of {found.resources}"
        f" resources requested, [{style}]{found.share:.1%}[/] with kind and priority of the description;"
        f" order asked [{style}]{asked}[/], sent {sent} (Spearman);"
        f" sizes {'exact' if found.has_exact_sizes else 'off'}",
        soft_wrap=True,
    )
    if found.ended != "quiet":
        out.print(f"the load ended before the page was quiet ({found.ended})", style="yellow")
    for note in found.notes:
        out.print(f"note: {shown(note)}", soft_wrap=True)
    if found.findings:
        rows = ((one.id, one.what, one.wanted, one.got) for one in found.findings)
        say_rows(("resource", "what", "description", "Chromium"), rows)


def say_rows(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table of untrusted texts, the first rows of it."""
    listed = list(rows)
    table = Table(box=box.SIMPLE, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in listed[:_SHOWN_MAX]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    out.print(table)
    if len(listed) > _SHOWN_MAX:
        out.print(f"and {len(listed) - _SHOWN_MAX} more (--json has them all)", style="dim")
