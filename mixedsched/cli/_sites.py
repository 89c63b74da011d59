"""Finds the site that a person names: a bundled one, built when it is first used, or a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mixedsched import catalog
from mixedsched.cli._console import err
from mixedsched.errors import SiteError, nearest_hint
from mixedsched.server.files import Entry
from mixedsched.sites import Origins, Recipe, ResponseSettings, Site, fetch_packages, list_recipes, load_site, merged


def recipes() -> list[Recipe]:
    """The bundled sites, by name."""
    return list_recipes(catalog.home() / "sites")


def open_site(name_or_folder: str, origins: Origins | None = None) -> Site:
    """The site of that name, or in that folder. origins: of its hosts; None for what the site wants. Raises SiteError.

    What merging hosts could not do is said on standard error.
    """
    site = _found_site(name_or_folder)
    if (site.origins if origins is None else origins) is Origins.KEEP:
        return site
    whole = merged(site, _build_folder())
    for note in whole.notes:
        err.print(f"warning: {note}", style="yellow", markup=False, soft_wrap=True)
    return whole


def built_site(recipe: Recipe) -> Site | None:
    """A bundled site as it is opened, if it was built before."""
    try:
        site = load_site(_build_folder() / recipe.name)
        return merged(site, _build_folder()) if site.origins is Origins.MERGE else site
    except SiteError:
        return None


def _found_site(name_or_folder: str) -> Site:
    bundled = {recipe.name: recipe for recipe in recipes()}
    if name_or_folder in bundled:
        return _built(bundled[name_or_folder])
    if _is_folder(name_or_folder):
        return load_site(Path(name_or_folder), _build_folder())
    raise SiteError(
        f"there is no site '{name_or_folder}'",
        fix=f"{nearest_hint(name_or_folder, bundled)}; or name a folder with an index.html",
    )


def _built(recipe: Recipe) -> Site:
    from mixedsched.sites import build  # here, because it brings libraries that a server of a built site never uses

    sites_folder = catalog.home() / "sites"
    if recipe.recipe.kind == "npm":
        fetch_packages(sites_folder)
    return build(
        recipe,
        _build_folder(),
        sites_folder / "node_modules",
        lambda text: err.print(text, style="dim"),
    )


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # such as a name that is too long for one
        return False


def _build_folder() -> Path:
    return catalog.home() / "build" / "sites"


def site_entries(site: Site) -> dict[str, dict[str, Entry]]:
    """What the server serves of a site, and what the page's manifest says of it: by host name, then path."""
    resources = site.page.by_path()
    entries: dict[str, dict[str, Entry]] = {host: {} for host in site.hosts}
    for (host, path), file in site.files.items():
        resource = resources.get((host, path))
        settings = site.settings.get((host, path), ResponseSettings())
        entries[site.hosts[host]][path] = Entry(
            file,
            site.mimes[host, path],
            site.encodings.get((host, path)),
            resource.kind if resource else None,
            resource.flags if resource else None,
            settings.status,
            settings.delay_ms,
            tuple((name.encode(), tuple(value.encode() for value in values)) for name, values in settings.headers),
        )
    return entries


def site_digest(site: Site) -> str:
    """A fingerprint of what is served: results of a changed site must not be mixed with earlier ones."""
    digest = hashlib.sha256(site.entry.encode())
    for (host, path), file in sorted(site.files.items()):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{host} {path} {site.mimes[host, path]} {site.encodings.get((host, path))} {content}\n".encode())
        if (settings := site.settings.get((host, path))) is not None:
            digest.update(f"{settings.status} {settings.delay_ms} {sorted(settings.headers)}\n".encode())
    return digest.hexdigest()[:16]
