"""`sites`: what pages there are, what is in them, whether they are sound, how two differ."""

from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import ListEntry, say_list
from mixedsched.cli._default_command import DEFAULT, WithDefault
from mixedsched.cli._output import Json
from mixedsched.cli._sites import open_site
from mixedsched.cli._sites_check import check
from mixedsched.cli._sites_diff import diff
from mixedsched.cli._sites_show import show
from mixedsched.errors import SiteError
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.making import Recipe
from mixedsched.sites.opening import RECORDED, built_site, load_site, recipes, recorded_names
from mixedsched.sites.site import Site

sites = typer.Typer(
    cls=WithDefault,
    help="""List sites, show what one consists of, check one, compare two.

    A SITE is the name of a bundled or recorded one, a folder with a page.json or an index.html, an address (https://...), or a
    HAR. Without a command sites are listed (sites agency --json); write ./show for a folder that is named like a command.""",
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
        list[str] | None, typer.Argument(help="Only these; folders with an index.html, too.", metavar="[SITE...]")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the bundled sites and those recorded in ./sites, or only the named ones, which may be folders.

    The list says how many QUIC connections a browser takes for each, and why.
    """
    if names:
        entries = [_entry(site, site) for site in map(open_site, names)]
    else:
        bundled = [_entry(recipe, built_site(recipe)) for recipe in recipes()]  # the others are not built for it
        entries = [*bundled, *(_recorded_entry(RECORDED / name) for name in recorded_names())]
    say_list(entries, as_json)


def _entry(listed: Site | Recipe, site: Site | None, name: str = "") -> ListEntry:
    """The entry of a site, or of a recipe with the site that was built from it, if any."""
    connections = expected_connections(site) if site is not None else None
    facts = {
        "name": name or listed.name,
        "description": listed.description,
        "source": listed.source,
        "title": listed.title,
        "licence": listed.licence,
        "hosts": list(listed.hosts),
        "origins": listed.origins.value,
        "connections": connections.count if connections is not None else None,
        "connections_explanation": connections.explanation if connections is not None else "known once it was built",
    }
    hosts = {"hosts": ", ".join(listed.hosts)} if len(listed.hosts) > 1 else {}
    said = str(connections or facts["connections_explanation"])
    return ListEntry(facts, {**hosts, "connections": said, "licence": listed.licence})


def _recorded_entry(folder: Path) -> ListEntry:
    """The entry of a site in ./sites, by its folder's name; of one that cannot be opened with the reason."""
    try:
        site = load_site(folder)
    except SiteError as error:
        return ListEntry({"name": folder.name, "description": f"cannot be opened: {error}", "source": str(folder)}, {})
    return _entry(site, site, folder.name)
