"""Options that several commands which load pages share, so that they mean and say the same everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched.core.metrics import LIGHTHOUSE_METRICS
from mixedsched.errors import UsageError
from mixedsched.model.profile import Profile
from mixedsched.sites.site import Origins
from mixedsched.world import catalog
from mixedsched.world.browser.kinds import Browser

NETWORKS_MOST = 4


class Screen(StrEnum):
    """Devices as which a page can be loaded: Lighthouse's form factors."""

    MOBILE = "mobile"
    DESKTOP = "desktop"


BrowserOption = Annotated[
    Browser,
    typer.Option(
        help="Browser that loads the pages: chromium, scored by Lighthouse, or firefox, with FCP, LCP and Speed Index only."
    ),
]
FormFactorOption = Annotated[Screen, typer.Option(help="Device for which pages are loaded and scored.")]
OriginsOption = Annotated[
    Origins | None,
    typer.Option(
        help="For a site with several hosts: keep them, or merge them into the first; by default as the site says."
    ),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Record an address, or import a HAR, again instead of using the earlier copy.")
]
FetchOption = Annotated[
    bool,
    typer.Option(
        "--fetch", help="For a folder that refers to other hosts: have the browser fetch what is missing, once."
    ),
]
SITE_HELP = "A bundled site, a folder with an index.html, an address (https://...), or a HAR."
ALL_METRICS = ",".join(item.short.lower() for item in LIGHTHOUSE_METRICS)
MetricsOption = Annotated[
    str | None,
    typer.Option(
        help=f"Metrics of the page to measure, by default all that the browser has ({ALL_METRICS} in Chromium); without tti a "
        "load ends some 4 s sooner.",
        metavar="M,M",
    ),
]
LinkOption = Annotated[str, typer.Option(help="Network profile, by name or file.", metavar="L")]
DatagramSizeOption = Annotated[
    str,
    typer.Option(
        help="Largest datagrams to try on each client's path, in bytes; auto: what the network interface takes. "
        "Measurements should use 1200, which tries none larger: links count packets.",
        metavar="N|auto",
        rich_help_panel="Network",
    ),
]
MemoryOption = Annotated[
    Path | None,
    typer.Option(help="File in which scheme adaptive keeps what it learns; made if it does not exist.", metavar="FILE"),
]
BeaconOption = Annotated[
    bool,
    typer.Option(
        "--beacon",
        help="Append to documents a script that reports paints to this server, for the memory; no cookie, no identifier.",
    ),
]
BudgetOption = Annotated[str, typer.Option(help="Total time; more time gives a surer answer.", metavar="TIME")]
ResultsOption = Annotated[
    Path | None, typer.Option("--out", help="Folder for the results; by default one in runs/.", metavar="DIR")
]


def network_option(help_text: str, *names: str, **arguments: Any) -> Any:
    """An option of a server, in the panel of its network."""
    return typer.Option(*names, help=help_text, rich_help_panel="Network", **arguments)


def limit_option(help_text: str, **arguments: Any) -> Any:
    """An option of a server, in the panel of its limits."""
    return typer.Option(help=help_text, rich_help_panel="Limits", **arguments)


def log_option(help_text: str, *names: str, **arguments: Any) -> Any:
    """An option of a server, in the panel of its logs."""
    return typer.Option(*names, help=help_text, rich_help_panel="Logs", **arguments)


AcrossConnectionsOption = Annotated[
    bool,
    network_option("Schedule across all connections from one IP address, as if they were one.", "--across-connections"),
]


def refuse_across_workers(workers: int, *, across_connections: bool) -> None:
    """Raises UsageError."""
    if across_connections and workers > 1:
        raise UsageError(
            "--across-connections is not possible with several --workers",
            why="the connections of one client may reach different processes",
            fix="leave out one of the two",
        )


def networks_named(names: str) -> tuple[Profile, ...]:
    """One to four profiles, by names or files with commas between. Raises UsageError, or InputError for a bad profile."""
    listed = [name.strip() for name in names.split(",") if name.strip()]
    if not 1 <= len(listed) <= NETWORKS_MOST:
        raise UsageError(f"{len(listed)} networks were named", fix=f"name one to {NETWORKS_MOST}, such as 4g,slow-4g")
    profiles = tuple(catalog.load_profile(name) for name in listed)
    if len({profile.name for profile in profiles}) < len(profiles):
        raise UsageError("a network is named twice", fix="name each once")
    return profiles
