"""What `sites` tells of a site."""

from __future__ import annotations

from mixedsched.cli._console import ListEntry
from mixedsched.errors import SiteError
from mixedsched.sites.analysis import expected_connections
from mixedsched.sites.making import Recipe
from mixedsched.sites.opening import RECORDED, built_site, load_site
from mixedsched.sites.site import Site


def site_entry(site: Site) -> ListEntry:
    """Of one that is at hand."""
    connections = expected_connections(site)
    facts = {
        "name": site.name,
        "description": site.description,
        "source": site.source,
        "title": site.title,
        "licence": site.licence,
        "hosts": list(site.hosts),
        "origins": site.origins.value,
        "connections": connections.count,
        "connections_explanation": connections.explanation,
    }
    return ListEntry(facts, _lines(site.hosts, str(connections), site.licence))


def recorded_entry(name: str) -> ListEntry:
    """Of one in ./sites, by its folder's name; also of one that cannot be opened, with the reason."""
    try:
        entry = site_entry(load_site(RECORDED / name))
    except SiteError as error:
        facts = {"name": name, "description": f"cannot be opened: {error}", "source": str(RECORDED / name)}
        return ListEntry(facts, {})
    return ListEntry({**entry.facts, "name": name}, entry.lines)


def recipe_entry(recipe: Recipe) -> ListEntry:
    """Of a bundled one. Its connections are known once it was built; the others are not built for it."""
    site = built_site(recipe)
    connections = expected_connections(site) if site is not None else None
    facts = {
        "name": recipe.name,
        "description": recipe.description,
        "source": recipe.source,
        "title": recipe.title,
        "licence": recipe.licence,
        "hosts": list(recipe.hosts),
        "origins": recipe.origins.value,
        "connections": connections.count if connections is not None else None,
        "connections_explanation": connections.explanation if connections is not None else "known once it was built",
    }
    return ListEntry(facts, _lines(recipe.hosts, str(connections or "known once it was built"), recipe.licence))


def _lines(hosts: tuple[str, ...], connections: str, licence: str) -> dict[str, str]:
    lines = {"hosts": ", ".join(hosts)} if len(hosts) > 1 else {}
    return {**lines, "connections": connections, "licence": licence}
