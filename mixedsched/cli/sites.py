"""`sites`: what pages there are, what is in them, whether they are sound, how two differ."""

from __future__ import annotations

from typing import Annotated

import typer

from mixedsched.cli._console import say_list
from mixedsched.cli._default_command import DEFAULT, WithDefault
from mixedsched.cli._output import Json
from mixedsched.cli._site_entry import recipe_entry, recorded_entry, site_entry
from mixedsched.cli._sites import open_site
from mixedsched.cli._sites_check import check
from mixedsched.cli._sites_diff import diff
from mixedsched.cli._sites_show import show
from mixedsched.sites.opening import recipes, recorded_names

sites = typer.Typer(
    cls=WithDefault,
    help="""List the sites that there are, show what is in one, check it, compare two.

    A SITE is the name of a bundled or recorded one, or a folder: one with a page.json, or with an index.html. Without a command
    sites are listed (sites agency --json); a folder that is called like a command is named as ./show.""",
    epilog="Example: mixedsched sites show agency",
)


def register(app: typer.Typer) -> None:
    sites.command(DEFAULT, epilog="Example: mixedsched sites list agency three-hosts --json")(list_sites)
    sites.command(epilog="Example: mixedsched sites show agency --html agency.html")(show)
    sites.command(epilog="Example: mixedsched sites check ./public --json")(check)
    sites.command(epilog="Example: mixedsched sites diff sites/monday sites/tuesday")(diff)
    app.add_typer(sites, name="sites")


def list_sites(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Only these; folders with an index.html, too.", metavar="[SITE...]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the bundled sites and those recorded in ./sites, or tell of the ones that are named; folders can be, too.

    Tells how many QUIC connections a browser takes for each, and why.
    """
    if names:
        entries = [site_entry(open_site(name)) for name in names]
    else:
        entries = [*map(recipe_entry, recipes()), *map(recorded_entry, recorded_names())]
    say_list(entries, as_json)
